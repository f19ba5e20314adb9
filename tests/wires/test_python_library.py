"""`import day1`: what a program writes, reads, branches and merges."""

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import day1
from day1 import errors
from tests.wires.python_places import Connect


def test_what_is_added_is_found_listed_and_traced_to_its_agent(memory: day1.Memory) -> None:
    made = memory.add("The lathe needs oil every Friday.", category="upkeep")
    (hit,) = memory.search("oil for the lathe")
    assert (hit.id, hit.fact_text) == (made.id, "The lathe needs oil every Friday.")
    assert memory.row(made.id).row["category"] == "upkeep"
    assert [row["id"] for row in memory.rows("fact")] == [made.id]
    assert memory.timeline()[0].id == made.id
    assert {cell.agent_id for cell in memory.blame(made.id).cells} == {"writer"}
    assert [version.how for version in memory.history(made.id).versions] == ["added"]


def test_results_are_a_sequence_with_the_state_that_was_read(memory: day1.Memory) -> None:
    for number in range(3):
        memory.add(f"Lathe {number} is oiled.")
    page = memory.rows("fact", limit=2)
    assert (len(page), page.total, page.read.branch) == (2, 3, memory.name)
    assert list(page) == list(page[:2])
    assert page == memory.rows("fact", limit=2)
    assert any("keyword only" in note for note in memory.search("lathe").notes)


def test_other_kinds_are_written_and_read(memory: day1.Memory) -> None:
    memory.observe("The belt slipped.", "error", tool_name="Bash", raw_output="slip")
    memory.relate("lathe", "driven_by", "belt", properties={"teeth": 40})
    said = memory.say(None, "user", "Which belt is it?", title="Belts")
    memory.say(said.conversation_id, "assistant", "The one with 40 teeth.")
    assert memory.search("belt", types=["observation"])[0].fact_text == "The belt slipped."
    assert memory.graph("belt")[0].properties == {"teeth": 40}
    assert [c.title for c in memory.conversations()] == ["Belts"]
    texts = [row["content"] for row in memory.messages(said.conversation_id)]
    assert texts == ["Which belt is it?", "The one with 40 teeth."]
    assert memory.search_messages("teeth")[0].content == "The one with 40 teeth."


def test_a_fact_is_corrected_replaced_removed_and_brought_back(memory: day1.Memory) -> None:
    made = memory.add("The lathe weighs 300 kg.")
    seen = memory.row(made.id).row["revision"]
    memory.update(made.id, text="The lathe weighs 320 kg.", reason="weighed", expect_revision=seen)
    with pytest.raises(errors.RevisionChanged):
        memory.update(made.id, confidence=0.5, expect_revision=seen)
    newer = memory.supersede(made.id, "The lathe weighs 330 kg since its repair.")
    assert [hit.id for hit in memory.search("how heavy is the lathe")] == [newer.id]
    gone = memory.retract(newer.id, reason="no lathe any more")
    assert not memory.search("lathe")
    memory.restore(gone.restore["to"], row_id=newer.id)
    assert memory.search("lathe")[0].id == newer.id


def test_the_past_is_read_with_the_same_methods(memory: day1.Memory) -> None:
    made = memory.add("The key is under the mat.")
    before = datetime.fromisoformat(made.created_at) - timedelta(microseconds=1)
    memory.update(made.id, text="The key is on the hook.")
    then = memory.as_of(made.created_at)
    assert then.search("key")[0].fact_text == "The key is under the mat."
    assert then.row(made.id).row["fact_text"] == "The key is under the mat."
    assert not memory.as_of(before).rows("fact")
    assert not hasattr(then, "add")
    with pytest.raises(errors.InvalidRequest, match="zone"):
        memory.as_of(before.replace(tzinfo=None))


def test_a_branch_is_made_by_with_and_left_as_it_is(memory: day1.Memory) -> None:
    memory.add("The shop opens at eight.")
    name = f"{memory.name}/trial"
    with suppress(RuntimeError), memory.branch(name) as trial:
        trial.add("The shop opens at nine.")
        raise RuntimeError
    assert len(memory.branch(name).rows("fact")) == 2
    assert len(memory.rows("fact")) == 1
    with memory.branch(name) as again:
        assert again.diff().new_facts[0]["fact_text"] == "The shop opens at nine."


def test_a_preview_is_merged_exactly_and_conflicts_are_held_until_decided(
    memory: day1.Memory,
) -> None:
    made = memory.add("The shop opens at eight.")
    trial = memory.create_branch(f"{memory.name}/trial")
    trial.add("The shop closes at six.")
    trial.update(made.id, text="The shop opens at nine.")
    memory.update(made.id, text="The shop opens at ten.")
    preview = trial.preview()
    assert (len(preview.rows), preview.conflicts[0].source) == (2, "The shop opens at nine.")
    merge = preview.merge()
    assert (merge.merged_count, merge.held_count) == (1, 1)
    (held,) = merge.held()
    assert held.theirs == {"fact_text": "The shop opens at nine."}
    assert not held.decide("theirs").items
    assert memory.row(made.id).row["fact_text"] == "The shop opens at nine."
    assert not memory.held()
    trial.add("The shop has a dog.")
    with pytest.raises(errors.PlanChanged):
        trial.merge(expect=preview.digest)


def test_a_held_value_is_kept_out_or_replaced(memory: day1.Memory) -> None:
    first, second = memory.add("A costs 1."), memory.add("B costs 1.")
    trial = memory.create_branch(f"{memory.name}/trial")
    for row in (first, second):
        trial.update(row.id, text="It costs 2.")
        memory.update(row.id, text="It costs 3.")
    held = {item.row_id: item for item in trial.merge().held()}
    with pytest.raises(errors.InvalidRequest):
        held[first.id].decide("value")
    held[first.id].decide("value", {"fact_text": "A costs 4."})
    held[second.id].decide("ours")
    texts = {row["fact_text"] for row in memory.rows("fact")}
    assert texts == {"A costs 4.", "It costs 3."}


def test_a_review_is_opened_decided_and_merged(memory: day1.Memory) -> None:
    trial = memory.create_branch(f"{memory.name}/trial", description="a new rule")
    made = trial.add("Visitors wear a badge.")
    review = trial.review(title="Badges")
    assert (review.status, [each.id for each in trial.reviews()]) == ("open", [review.id])
    shown = review.show()
    assert shown.rows[0].id == made.id
    state = review.decide([{"id": made.id, "take": "theirs"}])
    assert review.merge(expect=state.digest).merged_count == 1
    assert memory.search("badge")[0].id == made.id
    other = memory.create_branch(f"{memory.name}/other")
    other.add("Visitors wear two badges.")
    assert other.review().close(reason="one is enough").status == "closed"


def test_a_merge_is_reverted_and_a_branch_dropped(memory: day1.Memory) -> None:
    trial = memory.create_branch(f"{memory.name}/trial")
    trial.add("The roof leaks.")
    with pytest.raises(errors.Day1Error):
        trial.drop()
    merge = trial.merge()
    assert memory.revert(merge.commit).reverted_count == 1
    assert not memory.rows("fact")
    snapshot = memory.snapshot("quiet")
    assert [item.id for item in memory.snapshots()] == [snapshot.snapshot_id]
    assert trial.drop(force=True).deleted
    assert trial.name not in {item.branch_name for item in memory.branches()}
    assert memory.log(limit=1)[0].op == "revert"


def test_a_batch_is_one_commit_or_nothing(memory: day1.Memory) -> None:
    old = memory.add("The mill is red.")
    before = len(memory.log())
    with memory.batch("painted", request_id="paint") as batch:
        batch.add("The mill was painted in May.", category="work", happened_at="2026-05-01")
        batch.observe("The paint dries slowly.", "insight", raw_output="slow")
        batch.relate("mill", "painted_by", "Ada")
        batch.update(old.id, text="The mill is blue.")
    assert batch.result is not None
    assert len(memory.log()) == before + 2  # the pending row's, and one for the batch
    assert memory.row(batch.result.ids[0]).row["category"] == "work"
    assert memory.row(old.id).row["fact_text"] == "The mill is blue."
    assert memory.history(old.id).versions[0].reason == "painted"
    with memory.batch("painted", request_id="paint") as again:
        again.add("The mill was painted in May.", category="work", happened_at="2026-05-01")
        again.observe("The paint dries slowly.", "insight", raw_output="slow")
        again.relate("mill", "painted_by", "Ada")
        again.update(old.id, text="The mill is blue.")
    assert again.result is not None
    assert again.result.ids == batch.result.ids
    assert len(memory.log()) == before + 2


@pytest.mark.parametrize("wrong", ["missing", "empty", "raised"])
def test_nothing_of_a_failing_batch_is_written(memory: day1.Memory, wrong: str) -> None:
    with suppress(errors.NotFound, errors.InvalidRequest, RuntimeError), memory.batch() as batch:
        batch.add("This is not written.")
        if wrong == "missing":
            batch.retract("fact_00000000000000000000000000")
        elif wrong == "empty":
            batch.add("")
        else:
            raise RuntimeError
    assert not memory.rows("fact")
    assert batch.result is None


def test_retracting_in_a_batch_and_an_empty_batch(memory: day1.Memory) -> None:
    made = memory.add("Twice is too often.")
    with memory.batch(request_id="away") as batch:
        batch.retract(made.id)
    with memory.batch(request_id="away") as again:
        again.retract(made.id)
        assert len(again) == 1
    assert not memory.rows("fact")
    assert len(batch) == len(again) == 0
    with memory.batch() as nothing:
        pass
    assert nothing.result is None


def test_a_batch_writes_what_it_was_given_at_the_time(memory: day1.Memory) -> None:
    value = {"cart": {"items": 0}}
    with memory.batch() as batch:
        for number in (1, 2):
            value["cart"]["items"] = number
            batch.set(f"step {number}", value)
        batch.relate("cart", "has", "items", properties=value)
        value["cart"]["items"] = 9
    entries = [memory.get(f"step {number}") for number in (1, 2)]
    assert [entry and entry.value["cart"]["items"] for entry in entries] == [1, 2]
    relation = memory.rows("relation")[0]
    assert relation["properties"] == {"cart": {"items": 2}}


def test_a_batch_that_cannot_copy_an_argument_refuses_it(memory: day1.Memory) -> None:
    unknown: Any = {"lock": threading.Lock()}
    with pytest.raises(errors.InvalidRequest, match="no JSON"):
        memory.batch().relate("a", "b", "c", properties=unknown)


def test_a_batch_that_is_used_again_begins_empty(memory: day1.Memory) -> None:
    batch = memory.batch()
    batch.add("Before the block.")
    with batch:
        batch.add("In the first block.")
    with suppress(RuntimeError), batch:
        batch.add("In a block that fails.")
        raise RuntimeError
    with batch:
        assert len(batch) == 0
    assert batch.result is None
    with batch:
        batch.add("In the last block.")
    texts = sorted(row["fact_text"] for row in memory.rows("fact"))
    assert texts == ["Before the block.", "In the first block.", "In the last block."]


def test_a_repeated_request_writes_once(memory: day1.Memory) -> None:
    first = memory.add("Once.", request_id="r")
    assert memory.add("Once.", request_id="r").id == first.id
    with pytest.raises(errors.RequestReused):
        memory.add("Twice.", request_id="r")


def test_any_operation_is_called_by_its_name(memory: day1.Memory) -> None:
    task = memory.call("memory_task_create", name=f"task of {memory.name}")
    assert task["branch_name"].startswith("task/")
    saved = memory.call("kompanion.save_context", namespace="n", key="k", content={"a": 1})
    assert saved["written"]["branch"]
    with pytest.raises(errors.UnknownTool, match="docs/tools"):
        memory.call("memory_nothing")


def test_texts_are_found_after_settling(memory: day1.Memory) -> None:
    memory.add("The bell rings at noon.")
    assert all("pending" not in note for note in memory.settle())
    assert memory.prime().text
    assert memory.protect([]).requires == []


def test_times_are_taken_with_their_zone(memory: day1.Memory) -> None:
    memory.add("It was warm.", happened_at=datetime(2026, 5, 1, 12, tzinfo=UTC))
    memory.add("It was cold.", happened_at="2026-01-01")
    (hit,) = memory.search("it was", after=datetime(2026, 4, 1, tzinfo=UTC), before="2026-06-01")
    assert hit.fact_text == "It was warm."
    with pytest.raises(errors.InvalidRequest, match="happened_at"):
        memory.add("It was windy.", happened_at=datetime(2026, 5, 1))


def test_errors_have_a_code_and_steps_in_the_words_of_python(memory: day1.Memory) -> None:
    with pytest.raises(errors.UnknownBranch) as unknown:
        memory.branch("nowhere").search("x")
    assert unknown.value.code == "unknown_branch"
    assert "`memory.branches()`" in str(unknown.value)
    with pytest.raises(errors.NotFound, match=r"`memory\.history\(id\)`"):
        memory.row("fact_00000000000000000000000000")
    with pytest.raises(errors.InvalidRequest) as invalid:
        memory.add("Sure.", confidence=2)
    assert invalid.value.details["problems"]


def test_a_branch_that_is_protected_closed_or_gone_takes_no_writes(memory: day1.Memory) -> None:
    protected, closed, gone = (
        memory.create_branch(f"{memory.name}/{name}") for name in ("protected", "closed", "gone")
    )
    protected.protect(["review"])
    closed.add("All of this moves.")
    closed.merge(strategy="squash")
    gone.drop()
    for branch, kind in (
        (protected, errors.BranchProtected),
        (closed, errors.BranchClosed),
        (gone, errors.UnknownBranch),
    ):
        with pytest.raises(kind):
            branch.add("This is refused.")
        with pytest.raises(kind), branch.batch() as batch:
            batch.add("This is refused too.")
    protected.protect([])


def test_a_memory_has_its_own_branch_space_and_agent(connect: Connect, memory: day1.Memory) -> None:
    with connect(branch=memory.name, space="project:mill", session="s1") as mill:
        made = mill.add("The mill has four floors.")
        assert not memory.search("floors", space="project:lathe")
        assert mill.row(made.id).row["session_id"] == "s1"
        assert mill.row(made.id).row["agent_id"] is None
        assert memory.add("Signed.", agent_id="ada").id != made.id
    with pytest.raises(errors.HandleClosed, match="connect"):
        mill.search("floors")
    mill.close()
