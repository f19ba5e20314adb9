"""Finding the faults of a ledger: damaged pages, and rows that are not as day1 wrote them."""

from sqlalchemy import Connection

from day1.adapters.ledger.statements import selecting
from day1.adapters.ledger.tables import TABLES, is_changed, refuse_later


def faults(connection: Connection, name: str, *, has_sums: bool) -> list[str]:
    """Read every row, and every page and checksum of a file; return the problems found.

    Args:
        connection: a connection to the ledger.
        name: the ledger's name in errors.
        has_sums: whether the ledger is a file, whose rows have checksums that count.

    Raises:
        StoreVersionUnknown: a later day1 has upgraded the file.
    """
    problems = []
    if has_sums:
        refuse_later(connection, name)
        lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
        problems = [str(line) for line in lines if line != "ok"]
    for kind, table in TABLES.items():
        rows = connection.execute(selecting(kind)).all()
        changed = has_sums and sum(is_changed(kind, row) for row in rows)
        if changed:
            problems.append(f"{changed} of {len(rows)} rows of {table.name} were changed")
    return problems
