"""Checking a store and repairing it: the work of `day1 doctor`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from day1.errors import Advice, Day1Error, EmbedderUnavailable, StoreUnavailable
from day1.model.branches.branch import Branch
from day1.model.rows.change import Pending, Ref
from day1.ports.index import Cursor, IndexLost
from day1.services.branches.adopting import adopt
from day1.services.branches.desks import drop_orphans, forget_branch
from day1.services.branches.lookup import find
from day1.services.health.clocks import ahead, lasting, set_right
from day1.services.health.compacting import is_wasteful
from day1.services.repository.repository import Repository
from day1.services.search.indexing import follow
from day1.services.search.search_engine import SearchEngine

MANY_REFS: Final = 200
"""Number of branches in the engine that causes a warning: each adds 60 bytes to every commit."""
LOW_DISK: Final = 200 * 1024 * 1024

Level = Literal["ok", "warn", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, with advice if it is not ok."""

    name: str
    level: Level
    text: str | Advice
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """What this machine knows of a store: disk, files and settings. Sizes are in bytes."""

    store_bytes: int
    free_bytes: int
    read_only: bool
    chroma: bool
    """Whether a server process created Chroma collections in the folder."""
    chroma_trouble: str | None = None
    obstacles: tuple[str, ...] = ()
    """Reasons why nobody could write now, each a sentence."""
    node: str | None = None
    """For a store on a server: the folder on this machine for index and other local files."""
    chroma_server: str | None = None
    unheard: int = 0
    """The number of lines of hooks that could not be ingested and are in `spool/aside`."""
    unheard_gone: int = 0
    """The number of lines removed from `spool/aside` because there were too many."""
    damaged: tuple[str, ...] = ()
    """Names of files in the folder (for hooks, and of counts) that cannot be read."""
    failing_chores: tuple[tuple[str, str], ...] = ()
    """Names of chores that fail in servers of this machine, each with its error code."""
    now: int | None = None
    """The time of this machine, microseconds UTC; None: do not compare times with it."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the index is behind a branch; a field is None if unknown."""

    words_current: bool | None
    pending_vectors: int | None


def index_state(repo: Repository, search: SearchEngine, branch: Branch) -> IndexState:
    """Find how far the index is behind a branch, without changing the index."""
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        tip, pending = reading.tip, reading.pending
    try:
        index_cursor = search.index.words.cursor(branch.id)
        pending_vectors = (
            None if search.embedder is None else search.index.vectors.pending(search.embedder)
        )
    except StoreUnavailable:
        return IndexState(None, None)
    return IndexState(_is_current(index_cursor, tip, pending), pending_vectors)


def _is_current(cursor: Cursor | None, tip: str, pending: Pending) -> bool:
    return cursor == Cursor(tip, pending.newest)


def check(repo: Repository, search: SearchEngine, place: StoreLocation) -> Iterator[Finding]:
    """Run all checks, one finding at a time; a check that fails is a finding itself."""
    check_by_name: dict[str, Callable[[], Finding]] = {
        "engine": lambda: _engine(repo),
        "rows": lambda: _rows(repo, place),
        "ledger": lambda: _ledger(repo),
        "branches": lambda: _branches(repo),
        "deeds": lambda: _intents(repo),
        "times": lambda: _times(repo, place),
        "refs": lambda: _refs(repo),
        "space": lambda: _space(repo, place),
        "disk": lambda: _disk(place),
        "writing": lambda: _writing(place),
        "model": lambda: _model(search),
        "index": lambda: _index(repo, search),
        "chroma": lambda: _chroma(place),
        "hooks": lambda: _hooks(place),
        "files": lambda: _files(place),
    }
    if place.failing_chores:
        check_by_name["chores"] = lambda: _chores(place)
    for check_name, run_check in check_by_name.items():
        try:
            yield run_check()
        except Day1Error as exc:
            yield Finding(check_name, "error", exc.advice)


def _engine(repo: Repository) -> Finding:
    capabilities = repo.store.capabilities
    engine_text = f"{capabilities.engine} {capabilities.version}"
    warnings = repo.store.warnings()
    return Finding("engine", "warn" if warnings else "ok", engine_text, " ".join(warnings) or None)


def _rows(repo: Repository, place: StoreLocation) -> Finding:
    problems = repo.store.check()
    if not problems and place.node:
        return Finding("rows", "ok", "the tables of every branch can be read")
    if not problems:
        return Finding("rows", "ok", "every page and index of the store is whole")
    advice = "Back the server up first."
    if not place.node:
        advice = (
            "Copy the folder away first. Then `day1 export --all` writes out what can be read, and "
            "`day1 import jsonl` brings it into a new store; or put a backup in its place."
        )
    problems_text = f"{len(problems)} problems, the first: {problems[0]}"
    return Finding("rows", "error", problems_text, advice)


def _ledger(repo: Repository) -> Finding:
    problems = repo.ledger.check()
    if not problems:
        return Finding("ledger", "ok", "every row can be read, and is as it was written")
    return Finding(
        "ledger",
        "error",
        f"{len(problems)} problems, the first: {problems[0]}",
        "Restore it from a backup. Without a backup delete the file: branches are found again; "
        "their notes, snapshots and merge records are lost. No memory is lost.",
    )


def _branches(repo: Repository) -> Finding:
    tip_by_branch = repo.history.branches()
    recorded_names = {
        branch.name for branch in repo.ledger.branches() if branch.retired_tip is None
    }
    unrecorded_names, names_without_ref = (
        sorted(tip_by_branch.keys() - recorded_names),
        sorted(recorded_names - tip_by_branch.keys()),
    )
    if not unrecorded_names and not names_without_ref:
        return Finding("branches", "ok", f"{len(tip_by_branch)}, all known to engine and ledger")
    problems = []
    if unrecorded_names:
        problems.append(f"not in the ledger: {', '.join(unrecorded_names[:5])}")
    if names_without_ref:
        problems.append(f"not in the engine: {', '.join(names_without_ref[:5])}")
    advice = "`day1 doctor --repair` adds missing branches to the ledger, and removes the others."
    return Finding("branches", "error", "; ".join(problems), advice)


def _intents(repo: Repository) -> Finding:
    intents = repo.ledger.open_intents()
    if not intents:
        return Finding("deeds", "ok", "no operation is unfinished")
    operation_names = ", ".join(sorted({intent.op for intent in intents}))
    return Finding(
        "deeds",
        "warn",
        f"{len(intents)} unfinished, still running or killed: {operation_names}",
        "If the process still runs, wait. If it was killed, the next command finishes its work.",
    )


def _times(repo: Repository, place: StoreLocation) -> Finding:
    span_by_branch = {} if place.now is None else ahead(repo, place.now)
    if not span_by_branch:
        return Finding("times", "ok", "no branch is ahead of the clock")
    branch_name, largest_span = max(span_by_branch.items(), key=lambda entry: entry[1])
    clock_owner = "the server" if place.node else "this machine"
    return Finding(
        "times",
        "warn",
        f"{len(span_by_branch)} of the branches ahead of {clock_owner}'s clock, {branch_name} by "
        f"{lasting(largest_span)}: "
        "a process wrote with a wrong clock, and later rows got still later times",
        "Set every machine's clock right; then `day1 doctor --repair` gives those memories "
        "present times, in a commit on each branch.",
    )


def _refs(repo: Repository) -> Finding:
    branch_count, tag_count = len(repo.history.branches()), len(repo.history.tags())
    count_text = f"{branch_count} branch{'' if branch_count == 1 else 'es'}"
    if tag_count:
        count_text += f", {tag_count} tag{'' if tag_count == 1 else 's'}"
    if branch_count + tag_count < MANY_REFS:
        return Finding("refs", "ok", count_text)
    return Finding(
        "refs",
        "warn",
        f"{count_text}: each makes every commit write a little more",
        "`day1 gc --retire` retires merged branches, and `day1 gc --prune-deleted 30` forgets "
        "branches that were deleted at least 30 days ago.",
    )


def _space(repo: Repository, place: StoreLocation) -> Finding:
    if place.node:
        size_text = f"{_megabytes(place.store_bytes)}, " if place.store_bytes else ""
        return Finding("space", "ok", f"{size_text}on the server, which frees unused space itself")
    file_size_text = f"memory.db has {_megabytes(place.store_bytes)}"
    if is_wasteful(repo, place.store_bytes):
        return Finding("space", "warn", file_size_text, "`day1 gc` gives most of it back.")
    return Finding("space", "ok", file_size_text)


def _disk(place: StoreLocation) -> Finding:
    free_text = f"{_megabytes(place.free_bytes)} free"
    if place.node:
        index_text = f"{free_text} for this machine's index, in {place.node}"
        if place.free_bytes >= LOW_DISK:
            return Finding("disk", "ok", index_text)
        return Finding(
            "disk", "warn", index_text, "Free some space, or move the folder: set DAY1_HOME."
        )
    if place.read_only:
        advice = "Give this user write access to the store's folder."
        return Finding("disk", "warn", "the folder is read-only", advice)
    if place.free_bytes < max(LOW_DISK, place.store_bytes):
        advice = "Free some space: compaction needs room for a second copy of memory.db."
        return Finding("disk", "warn", free_text, advice)
    return Finding("disk", "ok", free_text)


def _writing(place: StoreLocation) -> Finding:
    if place.obstacles:
        level: Level = "warn" if place.node else "error"  # a user of a server may be for reading
        return Finding("writing", level, " ".join(dict.fromkeys(place.obstacles)))
    if place.read_only:
        return Finding("writing", "ok", "this process cannot write: the folder is read-only")
    return Finding("writing", "ok", "this process can write")


def _megabytes(count: int) -> str:
    return f"{count / 1024 / 1024:,.1f} MB"


def _model(search: SearchEngine) -> Finding:
    if search.embedder is None:
        return Finding("model", "ok", "none, by setting: search is by keywords")
    try:
        search.embedder.embed(["tried"])
    except EmbedderUnavailable as exc:
        return Finding("model", "warn", str(exc))
    return Finding("model", "ok", search.embedder.name)


def _index(repo: Repository, search: SearchEngine) -> Finding:
    behind_count, pending_vectors = 0, 0
    try:
        for branch in repo.ledger.branches():
            if branch.retired_tip is None:
                with repo.store.reading(Ref(branch=branch.name)) as reading:
                    tip, pending = reading.tip, reading.pending
                behind_count += not _is_current(search.index.words.cursor(branch.id), tip, pending)
        if search.embedder is not None:
            pending_vectors = search.index.vectors.pending(search.embedder)
        search.index.check()
    except IndexLost:
        state_text = "it was damaged and is empty now; no memory is lost"
        return Finding("index", "warn", state_text, "`day1 doctor --repair` builds it again.")
    state_text = "every branch is up to date"
    if behind_count:
        state_text = (
            f"{behind_count} branch{'' if behind_count == 1 else 'es'} to index at the next search"
        )
    return Finding("index", "ok", f"{state_text}, {pending_vectors} texts wait for a vector")


def _chroma(place: StoreLocation) -> Finding:
    if place.chroma_trouble:
        advice = "Searches compare all vectors meanwhile: nothing is lost."
        return Finding("chroma", "warn", place.chroma_trouble, advice)
    state_text = "a server created collections" if place.chroma else "not used yet"
    if place.chroma_server:
        state_text = f"on {place.chroma_server}"
    return Finding(
        "chroma", "ok", f"{state_text}; searches without a collection compare all vectors"
    )


def _hooks(place: StoreLocation) -> Finding:
    if not place.unheard and not place.unheard_gone:
        return Finding("hooks", "ok", "every event that they wrote can be ingested")
    removed_text = f"; {place.unheard_gone:,} older ones were removed" if place.unheard_gone else ""
    return Finding(
        "hooks",
        "warn",
        f"{place.unheard:,} of the lines that they wrote cannot be ingested: they are not "
        f"events{removed_text}",
        "They are in the store's folder, in spool/aside: read them, then remove them"
        + (", and spool/aside.gone with them." if removed_text else "."),
    )


def _files(place: StoreLocation) -> Finding:
    if not place.damaged:
        return Finding(
            "files", "ok", "those of hooks, and of counts of shown memories, can be read"
        )
    file_names = ", ".join(place.damaged[:5]) + ", …" * (len(place.damaged) > 5)  # noqa: PLR2004 - as above
    return Finding(
        "files",
        "warn",
        f"{len(place.damaged)} cannot be read: {file_names}",
        "No memory is lost. Remove uses.db: counting starts again. A prime is made again when its "
        "branch is written to. Events in spool/ files that cannot be read were not ingested: "
        "read these files, then remove them.",
    )


def _chores(place: StoreLocation) -> Finding:
    failures_text = ", ".join(
        f"{chore_name} ({error_code})" for chore_name, error_code in place.failing_chores
    )
    return Finding(
        "chores",
        "warn",
        f"fail in a day1 server on this machine: {failures_text}",
        "They are retried after growing pauses. The server's log says where they failed.",
    )


def repair(repo: Repository, search: SearchEngine, now: int) -> list[str]:
    """Repair ledger, times and index of a store; return a line for each repair."""
    actions = [f"added branch {branch_name} to the ledger" for branch_name in adopt(repo, now)]
    tip_by_branch = repo.history.branches()
    for branch in repo.ledger.branches():
        if branch.retired_tip is None and branch.name not in tip_by_branch:
            forget_branch(repo, branch.id)
            actions.append(f"removed branch {branch.name} from the ledger")
    if orphan_count := drop_orphans(repo):
        actions.append(f"removed desks of deleted branches: {orphan_count}")
    actions += [
        f"corrected times on {branch_name}: {row_count} rows"
        for branch_name, row_count in set_right(repo, now)
    ]
    for branch_name in tip_by_branch:
        try:
            _follow(repo, search, branch_name)
        except IndexLost:
            actions.append("created an empty index")
            _follow(repo, search, branch_name)
    return [
        *actions,
        f"indexed {len(tip_by_branch)} branch{'' if len(tip_by_branch) == 1 else 'es'}",
    ]


def _follow(repo: Repository, search: SearchEngine, name: str) -> None:
    follow(repo.store, repo.history, search.index, name, find(repo, name).id)
