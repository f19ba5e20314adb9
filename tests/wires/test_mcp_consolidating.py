"""Consolidating over MCP: observations of a session, an agent or a task become facts."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.embedding_server import embedding_server
from tests.wires.conftest import Fork
from tests.wires.mcp_session import Session
from tests.wires.task_team import Team, team_of

NULLABLE = "string|null = null"


def merge(core: Session, source: str, target: str) -> dict[str, Any]:
    both = {"source_branch": source, "target_branch": target}
    return core.ok("memory_branch_merge", strategy="auto", **both)


@pytest.fixture
def team(core: Session) -> Team:
    return team_of(core)


@pytest.mark.line("S1-056")
def test_consolidate_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_consolidate") == {
        "agent_id": NULLABLE,
        "session_id": NULLABLE,
        "task_id": NULLABLE,
        "level": "session|agent|task!",
        "branch": NULLABLE,
        "space": "string|null = null",
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
    assert {edit["cell"] for edit in edits} == {"fact_text", "basis"}
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
def test_what_both_levels_found_merges_without_a_conflict(team: Team) -> None:
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
