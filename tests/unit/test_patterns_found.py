"""What the patterns find in texts, and what they leave: each a table of examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.tools.dated_lines import heading_of
from day1.model.redaction.mask import REDACTED
from day1.model.redaction.quotes import without
from day1.model.rows.validation import _PASSWORD, _SHAPES, looks_secret
from day1.model.search.grouping import worded
from day1.model.search.stance import stance


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("see AKIA" + "A" * 16 + ".", "an AWS access key"),
        ("xAKIA" + "A" * 16, None),
        ("漢ASIA" + "A" * 16, None),
        ("xASIA ASIA" + "A" * 16, "an AWS access key"),
        ("ghp_" + "a" * 36, "a GitHub token"),
        ("ghp_" + "a" * 35, None),
        ("_ghp_" + "a" * 36, None),
        ("xgithub_pat_" + "b" * 30, None),
        ("github_pat_" + "b" * 30, "a GitHub token"),
        ("sk-" + "a_-4" * 5, "an API key"),
        ("risk-" + "a" * 20, None),
        ("xoxb-" + "1" * 10, "a Slack token"),
        ("xoxb-" + "1" * 9, None),
        ("_xoxb-" + "1" * 10, None),
        (".".join(["eyJ" + "a" * 10] * 2 + ["c" * 10]), "a JSON web token"),
        ("eyJ-eyJ" + "a" * 10 + ".eyJ" + "b" * 10 + "." + "c" * 10, "a JSON web token"),
        (".".join(["eyJ" + "a" * 9] * 2 + ["c" * 10]), None),
        ("Password: hunter2", "a password"),
        ("passwd=hunter2", "a password"),
        ("PAſSWORD=hunter2", "a password"),  # an old s, which is one without regard to case
        ("password: <yours>", None),
        ("password = $SECRET", None),
        ("the password is long", None),
        ("passing: hunter2", None),
        ("bypass: hunter2", None),
    ],
)
def test_secrets_are_named_by_their_form(text: str, kind: str | None) -> None:
    assert looks_secret(text) == kind
    assert looks_secret(None, "", "A text.", text) == kind


_PARTS = [part for _, parts, _ in _SHAPES for part in parts]
_PIECES = ("AKIA", "ASIA", "A" * 16, "gh", "p_", "a" * 36, "sk-", "xoxb-", "eyJ", ".", "pass", "=")


@given(st.lists(st.sampled_from([*_PIECES, *_PARTS, "PASſ", " ", "PRIVATE KEY-----", "hunter2"])))
def test_a_text_without_the_parts_of_secrets_fits_no_shape(pieces: list[str]) -> None:
    text = "".join(pieces)
    fitting = [name for name, _, shape in _SHAPES if shape.search(text)]
    fitting += ["a password"] if _PASSWORD.search(text.casefold()) else []
    assert looks_secret(text) == next(iter(fitting), None)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("the code", REDACTED),
        ("say the code, twice: the code", f"say {REDACTED}, twice: {REDACTED}"),
        ("the codes", "the codes"),
        ("_the code_", "_the code_"),
        ("breathe code", "breathe code"),
        ("(the code)", f"({REDACTED})"),
        ("the the code", f"the {REDACTED}"),
        ("The code", "The code"),
    ],
)
def test_quotes_of_a_redacted_text_are_taken_out_as_whole_words(text: str, cleaned: str) -> None:
    assert without(["the code"])(text) == cleaned


def test_a_text_that_repeats_itself_is_taken_out_where_it_stands_whole() -> None:
    assert without(["aa"])("aa aaa aa.aa") == f"{REDACTED} aaa {REDACTED}.{REDACTED}"
    assert without(["one", "two words"])("one, two words") == f"{REDACTED}, {REDACTED}"
    assert without([""])("as it is") == "as it is"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Title", "Title"),
        ("  ## Title ##", "Title"),
        ("###### Deep", "Deep"),
        ("####### Seven", None),
        ("#Title", None),
        ("**Title**", "Title"),
        ("**Title:**", "Title"),
        ("**Title**:", "Title"),
        ("**Title", "Title"),
        ("a # b", None),
        ("text", None),
        ("", None),
    ],
)
def test_headings_of_dated_lines(line: str, title: str | None) -> None:
    """A line that is no heading goes on with the text above it, of which an id is made."""
    assert heading_of(line) == title


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\na: b\n---\nbody\n", "body\n"),
        ("---\na: b\n...\nbody\n", "body\n"),
        ("+++\na = b\n+++\nbody\n", "body\n"),
        ("--- \t\na: b\nc\n--- \nbody", "body"),
        ("---\na: b\n---", ""),
        ("---\na: b\n+++\nbody\n", "---\na: b\n+++\nbody\n"),
        ("---\nno key\n---\nbody\n", "---\nno key\n---\nbody\n"),
        ("---\na: b\nbody\n", "---\na: b\nbody\n"),
        (" ---\na: b\n---\nbody\n", " ---\na: b\n---\nbody\n"),
        ("body\n---\na: b\n---\n", "body\n---\na: b\n---\n"),
    ],
)
def test_front_matter_is_taken_off_between_two_marks_alone(text: str, body: str) -> None:
    assert FrontMatter(text).body == body


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        ("5 seconds", "5 minutes", True),
        ("5 s", "5 seconds", False),
        ("1.5 hours", "1.5 minutes", True),
        ("1,500ms", "1500 ms", False),
        ("30 minutes", "30 hours", True),
    ],
)
def test_measures_of_other_units_contradict(one: str, other: str, contradict: bool) -> None:
    said = "The payment gateway times out after {}."
    found = stance(said.format(one), said.format(other), 0.9)
    assert (found == "contradicts") == contradict


@pytest.mark.parametrize(
    ("specific", "vague"),
    [
        ("The gateway restarts after 30 tries.", "The gateway restarts after some tries."),
        ("The gateway reads config.py at noon.", "The gateway reads config at noon."),
        ("The gateway sets snake_case for it.", "The gateway sets snake case for it."),
        ("The gateway calls openStore for it.", "The gateway calls open store for it."),
        ("The gateway asks Kestrel for it.", "The gateway asks others for it."),
    ],
)
def test_numbers_paths_and_names_are_specific(specific: str, vague: str) -> None:
    assert worded(specific) == worded(vague) + 1
