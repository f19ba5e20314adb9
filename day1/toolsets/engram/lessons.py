"""Tools of engram that store lessons and find them."""

from dataclasses import asdict
from typing import Final, Literal

from pydantic import model_validator

from day1.call.context import Context
from day1.call.fields import (
    MemoryText,
    Read,
    Repeatable,
    Request,
    Response,
    Text,
    Written,
    written,
)
from day1.call.operation import Effect, Operation
from day1.model.lessons.experience import Experience, experience_of
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT, Row, revision, text_of
from day1.model.rows.validation import secret_notes
from day1.model.search.passages import QuotedText
from day1.model.values.instant import show
from day1.model.values.parts import MAX_TEXT, TooLong
from day1.services.access.calls import branch_of, first_edit, spaces_of, write_here
from day1.services.lessons.portable import project_of, shown_tags, space_of, tags_of
from day1.services.lessons.storing import Lesson, store_lesson
from day1.services.search.request import Hit, SearchRequest
from day1.services.search.searching import search
from day1.toolsets.engram.fields import Project, Tags
from day1.toolsets.shared.answers import (
    Quoted,
    note_shown,
    quoted_field,
    quoted_of,
    read_found,
    texts_of,
)
from day1.toolsets.shared.fields import Limit, Maybe, absent

MemoryType = Literal["decision", "pattern", "bugfix", "context", "antipattern"]


class MemoryStore(Repeatable):
    """The arguments of `memory_store` (S4-001).

    Attributes:
        context: In which situation it was done.
        action: What was decided or done.
        result: What came of it.
        memory_type: What kind of lesson it is.
        tags: Words to find it by, comma-separated or as a list.
        project: The project that it is about; default: the connection's space, else it belongs to
            all.
    """

    context: MemoryText
    action: MemoryText
    result: MemoryText
    memory_type: Maybe[MemoryType] = "decision"
    tags: Tags = None
    project: Maybe[Project] = None

    @model_validator(mode="after")
    def _fits(self) -> "MemoryStore":
        text_length = len(Experience(self.context, self.action, self.result).text)
        if text_length > MAX_TEXT:
            raise TooLong(text_length, "the whole lesson")
        return self


class MemoryStored(Response):
    """The stored or updated memory (S4-001, S4-002)."""

    id: str
    updated: bool
    created_at: str
    indexed: bool
    """False for a limited token, as another branch may have the text."""
    deduplicated: bool
    merged_into: str | None = absent()
    near_duplicate_of: str | None = absent()
    """Another lesson that says nearly the same: `memory_consolidate` looks at both."""
    written: Written


def memory_store(ctx: Context, request: MemoryStore) -> MemoryStored:
    """Store a lesson. A stored one in nearly the same words is updated."""
    experience = Experience(request.context, request.action, request.result)
    notes = secret_notes(ctx.limits.secrets, *experience.parts)
    lesson_type = request.memory_type or "decision"
    write_context = write_here(ctx, request)
    space = space_of(request.project) or write_context.space
    repo, branch = write_context.repo, write_context.branch
    row_id_of_request = repo.new_id(FACT.prefix, 0) if repo.of_request else None
    edit_id_of_request = first_edit(ctx, request, branch)
    lesson = Lesson(
        experience,
        lesson_type,
        tags_of(request.tags),
        space,
        row_id_of_request,
        edit_id_of_request,
    )
    store_result = store_lesson(repo, ctx.search, branch, write_context.origin, lesson)
    row_id = str(store_result.row["id"])
    hashes_to_check = [] if ctx.caller.access.branches else [str(store_result.row["content_hash"])]
    return MemoryStored(
        id=row_id,
        updated=store_result.updated,
        created_at=show(int(store_result.row["created_at"] or 0)),
        indexed=bool(ctx.search.index.words.known(FACT, hashes_to_check)),
        deduplicated=store_result.updated or store_result.deduplicated,
        merged_into=row_id if store_result.updated or store_result.deduplicated else None,
        near_duplicate_of=store_result.near,
        written=written(
            branch.name,
            store_result.commit,
            store_result.pending,
            [*notes, *store_result.notes],
        ),
    )


class MemorySearch(Request):
    """The arguments of `memory_search` (S4-003).

    Attributes:
        query: What to look for, as a question or as words.
        limit: How many memories to answer at most; default: 10.
        project: Only memories of this project; default: of the connection's space, else of all.
        full: Whether long texts are answered whole, with the parts of a lesson. Otherwise a text of
            more than 1,000 characters is answered as the passage that fits best, and `quoted` says
            where that lies.
    """

    query: Text
    limit: Maybe[Limit] = 10
    project: Maybe[Project] = None
    full: Maybe[bool] = False


class MemoryHit(Response):
    """A memory that was found; a lesson with its parts (S4-003).

    If its text is a passage, `quoted` is set, and a lesson's parts are left out.
    """

    id: str
    type: str
    fact_text: str
    quoted: Quoted | None = quoted_field()
    category: str | None
    score: float
    context: str | None = absent()
    action: str | None = absent()
    result: str | None = absent()
    tags: str | None = absent()
    project: str | None = absent()
    created_at: str
    revision: str


class Hits(Response):
    """The memories that were found, best first (S4-003)."""

    result: list[MemoryHit]
    read: Read


def memory_search(ctx: Context, request: MemorySearch) -> Hits:
    """Find memories by meaning and words."""
    branch = branch_of(ctx)
    spaces = spaces_of(ctx, space_of(request.project))
    search_request = SearchRequest(request.query, limit=request.limit or 10, spaces=spaces)
    search_answer = search(ctx.search, Ref(branch=branch.name), branch.id, search_request)
    note_shown(ctx, (hit.row["id"] for hit in search_answer.hits), branch.id)
    quoted_texts = texts_of(
        ctx, request.query, [hit.text for hit in search_answer.hits], full=request.full
    )
    return Hits(
        result=[
            _shown(*hit_and_text)
            for hit_and_text in zip(search_answer.hits, quoted_texts.texts, strict=True)
        ],
        read=read_found(branch.name, search_answer, quoted_texts.notes),
    )


def lesson_fields(row: Row, text: QuotedText) -> dict[str, str | None]:
    """Return a fact's fields as a lesson: its parts if it is a lesson, its tags and its project.

    The parts repeat the text, so they are left out if the text is quoted.
    """
    experience = None if text.span else experience_of(row)
    part_fields = {} if experience is None else asdict(experience)
    return {**part_fields, "tags": shown_tags(row), "project": project_of(row["space"])}


def _shown(hit: Hit, text: QuotedText) -> MemoryHit:
    row = hit.row
    return MemoryHit(
        id=str(row["id"]),
        type=hit.kind.name,
        fact_text=text.text,
        quoted=quoted_of(text),
        category=text_of(row["category"]),
        score=round(hit.score, 6),
        created_at=show(int(row["created_at"] or 0)),
        revision=revision(hit.kind, row),
        **lesson_fields(row, text),
    )


OPERATIONS: Final = (
    Operation("memory_store", memory_store, Effect.WRITE, idempotent=True),
    Operation("memory_search", memory_search, Effect.READ),
)
