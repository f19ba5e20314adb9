"""Long texts in an answer: the passage that fits, and the place of a memory that is a part."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import not_
from typing import Annotated, Any

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Response
from day1.errors import Advice, Step
from day1.model.search.passages import FoundText, QuotedText, quote
from day1.model.values.parts import Part
from day1.toolsets.shared.fields import absent

Full = Annotated[bool | None, Field(description="long texts whole")]
"""Whether an answer has long texts whole."""


class Quoted(Response):
    """Which characters of a long text an answer quotes: from `start` to before `end`, of `of`.

    Unicode code points are counted, from 0.
    """

    start: int
    end: int
    of: int


def quoted_field() -> Any:
    """A field that says which characters of a text are there; it is left out where all are."""
    return absent()


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of an answer, best first, and what it says once about all that are quoted."""

    texts: list[QuotedText]
    notes: list[str | Advice]


def texts_of(
    ctx: Context,
    question: str,
    found: Sequence[FoundText],
    *,
    full: bool | None,
    again: Step | None = None,
) -> Texts:
    """The texts of an answer: long ones quoted, unless all are wanted whole.

    Args:
        ctx: What the call works with.
        question: What was asked.
        found: The whole texts.
        full: Whether all are wanted whole.
        again: The call that has them whole; None: it is of tools that read nothing by its id.
    """
    texts = quote(question, found, None if full else ctx.search.lengths)
    count = sum(text.span is not None for text in texts)
    if not count:
        return Texts(texts, [])
    if again is None:
        return Texts(texts, [f"Long texts are quoted ({count}); whole: full=true."])
    note = Advice(
        "Long texts are quoted ({count}); whole: {full}. {memory_get} has one by id.",
        count=count,
        full=again,
    )
    return Texts(texts, [note])


def quoted_of(text: QuotedText) -> Quoted | None:
    """Which characters of a text are there; None for all of them."""
    return None if text.span is None else Quoted(**text.span._asdict(), of=text.length)


class PartShown(Response):
    """The place of a memory in a longer text, and the parts around it."""

    place: str
    """Such as `part 2 of 11`."""
    before: str | None
    """The id of the part before; null for the first one."""
    after: str | None


PartOfText = Annotated[PartShown | None, Field(exclude_if=not_)]
"""The place of a memory in an answer, which leaves it out of a memory that is no part."""


def part_shown(part: Part) -> PartShown:
    """The place of a found row."""
    return PartShown(place=str(part), before=part.before, after=part.after)
