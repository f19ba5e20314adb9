"""The state that an answer was read from, and a note of the facts that it shows."""

from collections.abc import Iterable

from day1.call.context import Context
from day1.call.fields import Read
from day1.errors import Advice
from day1.model.rows.change import ReadState, Ref
from day1.model.rows.kind import FACT, kind_of
from day1.ports.reading import Reading
from day1.services.search.request import SearchAnswer


def read_of(state: ReadState | Reading, branch: str, *notes: str) -> Read:
    """The state of a branch that an answer was read from."""
    return Read(branch=branch, commit=state.tip, pending=state.pending.count, notes=list(notes))


def state_of(ctx: Context, branch: str | None) -> Read:
    """The branch and commit that an answer is about, as the branch is now.

    Both are empty if the answer belongs to no single branch, or to one that the caller may not
    see.
    """
    if branch is None or not ctx.caller.access.sees(branch):
        return Read(branch=None, commit="")
    with ctx.repo.store.reading(Ref(branch=branch)) as reading:
        return read_of(reading, branch)


def read_found(branch: str, answer: SearchAnswer, more: Iterable[str | Advice] = ()) -> Read:
    """The state that a search was of, and how it was searched; `more` are further notes."""
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
    """Note the facts among the rows that an answer shows together, best first.

    A list, a timeline or a prime shows what nobody asked for by its words: those are not noted.
    """
    facts = [str(row_id) for row_id in row_ids if kind_of(str(row_id)) is FACT]
    ctx.search.uses.shown(facts, ctx.clock(), branch_id)
