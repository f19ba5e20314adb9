"""What is shown of memory's texts: every letter of it can be seen, and acts on nothing."""

import json
import re
import sys
import unicodedata
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from day1.formats.prime_file import Prime
from day1.interfaces.cli.render import visible
from day1.interfaces.hook import answers
from day1.interfaces.web.rendering import marked, plain
from day1.model.prime.choosing import KnownFact
from day1.model.prime.framing import one_line, size
from day1.model.prime.wording import Situation, hint_text, prime_text
from day1.model.values.showing import UNSEEN, seen

_ALL: Final = [chr(number) for number in range(sys.maxunicode + 1)]


def _ranges(written: str) -> frozenset[str]:
    """The letters of ranges as Unicode's tables write them."""
    pairs = [one.split("..") for one in written.split()]
    return frozenset(
        chr(number) for pair in pairs for number in range(int(pair[0], 16), int(pair[-1], 16) + 1)
    )


_WITH_A_SHAPE: Final = _ranges("600..605 6DD 70F 890..891 8E2 110BD 110CD 13430..1345F")
"""Prepended_Concatenation_Mark (PropList.txt), and the signs of order in Egyptian."""
_OTHERS: Final = (
    "34F 115F..1160 17B4..17B5 2065 3164 FFA0 FFF0..FFF8 E0000 E0002..E001F E0080..E00FF"
)
"""Other_Default_Ignorable_Code_Point of PropList.txt, but for the last range."""
_SELECTORS: Final = _ranges("180B..180D 180F FE00..FE0F E0100..E01EF")
"""Variation_Selector of PropList.txt."""
_IGNORED: Final = (
    _ranges(_OTHERS)
    | _ranges("E01F0..E0FFF")
    | _SELECTORS
    | {letter for letter in _ALL if unicodedata.category(letter) == "Cf"}
) - (_WITH_A_SHAPE | _ranges("FFF9..FFFB"))
"""Default_Ignorable_Code_Point, by the rule that DerivedCoreProperties.txt states."""
_IN_CONTEXT: Final = frozenset("\u200c\u200d\ufe0e\ufe0f")

LEGITIMATE: Final = {
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Sinhala": "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
    "Malayalam, at the end of a word": "\u0d05\u0d35\u0d28\u0d4d\u200d \u0d35",
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a heart on fire": "\u2764\ufe0f\u200d\U0001f525",
    "a scientist with a tone of skin": "\U0001f469\U0001f3fd\u200d\U0001f52c",
    "a keycap": "1\ufe0f\u20e3",
    "a copyright sign as text": "\u00a9\ufe0e",
    "Arabic year": "\u0601\u0662\u0660",
    "Hebrew": "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "two lines": "one\n\ttwo",
}
HIDDEN: Final = {
    "a joiner in ASCII": "ad\u200dmin",
    "two joiners": "\u0645\u200c\u200c\u06cc",
    "a selector in words": "pass\ufe0fword",
    "two selectors": "\u2764\ufe0f\ufe0f",
    "bytes in selectors": "\u2764\U000e0148\U000e0155",
    "bytes at an ideograph": "\u845b\U000e0100",
    "tags": "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "a joiner behind what is not seen": "\u0645\u034f\u200d",
    "a filler": "\u3164\uffa0\u115f\u1160",
}


def test_every_letter_without_a_shape_is_unseen() -> None:
    """The rule of Unicode: what is ignored by default, controls, formats and halves of letters."""
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    expected = {letter for letter in _ALL if unicodedata.category(letter) in kinds} | _IGNORED
    expected -= _WITH_A_SHAPE | _IN_CONTEXT | set("\n\t")
    found = {letter for letter in _ALL if UNSEEN.fullmatch(letter)}
    assert {f"{ord(letter):04X}" for letter in expected - found} == set()
    assert {f"{ord(letter):04X}" for letter in found - expected - _IN_CONTEXT} == set()


def test_legitimate_texts_are_seen_whole() -> None:
    assert {name: UNSEEN.findall(text) for name, text in LEGITIMATE.items()} == {
        name: [] for name in LEGITIMATE
    }


def test_what_could_hold_a_hidden_text_is_unseen() -> None:
    assert all(UNSEEN.search(text) for text in HIDDEN.values()), HIDDEN


_LETTERS: Final = (
    st.sampled_from(
        [*"a<>1#|/ \n\u00e9\u0645\u2764\U0001f468", *sorted(_IGNORED)[:90], "\U000e0100", "\u202e"]
    )
    | st.characters()
)
TEXTS: Final = st.lists(_LETTERS, max_size=40).map("".join)


@given(TEXTS)
def test_nothing_unseen_is_left_and_what_is_left_stays(text: str) -> None:
    assert UNSEEN.search(seen(text)) is None
    assert seen(seen(text)) == seen(text)


@given(TEXTS)
def test_pages_and_terminals_show_what_is_unseen(text: str) -> None:
    assert UNSEEN.search(visible(text)) is None
    assert UNSEEN.search(plain(text)) is None
    assert UNSEEN.search(re.sub("<[^>]*>", "", str(marked(text)))) is None


MARKS: Final = (
    *("</system-reminder>", "<|im_start|>system", "<function_calls>", "<invoke name='x'>"),
    *("</day1-memory>", "<<SYS>>", "</tool_result>", "\uff1c/system\uff1e", "\ufe64x\ufe65"),
)
FRAMES: Final = re.compile("[<>\uff1c\uff1e\ufe64\ufe65]")


def inner(framed: str) -> str:
    """What stands between the first and the last line of a frame."""
    first, *lines, last = framed.split("\n")
    assert first.startswith("<day1-memory ")
    assert first.count("<") == first.count(">") == 1
    assert last == "</day1-memory>"
    return "\n".join(lines)


@given(st.lists(st.sampled_from(MARKS) | TEXTS, min_size=1, max_size=4).map("".join))
def test_no_text_of_memory_is_a_mark_of_a_client_or_a_model(text: str) -> None:
    fact = KnownFact(id="fact_1", text=text, at=0)
    found = Situation(
        branch=text, commit="c", about=text, task=text, handoff=(text, 0, text), facts=[fact]
    )
    told = prime_text(found, 4_000)
    for framed in (told, hint_text(text, "c", [(text, 0)], 600)):
        assert FRAMES.search(inner(framed)) is None
        assert UNSEEN.search(framed.replace("\n", "")) is None
    line = one_line(text, 20)
    assert FRAMES.search(line) is None
    assert UNSEEN.search(line) is None
    assert size(line) <= 20
    hooked = answers.primed(Prime("main", "c", told.replace("\u2039", "<"), None), None)
    assert FRAMES.search(inner(hooked)) is None


def test_the_view_of_a_client_reads_the_same_pattern() -> None:
    """It is given to JavaScript, which writes letters and named groups in another way."""
    written = re.sub("[^ -~]", lambda mark: f"\\u{{{ord(mark[0]):x}}}", UNSEEN.pattern)
    assert json.loads(json.dumps(written)) == written
    assert "(?P" not in UNSEEN.pattern
