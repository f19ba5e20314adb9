"""Answers about what is removed, for the tools that restore, compact and reset memory."""

from typing import Any

from day1.call.context import Context
from day1.call.fields import WriteRequest, written
from day1.model.files.item_lines import LINES, read_lines
from day1.model.rows.change import Ref
from day1.model.values.space import EVERY, SHARED
from day1.services.access.calls import branch_of, origin_of, write_here
from day1.services.workspace.collecting import forget_collections
from day1.services.workspace.desks import seat_of
from day1.services.workspace.upkeep.compacting import (
    CompactionPlan,
    compact_working,
    plan_compaction,
)
from day1.services.workspace.upkeep.importing import import_items
from day1.services.workspace.upkeep.removing import Backup, Cycle, Owner, SeatCycle
from day1.services.workspace.upkeep.replacing import refuse_bad, replace_memory
from day1.services.workspace.upkeep.resetting import reset_memory
from day1.toolsets.gwt.fields import BackupShown, MemoryCompacted, MemoryReset, MemoryRestored
from day1.toolsets.gwt.files import NO_REQUEST, admit, result_of, without_secrets
from day1.toolsets.shared.answers import read_of, state_of


def merged(ctx: Context, jsonl: str, *, admitting: bool) -> MemoryRestored:
    """Import the memories that are missing; with `admitting` they wait for the workspace."""
    parsed_lines = read_lines(jsonl)
    write_context = write_here(ctx, NO_REQUEST)
    storable_lines, refused_lines, notes = without_secrets(ctx, parsed_lines)
    import_result = import_items(write_context, storable_lines, dedupe=True)
    if admitting:
        admit(ctx, import_result.incoming)
    return MemoryRestored(
        mode="merge",
        admit=admitting,
        dedupe=True,
        deleted_count=0,
        **result_of(
            write_context,
            import_result.incoming,
            [*parsed_lines.bad, *refused_lines],
            import_result.after,
            notes,
        ),
    )


def replaced(ctx: Context, jsonl: str, *, admitting: bool) -> MemoryRestored:
    """Replace the memories of the caller, and answer with the replaced ones as a backup.

    With `admitting` the new memories wait for a place in the workspace.
    """
    parsed_lines = read_lines(jsonl)
    write_context = write_here(ctx, NO_REQUEST)
    storable_lines, refused_lines, notes = without_secrets(ctx, parsed_lines)
    refuse_bad([*parsed_lines.bad, *refused_lines])
    replacement = replace_memory(write_context, storable_lines)
    forget_collections(ctx.repo)
    if admitting:
        admit(ctx, replacement.incoming)
    return MemoryRestored(
        mode="replace",
        admit=admitting,
        dedupe=True,
        deleted_count=replacement.deleted,
        kept_count=replacement.kept,
        snapshot_id=replacement.snapshot_id,
        backup=_shown(replacement.backup),
        **result_of(write_context, replacement.incoming, [], replacement.after, notes),
    )


def _shown(backup: Backup) -> BackupShown:
    return BackupShown(format=LINES, item_count=len(backup.lines), jsonl=backup.jsonl)


def would_compact(ctx: Context, keep: int) -> MemoryCompacted:
    """Preview a compaction: which working memories it would turn into one fact."""
    repo, branch, caller_space = ctx.repo, branch_of(ctx), ctx.caller.space
    origin = origin_of(ctx, WriteRequest(), branch)
    owner = Owner(
        None if caller_space in {SHARED, EVERY} else caller_space, origin.agent_id, origin.task_id
    )
    with repo.store.reading(repo.shown(Ref(branch=branch.name))) as reading:
        compaction_plan = plan_compaction(reading, owner, keep, repo.clock())
        read_state = read_of(reading, branch.name)
    return MemoryCompacted(status="dry_run", read=read_state, **_plan_shown(compaction_plan, keep))


def compacted(ctx: Context, keep: int) -> MemoryCompacted:
    """Turn working memories into one fact, and answer with the removed ones as a backup."""
    write_context = write_here(ctx, NO_REQUEST)
    compaction = compact_working(write_context, keep)
    return MemoryCompacted(
        status="compacted",
        deleted_count=len(compaction.plan.compacted),
        summary_id=compaction.summary_id,
        written=written(write_context.branch.name, compaction.after.tip, compaction.after.pending),
        **_plan_shown(compaction.plan, keep),
    )


def _plan_shown(plan: CompactionPlan, keep: int) -> dict[str, Any]:
    return {
        "max_items": keep,
        "keep_count": plan.kept,
        "compact_count": len(plan.compacted),
        "candidate_ids": [item.id for item in plan.compacted],
        "backup": _shown(plan.backup),
    }


def runtime_reset(ctx: Context) -> MemoryReset:
    """Clear the records that this process caches for exact answers."""
    cleared_count = forget_collections(ctx.repo)
    return MemoryReset(
        status="reset",
        scope="runtime",
        persistent_memory_deleted=False,
        cleared_runtime_items=cleared_count,
        read=state_of(ctx, branch_of(ctx).name),
    )


def workspace_reset(ctx: Context) -> MemoryReset:
    """Empty the workspace of the caller."""
    workspace_owner = seat_of(ctx)
    item_remover: Cycle = SeatCycle(ctx.repo, workspace_owner)
    return MemoryReset(
        status="reset",
        scope="workspace",
        persistent_memory_deleted=False,
        evicted_ids=list(item_remover.evict_all()),
        read=state_of(ctx, workspace_owner.branch.name),
    )


def persistent_reset(ctx: Context) -> MemoryReset:
    """Remove the memories of the caller, and answer with the removed ones as a backup."""
    write_context = write_here(ctx, NO_REQUEST)
    reset_result = reset_memory(write_context)
    forget_collections(ctx.repo)
    return MemoryReset(
        status="reset",
        scope="persistent",
        persistent_memory_deleted=reset_result.deleted > 0,
        deleted_count=reset_result.deleted,
        kept_count=reset_result.kept,
        snapshot_id=reset_result.snapshot_id,
        backup=_shown(reset_result.backup),
        written=written(
            write_context.branch.name, reset_result.after.tip, reset_result.after.pending
        ),
    )
