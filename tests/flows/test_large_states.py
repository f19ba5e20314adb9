"""What earlier searches read of a state with many rows is what SQL would tell now."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from day1.errors import Conflict, NotFound, Refused
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION
from day1.services.branches.lookup import find
from day1.services.search import indexing, known_entries
from day1.services.search.entries import Entry
from day1.services.search.filters import Filter
from day1.services.search.indexing import follow
from day1.services.search.known_entries import EntryTable, KnownEntries, renew_tables
from day1.services.search.views import ViewCache
from tests.flows.random_store import RandomTeam, opened_at

FILTERS = (Filter(FACT), Filter(FACT, inactive=True), Filter(OBSERVATION))


@pytest.fixture
def team(tmp_path: Path) -> Iterator[RandomTeam]:
    with opened_at(tmp_path / "store", create=True) as store:
        yield RandomTeam(store)


def told(team: RandomTeam, views: ViewCache, branch: str, wanted: Filter) -> bool:
    """Whether all texts have the entries that SQL tells now; whether a table told them."""
    repo, index, ref = team.store.repo, team.store.search.index, Ref(branch=branch)
    follow(repo.store, repo.history, index, branch, find(repo, branch).id)
    with repo.store.reading(ref) as reading:
        texts = range(1, team.said * 3 + 30)  # also numbers that no text has
        known = views.large(reading, ref, wanted, repo.history, index)
        asked = KnownEntries(wanted.kind, wanted.view_query).at(reading, repo.history, index)
        for _ in range(2):
            assert by_id(known.of(texts, reading, index)) == by_id(asked.of(texts, reading, index))
        return known.has_table


def by_id(entries: dict[int, list[Entry]]) -> dict[int, list[Entry]]:
    return {text: sorted(rows) for text, rows in entries.items()}


class Deeds:
    """Deeds of a team that change what a search may find."""

    def __init__(self, team: RandomTeam) -> None:
        self.team, self.chance = team, team.chance

    def write(self, branch: str) -> None:
        self.team.write(self.chance.randrange(1, 4), branch)

    def observe(self, branch: str) -> None:
        said = {"observation_type": "insight", "summary": self.team.text()}
        self.team.do("memory_write_observation", **said, branch=branch)

    def repeat(self, branch: str) -> None:
        """Say what a fact says already, so that two rows have one text."""
        row = self.team.some_fact(branch)
        said = self.team.do("memory_get", id=row, branch=branch)["row"]["fact_text"]
        self.team.do("memory_write_fact", fact_text=said, session_id="s2", branch=branch)

    def change(self, branch: str) -> None:
        self.team.change(branch)

    def hide(self, branch: str) -> None:
        self._update(branch, sensitivity=self.chance.choice(("secret", "public")))

    def end(self, branch: str) -> None:
        self._update(branch, valid_until="2020-01-01", expires_at="2100-01-01")

    def _update(self, branch: str, **columns: str) -> None:
        row = self.team.some_fact(branch)
        self.team.do("memory_update_fact", fact_id=row, branch=branch, **columns)

    def retract(self, branch: str) -> None:
        self.team.do("memory_retract_fact", fact_id=self.team.some_fact(branch), branch=branch)

    def supersede(self, branch: str) -> None:
        row, text = self.team.some_fact(branch), self.team.text()
        self.team.do("memory_supersede_fact", fact_id=row, fact_text=text, branch=branch)

    def redact(self, branch: str) -> None:
        row = self.team.some_fact(branch)
        self.team.do("memory_redact", id=row, confirm=row, branch=branch)

    def revert(self, branch: str) -> None:
        commits = self.team.do("memory_log", branch=branch, limit=4)["result"]
        self.team.do("memory_revert", commit=self.chance.choice(commits)["commit"], branch=branch)

    def merge(self, branch: str) -> None:
        other = self.chance.choice(self.team.branches)
        if other != branch:
            self.team.merge(other, branch)

    def fork(self, branch: str) -> None:
        self.team.fork(f"fork/{self.team.said}-{len(self.team.branches)}", branch)


DEEDS = [name for name in vars(Deeds) if not name.startswith("_")]


@pytest.mark.parametrize("seed", range(6))
def test_all_entries_are_those_of_the_state(team, seed, monkeypatch):
    monkeypatch.setattr(known_entries, "_LOOKUPS", 10**9)  # the second search reads a table
    monkeypatch.setattr(known_entries, "_MAX_DIFFERING", 1)
    team.chance = random.Random(seed)
    views, deeds, by_table = ViewCache(), Deeds(team), 0
    team.write(12, "main")
    for _ in range(30):
        branch, name = team.chance.choice(team.branches), team.chance.choice(DEEDS)
        with suppress(Conflict, NotFound, Refused):
            getattr(deeds, name)(branch)
        for each in {branch, "main"}:
            for wanted in FILTERS:
                by_table += told(team, views, each, wanted)
    assert by_table > 60


def test_a_fork_uses_the_table_of_its_parent(team, monkeypatch):
    monkeypatch.setattr(known_entries, "_LOOKUPS", 10**9)
    read = []
    made = EntryTable.__init__

    def counted(self, *given):
        read.append(self)
        made(self, *given)

    monkeypatch.setattr(EntryTable, "__init__", counted)
    views = ViewCache()
    team.write(100, "main")
    team.fork("first", "main")  # which commits the rows
    told(team, views, "main", FILTERS[0])
    assert told(team, views, "main", FILTERS[0])
    team.fork("fork", "main")
    team.write(2, "fork")
    assert told(team, views, "fork", FILTERS[0])
    team.change("main")
    assert told(team, views, "main", FILTERS[0])
    assert len(read) == 1


def test_a_table_is_read_when_sql_was_asked_about_a_third_of_the_rows(team):
    views = ViewCache()
    team.write(300, "main")
    repo, index, ref = team.store.repo, team.store.search.index, Ref(branch="main")
    follow(repo.store, repo.history, index, "main", find(repo, "main").id)
    with repo.store.reading(ref) as reading:
        for number in range(1, 13):
            known = views.large(reading, ref, FILTERS[0], repo.history, index)
            assert known.has_table == (number > 11), number
            known.of(range(10 * number, 10 * number + 10), reading, index)
            known.of(range(10 * number, 10 * number + 10), reading, index)  # known by then


def test_a_text_that_is_indexed_later_is_found(team, monkeypatch):
    """Its row was there when the table was read, and the index lagged."""
    monkeypatch.setattr(known_entries, "_LOOKUPS", 10**9)
    views = ViewCache()
    team.write(5, "main")
    told(team, views, "main", FILTERS[0])
    team.write(1, "main")
    repo, index, ref = team.store.repo, team.store.search.index, Ref(branch="main")
    with repo.store.reading(ref) as reading:
        known = views.large(reading, ref, FILTERS[0], repo.history, index)
        assert known.has_table
        assert not any(known.of(range(6, 20), reading, index).values())
        follow(repo.store, repo.history, index, "main", find(repo, "main").id)
        known = views.large(reading, ref, FILTERS[0], repo.history, index)
        assert sum(map(len, known.of(range(6, 20), reading, index).values())) == 1


def has_kept_table(team: RandomTeam, branch: str = "main") -> bool:
    """Whether a process that opens the store next has a table of a branch: that of a file."""
    repo, index = team.store.repo, team.store.search.index
    follow(repo.store, repo.history, index, branch, find(repo, branch).id)
    with repo.store.reading(Ref(branch=branch)) as reading:
        known = KnownEntries(FACT, FILTERS[0].view_query)
        is_loaded = known.load(reading, index, reading.count(FACT))
        return is_loaded and known.at(reading, repo.history, index).has_table


def renew(team: RandomTeam, above: int = 0, branch: str = "main") -> None:
    """As a server does when the rows are committed."""
    repo, index = team.store.repo, team.store.search.index
    repo.store.commit_pending(branch)
    follow(repo.store, repo.history, index, branch, find(repo, branch).id)
    with repo.store.reading(Ref(branch=branch)) as reading:
        renew_tables(reading, repo.history, index, above)


def test_a_table_is_kept_for_later_processes(team, monkeypatch):
    monkeypatch.setattr(indexing, "PAGE", 7)
    monkeypatch.setattr(known_entries, "_MOST_BEHIND", 5)
    team.write(40, "main")
    renew(team, above=40)
    assert not has_kept_table(team)  # these are few
    renew(team)
    assert has_kept_table(team)
    team.fork("fork", "main")
    for branch in ("main", "fork"):
        team.write(2, branch)
        team.change(branch)
        assert has_kept_table(team, branch)
        assert told(team, ViewCache(), branch, FILTERS[0])  # and tells what SQL tells
    monkeypatch.setattr(KnownEntries, "read_all", None)
    renew(team)  # a table of about as many rows stays


def test_a_table_of_much_fewer_rows_is_renewed(team):
    team.write(40, "main")
    renew(team)
    team.write(20, "main")
    assert not has_kept_table(team)
    renew(team)
    assert has_kept_table(team)


def test_no_table_tells_about_a_row_that_was_redacted_or_became_secret(team):
    team.write(40, "main")
    row = team.some_fact("main")
    for tool, change in (
        ("memory_update_fact", {"fact_id": row, "sensitivity": "secret"}),
        ("memory_redact", {"id": team.facts[0], "confirm": team.facts[0]}),
    ):
        renew(team)
        assert list((team.store.folder / "vectors").glob("*.kept"))
        team.do(tool, **change, branch="main")
        assert not has_kept_table(team)
        assert not list((team.store.folder / "vectors").glob("*.kept"))


def test_a_reading_of_rows_that_is_stopped_keeps_nothing(team):
    team.write(10, "main")
    repo, index = team.store.repo, team.store.search.index
    follow(repo.store, repo.history, index, "main", find(repo, "main").id)
    with repo.store.reading(Ref(branch="main")) as reading:
        renew_tables(reading, repo.history, index, 0, lambda: True)
        known = KnownEntries(FACT, FILTERS[0].view_query)
        known.read_all(reading, index, lambda: True)
        assert not known.has_table
    assert not has_kept_table(team)


@pytest.mark.parametrize("page", [1, 4, 10, 11])
def test_all_texts_of_a_state_are_indexed_in_pages(team, monkeypatch, page):
    monkeypatch.setattr(indexing, "PAGE", page)
    team.write(10, "main")
    for row in team.facts[3:5]:
        team.do("memory_update_fact", fact_id=row, sensitivity="secret", branch="main")
    team.store.search.index.words.lose_cursors()
    repo, index = team.store.repo, team.store.search.index
    follow(repo.store, repo.history, index, "main", find(repo, "main").id)
    with repo.store.reading(Ref(branch="main")) as reading:
        hashes = dict(reading.scan(FACT, ("id", "content_hash"), Query()))
    indexed = index.words.known(FACT, [str(text_hash) for text_hash in hashes.values()])
    secret = {hashes[row] for row in team.facts[3:5]}
    assert indexed.keys() == set(hashes.values()) - secret
