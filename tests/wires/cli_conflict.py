"""A conflict on the command line: what main and a branch say of one fact."""

from pathlib import Path

from tests.wires.command_line import CommandLine, made_once

OLD = "Ada: the gateway waits 30 seconds"
OURS = "Ada: the gateway waits 45 seconds"
THEIRS = "Ada: the gateway waits 60 seconds"


def experiment(folder: Path) -> CommandLine:
    """On main; `experiment` added one fact and changed another (`CONFLICT`) that main changed too."""
    return made_once(_experiment, folder)


def _experiment(cli: CommandLine) -> None:
    cli("init")
    cli.env["CONFLICT"] = cli.add(OLD)
    cli("switch", "-c", "experiment")
    cli.add("Bo: the cache is Redis since 2026-03")
    cli("edit", cli.env["CONFLICT"], THEIRS)
    cli("switch", "main")
    cli("edit", cli.env["CONFLICT"], OURS)
