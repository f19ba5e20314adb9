"""A ledger in this process's memory, for unit tests of services."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from threading import RLock
from typing import Any

from day1.errors import BranchExists
from day1.model.branches.branch import Branch
from day1.model.lessons.rating import KnownVotes, Rating, Votes
from day1.model.records.intent import Intent, IntentKind
from day1.model.redaction.mask import Mask, mask_of
from day1.model.redaction.redaction import Redaction
from day1.ports.ledger import Recover
from tests.fakes.checked import check_record


class MemoryLedger:
    """`ports.ledger.Ledger` in dicts; an intent whose block raised stays until somebody recovers."""

    recover: Recover
    is_limited = False

    def __init__(self) -> None:
        self._records: dict[type, dict[str, Any]] = defaultdict(dict)
        self._heads: dict[str, str] = {}
        self._turn = RLock()
        self._mine: Intent

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._turn:
            yield

    @contextmanager
    def same_version(self) -> Iterator[None]:
        yield

    def check(self) -> list[str]:
        return []

    def stamp(self) -> None:
        return None

    def mask(self) -> Mask:
        return mask_of(self.records(Redaction))

    def branches(self) -> list[Branch]:
        return self.records(Branch)

    def branch(self, name: str) -> Branch | None:
        found = [one for one in self.branches() if one.name.lower() == name.lower()]
        return found[0] if found else None

    def put_branch(self, branch: Branch) -> None:
        there = self.branch(branch.name)
        if there is not None and there.id != branch.id:
            raise BranchExists(f"{branch.name!r} exists.", branch=branch.name)
        self.put(branch)

    def remove_branch(self, branch_id: str) -> None:
        self.remove(Branch, branch_id)

    def record(self, kind: type[Any], record_id: str) -> Any:
        return self._records[kind].get(record_id)

    def records(self, kind: type[Any], **equal: str) -> list[Any]:
        found = list(self._records[kind].values())  # others may change it meanwhile
        return [r for r in found if all(getattr(r, n) == v for n, v in equal.items())]

    def votes(self) -> Votes:
        return KnownVotes().plus(self.records(Rating)).votes

    def swap(self, there: Any, record: Any) -> bool:
        with self._turn:
            if self._records[type(record)].get(record.id) != there:
                return False
            self.put(record)
        return True

    def put(self, *records: object) -> None:
        for record in records:
            check_record(record)
            self._records[type(record)][record.id] = record  # type: ignore[attr-defined]  # every record has one

    def remove(self, kind: type, *record_ids: str) -> None:
        for record_id in record_ids:
            self._records[kind].pop(record_id, None)

    @contextmanager
    def open_intent(
        self,
        kind: IntentKind[Any, Any],
        payload: Any,
        now: int,
        names: Collection[str] = (),
    ) -> Iterator[None]:
        self.recover_orphans()
        intent = Intent(f"intent_{now}", kind.name, asdict(payload), now, tuple(names))
        self.put(intent)
        self._mine = intent
        try:
            yield
        except Exception:
            self.recover(intent)
            self.remove(Intent, intent.id)
            raise
        self.remove(Intent, intent.id)

    @contextmanager
    def ending(self, *, own: bool = False) -> Iterator[None]:
        yield
        self.remove(Intent, self._mine.id)

    @contextmanager
    def exclusive(self, *_: str) -> Iterator[None]:
        self.recover_orphans()
        yield

    def recover_orphans(self) -> int:
        orphans = self.open_intents()
        for orphan in orphans:
            self.recover(orphan)
            self.remove(Intent, orphan.id)
        return len(orphans)

    def open_intents(self) -> list[Intent]:
        return self.records(Intent)

    def head(self, key: str) -> str | None:
        return self._heads.get(key)

    def heads(self) -> dict[str, str]:
        return dict(self._heads)

    def set_head(self, key: str, branch_id: str) -> None:
        self._heads[key] = branch_id
