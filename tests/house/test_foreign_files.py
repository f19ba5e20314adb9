"""Files of other programs are opened through one door: `day1.foreign_files`."""

import ast
from pathlib import Path

import day1.adapters.sources

SOURCES = Path(day1.adapters.sources.__path__[0])
OPENING = frozenset(
    (
        *("open", "fdopen", "read_text", "read_bytes", "connect", "copyfile", "copy", "copy2"),
        *(
            "walk",
            "scandir",
            "listdir",
            "iterdir",
            "glob",
            "rglob",
            "FileIO",
            "ZipFile",
            "GzipFile",
        ),
    )
)
"""Calls that open a file or list a folder."""
ALLOWED = {
    # What they are given is open already.
    ("tools/engram.py", "gzip.open(packed_file, 'rb')"),
    ("tools/claude_ai.py", "zipfile.ZipFile(file)"),
    ("tools/claude_ai.py", "archive.open(memory_file_names[0])"),
    # SQLite opens by name what the door has let in, or a copy that is day1's own.
    ("sqlite_file.py", "sqlite3.connect(f'{opened_path.as_uri()}?{uri_parameters}', uri=True)"),
    ("sqlite_file.py", "(folder / f'memory{suffix}').open('wb')"),
    # The folders of the person who imports, one level below the home folder's own.
    ("tools/claude_code.py", "projects_folder.glob('*/memory')"),
    ("tools/letta.py", "agents_folder.glob('*/memory')"),
}  # fmt: skip


def openings(file: Path) -> set[tuple[str, str]]:
    """The calls in a module that open something."""
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    return {
        (file.relative_to(SOURCES).as_posix(), ast.unparse(call))
        for call in calls
        if (isinstance(call.func, ast.Name) and call.func.id in OPENING)
        or (isinstance(call.func, ast.Attribute) and call.func.attr in OPENING)
    }


def test_no_importer_opens_a_file_but_through_the_door() -> None:
    calls = set[tuple[str, str]]().union(*map(openings, SOURCES.rglob("*.py")))
    assert calls == ALLOWED
