"""Every way of reading a branch with drawn copies, and what is hidden there."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import httpx2
from mcp.shared.exceptions import MCPError
from mcp.types import ReadResourceRequestParams

from day1.interfaces.http.app import Served, build_app
from day1.interfaces.mcp import resources
from day1.model.redaction.basis import COMPACTED
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT, MESSAGE, OBSERVATION, WHOLE, kind_of
from day1.services.access.authentication import Authenticator
from day1.services.branches.lookup import find
from day1.services.exchange.exporting import export_branch
from day1.services.search.indexing import follow
from day1.services.sharing.bundles import export_bundle
from tests.wires.drawn_copies import BRANCHES, CANNOT, SPACE, Copies, Source

PAGES = "http://127.0.0.1:8420"
OF_ALL_BRANCHES = {
    *("memory_session_context", "memory_agent_timeline", "memory_merge_preview"),
    *("memory_branch_diff", "verify_merge_gate"),
}
"""Tools that tell of a branch what another one has."""


def hidden_on(made: Copies, branch: str, *, spaces: tuple[str, ...] | None = None) -> list[Source]:
    """The sources that nobody may read on a branch now, by what their own rows say."""
    repo = made.store.repo
    hidden = []
    with repo.store.reading(Ref(branch=branch)) as reading:
        redacted = reading.mask.rows
        for one in made.sources:
            row = reading.get(one.kind, [one.row_id]).get(one.row_id)
            edits = reading.find(EDIT, Query(equal={"row_id": one.row_id, "cell": WHOLE}))
            over = row is not None and (row.get("expires_at") or 2**62) <= repo.clock()  # type: ignore[operator]  # an instant or nothing
            away = (
                row is not None and spaces is not None and row.get("space") not in {None, *spaces}
            )
            secret = row is not None and row.get("sensitivity") == "secret"
            reasons = [str(edit["reason"] or "") for edit in edits]
            removed = row is None and any(not r.startswith(COMPACTED) for r in reasons)
            if one.row_id in redacted or over or away or secret or removed:
                hidden.append(one)
    return hidden


def made_on(made: Copies, branch: str) -> list[str]:
    """The ids of rows of a branch that were made of others."""
    with made.store.repo.store.reading(Ref(branch=branch)) as reading:
        listed = reading.scan(
            EDIT, ("row_id", "cell"), Query(among={"cell": ["basis", "verification.basis"]})
        )
        ids = sorted({str(row_id) for row_id, _ in listed})
        return [i for i in ids if (kind := kind_of(i)) is not None and reading.get(kind, [i])]


def answers(made: Copies, branch: str) -> Iterator[tuple[str, str]]:
    """What every way of reading says of a branch, by its name."""
    here: dict[str, Any] = {"branch": branch}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("memory_list", {"type": "fact", "limit": 200, **here}),
        ("memory_list", {"type": "conversation", "limit": 200, **here}),
        ("memory_list", {"type": "fact", "space": SPACE, "limit": 200, **here}),
        ("memory_timeline", {"limit": 500, **here}),
        ("memory_session_context", {"session_id": "s1", **here}),
        ("memory_agent_timeline", {"agent_id": "ada", **here}),
        ("memory_time_travel", {"timestamp": "2100-01-01", "query": "furnace upload", **here}),
        ("memory_list_conversations", here),
        ("memory_prime", here),
        ("memory_recall_hint", {"prompt": "Which upload failed at the harbour furnace?", **here}),
        ("engram.memory_export", here),
        ("engram.memory_consolidate_preview", {"stale_days": 0, **here}),
        ("engram.memory_insights", {"action": "list", **here}),
        ("memory_graph", here),
    ]
    of_wallet: dict[str, Any] = {"agentWallet": "w", **here}
    asked.append(("compose.list", {"limit": 200, **of_wallet}))
    sessions = [f"c{number}" for number in range(len(made.sources))]
    asked += [("compose.transcript_get", {"id": each, **of_wallet}) for each in sessions]
    asked += [
        ("compose.sessions_working_get", {"sessionId": each, **of_wallet}) for each in sessions
    ]
    for words in (
        "furnace heat",
        "upload failed passes",
        "harbour backups key",
        "crane lifts tons",
    ):
        asked += [
            (f"compose.{tool}", {"query": words, **of_wallet})
            for tool in ("items_search", "graph_search", "vector_search")
        ]
        whole = {"includeRaw": True, "budget": {"mode": "recall"}, **of_wallet}
        asked.append(("compose.context_assemble", {"query": words, **whole}))
    for words in ("furnace heat", "upload failed passes", "service port", "harbour backups key"):
        asked += [
            ("memory_search", {"query": words, "include_inactive": True, "limit": 100, **here}),
            ("memory_search", {"query": words, "space": SPACE, "limit": 100, **here}),
            ("engram.memory_search", {"query": words, **here}),
            ("search_memory", {"namespace": SPACE, "query": {"text": words}, **here}),
        ]
    for words in ("furnace heat", "upload failed passes", "harbour backups lathe"):
        asked += [
            ("gwt_query", {"query": words, "k": 100}),
            ("gwt_resolve", {"question": words, "planner": "hybrid"}),
            ("gwt_attend", {"question": words, "k": 50}),
        ]
    asked += [
        (tool, {})
        for tool in ("gwt_compete", "gwt_broadcast", "gwt_export_memory", "gwt_bus_inspect")
    ]
    asked += [("gwt_inspect", {"target": target}) for target in ("workspace", "buffer")]
    asked.append(("gwt_collection_query", {"operation": "count"}))
    for other in BRANCHES:
        if other != branch:
            both = {"source_branch": branch, "target_branch": other}
            asked += [("memory_branch_diff", both), ("memory_merge_preview", both)]
            asked += [("verify_merge_gate", both)]
    for row_id in made_on(made, branch):
        asked += [
            (tool, {"id": row_id, **here})
            for tool in ("memory_get", "memory_history", "memory_blame")
        ]
    for tool, arguments in asked:
        try:
            where = (branch,) if tool.startswith("gwt_") else ()
            answer: object = made.call(tool, *where, **arguments)
        except CANNOT as error:
            answer = [str(error), error.details]
        if isinstance(answer, dict):
            answer.pop("query", None)
        yield f"{tool} {arguments}", json.dumps(answer, default=str)
    repo = made.store.repo
    yield "export", b"".join(export_branch(repo.store, repo.shown(Ref(branch=branch)))).decode()
    with suppress(*CANNOT):
        bundle = made.call(
            "knowledge_bundle_create",
            name=f"b{made.draw.randrange(10**9)}",
            source_branch=branch,
            only_verified=False,
        )
        yield "bundle", b"".join(export_bundle(repo, bundle["id"])).decode()


SERVER_ERROR = 500


def pages(made: Copies, branch: str) -> dict[str, str]:
    """What the pages and the resources of a branch say, by their addresses."""
    rows = [f"/review/rows/{row_id}?branch={branch}" for row_id in made_on(made, branch)]
    words = ("furnace+heat", "upload+failed+passes", "service+port", "harbour+backups+key")
    paths = [
        *(
            f"/review/branches/{branch}?tab={tab}&all=1"
            for tab in ("facts", "conversations", "log")
        ),
        *(f"/review/search?q={some}&branch={branch}&all=1&mode=keyword" for some in words),
        *rows,
    ]
    served = Served(made.store, Authenticator(made.store.repo, closed=False), lambda: None)
    transport = httpx2.ASGITransport(build_app(served), client=("127.0.0.1", 1))

    async def read() -> dict[str, str]:
        async with httpx2.AsyncClient(transport=transport, base_url=PAGES) as http:
            answers = {path: await http.get(path) for path in paths}
        assert max(answer.status_code for answer in answers.values()) < SERVER_ERROR
        return {path: answer.text for path, answer in answers.items()}

    said = anyio.run(read)
    facts = [row_id for row_id in made_on(made, branch) if row_id.startswith("fact_")]
    for uri in (
        *(f"day1://branches/{branch}/facts/{row_id}" for row_id in facts),
        f"day1://branches/{branch}",
        f"day1://branches/{branch}/prime",
    ):
        with suppress(*CANNOT, MCPError):
            answer = resources.read(made.ctx(branch), ReadResourceRequestParams(uri=uri))
            said[uri] = repr(answer)
    return said


def index_words(made: Copies) -> str:
    """The words in the files of the index, once all branches were followed."""
    repo = made.store.repo
    for name in repo.history.branches():
        follow(repo.store, repo.history, made.store.search.index, name, find(repo, name).id)
    known, numbers = made.store.search.index.words, list(range(5_000))
    return json.dumps([known.texts(kind, numbers) for kind in (FACT, OBSERVATION, MESSAGE)])


def nowhere(made: Copies) -> list[Source]:
    """The sources that are redacted, or there and secret on every branch."""
    repo = made.store.repo
    redacted = repo.ledger.mask().rows
    found = [one for one in made.sources if one.row_id in redacted]
    for one in made.sources:
        rows = []
        for branch in repo.history.branches():
            with repo.store.reading(Ref(branch=branch)) as reading:
                rows.append(reading.get(one.kind, [one.row_id]).get(one.row_id))
        if all(row is not None and row.get("sensitivity") == "secret" for row in rows):
            found.append(one)
    return found
