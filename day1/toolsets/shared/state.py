"""The state that an answer was read from, and the record of facts that were shown."""

from collections.abc import Iterable

from day1.call.context import Context
from day1.call.fields import Read
from day1.errors import Advice
from day1.model.rows.change import ReadState, Ref
from day1.model.rows.kind import FACT, kind_of
from day1.ports.reading import Reading
from day1.services.search.request import SearchAnswer


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
    facts = [str(row_id) for row_id in row_ids if kind_of(str(row_id)) is FACT]
    ctx.search.uses.shown(facts, ctx.clock(), branch_id)
