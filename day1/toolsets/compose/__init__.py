"""Compose Memory: the loop of an agent over HTTP, for clients generated from its document."""

from typing import Final

from day1.call.toolset import DocumentHead, ErrorShape, Namespace, Toolset
from day1.toolsets.compose.fields import AgentMemoryScope
from day1.toolsets.compose.loop import context, loop, manifests, remember, turns
from day1.toolsets.compose.routes import PREFIX, ROUTES
from day1.toolsets.compose.stores import (
    conflicts,
    evals,
    graph,
    items,
    looking,
    stats,
    transcripts,
    vectors,
    working,
)
from day1.toolsets.compose.upkeep import archives, jobs, patterns, schedules, skills
from day1.toolsets.shared.errors import PLAIN

_OPERATIONS: Final = (
    *context.OPERATIONS,
    *loop.OPERATIONS,
    *looking.OPERATIONS,
    *evals.OPERATIONS,
    *manifests.OPERATIONS,
    *remember.OPERATIONS,
    *turns.OPERATIONS,
    *graph.OPERATIONS,
    *vectors.OPERATIONS,
    *items.OPERATIONS,
    *conflicts.OPERATIONS,
    *stats.OPERATIONS,
    *transcripts.OPERATIONS,
    *working.OPERATIONS,
    *archives.OPERATIONS,
    *patterns.OPERATIONS,
    *skills.OPERATIONS,
    *jobs.OPERATIONS,
    *schedules.OPERATIONS,
)
_FAILURE: Final = {
    "type": "object",
    "additionalProperties": True,
    "properties": {
        "error": {"oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": True}]}
    },
}
"""JSON schema of an error in Compose's contract; day1 sends objects with a code and a message."""

COMPOSE: Final = Toolset(
    "compose",
    _OPERATIONS,
    Namespace(
        prefix=PREFIX,
        title="Compose Memory",
        about=(
            "A prompt before each turn, a recorded turn after it, durable facts; transcripts, "
            "layers, vectors and items. Beneath are day1's rows: versioned, on branches, reviewed."
        ),
        document="/openapi/compose.json",
        state="headers",
        loose=True,
        head=DocumentHead(
            version="0.8.6",
            summary="Agent-first memory loop and low-level memory primitives.",
            dialect="https://json-schema.org/draft/2020-12/schema",
            tag="memory",
            failure="ErrorResponse",
            named_bodies=True,
            bases=(AgentMemoryScope,),
        ),
    ),
    ErrorShape(PLAIN.body, _FAILURE),
    routes=tuple(
        route
        for route in ROUTES
        if route.binding.operation in {operation.name for operation in _OPERATIONS}
    ),
    wires=frozenset({"http", "call"}),
)
