"""A memory's whole id from the part of it that a person typed."""

from __future__ import annotations

from day1.interfaces.cli.session import Session


def whole_id(session: Session, text: str, branch: str) -> str:
    """The whole id of a row of a branch, from its last letters.

    Raises:
        NotFound: no row of the branch has it.
        InvalidRequest: several rows have it.
    """
    from day1.model.rows.change import Ref
    from day1.services.branches.resolving import row_id

    with session.repo().store.reading(Ref(branch=branch)) as reading:
        return row_id(reading, text)
