"""Make what test_upgrading_on_dolt.py opens: a store on a Dolt server as an earlier day1 wrote it.

Run it with the present code, a clone at the version that is to be kept, and a `dolt` on the PATH:

    python -m tests.compatibility.make_server_fixture CLONE made_by_0_1_0

The database is called `day1`, and its user is the one that docs/servers.md describes.
"""

import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path

from tests import documented_users, servers
from tests.compatibility.make_fixture import Day1, answered, fill, keep


class ServerDay1(Day1):
    """The command line of a clone, with a store on a server."""

    def __init__(self, folder: Path, clone: Path, url: str) -> None:
        """Begin without a store."""
        super().__init__(folder)
        self._env |= {
            "PYTHONPATH": str(clone),
            "DAY1_HOME": str(folder / "node"),
            "DAY1_STORE__URL": url,
        }

    def __call__(self, *arguments: str) -> str:
        """Run a command; a server's files are not compacted or purged by day1."""
        return "" if arguments[0] == "gc" else super().__call__(*arguments)


def make(clone: Path, into: Path, work: Path) -> None:
    """Make the archive of the server's files and the machine's name, and the answers."""
    server = servers.DoltServer(work)
    server.up()
    try:
        with documented_users.user(f"{server.url}/day1", documented_users.DOLT) as url:
            day1 = ServerDay1(work, clone, url)
            answers = answered(day1, fill(day1))
        for database in ("day1", "day1_ledger"):
            with (
                servers.connection(f"{server.url}/{database}") as opened,
                opened.cursor() as cursor,
            ):
                cursor.execute("CALL DOLT_GC('--full')")
    finally:
        server.stop()
    with tarfile.open(into / "dolt.tar.xz", "w:xz", preset=9) as packed:
        packed.add(work / "data", "data", filter=_without_logs)
        packed.add(work / "node" / "node", "node/node")
    keep(into / "dolt_answers.json.xz", json.dumps(answers, ensure_ascii=False, indent=1))


def _without_logs(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out what Dolt makes again by itself."""
    name = os.path.basename(member.name)  # noqa: PTH119 - a name in an archive
    return None if name in {"stats", "temptf", "LOCK", "sql-server.info"} else member


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as working:
        folder = Path(__file__).parent / sys.argv[2]
        folder.mkdir(exist_ok=True)
        make(Path(sys.argv[1]).absolute(), folder, Path(working))
