"""Spaces and valid time as agents use them: over MCP, the command line and `_meta`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.wires.command_line import CommandLine
from tests.wires.mcp_session import Session

Fork = Any


def texts(found: list[dict[str, Any]]) -> list[str]:
    return sorted(str(one.get("fact_text") or one.get("content")) for one in found)


def result(core: Session, tool: str, **given: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = core.ok(tool, **given)["result"]
    return rows


def test_superseding_ends_the_old_facts_valid_time_unless_told_otherwise(
    core: Session, branch: str
) -> None:
    here = {"branch": branch}

    def head(text: str, since: str) -> str:
        made = core.ok("memory_write_fact", fact_text=text, happened_at=since, **here)
        return str(made["id"])

    old = head("Ada heads the kiln team.", "2020-01-01")
    core.ok(
        "memory_supersede_fact",
        fact_id=old,
        fact_text="Bo heads the kiln team.",
        happened_at="2024-01-01",
        **here,
    )
    wrong = head("Cy heads the forge team.", "2020-01-01")
    core.ok(
        "memory_supersede_fact",
        fact_id=wrong,
        fact_text="Di heads the forge team.",
        happened_at="2020-01-01",
        keep_valid_time=True,
        **here,
    )

    def then(query: str, when: str | None) -> list[str]:
        return texts(result(core, "memory_search", query=query, as_of_event=when, **here))

    assert then("kiln", None) == ["Bo heads the kiln team."]
    assert then("kiln", "2023-12-31") == ["Ada heads the kiln team."]
    assert then("kiln", "2024-01-01") == ["Bo heads the kiln team."]
    assert then("kiln", "2019-12-31") == []
    assert then("forge", "2023-01-01") == ["Di heads the forge team."]
    planned = core.ok(
        "memory_write_fact", fact_text="Jo heads the mill.", valid_until="2999-01-01", **here
    )["id"]
    core.ok("memory_supersede_fact", fact_id=planned, fact_text="Al heads the mill.", **here)
    assert then("mill", "2998-01-01") == ["Al heads the mill."], "it ended sooner than planned"


def test_what_replaces_an_expiring_fact_says_that_it_does_not_expire(
    core: Session, branch: str
) -> None:
    ends = {"expires_at": "2999-01-01", "valid_until": "2998-01-01"}
    new = {"fact_text": "Al heads the mill.", "branch": branch}

    def replaced(**ends: str) -> list[str]:
        text = f"Jo heads the mill {len(ends)}."
        old = core.ok("memory_write_fact", fact_text=text, branch=branch, **ends)["id"]
        made = core.ok("memory_supersede_fact", fact_id=old, **new)
        row = core.ok("memory_history", id=made["id"], branch=branch)["versions"][-1]
        assert not re.search("299[89]", json.dumps(row)), "it inherits nothing"
        return [str(note) for note in made["written"]["notes"]]

    assert replaced() == []
    expires, until = replaced(**ends)
    assert "expires at 2999-01-01" in expires
    assert "memory_update_fact" in expires
    assert "true until 2998-01-01" in until


def test_relations_and_timelines_are_asked_as_of_an_event(core: Session, branch: str) -> None:
    here = {"branch": branch}
    ends = {"source_entity": "kiln", "relation_type": "stands_in", **here}
    core.ok(
        "memory_write_relation",
        target_entity="the barn",
        happened_at="2020-01-01",
        valid_until="2024-01-01",
        **ends,
    )
    core.ok("memory_write_relation", target_entity="the hall", happened_at="2024-01-01", **ends)

    def where(when: str | None) -> list[str]:
        edges = result(core, "memory_graph_query", entity="kiln", as_of_event=when, **here)
        return [str(edge["target"]) for edge in edges]

    assert (where(None), where("2023-05-01"), where("2019-05-01")) == (
        ["the hall"],
        ["the barn"],
        [],
    )
    core.ok(
        "memory_write_fact",
        fact_text="The kiln is cold.",
        happened_at="2020-01-01",
        valid_until="2021-01-01",
        **here,
    )
    assert len(result(core, "memory_timeline", **here)) == 1
    assert len(result(core, "memory_timeline", as_of_event="2020-06-01", **here)) == 1
    assert result(core, "memory_timeline", as_of_event="2022-06-01", **here) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"happened_at": "2024-01-01", "valid_until": "2023-01-01"}, "earlier than"),
        ({"expires_at": "2001-01-01"}, "in the past"),
        ({"space": "*"}, "one space or none"),
        ({"space": "a\nb"}, "kind:name"),
        ({"sensitivity": "hush"}, "sensitivity"),
        ({"valid_until": "soon"}, "ISO 8601"),
    ],
)
def test_what_cannot_be_kept_so_is_refused(
    core: Session, branch: str, given: dict[str, str], said: str
) -> None:
    error = core.refused(
        "memory_write_fact", "invalid_request", fact_text="x", branch=branch, **given
    )
    assert said in error["message"]


def test_an_edit_ends_no_valid_time_before_it_begins(core: Session, branch: str) -> None:
    here = {"branch": branch}
    made = core.ok("memory_write_fact", fact_text="Ed heads.", happened_at="2024-01-01", **here)
    edit = {"fact_id": made["id"], **here}
    for wrong in ({"valid_until": "2023-01-01"}, {"happened_at": "2026-01-01"}):
        error = core.refused("memory_update_fact", "invalid_request", **edit, **wrong)
        assert "earlier than" in error["message"]
        core.ok("memory_update_fact", valid_until="2025-01-01", **edit)
    core.ok("memory_update_fact", happened_at="2026-01-01", valid_until="never", **edit)


def test_no_decision_on_what_is_held_does_so_either(core: Session, branch: str) -> None:
    fact = core.ok(
        "memory_write_fact", fact_text="Flo heads.", happened_at="2024-01-01", branch=branch
    )["id"]
    side = f"{branch}/side"
    core.ok("memory_branch_create", branch_name=side, parent_branch=branch)
    for where, end in ((side, "2026-01-01"), (branch, "2027-01-01")):
        core.ok("memory_update_fact", fact_id=fact, valid_until=end, branch=where)
    core.ok("memory_branch_merge", source_branch=side, target_branch=branch, strategy="auto")
    (item,) = core.ok("memory_held", branch=branch)["items"]
    edit = {"action": "edit", "id": item["id"], "branch": branch}
    core.refused("memory_held", "invalid_request", **edit, value={"valid_until": "2020-01-01"})
    core.ok("memory_held", **edit, value={"valid_until": "2028-01-01"})


def test_a_call_in_a_space_sees_its_rows_and_is_told_of_names_that_drifted(
    core: Session, branch: str
) -> None:
    here = {"branch": branch}
    core.ok("memory_write_fact", fact_text="The kiln is hot.", space="Project:Metal", **here)
    core.ok("memory_write_fact", fact_text="The kiln is old.", **here)
    for tool, given in (("memory_search", {"query": "kiln"}), ("memory_timeline", {})):
        assert texts(result(core, tool, space="project:metal", **given, **here)) == [
            "The kiln is hot."
        ]
        assert texts(result(core, tool, space="shared", **given, **here)) == ["The kiln is old."]
        assert len(result(core, tool, **given, **here)) == 2
        empty = core.ok(tool, space="project:metals", **given, **here)
        assert (empty["result"], "project:metal (1)" in str(empty["read"]["notes"])) == ([], True)
    twin = core.ok("memory_write_fact", fact_text="The kiln is hot.", space="project:b", **here)
    assert twin["near_duplicate_of"] is None  # what another space says is not told


def test_a_connection_has_a_space_that_calls_may_leave(tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    line("init")
    line("add", "The kiln is old.")
    line.env["DAY1_SPACE"] = "project:metal"
    line("add", "The kiln is hot.")

    def found(*options: str) -> list[str]:
        said = json.loads(line("search", "kiln", "--json", *options).out)
        return texts(said["result"])

    assert found() == ["The kiln is hot."]
    assert found("--space", "shared") == ["The kiln is old."]
    assert len(found("--space", "*")) == 2
    assert found("--space", "project:other") == []
    (hit,) = json.loads(line("search", "kiln", "--json").out)["result"]
    line("edit", hit["id"], "--valid-until", "2020-01-01", "--happened-at", "2019-01-01")
    assert (found(), found("--as-of-event", "2019-06-01")) == ([], ["The kiln is hot."])
    line("edit", hit["id"], "--valid-until", "never", "--expires-at", "2099-01-01")
    assert found() == ["The kiln is hot."]
    line("edit", hit["id"], "--sensitivity", "secret")
    assert found("--all-states") == []
    line("edit", hit["id"], code=2)  # an editor would show its words


def test_a_fact_whose_successor_was_retracted_is_superseded_anew(
    core: Session, branch: str
) -> None:
    here = {"branch": branch}
    old = core.ok("memory_write_fact", fact_text="The kiln fires on Fridays.", **here)["id"]
    new = {"fact_id": old, "fact_text": "The kiln fires on Mondays.", **here}
    first = core.ok("memory_supersede_fact", **new)["id"]
    other = {**new, "fact_text": "The kiln fires on Tuesdays."}
    refusal = core.refused("memory_supersede_fact", "refused", **other)
    assert f"supersede {first}" in refusal["message"]
    core.ok("memory_retract_fact", fact_id=first, **here)
    second = core.ok("memory_supersede_fact", **other)["id"]
    assert texts(result(core, "memory_search", query="kiln fires", **here)) == [other["fact_text"]]
    assert second != first
