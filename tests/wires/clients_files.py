"""Files of clients in a fresh home, as others wrote them."""

from pathlib import Path

from tests.wires.command_line import CommandLine

COMMENTED = b"""// mine
{
\t"theme": "One Dark", // nice
\t/* servers */
\t"context_servers": {
\t\t"other": {"command": "other", "args": ["--x"]}, // keep
\t},
\t"tabs": [1, 2,],
}
"""
TOML = b'# mine\nmodel = "x" # nice\n\n[mcp_servers.other]\ncommand = "other"\n\n[tui]\nx = 1\n'


def fresh(tmp_path: Path) -> CommandLine:
    """A fresh home, and a project; `day1` is on the PATH."""
    cli = CommandLine(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "day1").write_text("#!/bin/sh\n")
    (programs / "day1").chmod(0o755)
    cli.env["PATH"] = f"{programs}:/usr/bin:/bin"
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        cli.env.pop(name, None)
    return cli


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but for day1's own."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = {str(path.relative_to(folder)): path for path in files}
    return {n: p.read_bytes() for n, p in names.items() if ".local/share/day1" not in n}


def states(cli: CommandLine, *arguments: str, code: int = 0) -> dict[str, str]:
    """What becomes of each file, by its name and what of it is day1's."""
    files = cli.json("setup", *arguments, code=code)["files"]
    return {f"{Path(each['file']).name} {each['what']}": each["state"] for each in files}


def zed(cli: CommandLine, content: bytes | None = COMMENTED) -> Path:
    path = cli.home / ".config" / "zed" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is not None:
        path.write_bytes(content)
    return path


def codex(cli: CommandLine, content: bytes = TOML) -> Path:
    path = cli.home / ".codex" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path
