"""Every text of an export or a database is in a row, or its entry is counted as left out."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import cases
from tests.unit.sources.generated_notes import MARK
from tests.unit.sources.generated_values import ROWS, write
from tests.unit.sources.imported_rows import rows_of, text_of

_KEYS = ("id", "content_hash", "created_at")
"""By what an entry is named, where it is left out."""


def marked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each mark with a number of its own."""
    numbers = iter(range(1, 10_000))
    text = re.sub("m0q", lambda _: f"m{next(numbers)}q", json.dumps(rows))
    again: list[dict[str, Any]] = json.loads(text)
    return again


def take_place(row: dict[str, Any], number: int, places: list[str]) -> bool:
    """Take away the place that names an entry by its key or its number; says whether there was one."""
    names = {str(row[key]) for key in _KEYS if row.get(key)} or {"never"}
    numbers = {f"{word} {at}" for word in ("line", "id", "entry", "block", "results")
               for at in (number, number + 1)}  # fmt: skip
    unnamed = "" if row.get("created_at") else "|fact_.*"
    either = "|".join(map(re.escape, names | numbers)) + unnamed
    for place in places:
        if re.search(rf"(?:^|[ /,:])(?:{either})(?:$|[,.: ])", place):
            places.remove(place)
            return True
    return False


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=cases(25))
@given(data=st.data())
def test_every_text_is_in_a_row_or_its_entry_is_counted(name: str, data: st.DataObject) -> None:
    rows = marked(data.draw(ROWS[name]))
    with TemporaryDirectory() as place:
        source = write(Path(place).resolve(), name, rows)
        made = rows_of(source)
        told = set(MARK.findall("\n".join(map(text_of, made.values()))))
        places = [place for places in source.left_out.values() for place in places]
        for number, row in enumerate(rows):
            lost = set(MARK.findall(json.dumps(row))) - told
            assert not lost or take_place(row, number, places), (lost, source.left_out)
        assert rows_of(source) == made
