"""Chroma beside the index: one process owns it, and what breaks is built anew."""

import os
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from day1.adapters.index import chroma
from day1.adapters.index.index import LocalIndex
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from day1.ports.index import IndexLost
from tests.suites.index_suite import TEXTS, embed_all, learn, vector
from tests.suites.index_suite import embedder as embedder  # noqa: PLC0414 - a fixture

VERSIONS = [f"{text} Version {number}." for text in TEXTS for number in range(25)]


def truncate_vectors(folder: Path) -> None:
    (file,) = (folder / "vectors").glob("*.f32")
    os.truncate(file, 100)


@pytest.fixture
def owner(tmp_path):
    pytest.importorskip("chromadb")
    opened = LocalIndex(tmp_path, chroma=True)
    yield opened
    opened.close()


def update_neighbours(index: LocalIndex) -> None:
    while index.update_neighbours():
        pass


def test_neighbours_are_the_nearest(owner, embedder):
    numbers = learn(owner, *VERSIONS)
    embed_all(owner, embedder)
    asked = vector(embedder, "Who retries a payment? Version 7")
    assert owner.vectors.neighbours(FACT, embedder, asked, 10) is None
    assert not owner.vectors.approximate()
    update_neighbours(owner)
    assert owner.vectors.approximate()
    nearest, _ = owner.vectors.nearest(embedder, asked, numbers, 10)
    assert set(owner.vectors.neighbours(FACT, embedder, asked, 10)) == set(nearest)


def test_feeding_ends_when_it_is_told_and_goes_on_from_there(owner, embedder, monkeypatch):
    monkeypatch.setattr(chroma, "_FED_AT_ONCE", 3)
    numbers = learn(owner, *VERSIONS)
    embed_all(owner, embedder)
    asked = vector(embedder, "Who retries a payment? Version 7")
    nearest, _ = owner.vectors.nearest(embedder, asked, numbers, 10)
    times = 0
    while owner.update_neighbours(lambda: True):
        times += 1
        # What is not fed yet is compared one by one.
        assert set(owner.vectors.neighbours(FACT, embedder, asked, 10)) == set(nearest)
    assert times >= len(VERSIONS) // 3


def test_a_projects_env_file_says_nothing_to_chroma(tmp_path, owner, embedder, monkeypatch):
    """Chroma's settings came from a `.env` where day1 ran: whom to report to, what to import."""
    (tmp_path / ".env").write_text("ALLOW_RESET=perhaps\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    owner.update_neighbours()
    assert owner.vectors.approximate()


def test_neighbours_know_what_chroma_has_not_been_fed(owner, embedder):
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    update_neighbours(owner)
    numbers = learn(owner, "Something altogether different: zanzibar.")
    embed_all(owner, embedder)
    asked = vector(embedder, "zanzibar")
    assert owner.vectors.neighbours(FACT, embedder, asked, 1) == numbers


def test_one_process_owns_chroma_and_another_takes_over(tmp_path, owner, embedder):
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    update_neighbours(owner)
    second = LocalIndex(tmp_path, chroma=True)
    update_neighbours(second)
    asked = vector(embedder, TEXTS[0])
    assert not second.vectors.approximate()
    assert second.vectors.neighbours(FACT, embedder, asked, 1) is None
    (late,) = learn(owner, "Written before the owner ended.")
    embed_all(owner, embedder)
    owner.close()
    update_neighbours(second)
    late_vector = vector(embedder, "Written before the owner ended.")
    assert second.vectors.neighbours(FACT, embedder, late_vector, 1) == [late]
    second.close()


@pytest.mark.parametrize("opened_by_another", [False, True])
def test_files_that_few_vectors_do_not_need_go_once_nobody_has_them_open(
    tmp_path, owner, embedder, opened_by_another
):
    numbers = learn(owner, *TEXTS)
    embed_all(owner, embedder)
    update_neighbours(owner)
    if not opened_by_another:
        owner.close()
    with closing(LocalIndex(tmp_path, chroma=True, chroma_above=len(TEXTS))) as few:
        assert not few.update_neighbours()
        assert (tmp_path / "chroma").exists() == opened_by_another
        assert not few.vectors.approximate()
        asked = vector(embedder, TEXTS[0])
        assert few.vectors.closest(FACT, embedder, asked, 1) == numbers[:1]
    if not opened_by_another:
        update_neighbours(owner)  # with fewer allowed, they are made again
        assert owner.vectors.neighbours(FACT, embedder, asked, 1) == numbers[:1]


def test_a_folder_without_chromas_file_stays(tmp_path, embedder):
    (tmp_path / "chroma").mkdir()
    (tmp_path / "chroma" / "mine").touch()
    with closing(LocalIndex(tmp_path, chroma=True, chroma_above=len(TEXTS))) as few:
        learn(few, *TEXTS)
        embed_all(few, embedder)
        assert not few.update_neighbours()
    assert (tmp_path / "chroma" / "mine").exists()


def test_a_forgotten_text_is_no_longer_a_neighbour(owner, embedder):
    numbers = learn(owner, *TEXTS)
    embed_all(owner, embedder)
    update_neighbours(owner)
    owner.forget([content_hash(TEXTS[0])])
    for _ in range(2):  # before and after Chroma was told
        asked = vector(embedder, TEXTS[0])
        assert numbers[0] not in owner.vectors.neighbours(FACT, embedder, asked, 9)
        update_neighbours(owner)


def break_folder(folder: Path) -> None:
    for file in (folder / "chroma").rglob("*"):
        if file.is_file():
            file.write_bytes(b"garbage" * 500)


@pytest.mark.parametrize("while_open", [True, False])
def test_a_damaged_chroma_is_built_anew(tmp_path, embedder, caplog, while_open):
    index = LocalIndex(tmp_path, chroma=True)
    numbers = learn(index, *VERSIONS)
    embed_all(index, embedder)
    update_neighbours(index)
    if not while_open:
        index.close()
    break_folder(tmp_path)
    if not while_open:
        index = LocalIndex(tmp_path, chroma=True)
    asked = vector(embedder, TEXTS[1])
    index.vectors.neighbours(FACT, embedder, asked, 5)
    update_neighbours(index)
    assert "chroma" in caplog.text
    nearest, _ = index.vectors.nearest(embedder, asked, numbers, 5)
    assert set(index.vectors.neighbours(FACT, embedder, asked, 5) or ()) == set(nearest)
    index.close()


@pytest.mark.parametrize(
    ("module", "name", "kept"),
    [("builtins", "AttributeError", True), ("chromadb.errors", "InternalError", False)],
)
def test_a_chroma_that_cannot_be_opened_is_let_rest(
    tmp_path, owner, embedder, monkeypatch, caplog, module, name, kept
):
    """B3: it is tried ever more seldom, searchers are told, and a bug costs no folder."""
    learn(owner, *VERSIONS)
    embed_all(owner, embedder)
    opened = 0

    def broken(_: Path) -> None:
        nonlocal opened
        opened += 1
        raise getattr(import_module(module), name)

    with monkeypatch.context() as patch:
        patch.setattr(chroma, "_client", broken)
        (tmp_path / "chroma").mkdir()
        (tmp_path / "chroma" / "collections").touch()
        for _ in range(1_000):
            owner.update_neighbours()
        assert opened == 2, "at first at once, then after a rest"
        assert caplog.text.count("cannot be opened") == 1
        assert "cannot be opened" in owner.vectors.trouble()
        assert (tmp_path / "chroma" / "collections").exists() is kept
    owner.vectors._chroma._again = 0.0  # it has rested
    update_neighbours(owner)
    assert owner.vectors.trouble() is None
    assert owner.vectors.neighbours(FACT, embedder, vector(embedder, TEXTS[0]), 3)


def test_a_chroma_that_could_not_be_opened_is_opened_in_the_same_process(tmp_path, owner, embedder):
    """B3: chromadb keeps what it could not open for the next client, which then failed by it."""
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    (tmp_path / "chroma").write_text("a file where a folder should be", "utf-8")
    owner.update_neighbours()
    assert not owner.vectors.approximate()
    assert (tmp_path / "chroma").is_file(), "what day1 did not make stays"
    (tmp_path / "chroma").unlink()
    owner.vectors._chroma._again = 0.0  # it has rested
    owner.update_neighbours()
    assert owner.vectors.approximate()


class Ended(BaseException):
    """As good as the end of the process."""


@pytest.mark.parametrize(("ended", "anew"), [(1, False), (2, True)])
def test_a_chroma_that_ended_two_processes_in_a_row_is_built_anew(
    tmp_path, owner, embedder, caplog, monkeypatch, ended, anew
):
    """One process may have been killed for another reason, and all is much to build again."""
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    update_neighbours(owner)
    owner.close()
    (tmp_path / "chroma" / "kept").touch()

    def end(_: Path) -> None:
        raise Ended

    for _ in range(ended):
        with monkeypatch.context() as patch:
            patch.setattr(chroma, "_client", end)
            dying = LocalIndex(tmp_path, chroma=True)
            with pytest.raises(Ended):
                dying.update_neighbours()
            dying.close()
    owner = LocalIndex(tmp_path, chroma=True)
    update_neighbours(owner)
    assert ("filled again" in caplog.text) is anew
    assert (tmp_path / "chroma" / "kept").exists() is not anew
    asked = vector(embedder, TEXTS[0])
    assert len(owner.vectors.neighbours(FACT, embedder, asked, 9)) == len(TEXTS)
    assert not (tmp_path / "chroma.opening").exists()
    owner.close()


def test_a_lost_index_begins_chroma_anew(tmp_path, owner, embedder):
    learn(owner, *VERSIONS)
    embed_all(owner, embedder)
    update_neighbours(owner)
    truncate_vectors(tmp_path)
    fresh = LocalIndex(tmp_path)
    with pytest.raises(IndexLost):
        fresh.vectors.cosines(embedder, vector(embedder, "x"), [1])
    numbers = learn(fresh, *TEXTS)
    embed_all(fresh, embedder)
    asked = vector(embedder, TEXTS[0])
    assert owner.vectors.neighbours(FACT, embedder, asked, 9) is None
    update_neighbours(owner)
    assert set(owner.vectors.neighbours(FACT, embedder, asked, 9)) == set(numbers)
    fresh.close()
