"""The commit graph, and rows at any commit. Errors as in `ports.reading`."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol

from day1.model.rows.change import Changes, Commit, CommitId, ReadState, Ref
from day1.model.rows.kind import Kind, Row


class History(Protocol):
    """The commit graph. Nothing here changes rows."""

    def branches(self) -> dict[str, CommitId]:
        """Return the tip of every branch of the engine, by its name."""

    def dirty_branches(self) -> set[str]:
        """Return the names of branches that have pending rows."""

    def states(self, stamp: Hashable = None) -> dict[str, ReadState]:
        """Return the tip and the pending rows of every branch, by its name.

        With the store's `stamp` of just now, an engine whose stamp says it need not be asked again.
        """

    def fork(self, name: str, start: CommitId) -> None:
        """Create a branch at a commit; the cost does not depend on the number of rows.

        Raises:
            BranchExists: the engine has a branch of that name.
        """

    def drop(self, name: str) -> None:
        """Delete a branch; its commits stay where another branch or a tag has them."""

    def tag(self, name: str, commit: CommitId) -> None:
        """Tag a commit, so that compaction keeps it; a tag that exists stays as it is."""

    def untag(self, name: str) -> None:
        """Delete a tag if it exists; compaction may then remove commits that only it had."""

    def tags(self) -> dict[str, CommitId]:
        """Return the commit of every tag, by its name."""

    def commit(self, commit: CommitId) -> Commit:
        """Return a commit; a known one is not read again, so it may be deleted by now.

        Raises:
            NotFound: no such commit.
        """

    def log(self, start: str | CommitId) -> Iterator[Commit]:
        """Yield a branch's tip, or a commit, and its first parents, newest first."""

    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        """List every commit reachable from `starts`, children before parents."""

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId:
        """Return the merge base of two commits."""

    def changes(self, base: CommitId, ref: Ref) -> Changes:
        """Return the rows that differ between a commit and a state; the cost grows with them."""

    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:
        """List all versions of a row on any branch or tag, as written: for redaction only.

        For the kind `held`: every version of every item held on that row.
        """

    def row(self, kind: Kind, row_id: str, commit: CommitId) -> Row | None:
        """Return a row at a commit; the cost does not grow with the history."""

    def versions(self, kind: Kind, row_id: str, start: CommitId) -> dict[CommitId, Row]:
        """Return a row at each commit that has it and is reachable from `start` over any parent.

        Raises:
            NotFound: no such commit.
            Unsupported: the engine keeps no history of rows (`Capabilities.row_history`).
        """

    def at(self, branch: str, instant: int) -> Ref:
        """Return a branch's state at an instant (microseconds UTC), found on its first parents."""
