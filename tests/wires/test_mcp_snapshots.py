"""Snapshots, restoring and time travel over MCP."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.wires.conftest import Fork
from tests.wires.mcp_session import ISO, Session, unscored

NULLABLE = "string|null = null"


def shifted(iso: str, microseconds: int) -> str:
    return (datetime.fromisoformat(iso) + timedelta(microseconds=microseconds)).isoformat()


def write(core: Session, branch: str, text: str) -> dict[str, Any]:
    return core.ok("memory_write_fact", fact_text=text, branch=branch)


def texts(core: Session, branch: str, **given: Any) -> list[str]:
    return [m["content"] for m in core.found("memory_timeline", branch=branch, **given)]


def then(core: Session, branch: str, timestamp: str, query: str = "otters") -> set[str]:
    hits = core.found("memory_time_travel", timestamp=timestamp, query=query, branch=branch)
    return {hit["fact_text"] for hit in hits}


@pytest.mark.line("S1-043")
def test_a_snapshot_takes_and_answers_what_the_seed_says(core: Session, branch: str) -> None:
    assert core.takes("memory_snapshot") == {"label": NULLABLE, "branch": NULLABLE}
    write(core, branch, "one")
    made = core.ok("memory_snapshot", label="before lunch", branch=branch)
    assert set(made) == {"snapshot_id", "created_at", "label", "written"}
    assert made["snapshot_id"].startswith("snap_")
    assert ISO.fullmatch(made["created_at"])
    assert made["label"] == "before lunch"
    assert made["written"]["branch"] == branch
    assert made["written"]["pending"] == 0
    assert core.ok("memory_timeline", branch=branch)["read"] == {
        "branch": branch,
        "commit": made["written"]["commit"],
        "pending": 0,
        "mode": None,
        "notes": [],
    }


@pytest.mark.line("S1-005", "S1-043", "S1-044")
def test_a_snapshot_needs_no_label_and_is_of_main_unless_told(core: Session) -> None:
    made = core.ok("memory_snapshot", label=None, branch=None)
    assert (made["label"], made["written"]["branch"]) == (None, "main")
    listed = core.found("memory_snapshot_list", branch="main")
    assert listed[-1]["id"] == made["snapshot_id"]
    assert listed[-1]["label"] == ""


@pytest.mark.line("S1-044", "S1-091")
def test_snapshots_are_listed_by_the_id_they_were_given(
    core: Session, branch: str, fork: Fork
) -> None:
    assert core.takes("memory_snapshot_list") == {"branch": NULLABLE}
    made = [core.ok("memory_snapshot", label=label, branch=branch) for label in ("a", "b", "a")]
    elsewhere = core.ok("memory_snapshot", label="c", branch=fork())
    listed = core.found("memory_snapshot_list", branch=branch)
    assert [(s["id"], s["label"], s["created_at"]) for s in listed] == [
        (m["snapshot_id"], m["label"], m["created_at"]) for m in made
    ]
    for snapshot in listed:
        assert set(snapshot) == {"id", "label", "created_at", "branch", "commit"}
        assert snapshot["branch"] == branch
    every = [s["id"] for s in core.found("memory_snapshot_list")]
    assert {elsewhere["snapshot_id"], *(m["snapshot_id"] for m in made)} <= set(every)


@pytest.mark.line("S1-045")
def test_time_travel_takes_the_seeds_arguments_and_answers_as_search(
    core: Session, branch: str
) -> None:
    assert core.takes("memory_time_travel") == {
        "timestamp": "string!",
        "query": "string!",
        "branch": NULLABLE,
        "space": NULLABLE,
        "limit": "integer|null 1..200 = 10",
        "full": "boolean|null = false",
    }
    write(core, branch, "Otters swim.")
    now = core.found("memory_search", query="otters", branch=branch)
    late = core.found("memory_time_travel", timestamp="2100-01-01", query="otters", branch=branch)
    assert unscored(late) == unscored(now)
    schemas = [core.tools[name].output_schema for name in ("memory_search", "memory_time_travel")]
    assert schemas[0] == schemas[1]


@pytest.mark.line("S1-046")
def test_time_travel_tells_each_moment_to_the_microsecond(core: Session, branch: str) -> None:
    wrote = write(core, branch, "Otters swim.")
    added = write(core, branch, "Otters sleep.")
    changed = core.ok(
        "memory_update_fact", fact_id=wrote["id"], fact_text="Otters dive.", branch=branch
    )
    removed = core.ok("memory_retract_fact", fact_id=added["id"], branch=branch)
    states = [
        (wrote["created_at"], set(), {"Otters swim."}),
        (added["created_at"], {"Otters swim."}, {"Otters swim.", "Otters sleep."}),
        (
            changed["updated_at"],
            {"Otters swim.", "Otters sleep."},
            {"Otters dive.", "Otters sleep."},
        ),
        (removed["retracted_at"], {"Otters dive.", "Otters sleep."}, {"Otters dive."}),
    ]
    for moment, before, after in states:
        assert then(core, branch, shifted(moment, -1)) == before
        assert then(core, branch, moment) == after
        assert then(core, branch, shifted(moment, 1)) == after
    assert removed["restore"]["to"] == shifted(removed["retracted_at"], -1)


@pytest.mark.line("S1-046")
def test_before_the_first_commit_there_was_nothing(core: Session, branch: str) -> None:
    write(core, branch, "Otters swim.")
    answer = core.ok("memory_time_travel", timestamp="1999-12-31", query="otters", branch=branch)
    assert answer["result"] == []
    assert answer["read"]["commit"] == ""
    for tool, given in (
        ("memory_search", {"query": "otters"}),
        ("memory_timeline", {}),
        ("memory_graph_query", {"entity": "otter"}),
    ):
        assert core.found(tool, at="1999-12-31", branch=branch, **given) == [], tool


@pytest.mark.line("S1-046")
def test_a_merge_brings_memories_when_it_was_made(core: Session, branch: str, fork: Fork) -> None:
    source = fork(branch)
    wrote = write(core, source, "Otters swim.")
    between = write(core, branch, "Badgers dig.")["created_at"]
    core.ok("memory_branch_merge", source_branch=source, target_branch=branch, strategy="auto")
    assert then(core, branch, between) == set(), "it was known elsewhere only"
    assert then(core, branch, "2100-01-01") == {"Otters swim."}
    assert then(core, source, wrote["created_at"]) == {"Otters swim."}


@pytest.mark.line("S1-046")
def test_before_its_fork_a_branch_was_its_parent(core: Session, branch: str, fork: Fork) -> None:
    moment = write(core, branch, "Otters swim.")["created_at"]
    child = fork(branch)
    assert then(core, child, moment) == {"Otters swim."}
    assert then(core, child, shifted(moment, -1)) == set()


@pytest.mark.line("S1-045")
def test_a_bare_date_means_the_end_of_that_day(core: Session, branch: str) -> None:
    moment = write(core, branch, "Otters swim.")["created_at"]
    day = moment[:10]
    assert then(core, branch, day) == {"Otters swim."}
    assert then(core, branch, f"{day}T00:00:00") == set()
    assert then(core, branch, moment.replace("+00:00", "Z")) == {"Otters swim."}


@pytest.mark.line("S1-047", "S1-089")
def test_a_branch_is_restored_to_a_snapshot_and_back(core: Session, branch: str) -> None:
    old = write(core, branch, "old")
    taken = core.ok("memory_snapshot", label=f"good-{branch}", branch=branch)
    core.ok("memory_update_fact", fact_id=old["id"], fact_text="bad", branch=branch)
    write(core, branch, "new")
    gone = core.ok("memory_restore", to=taken["snapshot_id"], branch=branch, confirm=branch)
    assert set(gone) == {"restored_rows", "snapshot_before", "restored_at", "written"}
    assert gone["restored_rows"] == 2
    assert texts(core, branch) == ["old"]
    assert then(core, branch, shifted(gone["restored_at"], -1), "bad new") == {"bad", "new"}

    core.ok("memory_restore", to=gone["snapshot_before"], branch=branch, confirm=branch)
    assert texts(core, branch) == ["bad", "new"]
    core.ok("memory_restore", to=f"good-{branch}", branch=branch, confirm=branch)
    assert texts(core, branch) == ["old"], "a label names the newest snapshot of it"
    again = core.ok("memory_restore", to=f"good-{branch}", branch=branch, confirm=branch)
    assert again["restored_rows"] == 0
    assert again["written"]["notes"] == ["It was in that state already."]


@pytest.mark.line("S1-047")
def test_a_branch_is_restored_to_a_moment(core: Session, branch: str) -> None:
    moment = write(core, branch, "one")["created_at"]
    write(core, branch, "two")
    done = core.ok("memory_restore", to=moment, branch=branch, confirm=branch)
    assert done["restored_rows"] == 1
    assert texts(core, branch) == ["one"]


@pytest.mark.line("S1-047")
def test_one_row_is_restored_without_a_confirmation(core: Session, branch: str) -> None:
    wrote = write(core, branch, "one")
    other = write(core, branch, "two")
    core.ok("memory_update_fact", fact_id=wrote["id"], fact_text="one, changed", branch=branch)
    core.ok("memory_update_fact", fact_id=other["id"], fact_text="two, changed", branch=branch)
    done = core.ok("memory_restore", to=wrote["created_at"], id=wrote["id"], branch=branch)
    assert done["restored_rows"] == 1
    assert texts(core, branch) == ["one", "two, changed"]
    gone = core.ok("memory_retract_fact", fact_id=wrote["id"], branch=branch)
    core.ok("memory_restore", **gone["restore"])
    assert texts(core, branch) == ["one", "two, changed"]


@pytest.mark.line("S1-047")
@pytest.mark.parametrize("confirm", [None, "yes", "main"])
def test_restoring_a_branch_needs_its_name_as_confirmation(
    core: Session, branch: str, confirm: str | None
) -> None:
    moment = write(core, branch, "one")["created_at"]
    write(core, branch, "two")
    error = core.refused(
        "memory_restore", "confirmation_needed", to=moment, branch=branch, confirm=confirm
    )
    assert error["details"] == {"confirm": branch}
    assert f"confirm='{branch}'" in error["message"]


@pytest.mark.line("S1-047")
def test_a_snapshot_of_another_branch_is_not_restored(
    core: Session, branch: str, fork: Fork
) -> None:
    taken = core.ok("memory_snapshot", branch=fork())
    error = core.refused(
        "memory_restore", "not_found", to=taken["snapshot_id"], branch=branch, confirm=branch
    )
    assert error["details"] == {"snapshot": taken["snapshot_id"]}
    core.refused("memory_restore", "not_found", to="no such label", branch=branch, confirm=branch)
    core.refused("memory_restore", "not_found", to="2100-01-01", id="fact_x", branch=branch)
