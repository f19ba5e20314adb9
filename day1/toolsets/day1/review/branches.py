"""Tools that archive a branch, bring a retired or deleted one back, or delete one."""

from day1.call.context import Context
from day1.call.fields import Label, Read, Repeatable, Response, Written
from day1.call.operation import Effect, Operation
from day1.errors import Advice
from day1.model.rows.change import CommitId
from day1.services.access.calls import active_or_none, branch_of, repeatable
from day1.services.branches.deleting import archive, delete, delete_taken, deleted_by
from day1.services.branches.lookup import undeletion_of
from day1.services.branches.retiring import revive, undelete
from day1.services.repository.idempotency import BY_REQUEST
from day1.toolsets.shared.answers import state_of


class BranchArchive(Repeatable):
    """The arguments of `memory_branch_archive`.

    Attributes:
        branch_name: The branch to archive.
        archived: Whether it is archived from now on; false takes it back.
    """

    branch_name: Label
    archived: bool | None = True


class BranchArchived(Response):
    """Whether a branch is archived now."""

    branch_name: str
    archived: bool
    read: Read


def branch_archive(ctx: Context, request: BranchArchive) -> BranchArchived:
    """Archive a branch: it stays, and the topology leaves it out."""
    is_archived = request.archived is not False
    branch = archive(ctx.repo, branch_of(ctx, request.branch_name), archived=is_archived)
    return BranchArchived(
        branch_name=branch.name, archived=is_archived, read=state_of(ctx, branch.name)
    )


class BranchRevive(Repeatable):
    """The arguments of `memory_branch_revive`.

    Attributes:
        branch_name: The retired branch; any other branch stays as it is.
        deleted: Bring it back also if it was deleted; the last one of its name, without workspaces
            and working sessions.
    """

    branch_name: Label
    deleted: bool | None = False


class BranchRevived(Response):
    """A branch that can be used, and whether it was retired or deleted before."""

    branch_name: str
    revived: bool
    read: Read


def branch_revive(ctx: Context, request: BranchRevive) -> BranchRevived:
    """Bring a retired branch back as it was; deleted brings back a deleted one."""
    branch_name = request.branch_name
    branch = ctx.repo.ledger.branch(branch_name)
    is_revived = (
        branch is not None and branch.name == branch_name and branch.retired_tip is not None
    )
    if branch is not None and is_revived:
        revive(ctx.repo, branch, ctx.clock())
    elif request.deleted:
        is_revived = undelete(ctx.repo, branch_name, ctx.clock()) is not None
    if not is_revived:
        branch_of(ctx, branch_name)
    return BranchRevived(
        branch_name=branch_name, revived=is_revived, read=state_of(ctx, branch_name)
    )


class BranchDelete(Repeatable):
    """The arguments of `memory_branch_delete`.

    Attributes:
        branch_name: The branch to delete; not main, not your active branch, not a protected one.
        force: Delete it even if no other branch has all of its memories.
    """

    branch_name: Label
    force: bool | None = False


class BranchDeleted(Response):
    """A deleted branch, and its last commit."""

    branch_name: str
    deleted: bool
    commit: str
    written: Written


def branch_delete(ctx: Context, request: BranchDelete) -> BranchDeleted:
    """Delete a branch whose memories another branch has; force deletes any."""
    deletion_id = None
    if request.request_id is not None:
        deletion_id = repeatable(ctx, request).new_id("deletion", 0)
        earlier = deleted_by(ctx.repo, deletion_id, request.branch_name)
        if earlier is not None:
            return _deleted(earlier.name, earlier.tip, BY_REQUEST)
    branch = branch_of(ctx, request.branch_name)
    delete_branch = delete if request.force else delete_taken
    deleted_branch = delete_branch(ctx.repo, branch, active_or_none(ctx), ctx.clock(), deletion_id)
    undelete_note = Advice("{undelete} brings it back.", undelete=undeletion_of(branch.name))
    return _deleted(branch.name, str(deleted_branch.retired_tip), undelete_note)


def _deleted(branch_name: str, last_commit: CommitId, *notes: str | Advice) -> BranchDeleted:
    return BranchDeleted(
        branch_name=branch_name,
        deleted=True,
        commit=last_commit,
        written=Written(branch=branch_name, commit=last_commit, notes=list(notes)),
    )


OPERATIONS = (
    Operation("memory_branch_archive", branch_archive, Effect.WRITE, idempotent=True),
    Operation("memory_branch_revive", branch_revive, Effect.WRITE, idempotent=True),
    Operation("memory_branch_delete", branch_delete, Effect.DESTROY, idempotent=True, asks=True),
)
