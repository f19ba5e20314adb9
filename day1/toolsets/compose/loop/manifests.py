"""The loops of Compose: which operations to call one after the other, and what each is for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from day1.call.context import Context
from day1.call.fields import LooseRequest, Response
from day1.call.operation import Effect, Operation
from day1.errors import NotFound
from day1.toolsets.compose.fields import VERSION, Name
from day1.toolsets.compose.routes import PREFIX, ROUTES

_Pace = Literal["hot", "durable", "maintenance"]
_Policy = Literal["returns compact prompt only", "returns metadata only"]


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop: its kind, what its answers cost, and the purpose of each operation in it."""

    about: str
    pace: _Pace
    policy: _Policy
    purposes: Mapping[str, str]


_LOOPS: Final[Mapping[str, _Loop]] = {
    "agent_memory_loop": _Loop(
        "A prompt of memory before each turn, the recorded turn after it, and durable facts.",
        "hot",
        "returns compact prompt only",
        {
            "context_assemble": "Before reasoning: a prompt of what memory knows of the query.",
            "turn_record": "After the final answer: keep the turn.",
            "remember": "When a durable fact, preference or decision appears: keep it.",
            "loop": "Any of the three, by `step`.",
        },
    ),
    "memory_pattern_loop": _Loop(
        "Patterns of tools that succeeded: look at them, validate them, make skills of them.",
        "durable",
        "returns metadata only",
        {
            "patterns_list": "List the runs of tools that recur, with their success.",
            "patterns_get": "Look at one of them.",
            "patterns_validate": "Ask whether it may become a skill.",
            "patterns_promote": "Make it a skill.",
            "skills_list": "List the skills, with their use.",
            "skills_get": "Look at one of them.",
        },
    ),
    "memory_archive_loop": _Loop(
        "Keep the essence of a long session, and name the file of an archive by its content.",
        "maintenance",
        "returns metadata only",
        {
            "sessions_compress": "Summarize a session that has ended.",
            "jobs_create": "Make an archive: the type `archive_create`.",
            "jobs_get": "Ask for its id.",
            "archives_sync": "Get the content id of its file, and pin it if a service is set.",
        },
    ),
    "memory_maintenance_loop": _Loop(
        "Look at what is stored, measure how well it is found, correct and remove it.",
        "maintenance",
        "returns metadata only",
        {
            "stats_get": "Count what a wallet has stored.",
            "evals_run": "Measure whether known questions find their memories.",
            "conflicts_resolve": "Decide which of two memories counts.",
            "items_update": "Correct a memory.",
            "items_delete": "Remove a memory, or hide it for good.",
            "jobs_create": "Supersede what is said twice, find patterns, or clean up.",
            "schedules_create": "Let a server repeat these jobs.",
        },
    ),
}


class MemoryLoopStepManifest(Response):
    """One operation of a loop."""

    operationId: str
    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    purpose: str


class MemoryLoopManifest(Response):
    """A loop and its operations, in the order in which to call them."""

    id: str
    version: Literal["compose.agent_memory_loop.v1"]
    description: str
    loop: _Pace
    tokenPolicy: _Policy
    steps: list[MemoryLoopStepManifest]


class LoopsList(LooseRequest):
    """The arguments of `loops_list`: none."""


class MemoryLoopListResponse(Response):
    """All loops."""

    loops: list[MemoryLoopManifest]


class LoopsGet(LooseRequest):
    """The arguments of `loops_get`.

    Attributes:
        loopId: The loop's id, as `loops_list` gives it.
    """

    loopId: Name


class MemoryLoopResponse(Response):
    """One loop: which operations an application calls one after the other."""

    loop: MemoryLoopManifest


def loops_list(_: Context, request: LoopsList) -> MemoryLoopListResponse:  # noqa: ARG001 - it has none
    """List the loops: which operations to call one after the other."""
    return MemoryLoopListResponse(loops=[_manifest(loop_id) for loop_id in _LOOPS])


def loops_get(_: Context, request: LoopsGet) -> MemoryLoopResponse:
    """Describe one loop."""
    if request.loopId not in _LOOPS:
        raise NotFound(
            f"There is no loop {request.loopId!r}: use one of {', '.join(_LOOPS)}.",
            loops=list(_LOOPS),
        )
    return MemoryLoopResponse(loop=_manifest(request.loopId))


def _manifest(loop_id: str) -> MemoryLoopManifest:
    loop = _LOOPS[loop_id]
    route_by_operation = {route.binding.operation: route for route in ROUTES}
    steps = [
        MemoryLoopStepManifest(
            operationId=operation_name,
            method=route_by_operation[operation_name].method,
            path=f"{PREFIX}{route_by_operation[operation_name].path}",
            purpose=purpose,
        )
        for operation_name, purpose in loop.purposes.items()
    ]
    return MemoryLoopManifest(
        id=loop_id,
        version=VERSION,
        description=loop.about,
        loop=loop.pace,
        tokenPolicy=loop.policy,
        steps=steps,
    )


OPERATIONS: Final = (
    Operation("loops_list", loops_list, Effect.READ),
    Operation("loops_get", loops_get, Effect.READ),
)
