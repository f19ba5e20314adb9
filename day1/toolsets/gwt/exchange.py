"""The tools that export and import memory as lines of JSON."""

from typing import Annotated, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Labels, Request
from day1.call.operation import Effect, Operation
from day1.toolsets.gwt.fields import MemoryBackedUp, MemoryExported, MemoryImported, MemoryTypeName
from day1.toolsets.shared.fields import Maybe

Lines = Annotated[str, Field(min_length=1)]
"""JSON Lines; each line is checked by itself."""


class GwtExportMemory(Request):
    """The arguments of `gwt_export_memory` (S0-027).

    Attributes:
        memory_type: Only memories of this type; default: all.
        tag: Only memories with this tag.
    """

    memory_type: Maybe[MemoryTypeName] = None
    tag: Maybe[Label] = None


def gwt_export_memory(ctx: Context, request: GwtExportMemory) -> MemoryExported:
    """Return memories as JSON Lines."""
    from day1.toolsets.gwt import files  # noqa: PLC0415 - a server starts without it

    return files.exported(ctx, request.memory_type, request.tag)


class GwtBackupMemory(GwtExportMemory):
    """The arguments of `gwt_backup_memory` (S0-026).

    Attributes:
        memory_type: Only memories of this type; default: all.
        tag: Only memories with this tag.
    """


def gwt_backup_memory(ctx: Context, request: GwtBackupMemory) -> MemoryBackedUp:
    """Return memories as JSON Lines, with where they are from."""
    from day1.toolsets.gwt import files  # noqa: PLC0415 - a server starts without it

    return files.backed_up(ctx, request.memory_type, request.tag)


class GwtImportMemory(Request):
    """The arguments of `gwt_import_memory` (S0-028).

    Attributes:
        jsonl: Lines as of `gwt_export_memory` or `gwt_backup_memory`.
        default_memory_type: The type of lines that name none.
        tags: Tags that each memory gets besides its own.
        admit: Whether the new memories wait for a place in the workspace.
        dedupe: Whether lines are left out that memory has: the same words, source and tags.
    """

    jsonl: Lines
    default_memory_type: MemoryTypeName = "semantic"
    tags: Maybe[Labels] = None
    admit: bool = False
    dedupe: bool = True


def gwt_import_memory(ctx: Context, request: GwtImportMemory) -> MemoryImported:
    """Import JSON Lines; a bad line does not stop the others."""
    from day1.toolsets.gwt import files  # noqa: PLC0415 - a server starts without it

    return files.imported(ctx, files.Import(**dict(request)))


OPERATIONS: Final = (
    Operation("gwt_backup_memory", gwt_backup_memory, Effect.READ),
    Operation("gwt_export_memory", gwt_export_memory, Effect.READ),
    Operation("gwt_import_memory", gwt_import_memory, Effect.WRITE),
)
