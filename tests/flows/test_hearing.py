"""What hooks have heard is taken in: what becomes of each event, and of lines that are none."""

import json
import logging
import os
import time
from pathlib import Path

import pytest

from day1.adapters.spool import FolderSpool
from day1.app.background import background_worker
from day1.app.stores import place_of
from day1.formats import spool
from day1.model.records.sharing import Handoff
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import MESSAGE
from day1.model.rows.origin import Origin
from day1.services.branches.lookup import find
from day1.services.branches.notes import mark
from day1.services.health.doctor import check
from day1.services.rows.editing import Removal, remove
from day1.services.sharing.handoffs import open_packet
from tests.engine import needs_files
from tests.flows.heard import all_taken, said, taken, the_conversation, waiting
from tests.flows.hooked_process import tell
from tests.flows.opened_store import call, digest, fill, make, mounted, opened, read_only

SECRET = "the key is sk-abcdefghijklmnopqrstuvwx"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "store")
    return tmp_path / "store"


# What becomes of an event


def test_a_turn_is_two_messages_of_the_sessions_conversation(folder: Path) -> None:
    tell(folder, "session-start", source="startup")
    tell(folder, "prompt", prompt="Where do swallows sleep?\nTell me.", prompt_id="1")
    tell(folder, "turn-end", last_assistant_message="In reeds.", prompt_id="1", model="m")
    tell(folder, "prompt", "codex", session_id="two", prompt="Hello", turn_id="1")
    with opened(folder) as store:
        assert said(store) == {
            "one claude-code": [
                ("user", "Where do swallows sleep?\nTell me."),
                ("assistant", "In reeds."),
            ],
            "two codex": [("user", "Hello")],
        }
        found = call(store, "memory_list_conversations", session_id="one")["result"]
        assert [talk["title"] for talk in found] == ["Where do swallows sleep?"]
        hits = call(store, "memory_search_messages", query="reeds", search_type="keyword")
        assert [hit["content"] for hit in hits["result"]] == ["In reeds."]
    assert waiting(folder) == []


def test_the_end_of_a_long_turn_of_gemini_does_not_say_its_prompt_again(folder: Path) -> None:
    """It tells of the prompt at both ends, and names no turn."""
    tell(folder, "prompt", "gemini", prompt="Why?", at=1_000_000_000)
    tell(folder, "turn-end", "gemini", prompt="Why?", prompt_response="So.", at=1_060_000_000)
    assert taken(folder) == {"one gemini": [("user", "Why?"), ("assistant", "So.")]}


@pytest.mark.parametrize("turn", [{"prompt_id": "1"}, {}], ids=["by its turn", "by its time"])
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_an_event_that_two_files_of_hooks_tell_is_one_row(
    folder: Path, turn: dict[str, str], apart: bool
) -> None:
    """VS Code and Cursor also run Claude's hooks."""
    base = {"sessionId": "v", "hookEventName": "Stop", "session_id": None, **turn}
    for client in ("claude", "vscode"):
        tell(folder, "turn-end", client, last_assistant_message="Done.", **base)
        if apart:
            assert len(taken(folder)["v vscode"]) == 1
    assert taken(folder) == {"v vscode": [("assistant", "Done.")]}


def test_the_same_words_in_another_turn_are_another_message(folder: Path) -> None:
    for turn in ("1", "2"):
        tell(folder, "prompt", prompt="Go on.", prompt_id=turn)
    tell(folder, "prompt", session_id="two", prompt="Go on.", at=1_000_000_000)
    tell(folder, "prompt", session_id="two", prompt="Go on.", at=1_060_000_000)
    tell(folder, "turn-end", session_id="two", last_assistant_message="a", prompt_id="3")
    tell(folder, "turn-end", session_id="two", last_assistant_message="b", prompt_id="3")
    talks = taken(folder)
    assert {name: len(talk) for name, talk in talks.items()} == {
        "one claude-code": 2,
        "two claude-code": 4,
    }


def test_a_subagent_is_an_agent_of_its_own_on_the_same_branch(folder: Path) -> None:
    tell(folder, "prompt", prompt="Look.", prompt_id="1")
    tell(folder, "subagent-start", agent_id="a7", agent_type="Explore", prompt_id="1")
    tell(folder, "subagent-stop", agent_id="a7", agent_type="Explore", prompt_id="1", last_assistant_message="Found.")  # fmt: skip
    assert taken(folder) == {
        "one claude-code": [("user", "Look.")],
        "one claude-code/a7": [("assistant", "Found.")],
    }


def test_the_summary_of_a_compaction_is_a_handoff(folder: Path) -> None:
    tell(folder, "prompt", prompt="Look.", prompt_id="1")
    for turn in ({"prompt_id": "1"}, {"prompt_id": "1"}, {}, {}):
        tell(folder, "compacted", compact_summary=f"Three things, {len(turn)}.", **turn)
    with opened(folder) as store:
        handoffs = store.repo.ledger.records(Handoff)
        assert [h.context_summary for h in handoffs] == ["Three things, 1.", "Three things, 0."]
        assert handoffs[0].created_by == "claude-code"
        packet = open_packet(store.repo, handoffs[0].id)
        assert [talk.conversation["title"] for talk in packet.talks] == ["Look."]


def test_the_end_of_a_session_closes_it(folder: Path) -> None:
    tell(folder, "prompt", prompt="Look.", prompt_id="1")
    tell(folder, "session-end", reason="clear")
    tell(folder, "session-end", reason="clear")
    tell(folder, "session-end", session_id="never spoke", reason="clear")
    with opened(folder) as store:
        detail = json.loads(str(the_conversation(store)["detail"]))
        assert detail["reason"] == "clear"
        assert detail["ended_at"].startswith("20")
        lines = [commit.line for commit in store.repo.history.log("main")]
        assert lines.count("close a session") == 1
        assert "main" not in store.repo.history.dirty_branches()


def test_a_forked_session_has_a_forked_branch(folder: Path) -> None:
    tell(folder, "prompt", prompt="Before.", prompt_id="1")
    tell(folder, "session-start", session_id="two", source="fork", parent_session_id="one")
    tell(folder, "session-start", session_id="two", source="fork", parent_session_id="one")
    tell(folder, "prompt", session_id="two", prompt="Aside.", prompt_id="2")
    tell(folder, "session-start", session_id="three", source="fork", parent_session_id="two")
    tell(folder, "prompt", session_id="three", prompt="Further.", prompt_id="3")
    with opened(folder) as store:
        assert said(store) == {"one claude-code": [("user", "Before.")]}
        assert said(store, "fork/claude-code-two").keys() == {"one claude-code", "two claude-code"}
        assert said(store, "fork/claude-code-three").keys() == {
            f"{name} claude-code" for name in ("one", "two", "three")
        }
        names = [branch.name for branch in store.repo.ledger.branches()]
        assert sorted(names) == ["fork/claude-code-three", "fork/claude-code-two", "main", "side"]


def test_a_protected_branch_gets_nothing(folder: Path) -> None:
    with opened(folder) as store:
        mark(store.repo, find(store.repo, "main"), protection=("review",))
    for turn in range(2):
        tell(folder, "prompt", prompt=f"Look {turn}.", prompt_id=str(turn))
        with opened(folder) as store:
            assert said(store) == {}
            assert len(said(store, "agent/claude-code")["one claude-code"]) == turn + 1
            own = find(store.repo, "agent/claude-code")
            assert (own.agent_id, own.parent_id) == ("claude-code", find(store.repo, "main").id)
    tell(folder, "prompt", "codex", session_id="two", prompt="Hi.", turn_id="1")
    assert taken(folder, "agent/codex").keys() >= {"two codex"}


@pytest.mark.parametrize("name", ["side", "gone"])
def test_the_branch_that_is_set_decides(folder: Path, name: str) -> None:
    tell(folder, "prompt", prompt="Look.", prompt_id="1", environment={"DAY1_BRANCH": name})
    where = "side" if name == "side" else "agent/claude-code"
    assert taken(folder, where) == {"one claude-code": [("user", "Look.")]}
    assert taken(folder) == {}


def test_the_environment_says_agent_task_and_space(folder: Path) -> None:
    environment = {"DAY1_AGENT_ID": "ada", "DAY1_TASK_ID": "t1", "DAY1_SPACE": "Project:Metal"}
    tell(folder, "prompt", prompt="Look.", prompt_id="1", environment=environment)
    with opened(folder) as store:
        row = the_conversation(store)
    assert (row["agent_id"], row["task_id"], row["space"]) == ("ada", "t1", "project:metal")


@pytest.mark.parametrize("rule", ["warn", "refuse", "ignore"])
def test_what_looks_like_a_secret_is_not_kept(
    folder: Path, rule: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAY1_WRITE__SECRETS", rule)
    tell(folder, "prompt", prompt=SECRET, prompt_id="1")
    tell(folder, "turn-end", last_assistant_message="Thanks.", prompt_id="1")
    tell(folder, "compacted", compact_summary=SECRET, prompt_id="1")
    with caplog.at_level(logging.WARNING), opened(folder) as store:
        texts = [text for _, text in said(store)["one claude-code"]]
        kept = rule == "ignore"
        assert texts == ([SECRET] if kept else []) + ["Thanks."]
        assert len(store.repo.ledger.records(Handoff)) == kept
    assert ("API key" in caplog.text) != kept
    assert "sk-" not in caplog.text
    if not kept:
        assert not any(
            b"sk-abc" in path.read_bytes() for path in folder.rglob("*") if path.is_file()
        )


def test_what_was_recalled_is_not_heard_again(folder: Path) -> None:
    recalled = "<day1-memory branch='main'>\nOld.\n</day1-memory>"
    tell(folder, "prompt", prompt=f"{recalled}\nNew.", prompt_id="1")
    tell(folder, "turn-end", last_assistant_message=recalled, prompt_id="1")
    assert taken(folder) == {"one claude-code": [("user", "\nNew.")]}


def test_what_somebody_removed_does_not_come_back(folder: Path) -> None:
    path = spool.path_of(folder, "one")
    tell(folder, "prompt", prompt="Look.", prompt_id="1")
    tell(folder, "prompt", prompt="Stay.", prompt_id="2")
    kept = path.read_bytes()
    with opened(folder) as store, store.repo.store.reading(Ref(branch="main")) as reading:
        ids = {str(row["content"]): str(row["id"]) for row in reading.find(MESSAGE, Query())}
    with opened(folder) as store:
        removal = Removal([ids["Look."]])
        remove(store.repo, find(store.repo, "main"), removal, Origin(agent_id="person"))
    path.write_bytes(kept)  # as if a taker had been killed before it removed the file
    assert taken(folder) == {"one claude-code": [("user", "Stay.")]}


# Lines that are not whole, and files that are not


def test_a_line_that_is_not_whole_is_left_until_it_is(folder: Path) -> None:
    tell(folder, "prompt", prompt="One.", prompt_id="1")
    tell(folder, "prompt", prompt="Two.", prompt_id="2")
    path = spool.path_of(folder, "one")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert taken(folder) == {"one claude-code": [("user", "One.")]}
    assert path.read_bytes() == whole[:-20].splitlines(keepends=True)[1]
    taken(folder)
    with path.open("ab") as file:
        file.write(whole[-20:])
    assert taken(folder) == {"one claude-code": [("user", "One."), ("user", "Two.")]}
    assert waiting(folder) == []


DAMAGED = [
    b"{",
    b"[]",
    b"\xff\xfe",
    b"",
    b'{"format":9,"event":"prompt","agent":"a","session":"s","at":1}',
    b'{"format":1,"event":"nonsense","agent":"a","session":"s","at":1}',
    b'{"format":1,"event":"prompt","agent":"a","session":"s","at":"x"}',
    b'{"format":1,"event":"prompt","agent":7,"session":"s","at":1,"text":"x"}',
    b'{"format":1,"event":"prompt","agent":"a","session":"s","at":1,"text":"a\\u0000b"}',
    b'{"format":1,"event":"prompt","agent":"a","session":"s","at":1,"text":"\\ud800"}',
    b"[" * 100_000,
    b"\0" * 4096,
]


def test_a_damaged_line_is_put_aside_and_named(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tell(folder, "prompt", prompt="One.", prompt_id="1")
    with spool.path_of(folder, "one").open("ab") as file:
        file.write(b"".join(line + b"\n" for line in (*DAMAGED, DAMAGED[0])))
    tell(folder, "prompt", prompt="Two.", prompt_id="2")
    with opened(folder) as store:
        assert said(store) == {"one claude-code": [("user", "One."), ("user", "Two.")]}
        aside = {path.read_bytes() for path in (folder / "spool" / "aside").iterdir()}
        assert aside == set(DAMAGED)
        findings = {f.name: f for f in check(store.repo, store.search, place_of(store))}
        assert findings["hooks"].level == "warn"
        assert str(len(DAMAGED)) in str(findings["hooks"].text)
        assert "spool/aside" in str(findings["hooks"].advice)
    assert waiting(folder) == []
    told = [record.getMessage() for record in caplog.records]
    assert sum("not an event" in line for line in told) == 1, "a file of nonsense is one line"


def test_a_store_that_may_not_be_written_leaves_all_as_it_is(folder: Path) -> None:
    needs_files()
    tell(folder, "prompt", prompt="One.", prompt_id="1")
    with read_only(folder):
        before = digest(folder, "memory.db", "spool/one.jsonl")
        assert taken(folder) == {}
        assert digest(folder, "memory.db", "spool/one.jsonl") == before
    assert taken(folder) == {"one claude-code": [("user", "One.")]}


def test_a_full_disk_leaves_what_waits(tmp_path: Path) -> None:
    needs_files()
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=24m", "tmpfs") as disk:
        make(disk / "store")
        for turn in range(120):
            tell(disk / "store", "prompt", prompt="x" * 30_000, prompt_id=str(turn))
        fill(disk, 20)
        with opened(disk / "store") as store:
            assert call(store, "memory_timeline", limit=1)["result"]
        (disk / "filler").unlink()
        all_taken(disk / "store")
        assert len(taken(disk / "store")["one claude-code"]) == 120


def test_what_is_added_while_a_file_is_taken_in_stays(folder: Path) -> None:
    tell(folder, "prompt", prompt="One.", prompt_id="1")
    files = FolderSpool(folder)
    path = spool.path_of(folder, "one")
    size = path.stat().st_size
    tell(folder, "prompt", prompt="Two.", prompt_id="2")
    files.drop(path.name, size)
    assert [json.loads(line)["text"] for line in files.read(path.name)] == ["Two."]
    handle = spool.take(path)
    files.drop(path.name, path.stat().st_size)
    assert waiting(folder) == [path.name], "a hook is at it"
    os.close(handle)
    files.drop(path.name, path.stat().st_size)
    assert waiting(folder) == []


def test_what_no_hook_made_in_the_spool_hinders_nobody(folder: Path, tmp_path: Path) -> None:
    """A pipe would be waited for, and a link would bring what somebody else wrote for nobody."""
    place = folder / spool.FOLDER
    place.mkdir()
    os.mkfifo(place / "pipe.jsonl")
    (place / "folder.jsonl").mkdir()
    (tmp_path / "other").write_text("a secret\n", encoding="utf-8")
    (place / "link.jsonl").symlink_to(tmp_path / "other")
    (place / "dangling.jsonl").symlink_to(tmp_path / "nothing")
    tell(folder, "prompt", prompt="Hello", prompt_id="1")
    with opened(folder) as store:
        assert said(store) == {"one claude-code": [("user", "Hello")]}
    assert (tmp_path / "other").read_text(encoding="utf-8") == "a secret\n"
    assert not (place / "aside").exists()


def test_a_file_of_the_spool_that_cannot_be_read_hinders_no_other(folder: Path) -> None:
    for name in ("one", "two"):
        tell(folder, "prompt", session_id=name, prompt=name, prompt_id="1")
    path = spool.path_of(folder, "one")
    found = FolderSpool(folder)
    assert len(found.waiting()) == 2
    path.unlink()
    path.symlink_to("/dev/null")  # after it was listed
    assert found.read(path.name) == []
    with opened(folder) as store:
        assert said(store) == {"two claude-code": [("user", "two")]}


def test_one_takes_in_at_a_time(folder: Path) -> None:
    tell(folder, "prompt", prompt="One.", prompt_id="1")
    with FolderSpool(folder).alone() as alone:
        assert alone
        assert taken(folder) == {}, "another one does it"
    assert len(taken(folder)) == 1


def test_a_server_takes_in_between_calls(folder: Path) -> None:
    with opened(folder) as store:
        worker = background_worker(store)
        tell(folder, "prompt", prompt="One.", prompt_id="1")
        worker.start()
        until = time.monotonic() + 30
        while waiting(folder) and time.monotonic() < until:
            time.sleep(0.05)
        worker.stop()
        assert said(store) == {"one claude-code": [("user", "One.")]}
