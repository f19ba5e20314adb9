"""Ingesting: which rows the events of hooks become, on which branch, and what is put aside."""

import json
import logging
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from day1.errors import Refused, StoreUnavailable
from day1.formats.events import line_of
from day1.model.branches.branch import MAIN
from day1.model.files.client_event import AGAIN
from day1.model.records.sharing import Handoff
from day1.model.rows.kind import CONVERSATION, EDIT, Row
from day1.services.ingest.ingest_events import ingest_events
from day1.services.rows.editing import Removal, remove
from tests.fakes.memory_spool import MemorySpool
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.ingested import AT, event, ingest, rows, texts

SECRET = "the key is sk-abcdefghijklmnopqrstuvwx"


def conversation(bench: Bench, branch: str = MAIN) -> Row:
    (row,) = rows(bench, branch, CONVERSATION)
    return row


# Which events are messages


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("prompt", "user"),
        ("turn-end", "assistant"),
        ("subagent-start", "user"),
        ("subagent-stop", "assistant"),
        ("session-start", None),
        ("compacting", None),
        ("session-end", None),
    ],
)
def test_prompts_and_answers_become_messages(bench: Bench, name: str, role: str | None) -> None:
    ingest(bench, event(name, text="Hello."))
    assert texts(bench) == ([] if role is None else [(role, "Hello.")])


MEMORY = '<day1-memory branch="main">\nThe port is 80.\n</day1-memory>'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"Before.{MEMORY}After.", "Before.\n>After."),
        (f"{MEMORY}A{MEMORY}B", "\n>A\n>B"),
        ("A <day1-memory without an end", "A <day1-memory without an end"),
        (MEMORY, None),
    ],
    ids=["within", "twice", "no end", "nothing else"],
)
def test_what_day1_recalled_is_no_part_of_a_message(
    bench: Bench, text: str, kept: str | None
) -> None:
    ingest(bench, event(text=text))
    found = [content.replace(">", "") for _, content in texts(bench)]
    assert found == ([] if kept is None or not kept.strip("\n>") else [kept.replace("\n>", "")])


def test_messages_stay_in_the_order_of_the_session(bench: Bench) -> None:
    said = [event(text=f"Prompt {n}.", turn=str(n)) for n in range(3)]
    ingest(bench, *said)
    assert [text for _, text in texts(bench)] == ["Prompt 0.", "Prompt 1.", "Prompt 2."]
    by_time = sorted(rows(bench), key=lambda row: int(row["created_at"] or 0))
    assert len({row["created_at"] for row in by_time}) == 3
    ids = [row["id"] for row in by_time]
    assert [row["previous_id"] for row in by_time] == [None, *ids[:2]]
    talk = conversation(bench)
    assert {row["conversation_id"] for row in by_time} == {talk["id"]}
    assert (talk["happened_at"], talk["source"], talk["session_id"]) == (AT, "tool", "s1")


def test_a_subagent_has_a_conversation_and_a_name_of_its_own(bench: Bench) -> None:
    ingest(
        bench,
        event(text="Go."),
        event("subagent-start", text="Look.", subagent="x", kind="Explore"),
    )
    found = {str(row["agent_id"]): row["title"] for row in rows(bench, kind=CONVERSATION)}
    assert found == {"ada": "Go.", "ada/x": "Explore: Look."}


@pytest.mark.parametrize(
    ("text", "title"),
    [("One.\nTwo.", "One."), ("\n One.", "One."), ("a" * 80, "a" * 80), ("a" * 81, "a" * 79 + "…")],
    ids=["first line", "blank lines", "80", "81"],
)
def test_the_first_line_is_the_title(bench: Bench, text: str, title: str) -> None:
    ingest(bench, event(text=text))
    assert conversation(bench)["title"] == title


@pytest.mark.parametrize(
    ("named", "space"),
    [("user:1", "user:1"), (None, None), ("shared", None), ("*", None), ("user:", None)],
)
def test_a_conversation_is_in_the_space_of_its_session(
    bench: Bench, named: str | None, space: str | None
) -> None:
    ingest(bench, event(text="Hello.", space=named))
    assert conversation(bench)["space"] == space


def test_rows_say_who_wrote_them_when_and_for_what(bench: Bench) -> None:
    ingest(
        bench,
        event(text="Hi.", task="task_1", model="m", turn="1"),
        event("turn-end", text="Yes.", task="task_1", model="m", turn="1"),
    )
    found = {
        str(row["role"]): (row["model"], row["agent_id"], row["session_id"], row["task_id"],
                           row["source"], row["happened_at"])
        for row in rows(bench)
    }  # fmt: skip
    same = ("ada", "s1", "task_1", "tool", AT)
    assert found == {"user": (None, *same), "assistant": ("m", *same)}


LONG = "word " * 60_000


def test_a_long_message_is_kept_in_parts_and_once(bench: Bench) -> None:
    for at in (AT, AT, AT + AGAIN - 1, AT - AGAIN + 1):
        ingest(bench, event(text=LONG, at=at))
    parts = [text for _, text in texts(bench)]
    assert len(parts) > 1
    assert len(parts) == len({*parts})


@pytest.mark.parametrize("at", [AT + AGAIN, AT - AGAIN])
def test_a_long_message_that_is_said_again_later_is_kept_again(bench: Bench, at: int) -> None:
    ingest(bench, event(text=LONG))
    once = len(rows(bench))
    ingest(bench, event(text=LONG, at=at))
    assert len(rows(bench)) == 2 * once


# Each event once


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        ({}, 1),
        ({"at": AT + AGAIN - 1}, 1),
        ({"at": AT - AGAIN + 1}, 1),
        ({"at": AT + AGAIN}, 2),
        ({"text": "Other."}, 2),
        ({"event": "turn-end"}, 2),
        ({"turn": "1"}, 2),
        ({"session": "s2"}, 2),
    ],
    ids=["same", "again", "before", "later", "text", "role", "turn", "session"],
)
def test_without_a_turn_the_same_text_just_before_is_the_same_message(
    bench: Bench, change: dict[str, Any], messages: int
) -> None:
    ingest(bench, event(text="Hello."))
    ingest(bench, event(text="Hello.") | change)
    assert len(rows(bench)) == messages


@pytest.mark.parametrize(
    ("change", "messages"), [({"at": AT + 9 * AGAIN}, 1), ({"turn": "2"}, 2)], ids=["late", "other"]
)
def test_of_a_turn_each_text_is_one_message(
    bench: Bench, change: dict[str, Any], messages: int
) -> None:
    ingest(bench, event(text="Hello.", turn="1"), event(text="Hello.", turn="1") | change)
    assert len(rows(bench)) == messages


def test_a_removed_message_does_not_come_back_and_its_conversation_goes_on(bench: Bench) -> None:
    ingest(bench, event(text="One.", turn="1"), event(text="Two.", turn="2"))
    first = next(str(row["id"]) for row in rows(bench) if row["content"] == "One.")
    remove(bench.repo, bench.branch(), Removal([first]), ADA)
    ingest(bench, event(text="One.", turn="1"), event(text="Three.", turn="3"))
    assert [text for _, text in texts(bench)] == ["Two.", "Three."]


# Secrets, and lines that cannot be ingested


@pytest.mark.parametrize(
    ("secrets", "name", "kept"),
    [
        ("refuse", "prompt", False),
        ("warn", "prompt", False),
        ("ignore", "prompt", True),
        ("refuse", "compacted", False),
        ("ignore", "compacted", True),
    ],
)
def test_a_text_that_looks_like_a_secret_is_kept_only_where_secrets_are_ignored(
    bench: Bench, caplog: pytest.LogCaptureFixture, secrets: str, name: str, kept: bool
) -> None:
    with caplog.at_level(logging.WARNING):
        spool = ingest(bench, event(name, text=SECRET), secrets=secrets)
    assert (len(rows(bench)) + len(bench.repo.ledger.records(Handoff)) == 1) == kept
    assert (f"the text of {name} may hold" in caplog.text) != kept
    assert "sk-" not in caplog.text
    assert (spool.lines_aside, spool.files) == ([], {}), "it is dropped, not put aside"


def test_a_line_that_is_no_event_is_put_aside_and_the_others_are_ingested(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = line_of(event(text="Hello.")).replace(b"Hello", b"Hallo")
    spool = ingest(bench, b"{\n", event(text="One."), damaged, b"[]\n", event(text="Two."))
    assert spool.lines_aside == [b"{", damaged[:-1], b"[]"]
    assert len(rows(bench)) == 2
    assert not spool.files
    assert [r.getMessage() for r in caplog.records] == [
        "lines of hooks not stored: not an event, put aside (3)"
    ]


def test_an_event_that_the_memory_refuses_is_put_aside_with_the_code_of_the_error(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    line = line_of(event(text="Hello."))
    with patch.object(bench.store, "adding", side_effect=Refused("Not this one.")):
        spool = ingest(bench, line)
    assert (spool.lines_aside, spool.files) == ([line[:-1]], {})
    assert [r.getMessage() for r in caplog.records] == [
        "lines of hooks not stored: refused, put aside (1)"
    ]


def test_while_the_store_is_away_the_events_wait(bench: Bench) -> None:
    spool = MemorySpool({"s1": line_of(event(text="Hello."))})
    with (
        patch.object(bench.store, "adding", side_effect=StoreUnavailable("away")),
        pytest.raises(StoreUnavailable),
    ):
        ingest_events(bench.repo, spool, secrets="refuse", enough=lambda: False)
    assert (spool.lines_aside, list(spool.files)) == ([], ["s1"])
    assert ingest_events(bench.repo, spool, secrets="refuse", enough=lambda: False) == 1
    assert texts(bench) == [("user", "Hello.")]


def test_one_process_ingests_at_a_time(bench: Bench) -> None:
    spool = MemorySpool({"s1": line_of(event(text="Hello."))}, is_free=False)
    assert ingest_events(bench.repo, spool, secrets="refuse", enough=lambda: False) == 0
    assert (rows(bench), list(spool.files)) == ([], ["s1"])


def test_what_comes_after_enough_waits_for_the_next_time(bench: Bench) -> None:
    lines = [line_of(event(text=f"Prompt {n}.", turn=str(n))) for n in range(3)]
    spool, asked = (
        MemorySpool({"s1": b"".join(lines), "s2": lines[0]}),
        iter([False, False, True, True]),
    )
    assert ingest_events(bench.repo, spool, secrets="refuse", enough=lambda: next(asked)) == 2
    assert spool.files == {"s1": lines[2], "s2": lines[0]}
    assert len(rows(bench)) == 2


def test_a_file_is_dropped_after_its_rows_are_durable(bench: Bench) -> None:
    spool = MemorySpool({"s1": line_of(event(text="Hello."))})
    seen: list[tuple[str, int, int]] = []

    def at(point: str) -> None:
        seen.append((point, len(spool.files), len(rows(bench))))

    ingest_events(replace(bench.repo, point=at), spool, secrets="refuse", enough=lambda: False)
    assert seen[-2:] == [("taking.after_rows", 1, 1), ("taking.after_drop", 0, 1)]


# The summary of a context, and the end of a session


def handoffs(bench: Bench) -> list[Handoff]:
    return bench.repo.ledger.records(Handoff)


def test_the_summary_of_a_context_is_a_handoff_with_the_conversation(bench: Bench) -> None:
    ingest(bench, event(text="Hello."), event("compacted", text="We did it.", turn="1"))
    (handoff,) = handoffs(bench)
    main = bench.branch().id
    assert (handoff.source_id, handoff.target_id, handoff.context_summary) == (
        main,
        main,
        "We did it.",
    )
    assert handoff.conversations == (conversation(bench)["id"],)
    assert (handoff.handoff_type, handoff.created_by, handoff.created_at) == (
        "session_handoff",
        "ada",
        AT,
    )
    assert handoff.commit == bench.store.tips[MAIN], "it can be read there"


@pytest.mark.parametrize(
    ("turn", "change", "count"),
    [
        (None, {}, 1),
        (None, {"at": AT + AGAIN - 1}, 1),
        (None, {"at": AT + AGAIN}, 2),
        (None, {"text": "Other."}, 2),
        ("1", {"at": AT + 1}, 1),
        ("1", {"at": AT + 1, "turn": "2"}, 2),
    ],
)
def test_a_summary_is_kept_once(
    bench: Bench, turn: str | None, change: dict[str, Any], count: int
) -> None:
    summary = event("compacted", text="We did it.", turn=turn)
    ingest(bench, summary, summary | change)
    assert len(handoffs(bench)) == count


def test_an_empty_summary_is_no_handoff(bench: Bench) -> None:
    ingest(bench, event("compacted"))
    assert handoffs(bench) == []


def test_the_end_of_a_session_is_noted_once_and_commits_its_rows(bench: Bench) -> None:
    ingest(bench, event(text="Hello."))
    assert bench.repo.history.dirty_branches() == {MAIN}
    end = event("session-end", source="logout", at=AT + 5)
    ingest(bench, end, end | {"at": AT + 4 + AGAIN})
    detail = json.loads(str(conversation(bench)["detail"]))
    assert (detail["ended"], detail["reason"]) == (AT + 5, "logout")
    assert bench.repo.history.dirty_branches() == set()
    reasons = [row["reason"] for row in rows(bench, kind=EDIT)]
    assert reasons.count("the session ended") == 1
    ingest(bench, event("session-end", at=AT + 5 + AGAIN))
    detail = json.loads(str(conversation(bench)["detail"]))
    assert detail["ended"] == AT + 5 + AGAIN, "it was resumed, and ended again"


def test_the_end_of_a_session_without_messages_changes_nothing(bench: Bench) -> None:
    tips = dict(bench.store.tips)
    ingest(bench, event("session-end"))
    assert bench.store.tips == tips
