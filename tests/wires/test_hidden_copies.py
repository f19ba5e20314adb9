"""A row that was made of others is never more visible than they are, whatever was done before."""

import os
import time
from pathlib import Path

import pytest

import day1
from day1.adapters.index import words
from day1.model.rows.change import Message, Query
from day1.model.rows.kind import EDIT
from day1.services.search import known_entries
from day1.settings import SearchSettings
from tests.sampling import sampled
from tests.wires.drawn_copies import (
    BRANCHES,
    DEEDS,
    DERIVES,
    HIDES,
    SPACE,
    WRITES,
    Copies,
    copies,
    deed,
)
from tests.wires.read_copies import (
    OF_ALL_BRANCHES,
    answers,
    hidden_on,
    index_words,
    made_on,
    nowhere,
    pages,
)

SEQUENCES = int(os.environ.get("DAY1_TEST_SEQUENCES", "10"))
"""Drawn sequences of deeds; each has some twenty."""
FIRST = int(os.environ.get("DAY1_TEST_FIRST", "0"))


def drawn(made: Copies, number: int = 14) -> list[tuple[str, str]]:
    """Some of everything, in the order in which it may come up."""
    deeds = [(made.draw.choice(DEEDS), made.draw.choice(BRANCHES)) for _ in range(number)]
    first = [(made.draw.choice(WRITES), made.draw.choice(BRANCHES)) for _ in range(3)]
    last = [(made.draw.choice(DERIVES), branch) for branch in BRANCHES]
    hiding = [(made.draw.choice(HIDES), made.draw.choice(BRANCHES)) for _ in range(2)]
    return [*first, *last, *deeds, *hiding]


def no_mark_is_seen(made: Copies) -> None:
    """No way of reading a branch has a word of a source that is hidden there."""
    time.sleep(0.03)  # what was to expire has
    everywhere = {one.mark for one in hidden_on(made, "main")}
    for name in made.store.repo.history.branches():
        everywhere &= {one.mark for one in hidden_on(made, name)}
    for branch in BRANCHES:
        hidden = {one.mark for one in hidden_on(made, branch)}
        away = {one.mark for one in hidden_on(made, branch, spaces=(SPACE,))}
        for what, said in (*answers(made, branch), *pages(made, branch).items()):
            marks = everywhere if what.split()[0] in OF_ALL_BRANCHES else hidden
            assert not [mark for mark in marks if mark in said], (branch, what)
            if f"'space': '{SPACE}'" in what or "search_memory" in what:
                assert not [mark for mark in away if mark in said], (branch, what)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEQUENCES))
def test_no_word_of_a_hidden_row_is_read_in_another_one(tmp_path: Path, seed: int) -> None:
    with copies(tmp_path / "store", seed) as made:
        for name, branch in drawn(made):
            deed(made, name, branch)
        no_mark_is_seen(made)
        gone = nowhere(made)
        indexed = index_words(made)
        assert not [one.mark for one in gone if one.mark in indexed]


@pytest.mark.parametrize("seed", range(4_000, 4_000 + SEQUENCES // 5))
def test_no_word_of_a_hidden_row_is_read_where_rows_are_many(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches use what is known of a large state, and posting lists."""
    monkeypatch.setattr(known_entries, "_LOOKUPS", 10**9)
    monkeypatch.setattr(known_entries, "_MAX_DIFFERING", 1)
    monkeypatch.setattr(words, "_MANY", 0)
    monkeypatch.setattr(words, "_PATIENCE", 0)
    with copies(tmp_path / "store", seed, search=SearchSettings(exact_rows=0)) as made:
        for name, branch in drawn(made):
            deed(made, name, branch)
            made.search(branch)
        no_mark_is_seen(made)


def test_what_was_made_of_a_secret_row_is_found_again_where_rows_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row that was made of it stays as it was, so no change names that row."""
    monkeypatch.setattr(known_entries, "_LOOKUPS", 10**9)
    monkeypatch.setattr(known_entries, "_MAX_DIFFERING", 1)
    with copies(tmp_path / "store", 1, search=SearchSettings(exact_rows=0)) as made:
        made.write_lessons("main")
        made.generate("main")
        made.write_fact("main")  # a later text: what is before it is known to have no row
        (insight,) = [one for one in made_on(made, "main") if one.startswith("fact_")]
        source = made.sources[0]
        for sensitivity, is_found in (("public", True), ("secret", False), ("public", True)):
            made.update(source, "main", sensitivity=sensitivity)
            if sensitivity == "secret":  # as in a process that begins then
                made.store.search.views.large_states.clear()
            for _ in range(2):
                found = made.call("memory_search", "main", query="upload failed", limit=50)
                assert (insight in {hit["id"] for hit in found["result"]}) == is_found


def test_redacting_cleans_the_index_of_what_was_made_and_then_removed(tmp_path: Path) -> None:
    with copies(tmp_path / "store", 1) as made:
        made.write_lessons("main")
        made.generate("main")
        (insight,) = [one for one in made_on(made, "main") if one.startswith("fact_")]
        made.search("main")
        last = made.call("memory_log", branch="main", limit=1)["result"][0]["commit"]
        made.call("memory_revert", commit=last, branch="main")
        assert insight not in made_on(made, "main")
        one = made.sources[0]
        assert one.mark in index_words(made)
        made.call("memory_redact", id=one.row_id, confirm=one.row_id, branch="main")
        assert one.mark not in index_words(made)


def test_a_verdict_is_hidden_with_what_its_evidence_was_made_of(tmp_path: Path) -> None:
    """Also after a revert has taken the evidence away, and the list of its sources with it."""
    with copies(tmp_path / "store", 1) as made:
        made.compact("main")
        made.verify("main")
        (source,) = made.sources
        commits = made.call("memory_log", branch="main", limit=9)["result"]
        (compacted,) = [each["commit"] for each in commits if each["line"].startswith("compact ")]
        made.call("memory_revert", commit=compacted, branch="main")
        assert "memory_get" in says(made, source.mark)
        made.update(source, "main", sensitivity="secret")
        assert says(made, source.mark) == set()


def test_whoever_derives_a_row_is_tried() -> None:
    """Who lists the sources of a row it makes: a new one is to be drawn and tried as these are."""
    deriving = {
        path.stem
        for path in (Path(day1.__file__).parent / "services").rglob("*.py")
        if "basis_edit" in (text := path.read_text()) or "basis_columns" in text
    }
    assert deriving - {"deriving"} == DERIVING.keys() | JOINING
    assert {name for names in DERIVING.values() for name in names} == MADE_BY.keys() == {*DERIVES}


DERIVING = {
    "promoting": ("promote",),
    "insights": ("generate",),
    "consolidating": ("consolidate",),
    "verdicts": ("verify",),
    "session_rows": ("hear",),
    "compressing": ("compress",),
    "extracting": ("extract",),
    "compacting": ("compact",),
}
"""Modules of services that make rows of others, and the deeds that do so."""
JOINING = {"resolving"}
"""Modules that add the words of a row to another one, which is there already: it is hidden when the
first one is redacted (tried in `test_compose_conflicts`), and stays when that one is made secret."""
MADE_BY = {
    "promote": "write_context",
    "generate": "write_lessons",
    "consolidate": "write_observation",
    "verify": "write_fact",
    "hear": None,
    "compress": None,
    "extract": None,
    "compact": None,
}
"""What makes rows of others, and what writes these."""
HIDDEN_BY = {
    "secret": {"sensitivity": "secret"},
    "expired": {"expires_at": "2001-01-01"},
    "moved": {"space": "project:wood"},
}


def without_bases(made: Copies) -> None:
    """Make the rows look as if an earlier version had made them."""
    with made.store.repo.store.changing("main") as work:
        bases = work.find(EDIT, Query(among={"cell": ["basis", "verification.basis"]}))
        work.apply({EDIT.table: {str(edit["id"]): None for edit in bases}})
        work.commit(Message("change", "without bases"))


def says(made: Copies, mark: str) -> set[str]:
    """The tools whose answers have a word, of rows that were made of others."""
    told = (*answers(made, "main"), *pages(made, "main").items())
    everything = {what.split()[0] for what, said in told if mark in said}
    return everything - {"memory_recall_hint"}


@pytest.mark.parametrize("hides", sampled(["redact", "remove", *HIDDEN_BY], {"redact", "secret"}))
@pytest.mark.parametrize("earlier", sampled((False, True), {False}))
@pytest.mark.parametrize("derives", MADE_BY)
def test_what_was_made_of_a_row_is_hidden_with_it(
    tmp_path: Path, derives: str, hides: str, *, earlier: bool
) -> None:
    if derives == "verify" and earlier:
        pytest.skip("earlier versions did not say what a judge had read")
    if derives in {"compress", "compact", "extract"} and earlier:
        pytest.skip("earlier versions compressed, compacted and extracted nothing")
    if derives == "compact" and hides != "redact":
        pytest.skip("what was compacted is removed already, and its summary outlives it")
    if derives in {"hear", "compress", "extract"} and hides in HIDDEN_BY:
        pytest.skip("a message is neither secret nor does it expire or move by itself")
    with copies(tmp_path / "store", 1) as made:
        before = MADE_BY[derives]
        if before is not None:
            getattr(made, before)("main")
        getattr(made, derives)("main")
        if earlier:
            without_bases(made)
        source = made.sources[0]
        made.sources = [source]  # the others stay as they are
        assert says(made, source.mark)
        if hides in HIDDEN_BY:
            made.update(source, "main", **HIDDEN_BY[hides])
        else:
            getattr(made, hides)("main")
        if hides != "moved":
            assert says(made, source.mark) == set()
        else:
            within = [said for what, said in answers(made, "main") if f"'space': '{SPACE}'" in what]
            assert not any(source.mark in said for said in within)
            return
        if hides == "secret":
            assert source.mark not in index_words(made)
            made.update(source, "main", sensitivity="public")
            assert "memory_list" in says(made, source.mark)
            assert derives == "verify" or source.mark in index_words(made)
