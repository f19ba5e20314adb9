"""The loop at one address: any of its three steps, by `step`."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from pydantic import GetJsonSchemaHandler, SerializationInfo, model_serializer

from day1.call.context import Context
from day1.call.fields import Request, Response, UnionRequest
from day1.call.operation import Effect, Operation
from day1.toolsets.compose.fields import AgentMemoryLoopStep
from day1.toolsets.compose.loop.context import (
    AgentMemoryContextRequest,
    AgentMemoryContextResponse,
    context_assemble,
)
from day1.toolsets.compose.loop.remember import (
    AgentMemoryRememberRequest,
    AgentMemoryRememberResponse,
    remember,
)
from day1.toolsets.compose.loop.turns import (
    AgentMemoryRecordTurnRequest,
    AgentMemoryRecordTurnResponse,
    turn_record,
)

Answer = AgentMemoryContextResponse | AgentMemoryRecordTurnResponse | AgentMemoryRememberResponse


class AgentMemoryLoopRequest(UnionRequest):
    """The arguments of `loop`: those of the step's own operation.

    Attributes:
        step: `pre_turn` is `context_assemble`, `post_turn` is `turn_record`, `remember` is
            `remember`.
    """

    NAMED_BY = "step"
    FORMS: ClassVar = {
        "pre_turn": AgentMemoryContextRequest,
        "post_turn": AgentMemoryRecordTurnRequest,
        "remember": AgentMemoryRememberRequest,
    }

    step: AgentMemoryLoopStep


class AgentMemoryLoopResponse(Response):
    """The answer of the step's own operation."""

    answer: Answer

    @model_serializer
    def _as_the_step_answers(self, info: SerializationInfo) -> dict[str, Any]:
        return self.answer.model_dump(mode="json", context=info.context)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Build the JSON schema: the answer of one of the loop's three steps."""
        core_schemas = [form.__pydantic_core_schema__ for form in _built(*Answer.__args__)]
        form_schemas = handler({"type": "tuple", "items_schema": core_schemas})["prefixItems"]
        return {"title": cls.__name__, "oneOf": form_schemas}


def _built(*models: type[Response]) -> tuple[type[Response], ...]:
    for model in models:
        model.model_rebuild()  # since models are built at their first use
    return models


_STEPS: Final[dict[type[Request], Callable[[Context, Any], Answer]]] = {
    AgentMemoryContextRequest: context_assemble,
    AgentMemoryRecordTurnRequest: turn_record,
    AgentMemoryRememberRequest: remember,
}


def loop(ctx: Context, request: AgentMemoryLoopRequest) -> AgentMemoryLoopResponse:
    """Take a step of the loop: fetch a prompt, record a turn, or remember a fact."""
    if request.step != "pre_turn":
        ctx.caller.access.require("write", f"loop with step {request.step}")
    step_request = request.form()
    return AgentMemoryLoopResponse(answer=_STEPS[type(step_request)](ctx, step_request))


OPERATIONS: Final = (Operation("loop", loop, Effect.WRITE, scope="read"),)
