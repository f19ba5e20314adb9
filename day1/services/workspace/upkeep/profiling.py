"""The profile of a caller's memory and workspace, and checks of the parts that they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from day1.errors import Day1Error
from day1.model.collection.records import Collection
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import NO_STATE, ReadState, Ref
from day1.model.rows.kind import FACT, Kind
from day1.model.workspace.bus import BusResult, read_result
from day1.model.workspace.item import source_of, type_of
from day1.model.workspace.mind import Mind
from day1.ports.reading import Reading
from day1.services.access.calls import Call, spaces_of
from day1.services.search.indexing import catch_up
from day1.services.search.search_engine import SearchEngine
from day1.services.workspace.bus import SUBSCRIBERS
from day1.services.workspace.candidates import Asked, memories_of
from day1.services.workspace.collecting import collection_of
from day1.services.workspace.desks import Seat, mind_of
from day1.services.workspace.items import KINDS, present_items

T = TypeVar("T")

_DESK_BROKEN: Final = "desk_broken"
"""The problem of a workspace whose desk another program wrote, or damaged."""
_NOT_INDEXED: Final = "not_indexed"


@dataclass(frozen=True, slots=True)
class Persisted:
    """The items of a branch that a caller sees, counted."""

    by_type: Mapping[str, int] = field(default_factory=dict)
    by_source: Mapping[str, int] = field(default_factory=dict)
    hashes: Mapping[Kind, Counter[str]] = field(default_factory=dict)
    """By kind, how many items have each text, by its hash."""
    state: ReadState = NO_STATE

    @property
    def count(self) -> int:
        """The number of items."""
        return sum(self.by_type.values())


@dataclass(frozen=True, slots=True)
class Profile:
    """The memory of a caller, what is ready to answer from it, and the caller's workspace."""

    persisted: Persisted
    indexed: int
    """Items whose text a search finds by its words."""
    collection: Collection
    mind: Mind
    restored: int
    """Items of the workspace and buffer that the desk brought back and that may be shown."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The call, seat and search engine with which memory and workspace are examined."""

    call: Call
    engine: SearchEngine
    seat: Seat
    asked: Asked


def profile_of(subject: Subject) -> Profile:
    """Count the memory of a caller, and read the workspace.

    Raises:
        UnknownBranch: the branch of the call is gone.
    """
    persisted = count_persisted(subject)
    mind, restored_count = restore_mind(subject)
    indexed_count = count_indexed(subject, persisted)
    return Profile(persisted, indexed_count, read_collection(subject), mind, restored_count)


def count_persisted(subject: Subject) -> Persisted:
    """Count the items that may be shown, by type, source and text."""
    repo, spaces = subject.call.repo, spaces_of(subject.call, None)
    count_by_type: Counter[str] = Counter()
    count_by_source: Counter[str] = Counter()
    hash_counts_by_kind: dict[Kind, Counter[str]] = {kind: Counter() for kind in KINDS}
    with repo.store.reading(repo.shown(_ref(subject))) as reading:
        for kind, query in (
            (kind, present_items(spaces, repo.clock())[kind.table]) for kind in KINDS
        ):
            label_column = "category" if kind is FACT else "observation_type"
            columns = ("content_hash", label_column, "detail", "source")
            for text_hash, type_or_category, detail, source in reading.scan(kind, columns, query):
                if text_hash != REDACTED_HASH:
                    hash_counts_by_kind[kind][str(text_hash)] += 1
                    count_by_type[type_of(kind, {label_column: type_or_category})] += 1
                    count_by_source[source_of(detail, source)] += 1
        read_state = reading.state
    return Persisted(
        dict(sorted(count_by_type.items())),
        dict(sorted(count_by_source.items())),
        hash_counts_by_kind,
        read_state,
    )


def count_indexed(subject: Subject, persisted: Persisted) -> int:
    """Index new texts by their words, and count the items that a search can find."""
    engine, seat = subject.engine, subject.seat
    if not engine.index.read_only:
        with subject.call.repo.store.reading(_ref(subject)) as reading:
            _catch_up(reading, engine, seat)
    indexed_count = 0
    for kind, count_by_hash in persisted.hashes.items():
        text_id_by_hash = engine.index.words.known(kind, list(count_by_hash))
        indexed_count += sum(
            item_count
            for text_hash, item_count in count_by_hash.items()
            if text_hash in text_id_by_hash
        )
    return indexed_count


def _catch_up(reading: Reading, engine: SearchEngine, seat: Seat) -> None:
    catch_up(reading, engine.history, engine.index, seat.branch.id, engine.words_wait_s)


def read_collection(subject: Subject) -> Collection:
    """Read the records in the items that may be shown."""
    repo = subject.call.repo
    with repo.store.reading(repo.shown(_ref(subject))) as reading:
        return collection_of(repo, reading, spaces_of(subject.call, None))


def restore_mind(subject: Subject) -> tuple[Mind, int]:
    """Read the workspace from its desk, and count its items that may be shown."""
    repo, seat = subject.call.repo, subject.seat
    mind = mind_of(repo, seat)
    shown_ids = [place.id for place in (*mind.workspace, *mind.buffer)]
    return mind, len(memories_of(repo, subject.engine, seat, shown_ids, subject.asked))


def _ref(subject: Subject) -> Ref:
    return Ref(branch=subject.seat.branch.name)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether each checked part works, the problems found, and the profile."""

    checks: Mapping[str, bool]
    problems: Mapping[str, str]
    """By check that failed, a code."""
    profile: Profile
    bus: BusResult | None
    """The last result of the bus."""


def check_readiness(subject: Subject) -> Readiness:
    """Use each part that the tools need; a part that fails makes its check fail, and no other."""
    checks = _Trial()
    persisted = checks.run(
        "persistent_store_readable", lambda: count_persisted(subject), Persisted()
    )
    mind, restored_count = checks.run(
        "workspace_readable", lambda: restore_mind(subject), (Mind(), 0)
    )
    indexed_count = checks.run(
        "runtime_index_bootstrapped", lambda: count_indexed(subject, persisted), 0
    )
    checks.require(
        "runtime_index_bootstrapped", _NOT_INDEXED, holds=indexed_count >= persisted.count
    )
    no_records = Collection(())
    collection = checks.run("structured_parser_ready", lambda: read_collection(subject), no_records)
    checks.run("embedding_ready", lambda: _embed(subject.engine), None)
    checks.require("broadcast_bus_configured", "no_subscriber", holds=bool(SUBSCRIBERS))
    bus_result = checks.run("bus_result_readable", lambda: _bus_of(mind), None)
    statuses = set() if bus_result is None else {report.status for report in bus_result.reports}
    checks.require("no_subscriber_errors", "subscriber_failed", holds="error" not in statuses)
    checks.require("no_subscriber_timeouts", "subscriber_late", holds="timeout" not in statuses)
    profile = Profile(persisted, indexed_count, collection, mind, restored_count)
    return Readiness(checks.checks, checks.problems, profile, bus_result)


def _embed(engine: SearchEngine) -> None:
    """Embed a word; without an embedder, searches are by words, which the index checks."""
    if engine.embedder is not None:
        engine.embedder.embed(["tried"])


def _bus_of(mind: Mind) -> BusResult | None:
    return None if mind.bus is None else read_result(mind.bus)


@dataclass(slots=True)
class _Trial:
    """Runs checks and records which ones fail."""

    checks: dict[str, bool] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def run(self, name: str, part: Callable[[], T], otherwise: T) -> T:
        """Call the function of a check; return its result, or `otherwise` if it fails."""
        try:
            check_result = part()
        except Day1Error as error:
            self.require(name, error.code, holds=False)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            self.require(name, _DESK_BROKEN if "workspace" in name else "broken", holds=False)
        else:
            self.require(name, "", holds=True)
            return check_result
        return otherwise

    def require(self, name: str, problem: str, *, holds: bool) -> None:
        """Record whether a check holds; a check that failed before stays failed."""
        self.checks[name] = holds and self.checks.get(name, True)
        if not holds:
            self.problems.setdefault(name, problem)
