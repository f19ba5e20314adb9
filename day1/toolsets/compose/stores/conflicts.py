"""Conflicts between memories: two facts that cannot both count, or a value that a merge held."""

from typing import Final

from day1.call.context import Context
from day1.call.fields import Response, Written, written
from day1.call.operation import Effect, Operation
from day1.model.rows.kind import Cell
from day1.services.items.resolving import ConflictDecision, How, Sees, resolve
from day1.toolsets.compose.fields import Content, Name, Whose, missing
from day1.toolsets.compose.scope import owner_of, write_of
from day1.toolsets.shared.fields import Maybe


class MemoryConflictResolveRequest(Whose):
    """The arguments of `conflicts_resolve` (S2-111).

    Attributes:
        id: The memory that conflicts with others, or the held item of a merge. Without
            `userAddress` it may be of any user of the agent.
        resolution: `supersede` lets the winner replace the other memory, `merge` joins the other to
            the winner, `keep` and `ignore` leave both and close the conflict.
        winningMemoryId: The memory that counts; needed to supersede and to merge. Where `id` itself
            wins, all that conflict with it lose. For a held item its own id stands for the value
            that the merge held, and the memory's id for the present one.
        reason: Why; the history of the memories shows it.
    """

    id: Name
    resolution: How
    winningMemoryId: Maybe[Name] = None
    reason: Maybe[Content] = None


class MemoryConflictResolveResponse(Response):
    """Whether a conflict was open and is resolved now, and the memory that counts (S2-111)."""

    resolved: bool
    memoryId: str
    written: Written


def conflicts_resolve(
    ctx: Context, request: MemoryConflictResolveRequest
) -> MemoryConflictResolveResponse:
    """Decide which of the memories that conflict counts; nothing open is no error."""
    if request.resolution in {"supersede", "merge"} and request.winningMemoryId is None:
        raise missing(
            "winningMemoryId",
            f"is needed with `resolution: {request.resolution}`: name the memory that counts",
        )
    owner = owner_of(ctx, request)
    decision = ConflictDecision(
        request.id, request.resolution, request.winningMemoryId, request.reason
    )
    write_context = write_of(ctx, owner)
    is_whole_wallet = owner.user is None and owner.device is None
    sees_space = _sees(owner.spaces, below=owner.space if is_whole_wallet else None)
    resolve_result = resolve(
        write_context.repo, write_context.branch, decision, write_context.origin, sees_space
    )
    return MemoryConflictResolveResponse(
        resolved=resolve_result.is_resolved,
        memoryId=resolve_result.memory_id,
        written=written(write_context.branch.name, resolve_result.commit, resolve_result.pending),
    )


def _sees(spaces: tuple[str | None, ...], below: str | None) -> Sees:
    """Build the check whether a space is one of `spaces`, or below the space `below`."""

    def sees(space: Cell) -> bool:
        return space in spaces or (below is not None and str(space).startswith(f"{below}/"))

    return sees


OPERATIONS: Final = (Operation("conflicts_resolve", conflicts_resolve, Effect.WRITE),)
