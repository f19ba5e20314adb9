"""Tools of engram that export and import memories in its format, version 1."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    LongText,
    Read,
    Repeatable,
    Request,
    Response,
    When,
    Written,
    written,
)
from day1.call.operation import Effect, Operation
from day1.call.problems import text_too_long
from day1.errors import InvalidRequest
from day1.model.lessons.experience import Experience
from day1.model.rows.change import Ref
from day1.model.rows.validation import MAX_INTEGER, fits_one_memory
from day1.model.values.parts import MAX_TEXT, TooLong
from day1.services.access.calls import branch_of, write_here
from day1.services.lessons.portable import Memory, bring_in, export, space_of, tags_of
from day1.toolsets.engram.fields import Tags
from day1.toolsets.shared.answers import state_of
from day1.toolsets.shared.fields import Confidence, Maybe

_VERSION: Final = 1
_WRONG_VERSION: Final = 6010
_MAX_MEMORIES: Final = 100_000


class MemoryExport(Request):
    """`memory_export` takes no arguments (S4-010)."""


class Exported(Response):
    """All active memories in engram's format (S4-010, S4-011)."""

    version: int
    memories: list[dict[str, Any]]
    exported_at: str
    count: int
    read: Read


def memory_export(ctx: Context, request: MemoryExport) -> Exported:  # noqa: ARG001 - there are none
    """All active memories as portable JSON, without secrets."""
    branch_name = branch_of(ctx).name
    document = export(ctx.repo, ctx.search.uses, branch_name, ctx.clock())
    return Exported(**document, read=state_of(ctx, branch_name))


def _or_empty(value: object) -> object:
    return "" if value is None else value


_Part = Annotated[
    LongText,
    Field(json_schema_extra={"maxLength": MAX_TEXT}),
    AfterValidator(fits_one_memory),
    BeforeValidator(_or_empty),
]


class MemoryGiven(Request):
    """A memory in engram's format; other fields are ignored.

    Attributes:
        id: Its id, which is kept; a memory whose id exists is skipped.
        memory_type: What kind of memory it is; default: context.
        context: In which situation it was done.
        action: What was decided or done.
        result: What came of it; alone it becomes a plain fact.
        score: The mean of its judgements; kept as one judgement.
        tags: Tags, comma-separated or as a list.
        project: The project that it is about.
        created_at: When it was first stored (ISO 8601); it is exported again as it is.
        updated_at: When it was last changed (ISO 8601); default: as `created_at`.
        used_count: How often a search showed it among its best, or it was opened.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Label
    memory_type: Maybe[Label] = None
    context: _Part = ""
    action: _Part = ""
    result: _Part = ""
    score: Maybe[Confidence] = None
    tags: Tags = None
    project: Maybe[Label] = None
    created_at: When
    updated_at: Maybe[When] = None
    used_count: Maybe[Annotated[int, Field(ge=0, le=MAX_INTEGER)]] = None


class MemoryImport(Repeatable):
    """The arguments of `memory_import` (S4-012).

    Attributes:
        version: The version of the format: 1.
        memories: Memories as of `memory_export`.
    """

    version: int
    memories: Annotated[list[MemoryGiven], Field(max_length=_MAX_MEMORIES)]


class MemoriesImported(Response):
    """How many memories were added and skipped (S4-012)."""

    imported: int
    skipped: int
    indexed: bool
    reindex: str
    """The command that indexes the memories before the next search."""
    written: Written


def memory_import(ctx: Context, request: MemoryImport) -> MemoriesImported:
    """Import memories; those whose id exists are skipped."""
    if request.version != _VERSION:
        raise InvalidRequest(
            f"[{_WRONG_VERSION}] `version` must be {_VERSION}, not {request.version}: export the "
            "memories anew with a program that writes version 1.",
            number=_WRONG_VERSION,
            version=request.version,
        )
    memories_to_import = [_memory(index, memory) for index, memory in enumerate(request.memories)]
    write_context = write_here(ctx, request)
    added_count, skipped_count = bring_in(
        ctx.repo, write_context.branch, memories_to_import, write_context.origin, ctx.progress
    )
    with ctx.repo.store.reading(Ref(branch=write_context.branch.name)) as reading:
        written_state = written(write_context.branch.name, reading.tip, reading.pending.count)
    return MemoriesImported(
        imported=added_count,
        skipped=skipped_count,
        indexed=False,
        reindex="day1 search --wait QUERY",
        written=written_state,
    )


def _memory(number: int, memory: MemoryGiven) -> Memory:
    """Check an imported memory and convert it for the service.

    Raises:
        InvalidRequest: it is empty, too long, or of no valid project; the message has its number.
    """
    argument_path = f"memories.{number}"
    experience = Experience(memory.context, memory.action, memory.result)
    if not any(part.strip() for part in experience.parts):
        raise InvalidRequest(
            f"{argument_path}: context, action and result are all empty.", id=memory.id
        )
    if len(experience.text) > MAX_TEXT:
        raise text_too_long(f"{argument_path}: {TooLong(len(experience.text))}", id=memory.id)
    try:
        space_of(memory.project)
    except InvalidRequest as exc:
        raise InvalidRequest(f"{argument_path}: {exc}", id=memory.id) from exc
    return Memory(
        memory.id,
        memory.memory_type or "context",
        *experience.parts,
        memory.score or 0.0,
        tuple(memory.tags) if isinstance(memory.tags, list) else tags_of(memory.tags),
        memory.project,
        memory.created_at,
        memory.updated_at or memory.created_at,
        memory.used_count or 0,
    )


OPERATIONS: Final = (
    Operation("memory_export", memory_export, Effect.READ),
    Operation("memory_import", memory_import, Effect.WRITE, idempotent=True),
)
