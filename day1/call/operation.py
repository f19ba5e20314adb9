"""One typed operation for every wire: name, request, response, function, effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar, get_type_hints

from day1.call.context import Context
from day1.call.fields import Request, Response
from day1.errors import Json
from day1.model.access.permissions import Scope


class Effect(Enum):
    """The effect of an operation on memory; each wire turns it into its own hints."""

    READ = "read"
    WRITE = "write"
    DESTROY = "destroy"


Q = TypeVar("Q", bound=Request)
R = TypeVar("R", bound=Response)


@dataclass(frozen=True, slots=True)
class Operation(Generic[Q, R]):
    """A call that every wire offers: as a tool, a route and a command."""

    name: str
    run: Callable[[Context, Q], R]
    """The function of the call; its annotations give the types of request and response."""
    effect: Effect
    idempotent: bool = False
    scope: InitVar[Scope | None] = None
    """The scope that a token needs; default: read for reading operations, else write."""
    asks: bool = False
    """Whether a person confirms each call, in clients that can ask: the decisions of a review, what
    cannot be undone, and who may do what."""
    plain: bool = False
    """Whether a wire that answers text beside the structured form says the answer's `text` there,
    as it is, and nothing where that is empty."""
    long_values: bool = False
    """Whether the arguments may have values of up to 8 MiB: HTTP takes longer bodies then."""
    brief: Callable[[Mapping[str, Json]], dict[str, Json]] | None = None
    """The function that shortens a row of a list, for wires that answer text beside the structured
    form."""
    request: type[Q] = field(init=False)
    response: type[R] = field(init=False)
    needs: Scope = field(init=False)
    """The scope that a token needs for the operation."""

    def __post_init__(self, scope: Scope | None) -> None:
        """Read the types of the request and the response from the function."""
        _, request_type, response_type = get_type_hints(self.run).values()
        object.__setattr__(self, "request", request_type)
        object.__setattr__(self, "response", response_type)
        default_scope: Scope = "read" if self.effect is Effect.READ else "write"
        object.__setattr__(self, "needs", scope or default_scope)

    @property
    def is_list(self) -> bool:
        """Whether the answer is a list on wires that can answer one."""
        return "result" in self.response.model_fields

    def text(self, answer: Mapping[str, Json]) -> Any:
        """Write the answer as text: a bare list where it is one, its rows in brief, or a text."""
        if not self.is_list:
            return answer["text"] if self.plain else answer
        rows: Any = answer["result"]
        return rows if self.brief is None else [self.brief(row) for row in rows]

    @property
    def description(self) -> str:
        """The description that agents read: the function's docstring."""
        docstring_lines = (self.run.__doc__ or "").strip().splitlines()
        return "\n".join(line.strip() for line in docstring_lines).strip()
