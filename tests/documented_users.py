"""The users that docs/servers.md tells an administrator to make, with the rights that it says.

The suites run as they do, so the document is tried whenever the tests are.
"""

import contextlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import make_url

from tests import servers

PAGE = Path(__file__).parents[1] / "docs" / "servers.md"
DOLT, MATRIXONE = "Dolt: users with the least rights", "MatrixOne: users"


def statements(heading: str) -> list[str]:
    """What an administrator is to say, as it is written: the first block of SQL below a heading."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [one.strip() for one in section.split("```")[1].removeprefix("sql").split(";")[:-1]]


@contextmanager
def user(url: str, heading: str, without: str = "") -> Iterator[str]:
    """The URL of a store as its documented user has it; where day1 may not make it, it is empty.

    Args:
        url: the store, as the server's administrator has it.
        heading: where the user is documented.
        without: a statement that takes something away again, for `day1` as it is documented.
    """
    server, _, name = url.rpartition("/")
    password = secrets.token_hex(8)
    with servers.connection(server) as opened, opened.cursor() as cursor:
        for statement in [*statements(heading), *filter(None, [without])]:
            said = re.sub(r"\bday1(?=\b|_)", name, statement).replace("PASSWORD", password)
            said = re.sub("^CREATE DATABASE", "CREATE DATABASE IF NOT EXISTS", said)
            # The tenant of the tests has its PITR from the first of them.
            taken = contextlib.suppress(Exception) if "PITR" in said else contextlib.nullcontext()
            with taken:
                cursor.execute(said)
        try:
            seen = make_url(url).set(username=name, password=password)
            yield seen.render_as_string(hide_password=False)
        finally:
            for kind, whom in (("USER", f"'{name}'@'%'"), ("USER", name), ("ROLE", f"{name}_role")):
                with contextlib.suppress(Exception):  # one engine's, or the other's
                    cursor.execute(f"DROP {kind} {whom}")
