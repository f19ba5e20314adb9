"""Tools that archive a branch, bring a retired one back, or delete one."""

from day1.call.context import Context
from day1.call.fields import Label, Read, Repeatable, Response, Unrecognized, Written
from day1.call.operation import Effect, Operation
from day1.services.access.calls import active_or_none, branch_of
from day1.services.branches.deleting import archive, delete, delete_taken
from day1.services.branches.retiring import revive
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
    """

    branch_name: Label


class BranchRevived(Response):
    """A branch that can be used, and whether it was retired before."""

    branch_name: str
    revived: bool
    read: Read


def branch_revive(ctx: Context, request: BranchRevive) -> BranchRevived:
    """Bring a retired branch back as it was."""
    branch_name = request.branch_name
    branch = ctx.repo.ledger.branch(branch_name)
    is_revived = (
        branch is not None and branch.name == branch_name and branch.retired_tip is not None
    )
    if branch is not None and is_revived:
        revive(ctx.repo, branch, ctx.clock())
    else:
        branch_of(ctx, branch_name)
    return BranchRevived(
        branch_name=branch_name, revived=is_revived, read=state_of(ctx, branch_name)
    )


class BranchDelete(Unrecognized):
    """The arguments of `memory_branch_delete`.

    Attributes:
        branch_name: The branch to delete; not main, not your active branch, not a protected one. A
            second call deletes a new branch of that name, too.
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
    branch = branch_of(ctx, request.branch_name)
    delete_branch = delete if request.force else delete_taken
    deleted_branch = delete_branch(ctx.repo, branch, active_or_none(ctx), ctx.clock())
    last_commit = str(deleted_branch.retired_tip)
    return BranchDeleted(
        branch_name=deleted_branch.name,
        deleted=True,
        commit=last_commit,
        written=Written(branch=deleted_branch.name, commit=last_commit),
    )


OPERATIONS = (
    Operation("memory_branch_archive", branch_archive, Effect.WRITE, idempotent=True),
    Operation("memory_branch_revive", branch_revive, Effect.WRITE, idempotent=True),
    Operation("memory_branch_delete", branch_delete, Effect.DESTROY, idempotent=True, asks=True),
)
