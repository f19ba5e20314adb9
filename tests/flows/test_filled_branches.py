"""A branch that begins with rows is there with all of them or not at all, whoever is killed."""

import shutil
from pathlib import Path

import pytest

from day1.errors import BranchExists
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import Branch
from day1.model.files.bundle import bundle_lines, counted, digest
from day1.model.records.sharing import Bundle
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT
from day1.services.access.calls import now
from day1.services.branches import forking, lookup
from tests.flows import killed_process
from tests.flows.kill_scenarios import (
    Action,
    Process,
    Refused,
    State,
    check_after_kill,
    die_at,
    facts_on,
    outcomes,
    told,
)
from tests.flows.test_processes import together
from tests.sampling import sampled

POINTS = ("fork.after_intent", "fork.after_engine", "fill.after_rows", "fork.after_ledger")
WHOLE_FROM = ("fill.after_rows", "fork.after_ledger")
BUNDLE = "bundle_01JD0000000000000000000000"
TAKEN = "bundle/kept/00000000"


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State, dict[str, Action]]:
    """A store, its state, and the two actions that fill a branch: with a changed fact and its edit."""
    folder = tmp_path_factory.mktemp("filling") / "store"
    state = told(folder)
    facts = state["side"]
    store = killed_process.opened(folder)
    with store.repo.store.reading(Ref(branch="side")) as reading:
        rows = {kind: reading.find(kind, Query()) for kind in (FACT, EDIT)}
    store.close()
    assert all(rows.values())
    bundle = Bundle(
        id=BUNDLE,
        name="Kept",
        description=None,
        tags=(),
        source_branch="side",
        source_commit="c" * 40,
        commit="",
        verified_only=False,
        sha256=digest(rows),
        status="active",
        created_by=None,
        created_at=1,
        **counted(rows),
    )
    lines = [line.decode() for line in bundle_lines(bundle, rows)]
    actions: dict[str, Action] = {
        "curate": {"action": "curate", "name": "chosen", "parent": "side", "facts": facts},
        "take": {"action": "take", "name": TAKEN, "lines": lines, "facts": facts},
    }
    return folder, state, actions


def edits(store: OpenStore, branch: str) -> list[object]:
    with store.repo.store.reading(Ref(branch=branch)) as reading:
        return [edit["row_id"] for edit in reading.find(EDIT, Query())]


def check_whole(folder: Path, action: Action) -> None:
    """The branch is there as it was meant, with its edits and, of a bundle, its record."""
    store = killed_process.opened(folder)
    branch = lookup.find(store.repo, action["name"])
    tip = store.repo.history.branches()[branch.name]
    assert facts_on(store, branch.name) == action["facts"]
    assert edits(store, branch.name) == edits(store, "side")
    records = store.repo.ledger.records(Bundle)
    if action["action"] == "take":
        assert [(record.id, record.commit) for record in records] == [(BUNDLE, tip)]
    assert branch.closed == (action["action"] == "take")
    store.close()


def check_absent(folder: Path, action: Action) -> None:
    """Nothing of the branch is there."""
    store = killed_process.opened(folder)
    assert action["name"] not in store.repo.history.branches()
    assert store.repo.ledger.branch(action["name"]) is None
    assert store.repo.ledger.records(Bundle) == []
    store.close()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("which", sampled(("curate", "take"), {"take"}))
def test_a_kill_leaves_the_branch_whole_or_absent(
    which: str, point: str, before: tuple[Path, State, dict[str, Action]], tmp_path: Path
) -> None:
    store, state, actions = before
    folder, action = tmp_path / "store", actions[which]
    shutil.copytree(store, folder)
    die_at(point, folder, action)
    found = check_after_kill(folder, list(outcomes(state, action)))
    whole = point in WHOLE_FROM
    assert (action["name"] in found) == whole
    (check_whole if whole else check_absent)(folder, action)
    process = Process(folder)
    if whole and which == "curate":
        with pytest.raises(Refused, match="branch_exists"):
            process.do(action)
    else:
        assert process.do(action) == (BUNDLE if which == "take" else None)
    assert process.end() == (0, "")
    check_whole(folder, action)


@pytest.mark.parametrize("point", ["fork.after_engine", "fill.after_rows"])
@pytest.mark.parametrize("which", sampled(("curate", "take"), {"curate"}))
def test_a_process_that_was_there_all_the_time_recovers_it_too(
    which: str, point: str, before: tuple[Path, State, dict[str, Action]], tmp_path: Path
) -> None:
    store, _, actions = before
    folder, action = tmp_path / "store", actions[which]
    shutil.copytree(store, folder)
    witness = Process(folder)
    die_at(point, folder, action)
    if point in WHOLE_FROM and which == "curate":
        with pytest.raises(Refused, match="branch_exists"):
            witness.do(action)
    else:
        assert witness.do(action) == (BUNDLE if which == "take" else None)
    assert witness.end() == (0, "")
    check_whole(folder, action)


def test_two_processes_that_take_one_file_have_it_once(
    before: tuple[Path, State, dict[str, Action]], tmp_path: Path
) -> None:
    store, _, actions = before
    folder, action = tmp_path / "store", actions["take"]
    shutil.copytree(store, folder)
    peers = [Process(folder) for _ in range(2)]
    taken: list[str] = []
    together(*(lambda p=peer: taken.append(p.do(action)) for peer in peers))
    assert taken == [BUNDLE] * 2
    assert [peer.end() for peer in peers] == [(0, "")] * 2
    check_whole(folder, action)


def test_a_branch_that_another_process_made_first_stays(tmp_path: Path) -> None:
    """As empty as what is withdrawn, and at the same commit; but it is not the one."""
    store = killed_process.opened(tmp_path)
    forking.create(store.repo, "mine", lookup.find(store.repo, "main"), now())
    first = lookup.first_commit(store.repo)
    late = Branch("branch_late", "mine", None, first, now())
    with pytest.raises(BranchExists):
        forking.fork(store.repo, late, fill=lambda: None)
    assert store.repo.history.branches()["mine"] == first
    assert lookup.find(store.repo, "mine").id != late.id
    store.close()
