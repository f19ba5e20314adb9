import json

import pytest

from day1.adapters.versioned.history import FOREIGN, author_of, decode, encode
from day1.model.rows.change import Message


def test_a_message_is_a_line_and_json_that_is_read_back():
    message = Message("merge", "merge\nside\0now", "merge_1", {"base": "abc", "op": "never"})
    text = encode(message, 7, {"bob", "ada"}, {"facts": 2})
    line, empty, body = text.split("\n")
    assert (line, empty) == ("merge side now", "")
    assert json.loads(body) == {
        "v": 1,
        "op": "merge",
        "ts": 7,
        "id": "merge_1",
        "agents": ["ada", "bob"],
        "counts": {"facts": 2},
        "base": "abc",
    }
    commit = decode("c", ["p", "q"], "ada", "2026-03-01 10:00:00", text)
    assert (commit.op, commit.ts, commit.parents) == ("merge", 7, ("p", "q"))
    assert (commit.line, commit.meta["base"]) == ("merge side now", "abc")


def test_a_name_divides_no_line():
    """Some letters end a line to `str.splitlines`, and none of them to JSON."""
    text = encode(Message("add", "add 1 row"), 7, {"a\x85b", "c\u2028d"}, {"facts": 1})
    commit = decode("c", (), "day1", "", text)
    assert (commit.op, commit.ts, commit.meta["agents"]) == ("add", 7, ["a\x85b", "c\u2028d"])


def test_a_long_line_is_cut():
    assert len(encode(Message("add", "x" * 1_000), 7, (), {}).split("\n")[0]) == 200


@pytest.mark.parametrize(
    "text", ["made", "made\n\nby hand", 'made\n\n{"a": 1}', 'made\n\n{"op":"add","ts":"x"}']
)
def test_a_commit_that_is_not_day1s_counts_with_the_engines_date(text):
    commit = decode("c", (), "someone", "2026-03-01 00:00:01", text)
    assert (commit.op, commit.ts, commit.line) == (FOREIGN, 1_772_323_201_000_000, "made")


def test_only_the_last_line_speaks_for_day1():
    forged = 'add\n\n{"op":"restore","ts":1}\nwritten by hand'
    assert decode("c", (), "x", "2026-03-01", forged).op == FOREIGN


def test_an_author_is_the_one_agent_or_day1():
    assert author_of(["ada"]) == "ada <ada@day1>"
    assert author_of([]) == author_of(["ada", "bob"]) == "day1 <day1@day1>"
    assert author_of(["Ada L <x@y>\n"]) == "Ada L x@y <Ada-L-x@y@day1>"
    assert author_of(["<>"]) == "day1 <day1@day1>"
    assert author_of(["ada (laptop)"]) == "ada laptop <ada-laptop@day1>"
