"""What reads foreign text takes no longer than its length tells, whatever the text repeats."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from day1.adapters.judges import injection
from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.markdown import sections
from day1.adapters.sources.tools import catalogue
from day1.model.redaction import quotes
from day1.model.rows import validation
from day1.model.search import grouping, stance, wording
from day1.ports.source import Machine
from tests.sampling import cases
from tests.unit.sources.generated_notes import _HEAD, _HEADINGS, _KEYS, _LINES

SHORT, LONG = 4 * 1024, 16 * 1024
_WORTH_S = 0.05
"""What is quicker for the long text is quick enough."""
_GROWTH = 8
"""How many times as long a text of four times the length may take: a square would take 16 times."""

_OF_LINES = frozenset(("front matter", "pieces", "lines"))
"""What looks back at lines above."""
_OPENINGS = ("", "---\na: b\n", "---\na: |\n", "```\n", "# A\n", "[2024-05-01] - a\n", "- ", "| ")
_EVERY = 9
"""Of how many parts each run tries one."""
_PARTS = (
    *("a", " ", "\n", "\t", "#", "-", "*", "`", "[", "]", "(", ")", "[[", "]]", ">", "|", "=", ":"),
    *(
        "a ",
        "a\n",
        " \n",
        "a\n\n",
        "- a\n",
        "# a\n",
        "---\n",
        "```\n",
        "a: b\n",
        " - a\n",
        "a\n=\n",
    ),
    *("[[a]] ", "<a", "a.", "a_", "A", "1", "1,", '"', "\u2028", "a\x0b", "[2024-05-01] - a\n"),
    *(f"{line}\n" for line in (*_LINES, *_HEADINGS, *_KEYS, *_HEAD)),
)


def read_by(name: str, file: str) -> Callable[[str], object]:
    """Read a text as a file of a tool."""

    def read(text: str) -> object:
        path = FOLDERS[0] / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        machine = Machine(Path("/nowhere"), {})
        paths = [path if file.endswith(".txt") else FOLDERS[0]]
        return list(catalogue.tool_memory(name, paths, machine).items())

    return read


FOLDERS: list[Path] = []
READERS: Mapping[str, Callable[[str], object]] = {
    "claude-code": read_by("claude-code", "a.md"),
    "claude-code index": read_by("claude-code", "MEMORY.md"),
    "codex": read_by("codex", "MEMORY.md"),
    "codex summary": read_by("codex", "rollout_summaries/a.md"),
    "basic-memory": read_by("basic-memory", "a.md"),
    "letta": read_by("letta", "a.md"),
    "lines": read_by("lines", "a.txt"),
    "front matter": FrontMatter,
    "pieces": lambda text: [section.pieces() for section in sections(text)],
    "secrets": validation.looks_secret,
    "clean": validation.clean,
    "orders": injection.cleared,
    "stems": stance.content_stems,
    "names": stance.names_in,
    "words": wording.content_words,
    "terms": wording.keyword_terms,
    "subject": wording.subject,
    "dates": wording.dates,
    "plain": grouping.plain,
    "quotes": quotes.without(["a secret text", "another"]),
}


def spent(read: Callable[[str], object], text: str) -> float:
    before = time.process_time()
    read(text)
    return time.process_time() - before


def grows(read: Callable[[str], object], opening: str, part: str) -> bool:
    """Whether the time grows faster than the text: the best of three counts."""
    long = opening + part * (LONG // len(part))
    if spent(read, long) < _WORTH_S or min(spent(read, long) for _ in range(2)) < _WORTH_S:
        return False
    short = opening + part * (SHORT // len(part))
    best = {text: min(spent(read, text) for _ in range(3)) for text in (short, long)}
    return best[long] > _GROWTH * best[short]


@pytest.mark.parametrize("name", READERS)
def test_the_time_grows_no_faster_than_a_text(name: str, tmp_path: Path) -> None:
    FOLDERS[:] = [tmp_path / "a" / "memory"]
    every = 1 if cases(0) else _EVERY  # all of them, where cases are asked for
    slow = [
        (opening, part)
        for opening in (_OPENINGS if name in _OF_LINES else ("",))
        for part in _PARTS[::every]
        if grows(READERS[name], opening, part)
    ]
    assert slow == []
