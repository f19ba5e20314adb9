"""docs/architecture.md names the files that a write runs through; `scripts/walks` counts them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_walk_in_the_docs_names_files_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## A write, from the wire to the disk")[2].partition("\n## ")[0]
    named = re.findall(r"^([a-z0-9_/]+\.py) ", section, re.MULTILINE)
    assert "call/toolset.py" in named
    assert [file for file in named if not (ROOT / "day1" / file).is_file()] == []
