"""The glossary explains each word once, and every page links a word where it first uses it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
GENERATED = "<!-- Written by scripts/build_docs.py"
TERM = re.compile(r'^\| <a id="([a-z-]+)"></a>\*\*([^*]+)\*\* \| (.+) \|$', re.MULTILINE)
# What is no running text: fenced and indented code, headings, comments, images, links, `code`.
NO_PROSE = re.compile(
    r"^```.*?^```|^ {4}\S.*?$|^#.*?$|<!--.*?-->|!?\[(?:[^\[\]]|!?\[[^\]]*\]\([^)]*\))*\]\([^)]*\)|`[^`\n]+`|<[^>\n]+>",
    re.MULTILINE | re.DOTALL,
)


EVERYDAY = {
    "agent",
    "blame",
    "branch",
    "choice",
    "commit",
    "edit",
    "engine",
    "head",
    "index",
    "kind",
    "mask",
    "merge",
    "node",
    "operation",
    "plan",
    "port",
    "restore",
    "revision",
    "row",
    "session",
    "space",
    "store",
    "task",
    "tip",
    "token",
    "view",
    "wire",
}
"""Words that pages also use as everybody does (a TCP port, a model's tokens): no link is asked."""


def terms() -> dict[str, re.Pattern[str]]:
    """How each term is found in a text, by its anchor."""
    return {
        anchor: re.compile(rf"(?<![\w/-]){re.escape(word)}s?(?![\w-])", re.IGNORECASE)
        for anchor, word, _ in TERM.findall(GLOSSARY.read_text("utf-8"))
        if anchor not in EVERYDAY
    }


def pages() -> list[Path]:
    """The pages that people write."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [p for p in found if p != GLOSSARY and GENERATED not in p.read_text("utf-8")]


def unlinked(page: Path) -> Iterator[str]:
    """Terms that a page uses in its running text without, or before, a link to the glossary."""
    text = page.read_text("utf-8")
    prose = NO_PROSE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for anchor, term in terms().items():
        link = re.search(rf"\]\([^)]*glossary\.md#{anchor}\)", text)
        used = term.search(prose)
        if used is not None and (link is None or link.start() > used.start()):
            line = text.count("\n", 0, used.start()) + 1
            yield f"line {line}: {used[0]} -> glossary.md#{anchor}"


def test_each_term_stands_once_and_says_what_it_means() -> None:
    found = TERM.findall(GLOSSARY.read_text("utf-8"))
    assert len(found) > 50
    assert len({anchor for anchor, _, _ in found}) == len(found)
    assert all(anchor == word.lower().replace(" ", "-") for anchor, word, _ in found)
    assert all(len(meaning) > 15 for _, _, meaning in found)
    assert {anchor for anchor, _, _ in found} >= EVERYDAY


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_links_each_term_where_it_first_uses_it(page: Path) -> None:
    assert list(unlinked(page)) == []
