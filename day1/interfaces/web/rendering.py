"""The environment of the templates, and the HTML for texts of memory.

Every text is escaped, wherever it comes from. Invisible characters, such as those that change the
direction of writing, are shown by their code. So a reader sees everything that is in a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from day1.interfaces.web.static_files import address
from day1.model.merge.word_diff import changed_words
from day1.model.values.showing import BEGINNING, FOLDED, UNSEEN, short_commit, short_id

_TAGS: Final = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}


def _named(mark: re.Match[str]) -> str:
    code_point = f"U+{ord(mark[0]):04X}"
    character_name = unicodedata.name(mark[0], "control")
    return f'<span class="mark" title="{code_point} {character_name.lower()}">{code_point}</span>'


def marked(text: str) -> Markup:
    """Escape a text and show invisible characters by their code."""
    return Markup(UNSEEN.sub(_named, str(escape(text))))  # noqa: S704 - escaped, then only marks


def plain(text: str) -> str:
    """Replace invisible characters by U+FFFD, for titles, attributes and pictures."""
    return UNSEEN.sub("\ufffd", text)


def inert(text: object) -> Markup:
    """Show a text of memory, isolated from the text around it and folded if long."""
    if text is None:
        return Markup('<span class="none">none</span>')
    memory_text = str(text)
    if len(memory_text) <= FOLDED:
        return Markup("<bdi>{}</bdi>").format(marked(memory_text))
    return Markup(
        '<details class="long"><summary><bdi>{}</bdi> <span class="more">\u2026 {} characters'
        "</span></summary><bdi>{}</bdi></details>"
    ).format(marked(memory_text[:BEGINNING]), f"{len(memory_text):,}", marked(memory_text))


def words(parts: Sequence[tuple[str, str]]) -> Markup:
    """Show a word diff: removed and added parts are marked, long parts folded."""
    marked_parts = (
        (change, marked(part) if len(part) <= FOLDED else inert(part)) for change, part in parts
    )
    tagged_parts = (Markup(_TAGS[change]).format(part) for change, part in marked_parts)  # noqa: S704 - our own tags
    return Markup("<bdi>{}</bdi>").format(Markup("").join(tagged_parts))


def became(before: object, after: object) -> Markup:
    """Show the word diff of two values."""
    old_text, new_text = ("" if value is None else str(value) for value in (before, after))
    return words(changed_words(old_text, new_text))


def when(iso: str | None) -> Markup:
    """Show a time to the minute, with the exact time as its title."""
    if iso is None:
        return Markup("")
    minute_text = iso[:16].replace("T", " ")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(iso, iso, minute_text)


def path(name: str) -> str:
    """Quote a branch name or id for an address."""
    return quote(name, safe="/")


def query(values: Mapping[str, Any], **changed: Any) -> str:
    """Build a query string from values and changes to them, without empty values."""
    merged_values = {**values, **changed}
    parameters = {
        key: value for key, value in merged_values.items() if value not in {None, "", False}
    }
    return "?" + urlencode(parameters) if parameters else ""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun, in singular or plural."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def short(text: str) -> str:
    """Shorten an id or commit to its first characters."""
    return short_id(text) if "_" in text else short_commit(text)


@cache
def environment() -> Environment:
    """Build the environment of the templates: it escapes all output and rejects undefined names."""
    template_environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (inert, words, when, path, plain, short, marked)
    template_environment.filters.update(
        {filter_function.__name__: filter_function for filter_function in filters}
    )
    template_environment.globals.update(
        {"became": became, "query": query, "count": count, "static": address}
    )
    return template_environment
