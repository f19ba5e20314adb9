"""Which states a MatrixOne server is asked to compare; no server is needed for that."""

import re
from typing import Any

import pytest

from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.model.rows.change import Ref
from tests.adapters.matrixone_server import NS, opened, server
from tests.fakes.recording_server import Columns

HOUR = 3_600 * 10**9
COMMITS = {
    "main_1": ("m", NS - 4 * HOUR),
    "main_2": ("m", NS - 3 * HOUR),
    "one_1": ("one", NS - 2 * HOUR),
    "two_1": ("two", NS - HOUR),
}
ORIGINS = {"one": "main_1", "two": "main_2"}


def told_of(commits=COMMITS, stepped=None):
    """A server that has branches `one` and `two`, cloned from different commits of main.

    Args:
        commits: with their databases and times.
        stepped: of a store of schema 1, the commit that stepped `two`, and the one before it.
    """
    made, before = stepped or ("", "")
    since = commits[made][1] if made else 0
    text = f'x\n\n{{"op":"schema","ts":{since // 1_000}}}'

    def of(said):
        """The commit or database that a statement is about."""
        return re.findall(r"'([^']*)'", said)[0]

    def of_schema(said):
        """The schema of the state that a statement reads."""
        database, ns = re.findall(r"`(\w+)`\.`\w+` {MO_TS = (\d+)}", said)[0]
        return 2 if database == "two" and int(ns) >= since else 1

    first: dict[str, Any] = {
        r"SELECT db, ns FROM": lambda said: [commits[of(said)]],
        r"SELECT parent FROM": lambda said: [(ORIGINS[of(said)],)] if of(said) in ORIGINS else [],
        r"SELECT MAX\(version\)": [(SCHEMA_VERSION,)],
    }
    if stepped:
        first |= {
            r"SELECT id, parent, .* LIKE": lambda said: (
                [(made, before, None, "day1", text)] if of(said) == "two" else []
            ),
            r"SELECT id, parent": lambda said: [(of(said), "older", None, "day1", text)],
            r"SELECT MAX\(version\)": lambda said: [(of_schema(said),)],
            r"SELECT min\(": [(1, 1)],
        }
    return server(first=first)


def compared(told, base, to, commits=COMMITS):
    """The pairs of states of facts that the server compared, or read whole."""
    store = opened(told)
    store.history.changes(base, Ref(commit=to))
    names = {f"`{db}`.`facts` {{MO_TS = {ns}}}": c for c, (db, ns) in commits.items()}
    found = [s for s in told.said if s.startswith("DATA BRANCH DIFF `") and "facts" in s]
    pairs = [[names[n] for n in re.findall(r"`\w+`\.`facts` \{[^}]*\}", s)] for s in found]
    whole = [
        s.removeprefix("SELECT id FROM ") for s in told.said if s.startswith("SELECT id FROM `")
    ]
    return pairs, [names[s] for s in whole if s in names]


def test_branches_that_left_their_parent_at_different_times_are_compared_along_it():
    """At once the server would leave out what changed on main in between."""
    pairs, whole = compared(told_of(), "one_1", "two_1")
    assert pairs == [["one_1", "main_1"], ["two_1", "main_2"], ["main_2", "main_1"]]
    assert whole == []


@pytest.mark.parametrize(("base", "to"), [("main_1", "two_1"), ("two_1", "main_1")])
def test_a_branch_and_its_parents_earlier_state_are_compared_over_where_it_began(base, to):
    pairs, whole = compared(told_of(), base, to)
    assert sorted(pairs) == [["main_2", "main_1"], ["two_1", "main_2"]]
    assert whole == []


def test_a_branch_is_compared_with_where_it_began_at_once():
    assert compared(told_of(), "main_2", "two_1") == ([["two_1", "main_2"]], [])


def test_what_the_server_may_have_cleaned_away_is_not_compared_with():
    """The states themselves are kept, so both are read."""
    old = {**COMMITS, "main_1": ("m", NS - 48 * HOUR)}
    pairs, whole = compared(told_of(old), "one_1", "two_1", old)
    assert pairs == []
    assert whole == ["two_1", "one_1"]


STEPPED = {**COMMITS, "two_step": ("two", NS - 2 * HOUR), "two_old": ("two", NS - 5 * HOUR // 2)}


def test_states_before_and_after_a_step_are_compared_up_to_it_and_from_before_it():
    """The step changes no row; across an ALTER the server would leave rows out."""
    told = told_of(STEPPED, ("two_step", "two_old"))
    pairs, whole = compared(told, "main_1", "two_1", STEPPED)
    assert sorted(pairs) == [
        ["main_2", "main_1"],
        ["two_1", "two_step"],
        ["two_old", "main_2"],
    ]
    assert whole == []


def test_states_are_read_whole_where_a_killed_step_lies_between_them():
    told = told_of(STEPPED, ("two_step", "two_old"))
    younger = STEPPED["two_old"][1]
    told.answers[r"SELECT \* FROM `\w+`.`facts`"] = lambda said: Columns(
        "id", *(["space"] if str(younger) in said else [])
    )
    pairs, whole = compared(told, "main_2", "two_1", STEPPED)
    assert pairs == [["two_1", "two_step"]]
    assert whole == ["two_old", "main_2"]


TWICE = {
    **STEPPED,
    "two_next": ("two", NS - 3 * HOUR // 2),
    "two_last": ("two", NS - 7 * HOUR // 4),
}
"""`two_step` stepped to schema 2, and `two_next`, after `two_last`, to schema 3."""


def test_states_of_a_branch_that_stepped_twice_are_compared_up_to_each_step():
    told = told_of(TWICE, ("two_step", "two_old"))
    steps = [("two_step", "two_old"), ("two_next", "two_last")]
    rows = [
        (made, before, None, "day1", f'x\n\n{{"op":"schema","ts":{TWICE[made][1] // 1_000}}}')
        for made, before in steps
    ]

    def schema(said):
        database, ns = re.findall(r"`(\w+)`\.`\w+` {MO_TS = (\d+)}", said)[0]
        made = [TWICE[name][1] for name, _ in steps]
        return [(1 + sum(database == "two" and int(ns) >= since for since in made),)]

    told.answers[r"SELECT id, parent, .* LIKE"] = lambda said: rows if "'two'" in said else []
    told.answers[r"SELECT MAX\(version\)"] = schema
    pairs, whole = compared(told, "main_1", "two_1", TWICE)
    assert sorted(pairs) == [
        ["main_2", "main_1"],
        ["two_1", "two_next"],
        ["two_last", "two_step"],
        ["two_old", "main_2"],
    ]
    assert whole == []
