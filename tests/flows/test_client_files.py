"""`day1 setup` on files in any form: only what is day1's changes, and a copy is kept of the rest."""

import gc
import os
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from day1.adapters.clients.table import CLIENTS
from day1.ports.setup import Outcome
from tests.flows.client_files import Case, Machine, cases, marks_in, places
from tests.sampling import sampled

BUDGET: Final = int(os.environ.get("DAY1_TEST_CLIENT_FILES", "0"))
"""Cases of each property; without it the few of every run, and those of the week."""
_STATES: Final = {"added", "changed", "same", "removed", "absent", "refused", "kept"}
_MOST_S: Final = 1.0
_SAMPLES: Final = {
    "servers": b'{\n  // mine\n  "other": {"a": [1, 2]}, "KEY": {"one": {"command": "x"}},\n}\n',
    "hooks": b'{\n  "hooks": {"Other": [{"command": "say"}]}, // mine\n  "z": null\n}\n',
    "both": b'{\n  "KEY": {"one": {}},\n  "hooks": {}, /* mine */ "z": "\\u00e9"\n}\n',
    "toml": b'# mine\na = "x" # nice\n\n[KEY.one]\ncommand = "y"\n\n[[z]]\nb = 1\n',
    "notes": b"# Mine\n\nText.\n\n<!-- a note -->\n",
}


def worked(machine: Machine, case: Case, *, remove: bool = False) -> list[Outcome]:
    """Run set-up; it must end in a known way, soon, and keep a copy of each file it changed."""
    before = machine.files()
    gc.disable()  # a collection would count all objects of the drawn cases
    start = time.process_time()
    outcomes = machine.run(case, remove=remove)
    spent = time.process_time() - start
    gc.enable()
    assert spent < _MOST_S
    after = machine.files()
    states = {each.path.resolve(): each.state for each in outcomes}
    for each in outcomes:
        assert each.state in _STATES
        assert each.why or each.state not in {"refused", "kept"}
    for path, data in before.items():
        if after.get(path) != data:
            assert states[path.resolve()] in {"added", "changed", "removed"}
            assert data in machine.kept(), "a copy is kept before each change"
    assert all(states[path.resolve()] == "added" for path in after.keys() - before.keys())
    return outcomes


def holds(case: Case, folder: Path) -> None:
    """Set up, once more, and take out: what is not day1's is as it was at each step."""
    machine = Machine(folder)
    machine.write(case)
    before = machine.files()
    worked(machine, case)
    with_day1 = machine.files()
    for path, data in before.items():
        assert marks_in(with_day1[path]) == marks_in(data), "what others wrote, in its order"
        if case.fresh:
            assert _is_within(data, with_day1[path]), "day1 only adds"
    again = worked(machine, case)
    assert {each.state for each in again} <= {"same", "kept", "refused"}
    assert machine.files() == with_day1
    worked(machine, case, remove=True)
    after = machine.files()
    if case.fresh:
        assert after == before
    for path, data in before.items():
        if marks_in(data):
            assert marks_in(after[path]) == marks_in(data)


def _is_within(part: bytes, whole: bytes) -> bool:
    """Whether a text is what remains of another when some of its bytes are left out."""
    letters = iter(whole)
    return all(letter in letters for letter in part)


EXAMPLES: Final = [BUDGET] if BUDGET else sampled((40, 500), {40})


@pytest.mark.parametrize("examples", EXAMPLES)
def test_what_is_not_day1s_is_the_same_in_every_byte(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(cases())
    def check(case: Case) -> None:
        with tempfile.TemporaryDirectory() as folder:
            holds(case, Path(folder))

    check()


@cache
def sound(client: str, *, project: bool, done: bool) -> Case:
    """Files of a client with something of others in each, before or after a set-up."""
    forms, key = places(client, project=project), CLIENTS[client].key.encode()
    case = Case(client, project, {p: _SAMPLES[form].replace(b"KEY", key) for p, form in forms})
    if not done:
        return case
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder))
        machine.write(case)
        machine.run(case)
        files = {place: machine.path(place).read_bytes() for place in case.files}
    return Case(client, project, files, fresh=False)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Case, str]:
    """Files of a client of which one is damaged, and which."""
    client: str = draw(st.sampled_from(sorted(CLIENTS)))
    case = sound(client, project=draw(st.booleans()), done=draw(st.booleans()))
    place: str = draw(st.sampled_from(sorted(case.files)))
    data = draw(flipped(case.files[place]))
    return Case(client, case.project, {**case.files, place: data}, case.fresh), place


@st.composite
def flipped(draw: st.DrawFn, data: bytes) -> bytes:
    """A text with letters changed, parts cut out, and parts doubled."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        how = draw(st.integers(0, 3))
        if how == 0 and start < len(data):
            letter = data[start] ^ (1 << draw(st.integers(0, 7)))
            data = data[:start] + bytes([letter]) + data[start + 1 :]
        elif how == 1:
            data = data[:start] + data[end:]
        elif how == 2:
            data = data[:end] + data[start:]
        else:
            data = data[:start] if draw(st.booleans()) else data[start:]
    return data


def survives(case: Case, damage: str, folder: Path) -> None:
    """Set up and take out what is damaged: it is edited rightly, or left with a reason."""
    machine = Machine(folder)
    machine.write(case)
    before = machine.files()
    worked(machine, case)
    with_day1 = machine.files()
    assert {each.state for each in worked(machine, case)} <= {"same", "kept", "refused"}
    assert machine.files() == with_day1
    worked(machine, case, remove=True)
    if case.fresh and b"day1" not in case.files[damage]:
        assert machine.files() == before


@pytest.mark.parametrize("examples", [10 * BUDGET] if BUDGET else sampled((60, 5_000), {60}))
def test_a_damaged_file_is_edited_rightly_or_left(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(damaged())
    def check(found: tuple[Case, str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            survives(*found, Path(folder))

    check()
