"""Parts of answers that tools share: the state that was read, and passages of long texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import not_
from typing import Annotated, Any

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Read, Response
from day1.errors import Advice, Step
from day1.model.rows.change import ReadState, Ref
from day1.model.rows.kind import FACT, kind_of
from day1.model.search.passages import FoundText, QuotedText, quote
from day1.model.values.parts import Part
from day1.ports.reading import Reading
from day1.services.search.request import SearchAnswer
from day1.toolsets.shared.fields import absent

Full = Annotated[bool | None, Field(description="long texts whole")]
"""Whether to answer long texts whole instead of quoting a passage."""


class Quoted(Response):
    """Which characters of a long text an answer quotes: from `start` to before `end`, of `of`.

    Unicode code points are counted, from 0.
    """

    start: int
    end: int
    of: int


def quoted_field() -> Any:
    """Declare the field that says which characters are quoted; left out if the text is whole."""
    return absent()


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of an answer, best first, and one note about all quoted texts."""

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
    """Quote the long texts of an answer, or return all texts whole if `full`.

    Args:
        ctx: The context of the call.
        question: The query, by which passages are chosen.
        found: The whole texts.
        full: Whether to return all texts whole.
        again: The step that returns them whole; None if the toolset has no tool that reads by id.
    """
    quoted_texts = quote(question, found, None if full else ctx.search.lengths)
    quoted_count = sum(quoted_text.span is not None for quoted_text in quoted_texts)
    if not quoted_count:
        return Texts(quoted_texts, [])
    if again is None:
        return Texts(quoted_texts, [f"Long texts are quoted ({quoted_count}); whole: full=true."])
    note = Advice(
        "Long texts are quoted ({count}); whole: {full}. {memory_get} has one by id.",
        count=quoted_count,
        full=again,
    )
    return Texts(quoted_texts, [note])


def quoted_of(text: QuotedText) -> Quoted | None:
    """Return which characters of a text are quoted; None if the text is whole."""
    return None if text.span is None else Quoted(**text.span._asdict(), of=text.length)


class PartShown(Response):
    """The place of a memory in a longer text, and the parts around it."""

    place: str
    """For example `part 2 of 11`."""
    before: str | None
    """The id of the part before; null for the first one."""
    after: str | None


PartOfText = Annotated[PartShown | None, Field(exclude_if=not_)]
"""The place of a memory in a longer text; left out for a memory that is not a part."""


def part_shown(part: Part) -> PartShown:
    """Return the place of a part for an answer."""
    return PartShown(place=str(part), before=part.before, after=part.after)


def read_of(state: ReadState | Reading, branch: str, *notes: str) -> Read:
    """Describe the state of a branch that an answer was read from."""
    return Read(branch=branch, commit=state.tip, pending=state.pending.count, notes=list(notes))


def state_of(ctx: Context, branch: str | None) -> Read:
    """Describe the current state of the branch that an answer is about.

    Both are empty if the answer belongs to no single branch, or to one that the caller may not
    see.
    """
    if branch is None or not ctx.caller.access.sees(branch):
        return Read(branch=None, commit="")
    with ctx.repo.store.reading(Ref(branch=branch)) as reading:
        return read_of(reading, branch)


def read_found(branch: str, answer: SearchAnswer, more: Iterable[str | Advice] = ()) -> Read:
    """Describe the state that a search read, and its mode; `more` are further notes."""
    notes: list[str | Advice] = list(answer.notes)
    if answer.pending_vectors:
        notes.append(f"pending_vectors: {answer.pending_vectors}")
    return Read(
        branch=branch,
        commit=answer.commit,
        pending=answer.pending.count,
        mode=answer.mode_used,
        notes=[*notes, *more],
    )


def note_shown(ctx: Context, row_ids: Iterable[object], branch_id: str) -> None:
    """Record the facts among the rows that an answer shows together, best first.

    Rows of a list, a timeline or a prime are not recorded: nobody searched for their words.
    """
    fact_ids = [str(row_id) for row_id in row_ids if kind_of(str(row_id)) is FACT]
    ctx.search.uses.shown(fact_ids, ctx.clock(), branch_id)
