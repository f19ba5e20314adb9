"""Two agents edit one file on two branches: a merge by lines, in a folder and over HTTP."""

from typing import Any, Final

import pytest

import day1
from day1 import errors

FILE: Final = "one\ntwo\nthree\nfour\n"
SPACE: Final = ("files", "Notes")
ANN: Final = FILE.replace("one", "ONE")
BOB: Final = FILE.replace("four", "FOUR")
BOTH: Final = "ONE\ntwo\nthree\nFOUR\n"


def edited(memory: day1.Memory, here: str = ANN, there: str = BOB) -> day1.Branch:
    """Edit a file as ann, and as bob on a branch, which is returned."""
    memory.set("a.md", {"text": FILE}, space=SPACE)
    branch = memory.create_branch(f"{memory.name}/bob")
    branch.set("a.md", {"text": there}, space=SPACE, agent_id="bob")
    memory.set("a.md", {"text": here}, space=SPACE, agent_id="ann")
    return branch


def text(at: day1.Branch) -> Any:
    entry = at.get("a.md", space=SPACE)
    assert entry is not None
    return entry.value["text"]


def test_edits_of_different_lines_are_merged(memory: day1.Memory) -> None:
    branch = edited(memory)
    preview = branch.preview()
    assert [(row["effect"], row["text"]) for row in preview.rows] == [("changed", BOTH)]
    assert not preview.merge().held()
    assert (text(memory), text(branch)) == (BOTH, BOB)
    entry = memory.get("a.md", space=SPACE)
    assert entry is not None
    cell = memory.blame(entry.id).cells[0]
    assert (cell.cell, cell.agent_id, cell.op) == ("summary", "writer", "merge")
    lines = memory.blame(entry.id, lines=True).lines
    assert lines is not None
    assert [(run.first, run.last, run.agent_id) for run in lines] == [
        (1, 1, "ann"),
        (2, 3, "writer"),
        (4, 4, "bob"),
    ]
    agents = {version.agent_id for version in memory.history(entry.id).versions}
    assert agents >= {"ann", "bob", "writer"}
    assert [each.id for each in memory.entries(query="FOUR", under=SPACE)] == [entry.id]


def test_a_merge_back_and_a_second_merge_bring_nothing_new(memory: day1.Memory) -> None:
    branch = edited(memory)
    branch.merge()
    assert not branch.preview().rows
    memory.merge(into=branch.name)
    assert text(branch) == BOTH
    branch.set("a.md", {"text": f"{BOTH}five\n"}, space=SPACE)
    branch.merge()
    assert text(memory) == f"{BOTH}five\n"


def test_edits_of_one_line_are_held_until_somebody_decides(memory: day1.Memory) -> None:
    branch = edited(memory, there=FILE.replace("one", "1"))
    (held,) = branch.merge().held()
    assert text(memory) == ANN
    branch.set("a.md", {"text": FILE.replace("one", "1") + "five\n"}, space=SPACE)
    branch.merge()
    assert text(memory) == ANN, "an open item keeps the file as it is"
    held = next(iter(memory.held()))
    held.decide("theirs")
    assert text(memory) == FILE.replace("one", "1") + "five\n"


@pytest.mark.parametrize("strategy", ["cherry_pick", "squash"])
def test_a_pick_and_a_squash_merge_by_lines_too(memory: day1.Memory, strategy: str) -> None:
    branch = edited(memory)
    entry = memory.get("a.md", space=SPACE)
    assert entry is not None
    more = {"items": [entry.id]} if strategy == "cherry_pick" else {}
    call: dict[str, Any] = {
        "source_branch": branch.name,
        "target_branch": memory.name,
        "strategy": strategy,
        **more,
    }
    memory.call("memory_branch_merge", **call)
    assert text(memory) == BOTH
    if strategy == "cherry_pick":
        memory.call("memory_branch_merge", **call)
        assert text(memory) == BOTH
    else:
        with pytest.raises(errors.BranchClosed):
            branch.set("a.md", {"text": "x"}, space=SPACE)


def test_a_review_shows_the_merged_text_and_merges_it(memory: day1.Memory) -> None:
    branch = edited(memory)
    review = branch.review(title="bob's line")
    shown = memory.call("review_show", review_id=review.id)
    (row,) = shown["rows"]
    assert (row["merged"]["structure"], row["theirs"]["structure"]) == (
        {"text": BOTH},
        {"text": BOB},
    )
    assert [words for kind, words in row["words"] if kind == "added"] == ["FOUR"]
    review.merge(expect=shown["digest"])
    assert text(memory) == BOTH


def test_a_text_that_a_person_gave_is_the_file(memory: day1.Memory) -> None:
    branch = edited(memory, there=FILE.replace("one", "1"))
    entry = memory.get("a.md", space=SPACE)
    assert entry is not None
    by_hand: Any = {"id": entry.id, "take": "value", "value": {"summary": ANN}}
    branch.merge(choices=[by_hand])
    assert text(memory) == ANN
    other = memory.create_branch(f"{memory.name}/eve")
    other.set("a.md", {"text": BOTH}, space=SPACE)
    memory.set("a.md", {"text": f"zero\n{ANN}"}, space=SPACE)
    assert not other.merge().held()
    assert text(memory) == f"zero\n{BOTH}"


def test_no_lines_of_a_hidden_text_are_told(memory: day1.Memory) -> None:
    put = memory.set("a.md", {"text": FILE}, space=SPACE, sensitivity="secret")
    assert memory.blame(put.ids[0], lines=True).lines == []
    assert memory.blame(put.ids[0]).lines is None


def test_a_decision_takes_one_side_whole(memory: day1.Memory) -> None:
    branch = edited(memory)
    entry = memory.get("a.md", space=SPACE)
    assert entry is not None
    branch.merge(choices=[{"id": entry.id, "take": "theirs"}])
    assert text(memory) == BOB


def test_a_revert_takes_back_the_lines_of_one_edit(memory: day1.Memory) -> None:
    memory.set("a.md", {"text": FILE}, space=SPACE)
    memory.set("a.md", {"text": ANN}, space=SPACE)
    commit = memory.log()[0].commit
    memory.set("a.md", {"text": BOTH}, space=SPACE)
    memory.revert(commit)
    assert text(memory) == BOB
