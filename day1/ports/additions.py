"""A unit of work that only adds rows. Errors as in `ports.reading`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from day1.model.rows.kind import Kind, Row
from day1.ports.reading import Reading

if TYPE_CHECKING:
    from day1.ports.store import Work


class Additions(Reading, Protocol):
    """A unit of work that only adds rows; a later commit holds them (`Store.commit_pending`).

    It can do nothing else: a changed row that is in no commit would be missing from the next fork,
    and would block every later commit of the branch. What has to change a row goes on with
    `to_change`.
    """

    @property
    def now(self) -> int:
        """The unit's time (microseconds UTC): later than every row and commit of the branch."""

    def add(self, kind: Kind, rows: Sequence[Row]) -> None:
        """Insert rows.

        Raises:
            Conflict: an id is taken.
        """

    def to_change(self) -> Work:
        """Go on as a unit that ends in a commit of its own, before this one has added anything.

        The branch stays locked, so what was read still holds. Pending rows are committed first.
        Without `Work.commit` nothing of the unit is stored.
        """
