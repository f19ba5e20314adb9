"""A process that does actions on a store, one for each line of JSON, until it is killed.

Arguments: the store's folder, and how many seconds its clock is behind. It answers each line with
`{"done": …}`, or with `{"refused": code}`; an import also says `{"unit": n}` after each durable
unit. `DAY1_KILL_AT` names the point at which it kills itself. It is started hundreds of times, so what
few actions need is imported by them.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from day1.app import archives
from day1.app import open as opening
from day1.app.open import open_copy_target, open_store, open_with_mask
from day1.errors import Day1Error
from day1.interfaces.open_store import OpenStore
from day1.model.redaction.mask import CLEAR, mask_of
from day1.model.redaction.redaction import Redaction
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.instant import SECOND
from day1.ports.source import FactDraft
from day1.services.access.caller import Caller
from day1.services.access.calls import now
from day1.services.branches import deleting, forking, forking_past, lookup, retiring
from day1.services.exchange import backup as backups
from day1.services.exchange import importing, store_copy
from day1.services.merges import merging, planning, proposing, protection
from day1.services.redaction import purging, redacting
from day1.services.rows import curating, editing
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search.indexing import embed_pending, follow
from day1.services.sharing import bundles
from day1.settings import EmbedderSettings, Settings, settings_at

ORIGIN = Origin(agent_id="killed")
Action = dict[str, Any]


def say(answer: Action) -> None:
    print(json.dumps(answer), flush=True)


def write(store: OpenStore, action: Action) -> None:
    with store.repo.store.adding(action["branch"]) as work:
        work.add(FACT, [fact_row(action["id"], NewFact(action["text"]), ORIGIN, work.now)])


def change(store: OpenStore, action: Action) -> None:
    correction = editing.Correction(action["id"], {"fact_text": action["text"]})
    editing.update(store.repo, lookup.find(store.repo, action["branch"]), correction, ORIGIN)


def commit_pending(store: OpenStore, action: Action) -> None:
    store.repo.store.commit_pending(action["branch"])


def fork(store: OpenStore, action: Action) -> None:
    parent = lookup.find(store.repo, action["parent"])
    if "at" not in action:
        forking.create(store.repo, action["name"], parent, now())
        return
    past = forking_past.PastFork(action["name"], parent, action["at"])
    forking_past.create_past(store.repo, past, now())


def curate(store: OpenStore, action: Action) -> None:
    parent = lookup.find(store.repo, action["parent"])
    wanted = curating.CurateRequest(action["name"], parent, list(action["facts"]), ())
    curating.curate(store.repo, wanted, now())


def take(store: OpenStore, action: Action) -> str:
    return bundles.take_bundle(store.repo, [line.encode() for line in action["lines"]], now()).id


def delete(store: OpenStore, action: Action) -> None:
    deleting.delete(store.repo, lookup.find(store.repo, action["name"]), "main", now())


def retire(store: OpenStore, action: Action) -> None:
    retiring.retire(store.repo, lookup.find(store.repo, action["name"]), now())


def revive(store: OpenStore, action: Action) -> None:
    branch = store.repo.ledger.branch(action["name"])
    assert branch is not None
    retiring.revive(store.repo, branch, now())


def undelete(store: OpenStore, action: Action) -> None:
    retiring.undelete(store.repo, action["name"], now())


def merge(store: OpenStore, action: Action) -> None:
    source, target = (lookup.find(store.repo, action[end]) for end in ("source", "target"))
    request = planning.MergeRequest(source, target, "auto")
    merging.merge(store.repo, request, ORIGIN, now())


def propose(store: OpenStore, action: Action) -> None:
    """A branch of two facts, for one with tiers: one may merge unseen, the other waits."""
    target = forking.create(store.repo, action["target"], lookup.find(store.repo, "main"), now())
    source = forking.create(store.repo, action["name"], target, now())
    with store.repo.store.adding(source.name) as work:
        for row_id, sort in action["facts"].items():
            work.add(FACT, [fact_row(row_id, NewFact(sort, category=sort), ORIGIN, work.now)])
    target = protection.protect(store.repo, target, ["tiers"], ["none category=note"])
    proposing.propose(
        store.repo,
        planning.MergeRequest(source, target, "auto"),
        proposing.Proposer(ORIGIN, None),
        now(),
        protection.guard(store.repo, protection.Merger(None)),
    )


class Facts:
    """An import source of given facts."""

    name = "given"

    def __init__(self, facts: dict[str, str]) -> None:
        self._facts = facts

    def total(self) -> int:
        return len(self._facts)

    @property
    def left_out(self) -> Mapping[str, list[str]]:
        return {}

    def items(self) -> Iterator[list[FactDraft]]:
        for fact_id, text in self._facts.items():
            yield [FactDraft(fact_id, text)]


def import_(store: OpenStore, action: Action) -> None:
    importing.UNIT_ROWS = action["unit_rows"]  # type: ignore[misc]  # a constant

    def report(done: int, total: int | None) -> None:
        if done != total:  # the end is told twice
            say({"unit": done})

    branch = lookup.find(store.repo, action["branch"])
    importing.import_foreign(store.repo, branch, Facts(action["facts"]), ORIGIN, report)


def embed(store: OpenStore, action: Action) -> None:
    from tests.fakes.hashing_embedder import HashingEmbedder

    branch = lookup.find(store.repo, action["branch"])
    follow(store.repo.store, store.repo.history, store.search.index, branch.name, branch.id)
    embed_pending(store.search.index, HashingEmbedder(), None)


def redact(store: OpenStore, action: Action) -> None:
    redacting.redact(store.repo, redacting.look(store.repo, action["id"]), None, None, now())


def compact(store: OpenStore, _action: Action) -> None:
    store.repo.store.compact()


def backup(store: OpenStore, _action: Action) -> str:
    """Beside the store."""
    file = store.folder.with_name("backup.tar.gz")
    backups.back_up(
        store.repo, archives.copying(store.settings, store.folder), archives.files(), file, now()
    )
    return str(file)


def restore(store: OpenStore, action: Action) -> None:
    """Of a backup, into another folder beside."""
    file, folder = Path(backup(store, action)), store.folder.with_name("restored")
    backups.restore_backup(archives.files(), file, folder, store.repo.point)


def copy(store: OpenStore, _action: Action) -> None:
    """Into another folder beside."""
    there = settings_at(store.settings, str(store.folder.with_name("copied")))
    with open_with_mask(store, CLEAR) as seen, open_copy_target(there, seen) as made:
        store_copy.copy_store(seen, made, store_copy.unchanged, _untold)


def purge(store: OpenStore, action: Action) -> None:
    """Of a fact that is redacted first."""
    redact(store, action)
    redactions = store.repo.ledger.records(Redaction)
    files = archives.rewriting(store.settings, store.folder)
    with open_with_mask(store, mask_of(redactions)) as seen:
        purging.purge(seen, redactions, files, _untold, now())


def _untold(_done: int, _total: int | None) -> None:
    """Nobody looks on."""


def call_system(store: OpenStore, action: Action) -> dict[str, Any]:
    """A tool of Kompanion, engram, Compose or gwt, with the fake embedder."""
    from day1.toolsets.compose import COMPOSE
    from day1.toolsets.engram import ENGRAM
    from day1.toolsets.gwt import GWT
    from day1.toolsets.kompanion import KOMPANION
    from tests.fakes.hashing_embedder import HashingEmbedder

    ctx = store.context(Caller())
    ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
    toolsets = {"compose": COMPOSE, "engram": ENGRAM, "gwt": GWT, "kompanion": KOMPANION}
    tool = toolsets[action["action"]].tools[action["tool"]]
    answer: dict[str, Any] = tool.call(ctx, action["arguments"])
    return answer


def look(store: OpenStore, action: Action) -> list[str]:
    with store.repo.store.reading(Ref(branch=action["branch"])) as reading:
        return list(reading.get(FACT, [action["id"]]))


ACTIONS: dict[str, Callable[[OpenStore, Action], Any]] = {
    "write": write,
    "change": change,
    "commit_pending": commit_pending,
    "fork": fork,
    "curate": curate,
    "take": take,
    "delete": delete,
    "merge": merge,
    "propose": propose,
    "retire": retire,
    "revive": revive,
    "undelete": undelete,
    "import": import_,
    "embed": embed,
    "compact": compact,
    "redact": redact,
    "backup": backup,
    "restore": restore,
    "copy": copy,
    "purge": purge,
    "look": look,
    "kompanion": call_system,
    "engram": call_system,
    "compose": call_system,
    "gwt": call_system,
}


def opened(folder: Path) -> OpenStore:
    """The store as every command opens it; vectors are the fake embedder's."""
    embedder = EmbedderSettings(kind="none")
    store = open_store(Settings(home=folder, embedder=embedder), create=True)
    store.search.index.vectors.point = store.repo.point  # type: ignore[attr-defined]  # of the adapter, not of the port
    return store


def main() -> None:
    folder, behind_s = Path(sys.argv[1]), int(sys.argv[2])
    opening.now = lambda: now() - behind_s * SECOND  # type: ignore[attr-defined]  # imported there
    store = opened(folder)
    say({"done": None})
    for line in sys.stdin:
        action = json.loads(line)
        try:
            say({"done": ACTIONS[action["action"]](store, action)})
        except Day1Error as exc:
            say({"refused": exc.code})
    store.close()


if __name__ == "__main__":
    main()
