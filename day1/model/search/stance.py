"""The stance of one memory towards another: support, contradiction, or only the same topic.

Neither words nor vectors tell a contradiction from an agreement ("30 seconds" and "60 seconds" have
a similarity of 0.96). So two texts that are nearly equal are compared word by word, and their
difference decides: a number, a negation, or a word and its opposite. It knows English only; in
other languages it compares numbers.
"""

import re
from dataclasses import dataclass
from typing import Literal

from day1.model.search.wording import STOP_WORDS, dates

_NEAR = 0.6
"""Share of common words from which two texts are nearly equal."""
_NEAR_COSINE = 0.85
"""Cosine from which the smaller share `_NEAR_WITH_COSINE` is enough."""
_NEAR_WITH_COSINE = 0.4
"""Share of common words from which two texts with near vectors are nearly equal."""
_COVERED = 0.6
"""Share of the claim's words that a supporting text has at least."""
_LIKE_COSINE = 0.7
"""Cosine from which the smaller share `_COVERED_WITH_COSINE` is enough."""
_COVERED_WITH_COSINE = 0.3
"""Share of the claim's words that a supporting text with a near vector has at least."""
_RELATED = 0.34
"""Share of the claim's words from which a text has the same topic."""
_RELATED_COSINE = 0.5
"""Cosine from which a text has the same topic."""

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}-\d\d(?:-\d\d)?(?:[T ]\d\d:\d\d\S*)?|\b(?:19[7-9]|20\d)\d\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b|\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:\b(?:issue|pr|ticket|bug|task|step|phase|chapter|section|page|node|host|server|shard|replica"
    r"|worker|case|example|run|commit|build|sprint|row|column|figure|table|user|customer|order|room)"
    r"\s+#?|#)(\d+)\b(?!\.\d)|\b(\d+(?:\.\d+){2,})\b",
    re.IGNORECASE,
)
"""The pattern of numbers that are names: issue 12, #12, 10.0.0.1."""

_NEGATIONS = frozenset(
    (
        *("not", "no", "never", "without", "cannot", "none", "neither", "nor", "hardly"),
        *("untrue", "incorrect", "wrong", "mistaken", "myth", "doubt", "doubts", "doubtful"),
    )
)
_FALSE = re.compile(r"\bfalse(?=\s+that\b)", re.IGNORECASE)
"""The pattern of `false` where it denies a claim; elsewhere the word is a value."""
_COUNTS = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_NUMBERS = {word: str(number) for number, word in enumerate(_COUNTS, start=2)}
_UNITS = {
    name: unit
    for unit, names in enumerate(
        (
            "ms millisecond milliseconds",
            "s sec secs second seconds",
            "min mins minute minutes",
            "h hour hours",
            "day days",
            "week weeks",
            "month months",
            "year years",
            "kb",
            "mb",
            "gb",
            "tb",
            "% percent",
        )
    )
    for name in names.split()
}
_MEASURE = re.compile(
    r"(?<!\d)(?<!\d[.,])(\d++(?:[.,]\d++)*+)"
    rf"\s*+({'|'.join(sorted(_UNITS, key=len, reverse=True))})(?!\w)",
    re.IGNORECASE,
)
"""The pattern of a number with its unit, from the first digit only: long numbers stay cheap."""
_OPPOSITES = (
    ("enabled enable enables on", "disabled disable disables off"),
    ("true", "false"),
    ("allowed allows permitted permits", "forbidden forbids denied denies prohibited banned"),
    ("required mandatory requires", "optional"),
    ("open opened opens", "closed closes shut"),
    ("up", "down"),
    ("passes passed passing pass succeeds succeeded", "fails failed failing fail"),
    ("works working", "broken"),
    ("always", "never"),
    ("before", "after"),
    ("increases increased rises rose grows grew", "decreases decreased falls fell shrinks shrank"),
    ("adds added", "removes removed"),
    ("public", "private"),
    ("supports supported", "lacks"),
    ("active", "inactive"),
    ("internal", "external"),
    ("minimum min", "maximum max"),
    ("left", "right"),
    ("more", "less fewer"),
    ("higher above", "lower below"),
    ("faster", "slower"),
    ("larger bigger", "smaller"),
    ("first", "last"),
    ("accepts accepted", "rejects rejected refuses refused"),
    ("online", "offline"),
    ("writable", "readonly"),
    ("encrypted", "plaintext"),
    ("started starts running runs", "stopped stops"),
    ("merged", "reverted"),
    ("present", "absent missing"),
    ("likes loves", "dislikes hates"),
    ("prefers", "avoids"),
)
_SIDES = {
    word: (pair, side)
    for pair, sides in enumerate(_OPPOSITES)
    for side, words in enumerate(sides)
    for word in words.split()
}
_PREFIXES = ("un", "in", "im", "non", "dis", "de", "a")
_ENDINGS = ("ing", "ed", "es", "s", "ly")
_STEM = 4


@dataclass(frozen=True, slots=True)
class _Read:
    """The parts of a text that decide its stance."""

    words: frozenset[str]
    """Stems of content words."""
    all_words: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    sides: frozenset[tuple[int, int]]
    """The words of pairs of opposites that the text has, by pair."""
    units: dict[str, int]
    """Number -> the unit that follows it in the text, for the numbers with a unit."""
    negated: bool


def stance(
    claim: str, other: str, cosine: float | None = None
) -> Literal["supports", "contradicts", "related"] | None:
    """Return the stance of `other` towards `claim`; None if it is about something else.

    Args:
        claim: the text that is judged.
        other: a text that was found for it.
        cosine: of their vectors, where there are any.
    """
    claim_read, other_read = _read(claim), _read(other)
    negated_word_count = _turned(claim_read.words, other_read.words)
    shared_count = len(claim_read.words & other_read.words) + negated_word_count
    if not shared_count:
        return "related" if (cosine or 0) >= _RELATED_COSINE else None
    similarity = shared_count / (len(claim_read.words | other_read.words) - negated_word_count)
    covered_share = shared_count / len(claim_read.words)
    is_near = similarity >= _NEAR or (
        (cosine or 0) >= _NEAR_COSINE and similarity >= _NEAR_WITH_COSINE
    )
    has_same_names = (
        claim_read.names <= other_read.all_words and other_read.names <= claim_read.all_words
    )
    is_opposed = _opposed(claim_read, other_read, negated_word_count)
    is_contrary = is_opposed or _other_numbers(claim_read, other_read)
    if _same_time(claim, other) and not other.rstrip().endswith("?"):
        if is_near and has_same_names and is_contrary:
            return "contradicts"
        is_covered = covered_share >= _COVERED or (
            (cosine or 0) >= _LIKE_COSINE and covered_share >= _COVERED_WITH_COSINE
        )
        if (
            is_covered
            and not is_contrary
            and claim_read.names <= other_read.all_words
            and claim_read.numbers <= other_read.numbers
        ):
            return "supports"
    if covered_share >= _RELATED or (cosine or 0) >= _RELATED_COSINE:
        return "related"
    return None


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's content words: what two texts about one thing share."""
    return _read(text).words


def names_in(text: str) -> frozenset[str]:
    """Return the words that name something: capitalised, or a number that is a name."""
    return _read(text).names


def _other_numbers(one: _Read, two: _Read) -> bool:
    """Whether each text has a number that the other lacks, or one number counts something else."""
    if one.numbers - two.numbers and two.numbers - one.numbers:
        return True
    return any(two.units.get(number, unit) != unit for number, unit in one.units.items())


def _turned(one: frozenset[str], two: frozenset[str]) -> int:
    """Count the words of one text that are a word of the other with a negating prefix."""
    word_set_pairs = ((one - two, two - one), (two - one, one - two))
    return sum(
        any(prefix + word in other_words for prefix in _PREFIXES)
        for own_words, other_words in word_set_pairs
        for word in own_words
    )


def _opposed(one: _Read, two: _Read, turned: int) -> bool:
    """Whether an odd number of negations and opposites is between the two texts."""
    own_sides, other_sides = one.sides - two.sides, two.sides - one.sides
    reversal_count = turned + (one.negated != two.negated)
    reversal_count += any(
        (pair_number, 1 - side_number) in other_sides for pair_number, side_number in own_sides
    )
    return reversal_count % 2 == 1


def _same_time(claim: str, other: str) -> bool:
    """Whether two texts may be about one time: not if both name dates and share none."""
    claim_dates, other_dates = dates(claim, ()), dates(other, ())
    if not claim_dates or not other_dates:
        return True
    return any(
        claim_date.start_us < other_date.end_us and other_date.start_us < claim_date.end_us
        for claim_date in claim_dates
        for other_date in other_dates
    )


def _read(text: str) -> _Read:
    undated_text = _FALSE.sub("not", _DATE.sub(" ", text))
    name_numbers = {
        number for match in _NAMED.finditer(undated_text) for number in match.groups() if number
    }
    words: set[str] = set()
    all_words: set[str] = set()
    names: set[str] = set()
    numbers: set[str] = set()
    opposite_words, negation_count = set(), 0
    for match in _TOKEN.finditer(undated_text):
        token, word = match[0], match[0].lower().replace("\u2019", "'")
        word = word.removesuffix("'s")
        number = word.replace(",", "") if word[0].isdigit() else _NUMBERS.get(word)
        if number is not None:
            (names if word in name_numbers else numbers).add(number)
            all_words.add(number)
        elif word in _NEGATIONS or word.endswith("n't"):
            negation_count += 1
        elif word in _SIDES:
            opposite_words.add(_SIDES[word])
        elif word not in STOP_WORDS and len(word) > 1:
            stem = _stem(word)
            words.add(stem)
            if token[0].isupper():
                names.add(stem)
    all_words |= words
    return _Read(
        frozenset(words),
        frozenset(all_words),
        frozenset(names),
        frozenset(numbers),
        frozenset(opposite_words),
        {
            number.replace(",", ""): _UNITS[unit.lower()]
            for number, unit in _MEASURE.findall(undated_text)
        },
        negation_count % 2 == 1,
    )


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word.removesuffix(ending)
    return word
