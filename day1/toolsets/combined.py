"""The combined list of all products' tools, and the tool that serves two products at once."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Read, Response
from day1.call.operation import Effect, Operation
from day1.call.toolset import Tool, Toolset
from day1.errors import InvalidRequest, Json
from day1.model.rows.kind import FACT
from day1.model.search.passages import QuotedText
from day1.services.lessons.portable import space_of
from day1.services.search.request import Hit
from day1.toolsets.day1.core import CORE
from day1.toolsets.day1.core import search as core
from day1.toolsets.day1.family import toolset
from day1.toolsets.engram import ENGRAM
from day1.toolsets.engram.fields import Project
from day1.toolsets.engram.lessons import lesson_fields
from day1.toolsets.gwt import GWT
from day1.toolsets.kompanion import KOMPANION
from day1.toolsets.shared.answers import read_found, texts_of
from day1.toolsets.shared.fields import absent


class MemorySearch(core.MemorySearch):
    """The arguments of `memory_search` of day1 and of engram (S1-019, S4-003).

    Attributes:
        project: Only memories of this project, which is the space project:NAME. Another `space`
            beside it is refused.
    """

    project: Annotated[Project | None, Field(description="as space project:NAME")] = None


class MemoryHit(core.MemoryHit):
    """A memory that was found; a lesson with its parts, if its text is whole (S1-020, S4-003)."""

    context: str | None = absent()
    action: str | None = absent()
    result: str | None = absent()
    tags: str | None = absent()
    project: str | None = absent()


class Hits(Response):
    """The memories that were found, best first (S1-020, S4-003)."""

    result: list[MemoryHit]
    read: Read


def memory_search(ctx: Context, request: MemorySearch) -> Hits:
    """Find memories by meaning and by words, best first. Superseded facts are left out."""
    day1_request = request.model_copy(update={"space": _space(request)})
    branch, search_answer = core.searched(ctx, day1_request)
    quoted_texts = texts_of(
        ctx,
        request.query,
        [hit.text for hit in search_answer.hits],
        full=request.full,
        again=core.FULL,
    )
    return Hits(
        result=[
            _shown(*hit_and_text)
            for hit_and_text in zip(search_answer.hits, quoted_texts.texts, strict=True)
        ],
        read=read_found(branch, search_answer, quoted_texts.notes),
    )


def _space(request: MemorySearch) -> str | None:
    """Return the space that a request names by `space` or by `project`.

    Raises:
        InvalidRequest: the request names two different spaces.
    """
    project_space = space_of(request.project)
    if project_space is not None and request.space not in {None, project_space}:
        problem = "names another space than `space`: give one of the two"
        raise InvalidRequest(
            f"memory_search: `project` {problem}.",
            problems=[{"argument": "project", "problem": problem}],
        )
    return project_space or request.space


def _shown(hit: Hit, text: QuotedText) -> MemoryHit:
    lesson_values = lesson_fields(hit.row, text) if hit.kind is FACT else {}
    return MemoryHit(**dict(core.shown_hit(hit, text)), **lesson_values)


def _in_brief(hit: Mapping[str, Json]) -> dict[str, Json]:
    """Shorten a hit as day1's search does, and drop a lesson's parts: its text repeats them."""
    part_names = {"context", "action", "result"}
    return {name: value for name, value in core.in_brief(hit).items() if name not in part_names}


SHARED: Final = toolset(
    "combined",
    (Operation("memory_search", memory_search, Effect.READ, brief=_in_brief),),
)
"""The `memory_search` that takes the arguments of day1's and of engram's; only in `COMBINED`."""


def combined(toolsets: Iterable[Toolset], decided: Mapping[str, Tool]) -> tuple[Tool, ...]:
    """Combine the tools of several toolsets into one list.

    Args:
        toolsets: the toolsets to combine, in order.
        decided: the tool to take for each name that two toolsets have.

    Raises:
        ValueError: `decided` does not name exactly the tools that two toolsets have.
    """
    tools_by_name: dict[str, list[Tool]] = {}
    for owning_toolset in toolsets:
        for name, tool in owning_toolset.tools.items():
            tools_by_name.setdefault(name, []).append(tool)
    clashing_names = {name for name, tools in tools_by_name.items() if len(tools) > 1}
    if clashing_names != decided.keys():
        misfits = ", ".join(sorted(clashing_names ^ decided.keys()))
        raise ValueError(
            f"Decide on one tool for each name that two toolsets have, and for no other: {misfits}."
        )
    return tuple(decided.get(name, tools[0]) for name, tools in tools_by_name.items())


COMBINED: Final = combined(
    (CORE, KOMPANION, ENGRAM, GWT),
    {**SHARED.tools, "memory_consolidate": CORE.tools["memory_consolidate"]},
)
"""The tools of day1, Kompanion, engram and gwt, one of each name."""
