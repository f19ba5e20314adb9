"""Answers about lines of items, for the tools that export, import and replace memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from day1.call.context import Context
from day1.call.fields import Repeatable, written
from day1.errors import Refused
from day1.model.files.item_lines import (
    BACKUP,
    LINES,
    BadLine,
    LinesRead,
    NumberedLine,
    read_lines,
)
from day1.model.rows.validation import secret_notes
from day1.services.access.calls import Writing, write_here
from day1.services.rows.recording import BranchAfter
from day1.services.workspace.desks import change_mind, seat_of
from day1.services.workspace.upkeep.exporting import Exported, export_items
from day1.services.workspace.upkeep.importing import Incoming, import_items
from day1.toolsets.gwt.fields import (
    LineRefused,
    LineSkipped,
    MemoryBackedUp,
    MemoryExported,
    MemoryImported,
    NamespaceShown,
    checked_type,
)
from day1.toolsets.shared.answers import read_of

_MOST_LISTED: Final = 1_000
"""Maximum number of refused or skipped lines that an answer lists; it counts all of them."""
NO_REQUEST: Final = Repeatable()
"""Arguments without a `request_id`; a repeated import adds nothing even so."""
_HIDDEN_PLACE: Final = "store"
"""The word that replaces the store's place for callers who do not administer the store."""


def exported(ctx: Context, memory_type: str | None, tag: str | None) -> MemoryExported:
    """Export memories as JSON lines."""
    exported_items = _exported(ctx, memory_type, tag)
    return MemoryExported(
        status="ok",
        format=LINES,
        item_count=exported_items.count,
        filters={"memory_type": memory_type, "tag": tag},
        jsonl=exported_items.jsonl,
        read=read_of(exported_items.state, exported_items.branch),
    )


def backed_up(ctx: Context, memory_type: str | None, tag: str | None) -> MemoryBackedUp:
    """Export memories as JSON lines, with the namespace that they are from."""
    exported_items = _exported(ctx, memory_type, tag)
    return MemoryBackedUp(
        status="ok",
        format=BACKUP,
        namespace=namespace_of(ctx, exported_items.branch),
        file_sizes=file_sizes(ctx),
        item_count=exported_items.count,
        jsonl=exported_items.jsonl,
        read=read_of(exported_items.state, exported_items.branch),
    )


def _exported(ctx: Context, memory_type: str | None, tag: str | None) -> Exported:
    return export_items(ctx, None if memory_type is None else checked_type(memory_type), tag)


def namespace_of(ctx: Context, branch: str) -> NamespaceShown:
    """Return the namespace of a call: its caller's space, else the whole branch."""
    space, access = ctx.caller.space, ctx.caller.access
    is_admin = access.scope == "admin" and not access.branches
    return NamespaceShown(
        scope="branch" if space is None else "space",
        name=space or branch,
        branch=branch,
        data_dir=ctx.place if is_admin else _HIDDEN_PLACE,
    )


def file_sizes(ctx: Context) -> dict[str, int]:
    """Return the bytes of the store and of its index; 0 for a caller who sees a part of them."""
    if ctx.caller.access.branches:
        return {"memory": 0, "index": 0}
    return {"memory": ctx.repo.store.size(), "index": ctx.search.index.size()}


@dataclass(frozen=True, slots=True)
class Import:
    """The arguments of an import."""

    jsonl: str
    default_memory_type: str
    tags: Sequence[str] | None
    admit: bool
    dedupe: bool


def imported(ctx: Context, request: Import) -> MemoryImported:
    """Import lines, and answer with the imported, refused and skipped ones."""
    default_type = checked_type(request.default_memory_type, "default_memory_type")
    parsed_lines = read_lines(request.jsonl, default_type, request.tags or ())
    write_context = write_here(ctx, NO_REQUEST)
    storable_lines, refused_lines, notes = without_secrets(ctx, parsed_lines)
    import_result = import_items(write_context, storable_lines, dedupe=request.dedupe)
    if request.admit:
        admit(ctx, import_result.incoming)
    return MemoryImported(
        admit=request.admit,
        dedupe=request.dedupe,
        **result_of(
            write_context,
            import_result.incoming,
            [*parsed_lines.bad, *refused_lines],
            import_result.after,
            notes,
        ),
    )


def without_secrets(
    ctx: Context, lines: LinesRead
) -> tuple[list[NumberedLine], list[BadLine], list[str]]:
    """Split lines into storable and refused ones; return also the notes on possible secrets.

    A text that looks like a secret is noted or refused, as the setting for all writes says.
    """
    storable_lines: list[NumberedLine] = []
    refused_lines: list[BadLine] = []
    notes: dict[str, None] = {}
    for line in lines.items:
        try:
            notes |= dict.fromkeys(secret_notes(ctx.limits.secrets, line.item.content))
        except Refused as error:
            refused_lines.append(BadLine(line.number, error.worded(ctx.say)))
        else:
            storable_lines.append(line)
    return storable_lines, refused_lines, list(notes)


def admit(ctx: Context, incoming: Incoming) -> None:
    """Let the new memories wait for a place in the caller's workspace."""
    now = ctx.clock()
    new_ids = tuple(incoming.fresh)
    change_mind(ctx.repo, seat_of(ctx), lambda mind: mind.admitted(new_ids, now), now)


def result_of(
    write: Writing,
    incoming: Incoming,
    bad: Sequence[BadLine],
    after: BranchAfter,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Build the part of an answer that lists the imported, refused and skipped lines."""
    bad = sorted([*bad, *incoming.bad])
    shown_bad_lines, shown_duplicates = bad[:_MOST_LISTED], incoming.duplicates[:_MOST_LISTED]
    return {
        "status": "partial" if bad else "ok",
        "imported_count": len(incoming.fresh),
        "imported_ids": list(incoming.fresh),
        "error_count": len(bad),
        "errors": [LineRefused(line=line.number, error=line.error) for line in shown_bad_lines],
        "skipped_duplicate_count": len(incoming.duplicates),
        "skipped_duplicates": [
            LineSkipped(line=line.number, reason="duplicate", id=line.row_id)
            for line in shown_duplicates
        ],
        "written": written(write.branch.name, after.tip, after.pending, notes),
    }
