"""The tools that look after memory: profile, readiness, restoring, compacting, resetting."""

from typing import Annotated, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Request
from day1.call.operation import Effect, Operation
from day1.toolsets.gwt.errors import unconfirmed, unsupported
from day1.toolsets.gwt.exchange import Lines
from day1.toolsets.gwt.fields import (
    MODES,
    SCOPES,
    MemoryCompacted,
    MemoryProfile,
    MemoryReset,
    MemoryRestored,
    ModeName,
    ReadinessShown,
    ScopeName,
)

_RESTORE: Final = "RESTORE_REPLACE"
_COMPACT: Final = "COMPACT_WORKING"
_MOST_ITEMS: Final = 100_000


class GwtRestoreMemory(Request):
    """The arguments of `gwt_restore_memory` (S0-030).

    Attributes:
        jsonl: Lines as of `gwt_export_memory` or `gwt_backup_memory`.
        mode: `merge` adds what is missing. `replace` removes what you own first: in a space its
            memories, else those that you or your task stored by these tools.
        confirm: replace: `RESTORE_REPLACE`.
        admit: Whether the new memories wait for a place in the workspace.
    """

    jsonl: Lines
    mode: ModeName = "merge"
    confirm: str = ""
    admit: bool = False


def gwt_restore_memory(ctx: Context, request: GwtRestoreMemory) -> MemoryRestored:
    """Bring back JSON Lines: beside what is there, or in its place."""
    if request.mode not in MODES:
        raise unsupported("mode", request.mode, "supported_modes", MODES)
    is_replacing = request.mode == "replace"
    if is_replacing:
        ctx.caller.access.require("merge", "gwt_restore_memory with `mode` replace")
        if request.confirm != _RESTORE:
            raise unconfirmed(_RESTORE, mode="replace")
    from day1.toolsets.gwt import removals  # noqa: PLC0415 - a server starts without it

    restore = removals.replaced if is_replacing else removals.merged
    return restore(ctx, request.jsonl, admitting=request.admit)


class GwtCompactWorkingMemory(Request):
    """The arguments of `gwt_compact_working_memory` (S0-032).

    Attributes:
        max_items: How many working memories stay: the newest.
        dry_run: Whether to answer only what would be done.
        confirm: Without `dry_run`: `COMPACT_WORKING`.
    """

    max_items: Annotated[int, Field(ge=0, le=_MOST_ITEMS)] = 20
    dry_run: bool = True
    confirm: str = ""


def gwt_compact_working_memory(ctx: Context, request: GwtCompactWorkingMemory) -> MemoryCompacted:
    """Turn your oldest working memories into one summary.

    A memory that was removed before and restored stays as it is.
    """
    if not request.dry_run and request.confirm != _COMPACT:
        raise unconfirmed(_COMPACT, scope="compact")
    from day1.toolsets.gwt import removals  # noqa: PLC0415 - a server starts without it

    compact = removals.would_compact if request.dry_run else removals.compacted
    return compact(ctx, request.max_items)


class GwtReset(Request):
    """The arguments of `gwt_reset` (S0-034).

    Attributes:
        scope: `runtime`: what the process keeps to answer sooner. `workspace`: your workspace,
            with its goals and buffer. `persistent`: the memories that you own, as with
            `gwt_restore_memory`.
        confirm: `RESET_RUNTIME`, `RESET_WORKSPACE` or `RESET_PERSISTENT`.
    """

    scope: ScopeName = "runtime"
    confirm: str = ""


def gwt_reset(ctx: Context, request: GwtReset) -> MemoryReset:
    """Begin anew: caches, your workspace, or your memories."""
    if request.scope not in SCOPES:
        raise unsupported("scope", request.scope, "supported_scopes", SCOPES)
    if request.scope == "persistent":
        ctx.caller.access.require("merge", "gwt_reset with `scope` persistent")
    required_word = f"RESET_{request.scope.upper()}"
    if request.confirm != required_word:
        raise unconfirmed(required_word, scope=request.scope)
    from day1.toolsets.gwt import removals  # noqa: PLC0415 - a server starts without it

    match request.scope:
        case "runtime":
            return removals.runtime_reset(ctx)
        case "workspace":
            return removals.workspace_reset(ctx)
        case _:
            return removals.persistent_reset(ctx)


class GwtMemoryProfile(Request):
    """`gwt_memory_profile` has no arguments (S0-018)."""


def gwt_memory_profile(ctx: Context, _: GwtMemoryProfile) -> MemoryProfile:
    """Count what memory and your workspace hold."""
    from day1.toolsets.gwt import profiles  # noqa: PLC0415 - a server starts without it

    return profiles.profile(ctx)


class GwtReadinessCheck(Request):
    """`gwt_readiness_check` has no arguments (S0-019)."""


def gwt_readiness_check(ctx: Context, _: GwtReadinessCheck) -> ReadinessShown:
    """Check that store, index, model, workspace and bus work."""
    from day1.toolsets.gwt import profiles  # noqa: PLC0415 - a server starts without it

    return profiles.readiness(ctx)


OPERATIONS: Final = (
    Operation("gwt_memory_profile", gwt_memory_profile, Effect.READ),
    Operation("gwt_readiness_check", gwt_readiness_check, Effect.READ),
    Operation("gwt_restore_memory", gwt_restore_memory, Effect.DESTROY),
    Operation("gwt_compact_working_memory", gwt_compact_working_memory, Effect.DESTROY),
    Operation("gwt_reset", gwt_reset, Effect.DESTROY),
)
