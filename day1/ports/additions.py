"""A unit of work that only adds rows. Errors as in `ports.reading`."""

from collections.abc import Sequence
from typing import Protocol

from day1.model.rows.kind import Kind, Row
from day1.ports.reading import Reading


class Additions(Reading, Protocol):
    """A unit of work that only adds rows; a later commit holds them (`Store.commit_pending`).

    It can do nothing else: a changed row that is in no commit would be missing from the next fork,
    and would block every later commit of the branch. What has to change a row goes on as another
    unit (`ports.store.AddingUnit`).
    """

    @property
    def now(self) -> int:
        """The unit's time (microseconds UTC): later than every row and commit of the branch."""

    def add(self, kind: Kind, rows: Sequence[Row]) -> None:
        """Insert rows.

        Raises:
            Conflict: an id is taken.
        """
