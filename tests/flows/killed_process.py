"""A process that does deeds on a store, one for each line of JSON, until it is killed.

Arguments: the store's folder, and how many seconds its clock is behind. It answers each line with
`{"done": …}`, or with `{"refused": code}`; an import also says `{"unit": n}` after each durable
unit. `DAY1_KILL_AT` names the point at which it kills itself.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from day1.app import engines
from day1.app import open as opening
from day1.app.open import copied_to, open_store, seen_through
from day1.errors import Day1Error
from day1.interfaces.open_store import OpenStore
from day1.model.redaction.mask import CLEAR, mask_of
from day1.model.redaction.redaction import Redaction
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.instant import SECOND, now
from day1.ports.source import FactDraft
from day1.services.branches import deleting, forking, lookup
from day1.services.exchange import backup as backups
from day1.services.exchange import bundles, importing, store_copy
from day1.services.merges import merging, planning
from day1.services.redaction import purging, redacting
from day1.services.rows import curating, editing
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search.indexing import embed_pending, follow
from day1.services.upkeep import retiring
from day1.settings import EmbedderSettings, Settings, settings_at
from tests.fakes.hashing_embedder import HashingEmbedder

ORIGIN = Origin(agent_id="killed")
Deed = dict[str, Any]


def say(answer: Deed) -> None:
    print(json.dumps(answer), flush=True)


def write(store: OpenStore, deed: Deed) -> None:
    with store.repo.store.adding(deed["branch"]) as work:
        work.add(FACT, [fact_row(deed["id"], NewFact(deed["text"]), ORIGIN, work.now)])


def change(store: OpenStore, deed: Deed) -> None:
    correction = editing.Correction(deed["id"], {"fact_text": deed["text"]})
    editing.update(store.repo, lookup.find_open(store.repo, deed["branch"]), correction, ORIGIN)


def cut(store: OpenStore, deed: Deed) -> None:
    store.repo.store.commit_pending(deed["branch"])


def fork(store: OpenStore, deed: Deed) -> None:
    forking.create(store.repo, deed["name"], deed["parent"], now())


def curate(store: OpenStore, deed: Deed) -> None:
    wanted = curating.CurateRequest(deed["name"], deed["parent"], list(deed["facts"]), ())
    curating.curate(store.repo, wanted, now())


def take(store: OpenStore, deed: Deed) -> str:
    return bundles.take_bundle(store.repo, [line.encode() for line in deed["lines"]], now()).id


def delete(store: OpenStore, deed: Deed) -> None:
    deleting.delete(store.repo, deed["name"], "main", now())


def retire(store: OpenStore, deed: Deed) -> None:
    retiring.retire(store.repo, deed["name"], now())


def revive(store: OpenStore, deed: Deed) -> None:
    retiring.revive(store.repo, deed["name"], now())


def merge(store: OpenStore, deed: Deed) -> None:
    source, target = (lookup.find(store.repo, deed[end]) for end in ("source", "target"))
    request = planning.MergeRequest(source, target, "auto")
    merging.merge(store.repo, request, ORIGIN, now())


class Facts:
    """An import source of given facts."""

    name = "given"

    def __init__(self, facts: dict[str, str]) -> None:
        self._facts = facts

    def total(self) -> int:
        return len(self._facts)

    def items(self) -> Iterator[list[FactDraft]]:
        for fact_id, text in self._facts.items():
            yield [FactDraft(fact_id, text)]


def import_(store: OpenStore, deed: Deed) -> None:
    importing.UNIT_ROWS = deed["unit_rows"]  # type: ignore[misc]

    def report(done: int, total: int | None) -> None:
        if done != total:  # the end is told twice
            say({"unit": done})

    importing.import_foreign(store.repo, deed["branch"], Facts(deed["facts"]), ORIGIN, report)


def embed(store: OpenStore, deed: Deed) -> None:
    branch = lookup.find(store.repo, deed["branch"])
    follow(store.repo.store, store.repo.history, store.search.index, branch.name, branch.id)
    embed_pending(store.search.index, HashingEmbedder(), None)


def redact(store: OpenStore, deed: Deed) -> None:
    redacting.redact(store.repo, redacting.look(store.repo, deed["id"]), None, None, now())


def compact(store: OpenStore, _deed: Deed) -> None:
    store.repo.store.compact()


def backup(store: OpenStore, _deed: Deed) -> str:
    """Beside the store."""
    file = store.folder.with_name("backup.tar.gz")
    backups.back_up(
        store.repo, engines.copying(store.settings, store.folder), engines.archives(), file, now()
    )
    return str(file)


def restore(store: OpenStore, deed: Deed) -> None:
    """Of a backup, into another folder beside."""
    file, folder = Path(backup(store, deed)), store.folder.with_name("restored")
    backups.restore_backup(engines.archives(), file, folder, store.repo.point)


def copy(store: OpenStore, _deed: Deed) -> None:
    """Into another folder beside."""
    there = settings_at(store.settings, str(store.folder.with_name("copied")))
    with seen_through(store, CLEAR) as seen, copied_to(there, seen) as made:
        store_copy.copy_store(seen, made, store_copy.as_it_is, _untold)


def purge(store: OpenStore, deed: Deed) -> None:
    """Of a fact that is redacted first."""
    redact(store, deed)
    redactions = store.repo.ledger.records(Redaction)
    files = engines.rewriting(store.settings, store.folder)
    with seen_through(store, mask_of(redactions)) as seen:
        purging.purge(seen, redactions, files, _untold, now())


def _untold(_done: int, _total: int | None) -> None:
    """Nobody looks on."""


def look(store: OpenStore, deed: Deed) -> list[str]:
    with store.repo.store.reading(Ref(branch=deed["branch"])) as reading:
        return list(reading.get(FACT, [deed["id"]]))


DEEDS: dict[str, Callable[[OpenStore, Deed], Any]] = {
    "write": write,
    "change": change,
    "cut": cut,
    "fork": fork,
    "curate": curate,
    "take": take,
    "delete": delete,
    "merge": merge,
    "retire": retire,
    "revive": revive,
    "import": import_,
    "embed": embed,
    "compact": compact,
    "redact": redact,
    "backup": backup,
    "restore": restore,
    "copy": copy,
    "purge": purge,
    "look": look,
}


def opened(folder: Path) -> OpenStore:
    """The store as every command opens it; vectors are the fake embedder's."""
    embedder = EmbedderSettings(kind="none")
    store = open_store(Settings(home=folder, embedder=embedder), create=True)
    store.search.index.vectors.point = store.repo.point  # type: ignore[attr-defined]
    return store


def main() -> None:
    folder, behind_s = Path(sys.argv[1]), int(sys.argv[2])
    opening.now = lambda: now() - behind_s * SECOND  # type: ignore[attr-defined]
    store = opened(folder)
    say({"done": None})
    for line in sys.stdin:
        deed = json.loads(line)
        try:
            say({"done": DEEDS[deed["deed"]](store, deed)})
        except Day1Error as exc:
            say({"refused": exc.code})
    store.close()


if __name__ == "__main__":
    main()
