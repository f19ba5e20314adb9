"""A conflict on the command line: what main and a branch say of one fact."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.engine import FOLDER, engine
from tests.wires.command_line import CommandLine

OLD = "Ada: the gateway waits 30 seconds"
OURS = "Ada: the gateway waits 45 seconds"
THEIRS = "Ada: the gateway waits 60 seconds"


def experiment(folder: Path) -> CommandLine:
    """On main; `experiment` added one fact and changed another (`CONFLICT`) that main changed too."""
    cli = CommandLine(folder)
    if engine() != FOLDER:
        _conflict(cli)
        return cli
    pattern = _pattern()
    shutil.copytree(pattern.folder, cli.folder, dirs_exist_ok=True)
    shutil.copytree(pattern.home, cli.home, dirs_exist_ok=True)
    cli.env["CONFLICT"] = pattern.env["CONFLICT"]
    return cli


@cache
def _pattern() -> CommandLine:
    """What the tests of this process get a copy of; it goes when the process ends."""
    place = TemporaryDirectory(prefix="day1-conflict-")
    atexit.register(place.cleanup)
    cli = CommandLine(Path(place.name))
    _conflict(cli)
    return cli


def _conflict(cli: CommandLine) -> None:
    cli("init")
    cli.env["CONFLICT"] = cli.add(OLD)
    cli("switch", "-c", "experiment")
    cli.add("Bo: the cache is Redis since 2026-03")
    cli("edit", cli.env["CONFLICT"], THEIRS)
    cli("switch", "main")
    cli("edit", cli.env["CONFLICT"], OURS)
