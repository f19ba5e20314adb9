"""Finding rows, commits and states by the short names that people type."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from day1.errors import InvalidRequest, NotFound
from day1.model.branches.branch import Branch
from day1.model.records.merge_record import MergeRecord
from day1.model.records.snapshot import Snapshot
from day1.model.rows.change import Commit, CommitId, Query, Ref
from day1.model.rows.kind import BY_PREFIX, MEMORIES, Kind, Row, kind_of
from day1.model.values.instant import parse
from day1.ports.reading import Reading
from day1.services.branches.snapshots import find_snapshot
from day1.services.repository.repository import Repository

_LETTERS = "0-9A-HJKMNP-TV-Z"
_WHOLE_ID = re.compile(rf"[a-z]+_[{_LETTERS}]{{26}}")
_SHORT_ID = re.compile(rf"(?:([a-z]+)_)?([{_LETTERS}]{{6,26}})", re.IGNORECASE)
_SHORT_COMMIT = re.compile(r"[0-9a-v]{4,64}")


@dataclass(frozen=True, slots=True)
class NamedState:
    """A state with a name: a branch as it is, or the commit of a snapshot or of a short name."""

    how: Literal["branch", "snapshot", "commit"]
    name: str
    commit: CommitId
    snapshot: Snapshot | None = None


def row_id(reading: Reading, text: str, kinds: Iterable[Kind] = MEMORIES) -> str:
    """The whole id of a row of this state, given six or more of its first or last letters.

    A whole id is taken as it is, whether the row is here or not.

    Raises:
        NotFound: no row of this state has such an id.
        InvalidRequest: several have.
    """
    if _WHOLE_ID.fullmatch(text):
        return text
    short = _SHORT_ID.fullmatch(text)
    found: list[str] = []
    if short is not None:
        prefix, letters = (short[1] or "").lower(), short[2].upper()
        for kind in [BY_PREFIX[prefix]] if prefix in BY_PREFIX else [] if prefix else kinds:
            for (whole,) in reading.scan(kind, ("id",), Query()):
                rest = str(whole).partition("_")[2]
                if rest.endswith(letters) or rest.startswith(letters):
                    found.append(str(whole))
    if not found:
        raise NotFound(
            f"No memory {text!r} on {_where(reading)}; an id is whole, or six or more of its "
            "last letters.",
            id=text,
        )
    return _only(found, text)


def row_ids(reading: Reading, texts: Iterable[str]) -> list[str]:
    """Whole ids, as `row_id`, each once."""
    return list(dict.fromkeys(row_id(reading, text) for text in texts))


def state(repo: Repository, text: str) -> NamedState:
    """A state by a branch's name, a snapshot's id or label, or the start of a commit's id.

    Raises:
        NotFound: there is none.
        InvalidRequest: several commits begin so.
    """
    tips = repo.history.branches()
    if text in tips:
        return NamedState("branch", text, tips[text])
    try:
        made = find_snapshot(repo, text)
    except NotFound:
        return NamedState("commit", text, commit(repo, text).id)
    return NamedState("snapshot", made.label or made.id, made.commit, made)


def commit(repo: Repository, text: str) -> Commit:
    """A commit that a branch reaches, given four or more of its first letters.

    Raises:
        NotFound: there is none.
        InvalidRequest: several begin so.
    """
    found = {}
    if _SHORT_COMMIT.fullmatch(text):
        graph = repo.history.graph(list(repo.history.branches().values()))
        found = {c.id: c for c in graph if c.id.startswith(text)}
    if not found:
        raise NotFound(f"There is no branch, snapshot or commit {text!r}.", ref=text)
    return found[_only(list(found), text)]


def undoable(repo: Repository, text: str) -> str:
    """The commit to undo: of a merge, given six or more of its last letters, else as `commit`.

    Raises:
        NotFound, InvalidRequest: as `commit`.
    """
    prefix, _, letters = text.rpartition("_")
    merges = [m.id for m in repo.ledger.records(MergeRecord) if m.id.endswith(letters.upper())]
    if prefix not in {"", "merge"} or not _SHORT_ID.fullmatch(text) or not merges:
        return commit(repo, text).id
    return _only(merges, text)


def _only(found: list[str], text: str) -> str:
    if len(found) > 1:
        shown = ", ".join(found[:5])
        raise InvalidRequest(f"{text!r} may be any of: {shown}. Give more letters.", ids=found[:50])
    return found[0]


def _where(reading: Reading) -> str:
    return "this commit" if reading.branch is None else f"branch {reading.branch!r}"


def source_of(
    repo: Repository, texts: Sequence[str], target: Branch, given: Branch | None
) -> tuple[str, list[str]]:
    """The branch to pick rows from and their whole ids: `given`, else the one that has them.

    Raises:
        NotFound: no other branch has them all.
        InvalidRequest: several have, with other content.
    """
    names = [given.name] if given else _others(repo, target)
    found: dict[str, tuple[list[str], list[Row]]] = {}
    for name in names:
        with repo.store.reading(Ref(branch=name)) as reading:
            try:
                whole = row_ids(reading, texts)
            except NotFound:
                if given:
                    raise
                continue
            rows = [row for one in whole for row in _row(reading, one)]
        if given or len(rows) == len(whole):
            found[name] = whole, rows
    if not found:
        shown = ", ".join(texts[:5])
        raise NotFound(f"No other branch than {target.name!r} has {shown}.", ids=list(texts))
    (name, first), *others = found.items()
    if any(other != first for _, other in others):
        raise InvalidRequest(
            f"They differ between {', '.join(found)}: say which with --from.", branches=[*found]
        )
    return name, first[0]


def _others(repo: Repository, branch: Branch) -> list[str]:
    """The names of all branches that have a ref but this one, sorted."""
    refs = repo.history.branches()
    others = (other.name for other in repo.ledger.branches() if other.id != branch.id)
    return sorted(name for name in others if name in refs)


def _row(reading: Reading, whole: str) -> list[Row]:
    kind = kind_of(whole)
    return [] if kind is None else list(reading.get(kind, [whole]).values())


def ref_at(repo: Repository, branch: Branch, at: str | None) -> Ref:
    """A branch as it is, as it was at an ISO time, or a snapshot or commit by its name.

    Raises:
        NotFound: `at` is no time, and no snapshot or commit has the name.
    """
    if at is None:
        return Ref(branch=branch.name)
    try:
        return Ref(branch=branch.name, until=parse(at, end=True))
    except InvalidRequest:
        return Ref(commit=state(repo, at).commit)


def shown_at(repo: Repository, branch: Branch, at: str | None) -> Ref:
    """The same state as it is shown: a snapshot or commit as of its own time.

    Raises:
        NotFound: as `ref_at`.
    """
    ref = ref_at(repo, branch, at)
    if ref.commit is None:
        return repo.shown(ref)
    return replace(ref, shown_at=repo.history.commit(ref.commit).ts)
