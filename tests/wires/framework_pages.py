"""A page in docs/frameworks and its example, run as they stand."""

import subprocess
import sys
from pathlib import Path

from tests.house.console import ROOT, blocks


class FrameworkPage:
    """The page of an adapter, and the program in docs/examples that it shows."""

    def __init__(self, name: str, example: str) -> None:
        self._text = (ROOT / "docs" / "frameworks" / f"{name}.md").read_text("utf-8")
        self._example = ROOT / "docs" / "examples" / f"{example}.py"

    def check_example(self, folder: Path) -> None:
        """The example is short, prints what the page says, and leaves no file."""
        assert self._example.read_text("utf-8").count("\n") <= 60
        (shown,) = blocks(self._text, "text")
        assert run(folder, str(self._example)).strip() == shown.strip()
        assert not list(folder.iterdir())

    def printed_by_blocks(self, folder: Path) -> list[str]:
        """What the blocks of the page print, one after the other in one process."""
        return run(folder, "-c", "\n".join(blocks(self._text, "python"))).splitlines()


def run(folder: Path, *arguments: str) -> str:
    """Run Python in a folder, which is its home too; return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT),
             "TMPDIR": str(folder), "DAY1_EMBEDDER__KIND": "none"},
        capture_output=True,
        text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
