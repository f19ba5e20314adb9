"""What the patterns find is what their slower forms found."""

import re

from hypothesis import given
from hypothesis import strategies as st

from day1.adapters.judges import stance
from day1.adapters.judges.rules import scoring
from day1.adapters.sources import git
from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.tools import basic_memory, dated_lines
from day1.model.branches import names
from day1.model.redaction import mask, quotes
from day1.model.rows import validation
from day1.model.search import grouping
from day1.model.values import space

_UNITS = "|".join(sorted(stance._UNITS, key=len, reverse=True))
WERE = {
    "measure": re.compile(rf"(\d+(?:[.,]\d+)*)\s*({_UNITS})(?!\w)", re.IGNORECASE),
    "specific": re.compile(
        r"\b\w*\d[\w.:-]*|\w+[._/:@]\w[\w./:@-]*|[a-z]+[A-Z]\w*|(?<=[a-z,;] )[A-Z]\w+"
    ),
    "address": re.compile(r"\s*<[^<>\s]+@[^<>\s]+>"),
    "place": re.compile(
        r"`[^`]+`|\b[\w.-]+/[\w./-]+|\b\w+\.[a-z]{1,5}\b|\b\w+_\w+\b|\b[A-Z]\w+[A-Z]\w*"
    ),
}
SPACE_WAS = re.compile(r"[\w-]+:\s*[^\s/][^/]*(/[^/]*[^\s/][^/]*)*")
HEADING_WAS = re.compile(r"\s*(?:#{1,6}\s+|\*\*)(.+?)(?:\s*#*|:?\*\*:?)\s*$")
RELATION_WAS = re.compile(
    r"\s*[-*]\s+(?:\"(?P<quoted>[^\"]+)\"\s+|(?P<type>[^\s\[\]\"]+)\s+)?"
    r"\[\[(?P<target>[^\[\]]+)\]\]\s*(?:\(.*\))?\s*$"
)
FRONT_WAS = re.compile(
    r"\A(---|\+\+\+)[ \t]*\n[^\n]*[:=][^\n]*\n(?:.*?\n)??(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
SECRETS_WERE = {
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{30,})"),
    "an API key": re.compile(r"\bsk-[A-Za-z0-9_-]{20,}"),
    "a Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    "a JSON web token": re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    "a password": re.compile(r"(?i)\bpass(?:word|wd)?\s*[=:]\s*(?![<{$*\s])\S{6,}"),
}

LETTERS = "aAbZ1 9.,:/@_-`<>\n\u00e9\u0660="
PIECES = st.sampled_from(
    (
        *LETTERS,
        *(
            "1.5",
            " s",
            "ms",
            " minutes",
            "hours",
            "a.b",
            "aB",
            "<a@b.c>",
            "<@a@b>",
            "eyJ",
            "a" * 10,
        ),
        *(
            "-eyJ",
            ".eyJ",
            "sk-",
            "xoxb-",
            "github_pat_",
            "b" * 12,
            "password",
            "= ",
            "pass:",
            "12ms",
        ),
        *("http://a/b", "snake_case", "CamelCase", "x.py", " <", "@@", "_ _", ".lock", "- -"),
    )
)
TEXTS = st.lists(PIECES, max_size=24).map("".join)


@given(TEXTS)
def test_measures_and_specifics_and_addresses_are_found_as_before(text: str) -> None:
    """B7: the patterns that were rewritten find what they found."""
    assert stance._MEASURE.findall(text) == WERE["measure"].findall(text)
    assert grouping._SPECIFIC.findall(text) == WERE["specific"].findall(text)
    assert git._ADDRESS.sub("", text) == WERE["address"].sub("", text)


@given(TEXTS)
def test_a_text_names_a_place_or_holds_a_secret_as_before(text: str) -> None:
    """B7: of places and secrets only whether there is one is asked."""
    assert bool(scoring._PLACE.search(text)) == bool(WERE["place"].search(text))
    for name, shape in validation._SHAPES:
        if name in SECRETS_WERE:
            assert bool(shape.search(text)) == bool(SECRETS_WERE[name].search(text)), name


@given(TEXTS, TEXTS.filter(bool))
def test_quotes_are_taken_out_as_before(said: str, text: str) -> None:
    """B7: a redacted text is looked for without a pattern, and found where the pattern found it."""
    for whole in (said, f"{said}{text}{said}", f"{text} {text}{text} {text}"):
        was = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", lambda _: mask.REDACTED, whole)
        assert quotes.without([text])(whole) == was


@given(st.text("aB._-l/ock .", max_size=30) | TEXTS)
def test_a_branch_is_named_as_before(name: str) -> None:
    """B7: what a name may not end with is taken off as before."""
    plain = re.sub(r"[^a-z0-9._]+", "-", name.lower()).lstrip("-._")
    plain = re.sub(r"\.{2,}", ".", plain)[: names._LONGEST_PART]
    assert names.branch_part(name) == (re.sub(r"(\.lock|[-._])+$", "", plain) or "x")


def pieces(*some: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(some), max_size=14).map("".join)


@given(pieces("a", "-", ":", " ", "/", "\t", "b c", "//", "a:b"))
def test_a_space_has_the_form_that_it_had(text: str) -> None:
    assert bool(space._FORM.fullmatch(text)) == bool(SPACE_WAS.fullmatch(text))


@given(pieces("#", "##", " ", "  ", "\t", "**", ":", "a", "b c", "*", "# ", ":**", "**:"))
def test_headings_of_dated_lines_are_found_as_before(line: str) -> None:
    """A line that was no heading went on with the text above it, of which an id is made."""
    was = HEADING_WAS.match(line)
    assert dated_lines.heading_of(line) == (was[1].strip() if was else None)


@given(pieces("- ", "* ", "[[", "]]", "a", " ", "(", ")", '"', "b", "|", "- [[a]]", "(c)", "\t"))
def test_relations_of_notes_are_found_as_before(line: str) -> None:
    found, was = basic_memory._RELATION.match(line), RELATION_WAS.match(line)
    assert (found is None) == (was is None)
    if found and was:
        assert was.groupdict().items() <= found.groupdict().items()


@given(pieces("---\n", "+++\n", "...\n", "a: b\n", "a\n", "--- \t\n", "---", "\n", "=", " ---\n"))
def test_front_matter_is_taken_off_as_before(text: str) -> None:
    assert FrontMatter(text).body == FRONT_WAS.sub("", text, count=1)
