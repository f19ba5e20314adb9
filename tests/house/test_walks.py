"""docs/architecture.md shows the walk that `scripts/walks` counts; CI runs its `--check` too."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_docs_show_the_walk_of_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DAY1_")]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from benchmarks.walks import walks

    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## A write, from the wire to the disk")[2].partition("\n## ")[0]
    shown = re.findall(r"^([a-z0-9_/]+\.py) ", section, re.MULTILINE)
    assert shown == list(walks()["memory_write_fact"].files)
