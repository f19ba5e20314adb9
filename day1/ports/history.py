"""The commit graph, and rows at any commit. Errors as in `ports.reading`."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from day1.model.rows.change import Changes, Commit, CommitId, Ref
from day1.model.rows.kind import Kind, Row


class History(Protocol):
    """The commit graph. Nothing here changes rows."""

    def branches(self) -> dict[str, CommitId]:
        """Every branch of the engine with its tip."""

    def dirty_branches(self) -> set[str]:
        """Branches that have pending rows."""

    def fork(self, name: str, start: CommitId) -> None:
        """Create a branch at a commit; the cost does not depend on the number of rows.

        Raises:
            BranchExists: the engine has a branch of that name.
        """

    def drop(self, name: str) -> None:
        """Delete a branch; its commits stay where another branch or a tag has them."""

    def tag(self, name: str, commit: CommitId) -> None:
        """Tag a commit, so that compaction keeps it; a tag that exists stays as it is."""

    def tags(self) -> dict[str, CommitId]:
        """Every tag with its commit."""

    def commit(self, commit: CommitId) -> Commit:
        """Return a commit; a known one is not read again, so it may be deleted by now.

        Raises:
            NotFound: no such commit.
        """

    def log(self, start: str | CommitId) -> Iterator[Commit]:
        """A branch's tip, or a commit, and its first parents, newest first."""

    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        """Every commit reachable from `starts`, children before parents."""

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId:
        """The merge base of two commits."""

    def changes(self, base: CommitId, ref: Ref) -> Changes:
        """Rows that differ between a commit and a state; the cost grows with their number."""

    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:
        """Every version of a row on any branch or tag, as it was written: for redaction only.

        For the kind `held`: every version of every item held on that row.
        """

    def row(self, kind: Kind, row_id: str, commit: CommitId) -> Row | None:
        """One row at a commit; the cost does not grow with the history."""

    def versions(self, kind: Kind, row_id: str, start: CommitId) -> dict[CommitId, Row]:
        """A row at each commit that has it and is reachable from `start` over any parent.

        Raises:
            NotFound: no such commit.
            Unsupported: the engine keeps no history of rows (`Capabilities.row_history`).
        """

    def at(self, branch: str, instant: int) -> Ref:
        """The state of a branch at an instant (microseconds UTC), found on its first parents."""
