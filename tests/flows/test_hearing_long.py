"""Long messages that hooks have heard come in as parts."""

from pathlib import Path

import pytest

from day1.formats.events import MOST_TEXT
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import MESSAGE
from day1.model.values.parts import MAX_TEXT, piece_of
from day1.services.redaction.redacting import look, redact
from tests.flows.heard import taken, the_conversation
from tests.flows.hooked_process import tell
from tests.flows.opened_store import make, opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "store")
    return tmp_path / "store"


LONG = "".join(f"Line {n:05} of what was pasted.\n" for n in range(3_300))
"""More than 100,000 characters."""


@pytest.mark.parametrize("turn", [{"prompt_id": "1"}, {}], ids=["by its turn", "by its time"])
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_a_long_message_comes_in_as_parts_in_their_order_and_once(
    folder: Path, turn: dict[str, str], apart: bool
) -> None:
    tell(folder, "prompt", prompt="Short.", prompt_id="0")
    for _ in range(2):
        tell(folder, "prompt", prompt=LONG, **turn)
        if apart:
            taken(folder)
    tell(folder, "turn-end", last_assistant_message="Done.", prompt_id="1")
    (talk,) = taken(folder).values()
    texts = [text for _, text in talk]
    assert len(talk) == 6
    assert all(len(text) <= MAX_TEXT for text in texts)
    assert "".join(map(piece_of, texts[1:-1])) == LONG
    assert [text.splitlines()[-1][:10] for text in texts[1:-1]] == [
        f"[part {number} of" for number in (1, 2, 3, 4)
    ]
    assert (texts[0], texts[-1]) == ("Short.", "Done.")


def test_a_conversation_may_begin_with_a_long_message(folder: Path) -> None:
    tell(folder, "prompt", prompt="x" * 33_000, prompt_id="1")
    assert [len(talk) for talk in taken(folder).values()] == [2]
    with opened(folder) as store:
        assert str(the_conversation(store)["title"]).startswith("xxx")
        with store.repo.store.reading(Ref(branch="main")) as reading:
            (first,) = [
                row
                for row in reading.find(MESSAGE, Query())
                if "part 1 of 2" in str(row["content"])
            ]
        redact(store.repo, look(store.repo, str(first["id"])), None, None, store.repo.clock())
        assert "xxx" not in str(the_conversation(store)["title"])


def test_what_is_longer_than_any_turn_says_how_much_was_cut(folder: Path) -> None:
    tell(folder, "prompt", prompt="y" * (MOST_TEXT + 5), prompt_id="1")
    (talk,) = taken(folder).values()
    whole = "".join(piece_of(text) for _, text in talk)
    assert whole == "y" * MOST_TEXT + "\n[5 more characters]"
