"""What an import comes to must not hang on where its units of work end."""

import pytest

from day1.services.exchange import own_import
from tests.flows.imported_memory import ImportedMemory


@pytest.fixture
def memories(tmp_path):
    found = [ImportedMemory(tmp_path / name) for name in ("here", "there")]
    yield found
    for memory in found:
        memory.close()


@pytest.mark.parametrize("rows", [1, 2, 2_000])
def test_branches_have_the_same_common_past(memories, monkeypatch, rows):
    here, there = memories
    monkeypatch.setattr(own_import, "UNIT_ROWS", rows)
    here.add_fact("main", "fact_1", fact_text="Old")
    here.fork("side", "main")
    here.update_fact("main", "fact_1", fact_text="New")
    here.add_fact("main", "fact_2", fact_text="Later")
    here.fork("late", "side")
    there.take_own(here.export_all().splitlines(keepends=True))
    assert there.export_all() == here.export_all()
    done = there.merge("side", "main")
    assert (done.merged, done.rejected) == (0, 1)
    assert [(held.row_id, held.cell) for held in there.held("main")] == [("fact_1", "fact_text")]
