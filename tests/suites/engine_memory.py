"""day1's services over an embedded store, with the face that the contract suite sees."""

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import SecretStr

from day1.app.engines import create_store, open_engine
from day1.errors import Day1Error
from day1.model.branches.branch import Branch
from day1.model.merge.held import Resolution
from day1.model.merge.plan import Strategy
from day1.model.merge.row_merge import Choice as Choosing
from day1.model.merge.row_merge import Take
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import BY_PREFIX, FACT, OBSERVATION, RELATION, WHOLE, Row
from day1.model.rows.origin import Origin
from day1.model.values.ids import ulid
from day1.services.branches import adopting, forking, forking_past, lookup
from day1.services.history import restoring, reverting, tracing
from day1.services.merges import held, merging, planning
from day1.services.recoveries import recover
from day1.services.repository.repository import Repository
from day1.services.rows import editing, recording
from day1.settings import Settings, StoreSettings
from tests.suites.memory import Choice, Clock, Held, Merged, Receipt, Refusal, Reverted, State
from tests.suites.schema_one import schema_one

_Answer = TypeVar("_Answer")
_numbers = itertools.count(1)


def _new_id(prefix: str, now: int) -> str:
    """Ids in the order of their making, the same in every run."""
    return f"{prefix}_{ulid(now // 1000, next(_numbers))}"


class EngineMemory:
    """`tests.suites.memory.Memory` on the store at `place`, made if it is not there.

    The place is a folder, or the URL of a database on a server. A second one on the same place is
    a second writer with a clock of its own.
    With `old` it is made at schema 1, or at the earlier one that is named.
    """

    def __init__(
        self,
        place: Path | str,
        clock: Clock | None = None,
        agent: str = "one",
        *,
        old: int | bool = False,
        wait_s: float = 10.0,
    ) -> None:
        self.clock = clock or Clock()
        url = None if isinstance(place, Path) else SecretStr(place)
        settings = Settings(store=StoreSettings(url=url, wait_s=wait_s))
        folder = place if isinstance(place, Path) else Path(tempfile.mkdtemp())
        with schema_one(int(old)) if old else nullcontext():
            create_store(settings, folder, lambda: 1, lambda: 1)
        self.opened = ExitStack()
        memory = open_engine(settings, folder, self.clock, self.opened, self.clock)
        self.store, self.ledger = memory.store, memory.ledger
        self.repo = Repository(self.store, self.store.history, self.ledger, _new_id, self.clock)
        self.ledger.recover = partial(recover, self.repo)
        self.origin = Origin(agent_id=agent)
        adopting.adopt(self.repo, self.clock())

    def close(self) -> None:
        self.opened.close()

    def _open(self, name: str) -> Branch:
        return lookup.refuse_protected(lookup.find(self.repo, name))

    # Actions on one branch

    def add_fact(self, branch: str, fact_id: str, **columns: Any) -> Receipt:
        def build(now: int) -> Row:
            return recording.fact_row(
                fact_id, recording.NewFact(columns["fact_text"]), self.origin, now
            )

        return self._add(branch, build, columns)

    def add_observation(self, branch: str, obs_id: str, **columns: Any) -> Receipt:
        def build(now: int) -> Row:
            return recording.observation_row(
                obs_id, recording.NewObservation("", columns["summary"]), self.origin, now
            )

        return self._add(branch, build, {"observation_type": None, **columns})

    def add_relation(self, branch: str, rel_id: str, **columns: Any) -> Receipt:
        def build(now: int) -> Row:
            return recording.relation_row(
                rel_id, recording.NewRelation("", "", ""), self.origin, now
            )

        return self._add(branch, build, columns)

    def _add(self, branch: str, build: Callable[[int], Row], columns: Mapping[str, Any]) -> Receipt:
        def action() -> Receipt:
            with self.store.adding(self._open(branch).name) as work:
                row = {**build(work.now), **columns}
                work.add(BY_PREFIX[str(row["id"]).split("_", 1)[0]], [row])
            return Receipt(work.now, str(row["id"]))

        return _asked(action)

    def update_fact(self, branch: str, fact_id: str, **columns: Any) -> Receipt:
        def action() -> Receipt:
            on = self._open(branch)
            correction = editing.Correction(fact_id, columns)
            return Receipt(editing.update(self.repo, on, correction, self.origin).at)

        return _asked(action)

    def judge(self, branch: str, fact_id: str, verification: str, scores: str | None) -> Receipt:
        return self.update_fact(branch, fact_id, verification=verification, scores=scores)

    def supersede(self, branch: str, fact_id: str, new_id: str, text: str) -> Receipt:
        def action() -> Receipt:
            new = editing.Replacement(fact_id, text, new_id)
            on = self._open(branch)
            return Receipt(editing.supersede(self.repo, on, new, self.origin).at, new_id)

        return _asked(action)

    def remove(self, branch: str, row_id: str) -> Receipt:
        def action() -> Receipt:
            on = self._open(branch)
            return Receipt(editing.remove(self.repo, on, editing.Removal([row_id]), self.origin).at)

        return _asked(action)

    def restore_row(self, branch: str, row_id: str, at: int) -> Receipt:
        def action() -> Receipt:
            state = self.store.history.at(lookup.find(self.repo, branch).name, at)
            on = self._open(branch)
            request = restoring.RestoreRequest(on, state, str(at), row_id)
            return Receipt(restoring.restore_to(self.repo, request).at)

        return _asked(action)

    def restore_branch(self, branch: str, at: int) -> Receipt:
        def action() -> Receipt:
            state = self.store.history.at(lookup.find(self.repo, branch).name, at)
            on = self._open(branch)
            request = restoring.RestoreRequest(on, state, str(at))
            return Receipt(restoring.restore_to(self.repo, request).at)

        return _asked(action)

    def revert(self, branch: str, at: int, choices: Sequence[Choice] = ()) -> Reverted:
        def action() -> Reverted:
            past = self.store.history.log(lookup.find(self.repo, branch).name)
            undo = next((commit.id for commit in past if commit.ts == at), "none")
            on = lookup.find(self.repo, branch)
            request = reverting.RevertRequest(on, undo, _choices(choices))
            done = reverting.revert(self.repo, request, self.origin)
            kept = sorted((row.id, cell) for row in done.plan.rows for cell in row.held)
            tip = next(iter(self.store.history.log(done.tip)))
            return Reverted(tip.ts if done.done else None, tuple(kept))

        return _asked(action)

    def decide(
        self,
        branch: str,
        row_id: str,
        cell: str,
        decision: str,
        value: Mapping[str, Any] | None = None,
    ) -> Receipt:
        def action() -> Receipt:
            items = [
                offer.item.id
                for offer in held.offers(self.repo, lookup.find(self.repo, branch))
                if (offer.item.row_id, offer.item.cell) == (row_id, cell)
            ]
            item = items[-1] if items else "held_none"
            decided = held.HeldDecision(item, cast(Resolution, decision), value)
            done = held.decide(self.repo, self._open(branch), decided, self.origin)
            return Receipt(done.at)

        return _asked(action)

    # Branches

    def fork(self, name: str, parent: str, at: int | None = None) -> None:
        def fork() -> Branch:
            above = lookup.find(self.repo, parent)
            if at is None:
                return forking.create(self.repo, name, above, self.clock())
            past = forking_past.PastFork(name, above, at)
            return forking_past.create_past(self.repo, past, self.clock())

        _asked(fork)

    def merge(
        self,
        source: str,
        target: str,
        strategy: str = "auto",
        choices: Sequence[Choice] = (),
        items: Sequence[str] | None = None,
    ) -> Merged:
        def merge() -> merging.Merged:
            request = planning.MergeRequest(
                lookup.find(self.repo, source),
                lookup.find(self.repo, target),
                cast(Strategy, strategy),
                _choices(choices),
                None if items is None else tuple(items),
            )
            return merging.merge(self.repo, request, self.origin, self.clock())

        done = _asked(merge)
        return Merged(
            None if done.record.commit is None else done.at,
            done.record.merged_count,
            done.record.rejected_count,
        )

    def commit_pending(self, branch: str) -> None:
        _asked(lambda: self.store.commit_pending(branch))

    # Reading

    def state(self, branch: str, at: int | None = None) -> State:
        def read() -> State:
            with self.store.reading(Ref(branch=branch, until=at)) as reading:
                return {
                    kind.table: {
                        str(row["id"]): {c: row[c] for c in kind.group(WHOLE)}
                        for row in reading.find(kind, Query())
                    }
                    for kind in (FACT, OBSERVATION, RELATION)
                }

        return _asked(read)

    def within(self, branch: str, space: str) -> list[str]:
        def read() -> list[str]:
            with self.store.reading(Ref(branch=branch)) as reading:
                query, paged = Query(under=space, above="", limit=2), []
                while page := reading.scan(FACT, ("id", "space"), query):
                    paged += page
                    query = replace(query, above=str(page[-1][0]))
                found = reading.scan(FACT, ("id", "space"), Query(under=space))
                assert paged == found
                counts = reading.tally(FACT, "space", Query(under=space))
                texts = reading.scan(FACT, ("fact_text",), Query(under=space))
                size = reading.size(FACT, "fact_text", Query(under=space))
            assert size == sum(len(str(text).encode()) for (text,) in texts)
            assert counts == Counter(name for _, name in found)
            return [str(row_id) for row_id, _ in found]

        return _asked(read)

    def versions(self, branch: str, row_id: str) -> list[tuple[int, Row | None]]:
        def read() -> list[tuple[int, Row | None]]:
            found = lookup.find(self.repo, branch)
            traced, versions = tracing.history(self.repo, found, row_id)
            columns = traced.kind.group(WHOLE)
            rows = [(v.at, v.row and {c: v.row[c] for c in columns}) for v in versions]
            return sorted(rows, key=itemgetter(0))

        return _asked(read)

    def held(self, branch: str) -> list[Held]:
        return [
            Held(
                offer.item.row_id,
                offer.item.cell,
                _without_origin(offer, offer.present),
                _without_origin(offer, offer.offered),
            )
            for offer in _asked(lambda: held.offers(self.repo, lookup.find(self.repo, branch)))
        ]


def _choices(choices: Sequence[Choice]) -> tuple[Choosing, ...]:
    return tuple(Choosing(c.row_id, cast(Take, c.take), c.cell, c.value) for c in choices)


def _without_origin(offer: held.Offer, value: Row | None) -> Row | None:
    item = offer.item
    return None if value is None else {c: value[c] for c in item.kind.group(item.cell)}


def _asked(action: Callable[[], _Answer]) -> _Answer:
    try:
        return action()
    except Day1Error as exc:
        raise Refusal(exc.code) from exc
