"""`scripts/walks` counts the same each time, and docs/architecture.md shows the walk it counts."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_a_walk_is_counted_alike_each_time_and_the_docs_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("DAY1_")]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from benchmarks.walks import walks

    first, second = walks(), walks()
    figures = {call: walk.figures for call, walk in first.items()}
    assert figures == {call: walk.figures for call, walk in second.items()}
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## A write, from the wire to the disk")[2].partition("\n## ")[0]
    shown = re.findall(r"^([a-z0-9_/]+\.py) ", section, re.MULTILINE)
    assert shown == list(first["memory_write_fact"].files)
