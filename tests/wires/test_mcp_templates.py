"""Templates over MCP: versions of a branch that stay as they are, and branches made from them."""

from typing import Any

import pytest

from day1.model.rows.kind import FACT
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.sharing.templates import deprecate_template
from tests.engine import compact
from tests.flows.opened_store import opened
from tests.wires.conftest import Fork, Write
from tests.wires.mcp_session import ISO, Session
from tests.wires.other_processes import at_once, peers, rows

NULLABLE = "string|null = null"
STRINGS = "[string]|null = null"
ROUNDS = 5


def keep(core: Session, branch: str, name: str, **more: Any) -> dict[str, Any]:
    return core.ok("memory_template_create", name=name, source_branch=branch, **more)


def use(core: Session, name: str, branch: str, **more: Any) -> dict[str, Any]:
    return core.ok(
        "memory_template_instantiate", template_name=name, target_branch_name=branch, **more
    )


def listed(core: Session, **given: Any) -> list[tuple[str, int]]:
    found = core.ok("memory_template_list", **given)["templates"]
    return [(t["name"], t["version"]) for t in found]


def texts(core: Session, branch: str) -> list[str]:
    return [m["content"] for m in core.found("memory_timeline", branch=branch)]


def retire_version(core: Session, name: str, version: int | None = None) -> None:
    with opened(core.folder) as store:
        deprecate_template(store.repo, name, version)


@pytest.mark.line("S1-073", "S1-074", "S1-076")
def test_templates_take_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_template_list") == {
        "task_type": NULLABLE,
        "status": 'active|deprecated|null = "active"',
        "limit": "integer|null 1..200 = 20",
    }
    assert core.takes("memory_template_create") == {
        "name": "string!",
        "source_branch": "string!",
        "description": NULLABLE,
        "applicable_task_types": STRINGS,
        "tags": STRINGS,
    }
    assert core.takes("memory_template_instantiate") == {
        "template_name": "string!",
        "target_branch_name": "string!",
        "task_id": NULLABLE,
    }


@pytest.mark.line("S1-073", "S1-074")
def test_a_template_counts_what_it_keeps_and_is_listed(
    core: Session, branch: str, write: Write
) -> None:
    old = write(branch, "The port is 80.")
    write(branch, "Ada runs it.")
    core.ok("memory_supersede_fact", fact_id=old, fact_text="The port is 81.", branch=branch)
    core.ok("memory_log_message", role="user", content="Which port?", branch=branch)
    name = f"Deploy {branch}"
    made = keep(
        core,
        branch,
        name,
        description="How to deploy.",
        applicable_task_types=["deploy", branch],
        tags=["ops"],
    )
    commit = made.pop("written")["commit"]
    assert ISO.fullmatch(made["created_at"])
    assert made == {
        "name": name,
        "version": 1,
        "branch_name": f"template/deploy-{branch.replace('/', '-')}/v1",
        "description": "How to deploy.",
        "applicable_task_types": ["deploy", branch],
        "tags": ["ops"],
        "fact_count": 2,
        "conversation_count": 1,
        "status": "active",
        "created_by": None,
        "created_at": made["created_at"],
    }
    (shown,) = core.ok("memory_template_list", task_type=branch)["templates"]
    assert shown == made
    assert core.ok("memory_timeline", branch=made["branch_name"])["read"]["commit"] == commit


@pytest.mark.line("S1-075")
def test_a_name_again_is_its_next_version_and_the_older_one_can_be_read(
    core: Session, branch: str, write: Write
) -> None:
    write(branch, "The port is 80.")
    first = keep(core, branch, branch)
    write(branch, "The port was 80 until May.")
    second = keep(core, branch, branch)
    assert (first["version"], second["version"]) == (1, 2)
    assert second["branch_name"] == first["branch_name"].removesuffix("v1") + "v2"
    hits = core.found("memory_search", query="port", branch=first["branch_name"])
    assert [h["fact_text"] for h in hits] == ["The port is 80."]
    assert len(core.found("memory_search", query="port", branch=second["branch_name"])) == 2
    assert {(branch, 1), (branch, 2)} <= set(listed(core))
    alike = keep(core, branch, branch.replace("/", "-"))
    assert alike["version"] == 1, "another name, though it reads alike"
    assert alike["branch_name"] == first["branch_name"] + "-2"


@pytest.mark.line("S1-075")
def test_a_templates_branch_takes_no_writes(core: Session, branch: str, write: Write) -> None:
    fact = write(branch, "Kept.")
    kept = keep(core, branch, branch)["branch_name"]
    for tool, given in (
        ("memory_write_fact", {"fact_text": "More.", "branch": kept}),
        ("memory_log_message", {"role": "user", "content": "More.", "branch": kept}),
        ("memory_update_fact", {"fact_id": fact, "category": "c", "branch": kept}),
        ("memory_retract_fact", {"fact_id": fact, "branch": kept}),
        (
            "memory_branch_merge",
            {"source_branch": branch, "target_branch": kept, "strategy": "auto"},
        ),
    ):
        core.refused(tool, "branch_closed", **given)
    write(branch, "More.")
    assert texts(core, kept) == ["Kept."]


@pytest.mark.line("S1-076")
def test_the_newest_active_version_is_used(core: Session, branch: str, write: Write) -> None:
    facts = []
    for number in range(3):
        facts.append(write(branch, f"step {number}"))
        keep(core, branch, branch, description=f"version {number + 1}")
    core.ok("memory_log_message", role="user", content="How?", branch=branch)
    answer = use(core, branch, f"{branch}/a")
    assert answer.pop("written")["branch"] == f"{branch}/a"
    assert answer == {
        "branch_name": f"{branch}/a",
        "template_name": branch,
        "template_version": 3,
        "facts_inherited": 3,
        "conversations_inherited": 0,
    }
    assert rows(core, f"{branch}/a", FACT).keys() == set(facts)
    write(f"{branch}/a", "Of its own.")
    assert use(core, branch, f"{branch}/b")["facts_inherited"] == 3, "the template stays as it is"

    retire_version(core, branch, 3)
    used = use(core, branch, f"{branch}/c")
    assert (used["template_version"], used["facts_inherited"]) == (2, 2)
    assert texts(core, f"{branch}/c") == ["step 0", "step 1"]
    assert set(listed(core)) & {(branch, n) for n in (1, 2, 3)} == {(branch, 1), (branch, 2)}
    assert (branch, 3) in listed(core, status="deprecated")

    retire_version(core, branch)
    error = core.refused(
        "memory_template_instantiate",
        "not_found",
        template_name=branch,
        target_branch_name=f"{branch}/d",
    )
    assert "deprecated" in error["message"]
    assert keep(core, branch, branch)["version"] == 4, "a number is not given twice"
    assert use(core, branch, f"{branch}/d")["template_version"] == 4


@pytest.mark.line("S1-073")
def test_templates_are_chosen_by_type_status_and_number_newest_first(
    core: Session, branch: str
) -> None:
    kind = f"kind of {branch}"
    names = [f"{branch} {letter}" for letter in "abc"]
    for name in names:
        keep(core, branch, name, applicable_task_types=[kind, name])
    keep(core, branch, f"{branch} d")
    assert listed(core, task_type=kind) == [(name, 1) for name in reversed(names)]
    assert listed(core, task_type=kind, limit=2) == [(names[2], 1), (names[1], 1)]
    assert listed(core, task_type=names[0]) == [(names[0], 1)]
    assert listed(core, task_type=kind, status="deprecated") == []
    retire_version(core, names[1])
    assert listed(core, task_type=kind) == [(names[2], 1), (names[0], 1)]
    assert listed(core, task_type=kind, status="deprecated") == [(names[1], 1)]
    assert listed(core)[0] == (f"{branch} d", 1)


@pytest.mark.line("S1-076")
def test_a_branch_from_a_template_may_be_for_a_task(
    core: Session, branch: str, write: Write
) -> None:
    task = core.ok("memory_task_create", name=branch, parent_branch=branch)["task_id"]
    keep(core, branch, branch)
    made = use(core, branch, f"{branch}/work", task_id=task)["branch_name"]
    fact = write(made, "Found out.")
    assert rows(core, made, FACT)[fact]["task_id"] == task
    plain = use(core, branch, f"{branch}/plain")["branch_name"]
    write(plain, "Found out.")
    assert [row["task_id"] for row in rows(core, plain, FACT).values()] == [None]
    core.refused(
        "memory_template_instantiate",
        "not_found",
        template_name=branch,
        target_branch_name=f"{branch}/other",
        task_id="task_nobody",
    )


@pytest.mark.line("S1-074", "S1-076")
def test_what_cannot_be_kept_or_used_is_refused(core: Session, branch: str, fork: Fork) -> None:
    core.refused("memory_template_create", "unknown_branch", name="x", source_branch="nowhere")
    keep(core, branch, branch)
    for name, code in (
        (fork(), "branch_exists"),
        (branch.upper(), "branch_exists"),
        ("not a name", "invalid_request"),
    ):
        core.refused(
            "memory_template_instantiate", code, template_name=branch, target_branch_name=name
        )
    error = core.refused(
        "memory_template_instantiate",
        "not_found",
        template_name="nobody's",
        target_branch_name=f"{branch}/x",
    )
    assert error["details"] == {"template": "nobody's"}


@pytest.mark.line("S1-075", "S1-076")
def test_a_template_outlives_the_branches_it_came_from_and_lies_on(
    core: Session, branch: str, write: Write
) -> None:
    write(branch, "Kept.")
    kept = keep(core, branch, branch)
    for name in (branch, kept["branch_name"]):
        with opened(core.folder) as store:
            delete(store.repo, find(store.repo, name), "main", 1)
            compact(store.repo.store, core.folder)
        made = use(core, branch, f"from-{branch}/{name.count('/')}")["branch_name"]
        assert texts(core, made) == ["Kept."]


@pytest.mark.line("S1-075")
def test_two_processes_that_keep_one_name_make_two_versions(core: Session, branch: str) -> None:
    with peers(core) as (one, other):
        for number in range(ROUNDS):
            name = f"{branch} {number}"
            made = at_once(
                lambda: keep(one, branch, name),  # noqa: B023 - used up before the next turn
                lambda: keep(other, branch, name),  # noqa: B023 - called in this round
            )
            assert sorted(m["version"] for m in made) == [1, 2]
            stem = f"template/{name}/v".replace(" ", "-").replace("b/", "b-")
            assert {m["branch_name"] for m in made} == {f"{stem}1", f"{stem}2"}
            assert use(core, name, f"{branch}/{number}")["template_version"] == 2
