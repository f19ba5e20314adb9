"""Resolving the short names that people type for rows, commits and states."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from day1.errors import Advice, InvalidRequest, NotFound
from day1.model.branches.branch import Branch
from day1.model.records.merge_record import MergeRecord
from day1.model.records.snapshot import Snapshot
from day1.model.rows.change import Commit, CommitId, Query, Ref
from day1.model.rows.kind import BY_PREFIX, MEMORIES, Row, kind_of
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
    """A state that somebody named: the tip of a branch, a snapshot or a commit."""

    how: Literal["branch", "snapshot", "commit"]
    name: str
    commit: CommitId
    snapshot: Snapshot | None = None


def row_id(reading: Reading, text: str) -> str:
    """Resolve six or more first or last letters of a row's id to the whole id.

    A whole id is taken as it is, whether the row is here or not.

    Raises:
        NotFound: no row of this state has an id with these letters.
        InvalidRequest: several rows have.
    """
    if _WHOLE_ID.fullmatch(text):
        return text
    short_id_match = _SHORT_ID.fullmatch(text)
    matching_ids: list[str] = []
    if short_id_match is not None:
        prefix, letters = (short_id_match[1] or "").lower(), short_id_match[2].upper()
        for kind in [BY_PREFIX[prefix]] if prefix in BY_PREFIX else [] if prefix else MEMORIES:
            for (whole_id,) in reading.scan(kind, ("id",), Query()):
                id_letters = str(whole_id).partition("_")[2]
                if id_letters.endswith(letters) or id_letters.startswith(letters):
                    matching_ids.append(str(whole_id))
    if not matching_ids:
        raise NotFound(
            f"No memory {text!r} on {_where(reading)}: give its whole id, or six or more of its "
            "last letters.",
            id=text,
        )
    return _only(matching_ids, text)


def row_ids(reading: Reading, texts: Iterable[str]) -> list[str]:
    """Resolve short ids to whole ids as `row_id` does, without duplicates."""
    return list(dict.fromkeys(row_id(reading, text) for text in texts))


def state(repo: Repository, text: str) -> NamedState:
    """Resolve a branch's name, a snapshot's id or label, or the start of a commit's id.

    Raises:
        NotFound: nothing has this name.
        InvalidRequest: the ids of several commits begin with it.
    """
    tip_by_branch = repo.history.branches()
    if text in tip_by_branch:
        return NamedState("branch", text, tip_by_branch[text])
    try:
        snapshot = find_snapshot(repo, text)
    except NotFound:
        return NamedState("commit", text, commit(repo, text).id)
    return NamedState("snapshot", snapshot.label or snapshot.id, snapshot.commit, snapshot)


def commit(repo: Repository, text: str) -> Commit:
    """Find a commit in the past of any branch by four or more first letters of its id.

    Raises:
        NotFound: no commit's id begins with them.
        InvalidRequest: the ids of several commits begin with them.
    """
    commit_by_id = {}
    if _SHORT_COMMIT.fullmatch(text):
        reachable_commits = repo.history.graph(list(repo.history.branches().values()))
        commit_by_id = {
            candidate.id: candidate
            for candidate in reachable_commits
            if candidate.id.startswith(text)
        }
    if not commit_by_id:
        raise NotFound(
            f"There is no branch, snapshot or commit {text!r}.",
            Advice("{memory_branch_list}, {memory_snapshot_list} and {memory_log} list them."),
            ref=text,
        )
    return commit_by_id[_only(list(commit_by_id), text)]


def undoable(repo: Repository, text: str) -> str:
    """Resolve the id to revert: a merge's by six or more last letters, else a commit's.

    Raises:
        NotFound, InvalidRequest: as `commit`.
    """
    prefix, _, letters = text.rpartition("_")
    merge_ids = [
        merge.id for merge in repo.ledger.records(MergeRecord) if merge.id.endswith(letters.upper())
    ]
    if prefix not in {"", "merge"} or not _SHORT_ID.fullmatch(text) or not merge_ids:
        return commit(repo, text).id
    return _only(merge_ids, text)


def _only(ids: list[str], text: str) -> str:
    if len(ids) > 1:
        id_list = ", ".join(ids[:5])
        raise InvalidRequest(
            f"{text!r} matches several: {id_list}. Give more letters.", ids=ids[:50]
        )
    return ids[0]


def _where(reading: Reading) -> str:
    return "this commit" if reading.branch is None else f"branch {reading.branch!r}"


def source_of(
    repo: Repository, texts: Sequence[str], target: Branch, source: Branch | None
) -> tuple[str, list[str]]:
    """Find the branch to pick rows from, and their whole ids.

    That is `source`, or without it the branch that has all the rows.

    Raises:
        NotFound: no other branch has all of them.
        InvalidRequest: several branches have all of them, with different content.
    """
    candidate_names = [source.name] if source else _others(repo, target)
    matches_by_branch: dict[str, tuple[list[str], list[Row]]] = {}
    for branch_name in candidate_names:
        with repo.store.reading(Ref(branch=branch_name)) as reading:
            try:
                whole_ids = row_ids(reading, texts)
            except NotFound:
                if source:
                    raise
                continue
            rows = [row for whole_id in whole_ids for row in _row(reading, whole_id)]
        if source or len(rows) == len(whole_ids):
            matches_by_branch[branch_name] = whole_ids, rows
    if not matches_by_branch:
        id_list = ", ".join(texts[:5])
        raise NotFound(f"No other branch than {target.name!r} has {id_list}.", ids=list(texts))
    (branch_name, first_match), *other_matches = matches_by_branch.items()
    if any(other_match != first_match for _, other_match in other_matches):
        raise InvalidRequest(
            f"These rows differ between {', '.join(matches_by_branch)}: "
            "choose a branch with --from.",
            branches=[*matches_by_branch],
        )
    return branch_name, first_match[0]


def _others(repo: Repository, branch: Branch) -> list[str]:
    """List the names of all other branches that have a ref, sorted."""
    tip_by_branch = repo.history.branches()
    other_names = (other.name for other in repo.ledger.branches() if other.id != branch.id)
    return sorted(name for name in other_names if name in tip_by_branch)


def _row(reading: Reading, whole: str) -> list[Row]:
    kind = kind_of(whole)
    return [] if kind is None else list(reading.get(kind, [whole]).values())


def ref_at(repo: Repository, branch: Branch, at: str | None) -> Ref:
    """Resolve `at`: None is the branch now; else an ISO time, a snapshot or a commit.

    Raises:
        NotFound: `at` is not a time, and no snapshot or commit has this name.
    """
    if at is None:
        return Ref(branch=branch.name)
    try:
        return Ref(branch=branch.name, until=parse(at, end=True))
    except InvalidRequest:
        return Ref(commit=state(repo, at).commit)


def shown_at(repo: Repository, branch: Branch, at: str | None) -> Ref:
    """Resolve `at` as `ref_at` does, and show a snapshot or commit as of its own time.

    Raises:
        NotFound: as `ref_at`.
    """
    state_ref = ref_at(repo, branch, at)
    if state_ref.commit is None:
        return repo.shown(state_ref)
    return replace(state_ref, shown_at=repo.history.commit(state_ref.commit).ts)
