"""Values of more bytes than one answer may have: what of them is refused, and what is read."""

import itertools
import json
from typing import Any

import pytest

import day1
from day1 import errors

_numbers = itertools.count(1)


@pytest.fixture
def space() -> str:
    """A space of the test's own."""
    return f"app:n{next(_numbers)}"


def say(memory: day1.Branch, space: str, *texts: str) -> list[str]:
    messages = [
        {"role": "user", "content": text[:9], "structure": json.dumps({"said": text})}
        for text in texts
    ]
    ids: list[str] = memory.call("message_append", key="talk", space=space, messages=messages)[
        "ids"
    ]
    return ids


def said(memory: day1.Branch, space: str, **more: Any) -> str:
    """The first letter of each message that is listed."""
    listed = memory.call("message_list", key="talk", space=space, **more)["messages"]
    return "".join(json.loads(message["structure"])["said"][0] for message in listed)


def test_redacted_messages_and_expired_entries_leave_room(limited: day1.Memory, space: str) -> None:
    ids = [say(limited, space, letter * 2_000_000)[0] for letter in "abcdef"]
    limited.redact(ids[-1], confirm=ids[-1])
    assert said(limited, space, limit=1) == "e"
    assert said(limited, space, limit=4) == "bcde"
    with pytest.raises(errors.AnswerTooLarge):
        said(limited, space)
    (first,) = say(limited, space, "g" * 5_000_000)
    (second,) = say(limited, space, "h" * 5_000_000)
    for row_id in (first, second):
        limited.redact(row_id, confirm=row_id)
    assert said(limited, space, limit=1) == "e"


def test_older_messages_are_read_page_by_page(limited: day1.Memory, space: str) -> None:
    ids = [say(limited, space, letter * 3_000_000)[0] for letter in "abcde"]
    with pytest.raises(errors.AnswerTooLarge):
        said(limited, space)
    assert said(limited, space, limit=2) == "de"
    assert said(limited, space, limit=2, before=ids[3]) == "bc"
    assert said(limited, space, limit=2, before=ids[1]) == "a"
    assert said(limited, space, before=ids[2]) == "ab"
    with pytest.raises(errors.AnswerTooLarge):
        said(limited, space, before=ids[4])


def test_later_pages_of_a_query_are_read(limited: day1.Memory, space: str) -> None:
    for number in range(5):
        limited.set(str(number), {"text": f"apple {number} " * 300_000}, space=space)
    pages = [
        limited.entries(under=space, query="apple", limit=2, offset=offset) for offset in (0, 2, 4)
    ]
    assert sorted(entry.key for page in pages for entry in page) == list("01234")
    assert [page.total for page in pages] == [2, 4, 5]
    with pytest.raises(errors.AnswerTooLarge):
        limited.entries(under=space, query="apple")
