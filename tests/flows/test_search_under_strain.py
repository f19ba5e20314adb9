"""Search with an index that is damaged, lost or read-only, and while other threads and processes write."""

import os
import threading
from dataclasses import replace

import numpy as np
import pytest

from day1.adapters.index.index import LocalIndex
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from day1.ports.index import IndexLost
from day1.services.search.views import ViewCache
from tests.flows.searched_memory import Asking
from tests.flows.searched_memory import ask as ask  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import memory as memory  # noqa: PLC0414 - a fixture
from tests.flows.searched_memory import search_engine as search_engine  # noqa: PLC0414 - a fixture


@pytest.mark.parametrize("file", ["index.db", "vectors"])
def test_a_damaged_index_is_said_and_built_anew(memory, ask, search_engine, tmp_path, file):
    for number in range(30):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    expected = ask.ids("gateway number 3", wait=True)
    search_engine.index.close()
    broken = tmp_path / file
    if broken.is_dir():
        (broken,) = broken.glob("*.f32")
    broken.write_bytes(b"garbage" * 100)
    found = ask("gateway number 3", wait=True)
    assert "damaged" in found.notes[0]
    assert [hit.row["id"] for hit in found.hits] == expected
    assert ask("gateway number 3").notes == []


def test_an_index_that_another_process_begins_anew_meanwhile_gives_no_mixed_answer(
    memory, ask, search_engine, tmp_path
):
    """The numbers of texts that were looked up before mean other texts then."""
    for number in range(5):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    expected = [hit.row["fact_text"] for hit in ask("gateway number 3", wait=True).hits]
    words = search_engine.index.words
    best = words.best

    def lose_it_once(*arguments):
        del words.best
        (file,) = (tmp_path / "vectors").glob("*.f32")
        os.truncate(file, 9)
        other = LocalIndex(tmp_path)
        with pytest.raises(IndexLost):
            other.vectors.cosines(search_engine.embedder, np.zeros(64, np.float32), [1])
        other.words.learn(FACT, {content_hash("strange"): "strange"})
        other.close()
        return best(*arguments)

    words.best = lose_it_once
    found = ask("gateway number 3", wait=True)
    assert "damaged" in found.notes[0]
    assert [hit.row["fact_text"] for hit in found.hits] == expected


def test_what_is_remembered_of_a_lost_index_is_forgotten(memory, ask, tmp_path):
    texts = {"fact_a": "gateway one", "fact_b": "billing two"}
    for fact_id, text in texts.items():
        memory.add_fact("main", fact_id, fact_text=text)
        assert ask.ids(text, mode="keyword") == [fact_id]
    ask.search_engine.index.close()
    (tmp_path / "index.db").unlink()
    other = LocalIndex(tmp_path)  # it gives the texts other numbers
    for text in reversed(texts.values()):
        other.words.learn(FACT, {content_hash(text): text})
    other.close()
    for fact_id, text in texts.items():
        assert ask.ids(text, mode="keyword") == [fact_id]


def test_a_read_only_folder_is_searched_as_far_as_the_index_goes(
    memory, ask, search_engine, tmp_path
):
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    ask("gateway")
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    search_engine.index.close()
    index = LocalIndex(tmp_path, read_only=True)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("index*")}
    reading = Asking(memory, replace(search_engine, index=index, views=ViewCache()))
    for _ in range(2):
        found = reading("gateway")
        assert [hit.row["id"] for hit in found.hits] == ["fact_a"]
        assert found.pending.count == 2
        assert found.notes == [
            "the folder is read-only: what was written last may not be found",
            "not in the index yet: 1 of the facts; search again later to find them",
        ]
    index.close()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("index*")} == before


def test_threads_search_while_others_write(memory, ask):
    memory.add_fact("main", "fact_0", fact_text="gateway number 0")
    failed: list[BaseException] = []

    def look() -> None:
        try:
            for _ in range(15):
                assert "fact_0" in ask.ids("gateway number 0", limit=200)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 30):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
        assert ask.ids(f"gateway number {number}", mode="keyword")[0] == f"fact_{number}"
        if number % 7 == 0:
            memory.update_fact("main", f"fact_{number}", category="changed")
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(ask.ids("gateway", limit=200)) == 30


def test_another_process_s_words_are_used(memory, ask, search_engine, tmp_path):
    memory.add_fact("main", "fact_a", fact_text="gateway one")
    other = LocalIndex(tmp_path)
    mine = Asking(memory, replace(search_engine, index=other, views=ViewCache()))
    assert mine.ids("gateway") == ["fact_a"]
    memory.add_fact("main", "fact_b", fact_text="gateway two")
    assert len(ask.ids("gateway")) == 2
    assert len(mine.ids("gateway")) == 2
    other.close()
