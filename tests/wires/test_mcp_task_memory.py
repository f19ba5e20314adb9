"""Task memory over MCP: consolidating, searching a task, an agent's timeline, comparing tasks."""

import itertools
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from day1.app.open import now
from day1.services.branches.deleting import delete
from day1.services.upkeep.retiring import retire
from tests.fakes.embedding_server import embedding_server
from tests.flows.opened_store import opened
from tests.wires.conftest import Fork
from tests.wires.mcp_session import Session

NULLABLE = "string|null = null"
_numbers = itertools.count(1)


class Team(NamedTuple):
    """A task with two agents."""

    core: Session
    task: str
    branch: str
    ada: str
    bo: str

    def observe(self, branch: str, summary: str, kind: str = "discovery", **more: Any) -> str:
        made: str = self.core.ok(
            "memory_write_observation",
            observation_type=kind,
            summary=summary,
            branch=branch,
            **more,
        )["id"]
        return made

    def consolidate(self, level: str = "task", **more: Any) -> dict[str, Any]:
        return self.core.ok("memory_consolidate", level=level, task_id=self.task, **more)

    def facts(self, branch: str) -> list[dict[str, Any]]:
        diff = self.core.ok("memory_branch_diff", source_branch=branch, target_branch="empty")
        found: list[dict[str, Any]] = diff["new_facts"]
        return found


def team_of(core: Session, parent: str = "empty", task_type: str | None = None) -> Team:
    made = core.ok(
        "memory_task_create",
        name=f"Task memory {next(_numbers)}",
        parent_branch=parent,
        task_type=task_type,
        objectives=[{"description": "Reproduce the bug"}, {"description": "Fix the bug"}],
    )
    names = [
        core.ok("memory_task_join", task_id=made["task_id"], agent_id=agent)["branch_name"]
        for agent in ("ada", "bo")
    ]
    return Team(core, made["task_id"], made["branch_name"], *names)


def merge(core: Session, source: str, target: str) -> dict[str, Any]:
    both = {"source_branch": source, "target_branch": target}
    return core.ok("memory_branch_merge", strategy="auto", **both)


@pytest.fixture
def team(core: Session) -> Team:
    return team_of(core)


# Consolidating


@pytest.mark.line("S1-056")
def test_consolidate_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_consolidate") == {
        "agent_id": NULLABLE,
        "session_id": NULLABLE,
        "task_id": NULLABLE,
        "level": "session|agent|task!",
        "branch": NULLABLE,
    }


@pytest.mark.line("S1-056")
@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"level": "session", "task_id": "t"}, ["session_id"]),
        ({"level": "task", "session_id": "s"}, ["task_id"]),
        ({"level": "agent"}, ["task_id", "agent_id"]),
        ({"level": "agent", "task_id": "t"}, ["agent_id"]),
    ],
)
def test_what_a_level_lacks_is_named(
    core: Session, given: dict[str, Any], missing: list[str]
) -> None:
    error = core.refused("memory_consolidate", "invalid_request", **given)
    assert [problem["argument"] for problem in error["details"]["problems"]] == missing
    assert all(name in error["message"] for name in missing)


@pytest.mark.line("S1-056")
def test_a_task_that_is_not_there_is_refused(core: Session) -> None:
    core.refused("memory_consolidate", "not_found", level="task", task_id="task_none")


@pytest.mark.line("S1-056", "S1-057")
def test_what_a_team_observed_becomes_facts_of_the_task(team: Team) -> None:
    rough = team.observe(team.ada, "the login token expires after 30 minutes")
    good = team.observe(team.bo, "The login token expires after 30 minutes.", "insight")
    alone = team.observe(team.bo, "Retries are capped at 5 in client/http.py.", "decision")
    before = team.core.found("memory_agent_timeline", agent_id="bo", limit=500)
    done = team.consolidate()
    assert (done["new_facts"], done["duplicates_merged"]) == (2, 1)
    assert done["written"]["branch"] == team.branch
    assert {f["fact_text"]: f["sources"] for f in done["facts"]} == {
        "The login token expires after 30 minutes.": [good, rough],
        "Retries are capped at 5 in client/http.py.": [alone],
    }
    facts = {fact["fact_text"]: fact for fact in team.facts(team.branch)}
    assert {fact["id"] for fact in facts.values()} == {fact["id"] for fact in done["facts"]}
    both = facts["The login token expires after 30 minutes."]
    assert (both["category"], both["confidence"]) == ("insight", 0.7)
    assert (both["status"], both["verification"]) == ("active", "unverified")
    assert facts["Retries are capped at 5 in client/http.py."]["confidence"] == 0.5
    assert facts["Retries are capped at 5 in client/http.py."]["category"] == "decision"
    after = team.core.found("memory_agent_timeline", agent_id="bo", limit=500)
    assert after == before, "observations stay as they are"


@pytest.mark.line("S1-057")
def test_provenance_names_every_source(team: Team) -> None:
    text = "Port 8080 is taken by the proxy."
    sources = [team.observe(branch, text) for branch in (team.ada, team.bo)]
    sources.append(team.observe(team.ada, text, session_id="the next one"))
    (fact,) = team.consolidate()["facts"]
    assert sorted(fact["sources"]) == sorted(sources)
    assert fact["confidence"] == 0.85
    store = team.core.everything([team.branch])[team.branch]
    (row,) = [row for row in store["facts"] if row["id"] == fact["id"]]
    assert row["origin_id"] == fact["sources"][0]
    assert row["task_id"] == team.task
    edits = [edit for edit in store["edits"] if edit["row_id"] == fact["id"]]
    assert {edit["cell"] for edit in edits} == {"fact_text"}
    named = "consolidated from " + ", ".join(fact["sources"])
    assert [edit["reason"] for edit in edits].count(named) == 1


@pytest.mark.line("S1-058")
def test_a_second_run_adds_nothing_and_says_so(team: Team) -> None:
    team.observe(team.ada, "The cache is cold after a deploy.")
    team.observe(team.bo, "Deploys take 4 minutes.")
    assert team.consolidate()["new_facts"] == 2
    before = team.core.everything([team.branch])
    again = team.consolidate()
    assert (again["new_facts"], again["duplicates_merged"], again["facts"]) == (0, 2, [])
    assert any("already" in note for note in again["written"]["notes"])
    assert team.core.everything([team.branch]) == before
    team.observe(team.ada, "Deploys take 4 minutes")
    third = team.consolidate()
    assert (third["new_facts"], third["duplicates_merged"]) == (0, 3)


@pytest.mark.line("S1-058")
def test_nothing_to_consolidate_is_said(team: Team) -> None:
    before = team.core.everything([team.branch])
    done = team.consolidate()
    assert (done["new_facts"], done["duplicates_merged"]) == (0, 0)
    (note,) = done["written"]["notes"]
    assert team.task in note
    nobody = team.core.ok("memory_consolidate", level="session", session_id="nobody's")
    assert (nobody["new_facts"], nobody["duplicates_merged"]) == (0, 0)
    assert nobody["written"]["notes"]
    assert team.core.everything([team.branch]) == before


@pytest.mark.line("S1-058")
def test_a_retracted_candidate_does_not_come_back(team: Team) -> None:
    team.observe(team.ada, "The moon is made of cheese, as the fixtures show.")
    (fact,) = team.consolidate()["facts"]
    team.core.ok("memory_retract_fact", fact_id=fact["id"], branch=team.branch)
    assert team.consolidate()["new_facts"] == 0
    team.observe(team.bo, "The moon is made of cheese, as the fixtures show!")
    team.observe(team.bo, "As the fixtures show, the moon is made of cheese.")
    again = team.consolidate()
    assert (again["new_facts"], again["duplicates_merged"]) == (0, 3)
    assert team.facts(team.branch) == []


@pytest.mark.line("S1-058")
def test_a_retracted_wording_does_not_come_back(team: Team) -> None:
    """What is alike to the retracted fact's text, and is in another group than its source."""
    first = "Zebra yak wolf vole toad swan rook quail puma."
    second = "Zebra yak wolf vole toad swan rook quail newt."
    third = "Zebra yak wolf vole toad swan rook quail puma lynx."
    team.observe(team.ada, first)
    (fact,) = team.consolidate()["facts"]
    team.core.ok("memory_retract_fact", fact_id=fact["id"], branch=team.branch)
    team.observe(team.bo, second)
    team.observe(team.ada, third)
    again = team.consolidate()
    assert (again["new_facts"], again["duplicates_merged"]) == (0, 3)


@pytest.mark.line("S1-058")
def test_a_source_of_a_retracted_fact_does_not_come_back_in_other_company(team: Team) -> None:
    second = "Zebra yak wolf vole toad swan rook quail newt."
    team.observe(team.bo, second)
    team.observe(team.ada, "Zebra yak wolf vole toad swan rook quail puma.")
    (fact,) = team.consolidate()["facts"]
    assert "puma" in fact["fact_text"]
    team.core.ok("memory_retract_fact", fact_id=fact["id"], branch=team.branch)
    team.observe(team.bo, second[:-1] + " lynx.")
    again = team.consolidate()
    assert (again["new_facts"], again["duplicates_merged"]) == (0, 3)


@pytest.mark.line("S1-058")
def test_what_an_active_fact_says_is_not_said_again(team: Team) -> None:
    text = "Billing closes at 18:00 UTC."
    team.core.ok("memory_write_fact", fact_text=text, branch=team.branch)
    team.observe(team.ada, text)
    assert team.consolidate()["new_facts"] == 0
    assert [fact["fact_text"] for fact in team.facts(team.branch)] == [text]


@pytest.mark.line("S1-058")
def test_a_claim_and_its_denial_are_two(team: Team) -> None:
    team.observe(team.ada, "The worker pool is safe to restart.")
    team.observe(team.bo, "The worker pool is not safe to restart.")
    team.observe(team.bo, "The test run had 12 failures.")
    team.observe(team.bo, "The test run had 13 failures.")
    assert team.consolidate()["new_facts"] == 4


@pytest.mark.line("S1-056")
def test_an_agents_level_takes_its_own_observations_to_its_own_branch(team: Team) -> None:
    team.observe(team.ada, "Ada found the leak in pool.py.")
    team.observe(team.bo, "Bo found the leak in queue.py.")
    done = team.consolidate("agent", agent_id="ada")
    assert [fact["fact_text"] for fact in done["facts"]] == ["Ada found the leak in pool.py."]
    assert done["written"]["branch"] == team.ada
    assert [fact["fact_text"] for fact in team.facts(team.ada)] == [
        "Ada found the leak in pool.py."
    ]
    assert team.facts(team.branch) == []


@pytest.mark.line("S1-057")
def test_what_both_levels_found_merges_without_a_clash(team: Team) -> None:
    team.observe(team.ada, "Ada found the leak in pool.py.")
    (own,) = team.consolidate("agent", agent_id="ada")["facts"]
    (tasks,) = team.consolidate()["facts"]
    assert own["id"] == tasks["id"]
    assert merge(team.core, team.ada, team.branch)["rejected_count"] == 0
    assert [fact["id"] for fact in team.facts(team.branch)] == [own["id"]]


@pytest.mark.line("S1-056")
def test_a_session_is_consolidated_where_it_wrote_last(
    core: Session, fork: Fork, team: Team
) -> None:
    first, last = fork(), fork()
    session = f"session of {first}"
    team.observe(first, "The export is slow on Mondays.", session_id=session)
    team.observe(last, "The import is slow on Fridays.", session_id=session)
    team.observe(last, "Another session saw nothing.", session_id="another")
    done = core.ok("memory_consolidate", level="session", session_id=session)
    assert done["written"]["branch"] == last
    assert {fact["fact_text"] for fact in done["facts"]} == {
        "The export is slow on Mondays.",
        "The import is slow on Fridays.",
    }
    elsewhere = core.ok("memory_consolidate", level="session", session_id=session, branch=first)
    assert elsewhere["written"]["branch"] == first
    assert len(team.facts(first)) == 2


def test_observations_of_a_merged_branch_count_once(team: Team) -> None:
    team.observe(team.ada, "The schema has 14 tables.")
    merge(team.core, team.ada, team.branch)
    (fact,) = team.consolidate()["facts"]
    assert len(fact["sources"]) == 1


@pytest.mark.line("S1-058")
def test_two_processes_at_once_add_nothing_twice(team: Team) -> None:
    for number in range(60):
        team.observe((team.ada, team.bo)[number % 2], f"Shard {number} lives on host h{number}.")
    with Session(team.core.folder) as other:
        answers: list[dict[str, Any]] = []
        together = threading.Barrier(2)

        def consolidate(session: Session) -> None:
            together.wait()
            answers.append(session.ok("memory_consolidate", level="task", task_id=team.task))

        threads = [threading.Thread(target=consolidate, args=(s,)) for s in (team.core, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(answer["new_facts"] for answer in answers) == 60
    assert [a["new_facts"] + a["duplicates_merged"] for a in answers] == [60, 60]
    texts = [fact["fact_text"] for fact in team.facts(team.branch)]
    assert len(texts) == len(set(texts)) == 60


@pytest.fixture(scope="module")
def meaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A server with an embedder that knows synonyms."""
    with (
        embedding_server() as url,
        Session(
            tmp_path_factory.mktemp("meaning") / "store",
            DAY1_EMBEDDER__KIND="openai",
            DAY1_EMBEDDER__URL=url,
            DAY1_EMBEDDER__MODEL="meaning",
        ) as session,
    ):
        session.ok("memory_branch_create", branch_name="empty")
        yield session


@pytest.mark.line("S1-056", "S1-058")
def test_the_same_in_other_words_is_one_fact(meaning: Session) -> None:
    team = team_of(meaning)
    team.observe(team.ada, "saw a crimson automobile")
    team.observe(team.bo, "The red car stood in front of the bakery gate 7.")
    team.observe(team.bo, "A red vehicle was seen by the warden.")
    team.observe(team.ada, "Someone drank an infusion.")
    done = team.consolidate()
    assert {fact["fact_text"]: len(fact["sources"]) for fact in done["facts"]} == {
        "A red vehicle was seen by the warden.": 2,
        "The red car stood in front of the bakery gate 7.": 1,
        "Someone drank an infusion.": 1,
    }
    assert done["written"]["notes"] == []
    assert team.consolidate()["new_facts"] == 0
    elsewhere = team_of(meaning)
    meaning.ok("memory_write_fact", fact_text="Tea was drunk.", branch=elsewhere.branch)
    elsewhere.observe(elsewhere.ada, "Someone had an infusion.")
    elsewhere.observe(elsewhere.ada, "Someone had no infusion.")
    again = elsewhere.consolidate()
    assert [fact["fact_text"] for fact in again["facts"]] == ["Someone had no infusion."]


def test_without_a_model_words_are_compared_and_it_is_said(team: Team) -> None:
    team.observe(team.ada, "Idle connections of the gateway are dropped after 30 seconds")
    team.observe(team.bo, "After 30 seconds, idle connections of the gateway are dropped.")
    done = team.consolidate()
    assert (done["new_facts"], done["duplicates_merged"]) == (1, 1)
    (note,) = done["written"]["notes"]
    assert "by their words" in note


# Searching a task


@pytest.mark.line("S1-059")
def test_search_task_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_search_task") == {
        "task_id": "string!",
        "query": "string!",
        "agent_id": NULLABLE,
        "limit": "integer|null 1..200 = 10",
    }
    core.refused("memory_search_task", "not_found", task_id="task_none", query="leak")


@pytest.mark.line("S1-059")
def test_a_tasks_rows_are_found_on_all_its_branches_and_no_others(
    core: Session, fork: Fork
) -> None:
    parent = fork()
    core.ok("memory_write_fact", fact_text="The leak was there before.", branch=parent)
    team, other = team_of(core, parent), team_of(core, parent)
    other.observe(other.ada, "A leak of another task.")
    mine = core.ok("memory_write_fact", fact_text="The leak is in pool.py.", branch=team.ada)
    his = team.observe(team.bo, "The leak grows by 3 MB an hour.")
    lead = core.ok("memory_write_fact", fact_text="Leak: roll back first.", branch=team.branch)
    unrelated = team.observe(team.bo, "Lunch was good.")

    def found(**more: Any) -> dict[str, tuple[str | None, str, str]]:
        hits = core.found("memory_search_task", task_id=team.task, query="leak", **more)
        assert [h["score"] for h in hits] == sorted((h["score"] for h in hits), reverse=True)
        assert unrelated not in {hit["id"] for hit in hits}
        return {hit["id"]: (hit["agent_id"], hit["branch"], hit["type"]) for hit in hits}

    assert found() == {
        mine["id"]: ("ada", team.ada, "fact"),
        his: ("bo", team.bo, "observation"),
        lead["id"]: (None, team.branch, "fact"),
    }
    assert list(found(agent_id="bo")) == [his]
    assert found(agent_id="nobody") == {}
    assert len(found(limit=2)) == 2


@pytest.mark.line("S1-059")
def test_what_was_merged_is_found_once_on_its_authors_branch(team: Team) -> None:
    core = team.core
    fact = core.ok("memory_write_fact", fact_text="Quokkas smile.", branch=team.ada)["id"]
    merge(core, team.ada, team.branch)
    late = core.ok("memory_task_join", task_id=team.task, agent_id="cy")["branch_name"]
    core.ok("memory_write_fact", fact_text="Quokkas sleep.", branch=late)
    hits = core.found("memory_search_task", task_id=team.task, query="quokkas")
    assert sorted((hit["fact_text"], hit["branch"]) for hit in hits) == [
        ("Quokkas sleep.", late),
        ("Quokkas smile.", team.ada),
    ]
    assert fact in {hit["id"] for hit in hits}


@pytest.mark.line("S1-059")
def test_a_tasks_search_sees_what_was_written_changed_and_retracted_last(
    team: Team, fork: Fork
) -> None:
    core = team.core

    def texts() -> list[str]:
        hits = core.found("memory_search_task", task_id=team.task, query="otters")
        return sorted(hit["fact_text"] for hit in hits)

    assert texts() == []
    one = core.ok("memory_write_fact", fact_text="Otters swim.", branch=team.ada)["id"]
    assert texts() == ["Otters swim."]
    core.ok("memory_update_fact", fact_id=one, fact_text="Otters dive.", branch=team.ada)
    assert texts() == ["Otters dive."]
    two = core.ok("memory_write_fact", fact_text="Otters nap.", branch=team.ada)["id"]
    core.ok("memory_write_fact", fact_text="Otters of no task.", branch=fork())
    assert texts() == ["Otters dive.", "Otters nap."]
    core.ok("memory_retract_fact", fact_id=two, branch=team.ada)
    core.ok("memory_supersede_fact", fact_id=one, fact_text="Otters dine.", branch=team.ada)
    assert texts() == ["Otters dine."]


# An agent's timeline


@pytest.mark.line("S1-060")
def test_an_agents_timeline_takes_and_answers_what_the_seed_says(core: Session, fork: Fork) -> None:
    assert core.takes("memory_agent_timeline") == {
        "agent_id": "string!",
        "limit": "integer|null 1..500 = 50",
    }
    agent = f"agent of {fork()}"
    team, lonely = team_of(core), fork()
    own = core.ok("memory_task_join", task_id=team.task, agent_id=agent)["branch_name"]
    first = core.ok("memory_write_fact", fact_text="First.", branch=own)["id"]
    core.ok("memory_write_fact", fact_text="Another's.", branch=own, agent_id="eve")
    second = team.observe(lonely, "Second.", agent_id=agent, session_id="s")
    early = core.ok("memory_write_fact", fact_text="Zeroth.", branch=own, happened_at="2001-01-01")[
        "id"
    ]
    merge(core, own, team.branch)
    core.ok("memory_write_fact", fact_text="By the way.", branch=team.branch, agent_id=agent)
    items = core.found("memory_agent_timeline", agent_id=agent)
    assert [(i["id"], i["type"], i["task_id"], i["branch"]) for i in items[:3]] == [
        (early, "fact", team.task, own),
        (first, "fact", team.task, own),
        (second, "observation", None, lonely),
    ]
    assert items[3]["branch"] == team.branch
    assert items[2]["session_id"] == "s"
    assert [i["content"] for i in items] == ["Zeroth.", "First.", "Second.", "By the way."]
    assert all(i["agent_id"] == agent for i in items)
    newest = core.found("memory_agent_timeline", agent_id=agent, limit=2)
    assert newest == items[2:]


@pytest.mark.line("S1-060")
def test_the_timeline_of_nobody_is_empty_and_says_so(core: Session) -> None:
    answer = core.call("memory_agent_timeline", {"agent_id": "nobody at all"})
    assert answer.structured["result"] == []
    assert "nobody at all" in answer.notes[0]


@pytest.mark.line("S1-059", "S1-060")
def test_what_retired_and_deleted_branches_had_is_still_told(team: Team) -> None:
    core = team.core
    for agent, branch in (("ada", team.ada), ("bo", team.bo)):
        core.ok("memory_write_fact", fact_text=f"Axolotls, says {agent}.", branch=branch)
    merge(core, team.ada, team.branch)
    with opened(core.folder) as store:
        delete(store.repo, team.ada, "main", now())
        retire(store.repo, team.bo, now())
    hits = core.found("memory_search_task", task_id=team.task, query="axolotls")
    told = [
        item
        for agent in ("ada", "bo")
        for item in core.found("memory_agent_timeline", agent_id=agent)
        if item["task_id"] == team.task
    ]
    where = {"Axolotls, says ada.": team.branch, "Axolotls, says bo.": team.bo}
    assert {hit["fact_text"]: hit["branch"] for hit in hits} == where
    assert {item["content"]: item["branch"] for item in told} == where


# Comparing tasks


@pytest.mark.line("S1-061")
def test_a_type_without_tasks_is_empty_and_names_those_there_are(core: Session) -> None:
    assert core.takes("memory_replay_task_type") == {
        "task_type": "string!",
        "limit": "integer|null 1..100 = 20",
    }
    team_of(core, task_type="known_type")
    answer = core.ok("memory_replay_task_type", task_type="no_such_type")
    assert (answer["task_count"], answer["tasks"], answer["patterns"]) == (0, [], [])
    assert "known_type" in answer["read"]["notes"][0]


def worked(core: Session, task_type: str) -> tuple[Team, dict[str, str]]:
    """A task of which both objectives are done, the second first; ids of what was noted."""
    team = team_of(core, task_type=task_type)
    ids = {
        "run": team.observe(team.ada, "Ran the tests.", "tool_use", tool_name="Bash"),
        "error": team.observe(
            team.ada, "The build failed with a missing libssl.", "error", tool_name="Bash"
        ),
        "others": team.observe(team.bo, "Read the manual.", "tool_use", tool_name="Read"),
        "then": team.observe(team.ada, "Installed libssl-dev.", "tool_use", tool_name="Bash"),
        "fact": core.ok(
            "memory_write_fact", fact_text="The build needs libssl-dev.", branch=team.bo
        )["id"],
    }
    for objective, status in ((1, "in_progress"), (1, "completed"), (0, "completed")):
        core.ok(
            "memory_task_update",
            task_id=team.task,
            objective_id=objective,
            status=status,
            agent_id="ada",
        )
    return team, ids


@pytest.mark.line("S1-061")
def test_tasks_of_a_type_are_compared_with_what_each_pattern_rests_on(core: Session) -> None:
    (one, first), (two, second) = worked(core, "replayed"), worked(core, "replayed")
    third = team_of(core, task_type="replayed")
    answer = core.ok("memory_replay_task_type", task_type="replayed")
    assert answer["task_count"] == 3
    assert [task["task_id"] for task in answer["tasks"]] == [third.task, two.task, one.task]
    task = answer["tasks"][2]
    assert (task["status"], task["branch"], task["agents"]) == (
        "completed",
        one.branch,
        ["ada", "bo"],
    )
    assert task["completed_order"] == [1, 0]
    assert 0 < task["duration_s"] < 60
    assert [o["description"] for o in task["objectives"]] == ["Reproduce the bug", "Fix the bug"]
    assert all(o["duration_s"] >= 0 for o in task["objectives"])
    assert task["tools"] == {"Bash": 3, "Read": 1}
    (error,) = task["errors"]
    assert error["id"] == first["error"]
    assert error["followed_by"]["id"] == first["then"], "what the same agent noted next"
    assert task["counts"] == {"facts": 1, "observations": 4, "messages": 0}
    assert (answer["tasks"][0]["duration_s"], answer["tasks"][0]["completed_at"]) == (None, None)

    patterns = {(p["pattern"], p["text"]): p for p in answer["patterns"]}
    assert all(p["support"] == 2 == len(p["tasks"]) for p in patterns.values())
    assert all((p["of"], set(p["tasks"])) == (3, {one.task, two.task}) for p in patterns.values())
    assert ("objective_order", "Fix the bug \u2192 Reproduce the bug") in patterns
    assert patterns["tool", "Bash"]["value"] == 6
    assert patterns["tool", "Read"]["ids"] == [second["others"], first["others"]]
    (fact,) = [p for p in answer["patterns"] if p["pattern"] == "fact"]
    assert set(fact["ids"]) == {first["fact"], second["fact"]}
    (fault,) = [p for p in answer["patterns"] if p["pattern"] == "error"]
    assert fault["text"] == "The build failed with a missing libssl."
    assert set(fault["ids"]) == {first["error"], second["error"]}
    assert {step["id"] for step in fault["followed_by"]} == {first["then"], second["then"]}
    (spent,) = [p for p in answer["patterns"] if p["pattern"] == "duration"]
    known = [t["duration_s"] for t in answer["tasks"] if t["duration_s"] is not None]
    assert spent["value"] == pytest.approx(sum(known) / 2)
    newest = core.ok("memory_replay_task_type", task_type="replayed", limit=2)
    assert [task["task_id"] for task in newest["tasks"]] == [third.task, two.task]
    assert any("2 of 3" in note for note in newest["read"]["notes"])
