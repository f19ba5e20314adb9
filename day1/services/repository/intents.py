"""Deeds of which engine and ledger each have a part: *intent, deed, done* (design section 5).

The intent is written to the ledger, the engine acts with the intent's subject in its ref or
commit message, the ledger row is written, the intent is struck out. Whoever finds an intent
whose process is gone looks at what the engine did, and finishes or withdraws it.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, cast

from day1.errors import Json
from day1.model.branches.branch import Branch
from day1.model.merge.held import columns_of
from day1.model.records.codec import from_json
from day1.model.records.intent import Intent
from day1.model.records.merge_record import MergeRecord
from day1.model.records.redaction import Redaction, without
from day1.model.records.review import Review
from day1.model.records.sharing import FILLED, Bundle, Handoff, Template
from day1.model.records.task import Objective, Task, TaskAgent
from day1.model.rows.kind import BY_TABLE, HELD, Kind, Row, text_of
from day1.ports.index import IndexBehind, IndexLost
from day1.services.repository.commit_ids import new_ids, rename_all
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)


def open_intent(
    repo: Repository, op: str, payload: Mapping[str, Json], now: int
) -> AbstractContextManager[None]:
    """Open a deed: an intent of `op` stands in the ledger until the block is left."""
    intent = Intent(repo.new_id("intent", now), op, payload, now)
    return repo.ledger.open_intent(intent, lambda orphan: recover(repo, orphan))


def recover(repo: Repository, intent: Intent) -> None:
    """Finish or withdraw a deed whose process is gone; doing it twice is harmless."""
    _RECOVERIES[intent.op](repo, dict(intent.payload))


def _recover_fork(repo: Repository, payload: dict[str, Json]) -> None:
    """A branch exists if its ref does; what was to be noted with it is noted then."""
    with_it: Any = payload["records"]
    branch = from_json(Branch, cast("dict[str, Json]", payload["branch"]))
    if repo.ledger.branch(branch.name) is None and branch.name in repo.history.branches():
        record_fork(repo, branch, [from_json(_FORKED[kind], values) for kind, values in with_it])


def _recover_fill(repo: Repository, payload: dict[str, Json]) -> None:
    """A branch that was to begin with rows exists if they are there; else its ref goes."""
    branch = from_json(Branch, cast("dict[str, Json]", payload["branch"]))
    tip = repo.history.branches().get(branch.name)
    if tip == branch.fork_commit and repo.ledger.branch(branch.name) is None:
        repo.history.drop(branch.name)
    else:
        _recover_fork(repo, payload)


def record_fork(repo: Repository, branch: Branch, records: Sequence[object]) -> None:
    """Write a branch to the ledger, with what it was made for."""
    with repo.ledger.together():
        repo.ledger.put_branch(branch)
        for record in records:
            if isinstance(record, Bundle) and record.commit == FILLED:
                tip = repo.history.branches()[branch.name]
                repo.ledger.put(replace(record, commit=tip))
            else:
                repo.ledger.put(record)


def _recover_delete(repo: Repository, payload: dict[str, Json]) -> None:
    if str(payload["name"]) in repo.history.branches():
        _recover_ref(repo, payload)
    else:
        repo.ledger.remove_branch(str(payload["id"]))


def _recover_ref(repo: Repository, payload: dict[str, Json]) -> None:
    """Of a branch that was being retired or revived: it is retired if its ref is gone."""
    refs = repo.history.branches()
    with repo.ledger.together():
        branch = repo.ledger.branch(str(payload["name"]))
        if branch is not None and branch.name in refs:
            repo.ledger.put_branch(replace(branch, retired_tip=None))


def _recover_merge(repo: Repository, payload: dict[str, Json]) -> None:
    """A merge was done if a commit of the target carries its id, with the counts beside it."""
    merge_id, target = str(payload["id"]), str(payload.pop("target"))
    if target not in repo.history.branches():
        return
    for commit in repo.history.log(target):
        if commit.ts < int(str(payload["created_at"])):
            return
        if commit.meta.get("id") == merge_id:
            counts = {key: commit.meta[key] for key in ("base", "merged_count", "rejected_count")}
            record = MergeRecord(**{**payload, **counts, "commit": commit.id})  # type: ignore[arg-type]  # as `merging` wrote it
            record_merge(repo, record)
            return


def record_merge(repo: Repository, record: MergeRecord) -> None:
    """Write a merge to the ledger, and what it makes of its review and of its source."""
    with repo.ledger.together():
        repo.ledger.put(record)
        review = repo.ledger.record(Review, record.review_id or "")
        if review is not None and record.commit is not None:
            repo.ledger.put(review.merged(record))
        source = repo.ledger.record(Branch, record.source_id)
        if source is None or record.commit is None:
            return
        if record.strategy == "squash":
            repo.ledger.put_branch(replace(source, closed=True, merged_tip=record.source_commit))
        elif record.strategy == "auto" and record.rejected_count == 0:
            repo.ledger.put_branch(replace(source, merged_tip=record.source_commit))


def _recover_redaction(repo: Repository, payload: dict[str, Json]) -> None:
    """What was to be redacted is."""
    record_redaction(repo, from_json(Redaction, payload))


def record_redaction(repo: Repository, redaction: Redaction) -> None:
    """Write a redaction to the ledger, which masks; then take its texts out of the index.

    They are out of reach already then. So an index that cannot be written now hinders nobody:
    whoever opens the store next cleans it.
    """
    kind = BY_TABLE[redaction.row_kind]
    texts = texts_of(repo, kind, redaction.row_id).values()
    with repo.ledger.together():
        for record in _quoting(repo, redaction, texts):
            repo.ledger.put(record)
        repo.ledger.put(redaction)
    repo.point("redact.after_ledger")
    forget(repo, redaction.hashes)


def forget(repo: Repository, hashes: Collection[str]) -> bool:
    """Take redacted texts out of this node's index; says whether they are."""
    try:
        repo.forget(hashes)
    except IndexLost:
        pass  # it is empty, and learns masked texts from now on
    except IndexBehind as error:
        log.warning("the index keeps redacted texts: %s", error.details.get("engine_code"))
        return False
    return True


def texts_of(repo: Repository, kind: Kind, row_id: str) -> dict[str, str]:
    """Every text that a row ever had, by content hash; those that merges held are among them."""
    if kind.text is None:
        return {}
    rows: list[Row] = repo.history.unmasked(kind, row_id)
    for item in repo.history.unmasked(HELD, row_id):
        sides = (columns_of(text_of(item[side])) for side in ("ours", "theirs"))
        rows += [side for side in sides if side is not None and kind.text in side]
    return {str(row["content_hash"]): str(row[kind.text]) for row in rows}


def _quoting(
    repo: Repository, redaction: Redaction, texts: Collection[str]
) -> Iterator[Handoff | Review]:
    """The handoffs and reviews that quote one of the texts, without it."""
    clean = without(texts)
    for handoff in repo.ledger.records(Handoff):
        said = clean(handoff.context_summary)
        if said != handoff.context_summary:
            yield replace(handoff, context_summary=said)
    for review in repo.ledger.records(Review):
        fresh = review.cleaned(redaction.rows, clean)
        if fresh != review:
            yield fresh


def _recover_purge(repo: Repository, payload: dict[str, Json]) -> None:
    """Of a store that was to be written anew: if it was, its commits have other ids."""
    ids = new_ids(repo.history)
    if payload["tip"] in ids:
        rename_all(repo.ledger, ids)


_FORKED: Mapping[str, type] = {
    kind.__name__: kind for kind in (Task, TaskAgent, Objective, Template, Bundle)
}
_RECOVERIES: Mapping[str, Callable[[Repository, dict[str, Json]], None]] = {
    "fork": _recover_fork,
    "fill": _recover_fill,
    "delete": _recover_delete,
    "merge": _recover_merge,
    "retire": _recover_ref,
    "revive": _recover_ref,
    "redact": _recover_redaction,
    "purge": _recover_purge,
}
