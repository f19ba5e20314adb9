"""The errors that day1 raises on purpose.

A class is named for the state of the world, and so is its stable `code`. The message is for a
person and says what to do next; the code is for a program; `details` are for an agent that
mends its call. The next step is data (`Advice`), which each wire puts in words of its own. No
message or detail holds memory text, a token or a password.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import ClassVar

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


@dataclass(frozen=True, slots=True)
class Step:
    """A call to make next: an operation and some or all of its arguments."""

    operation: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    toolset: str = ""
    """The toolset that was called: of operations with equal names, its own is meant."""
    whole: bool = False
    """Whether the arguments are complete; else they are added to those of the failed call."""

    @property
    def worded_arguments(self) -> str:
        """The arguments in MCP's words, such as `full=true`."""
        return ", ".join(f"{name}={json.dumps(value)}" for name, value in self.arguments.items())

    def __str__(self) -> str:
        """Return the step in MCP's words: a whole call, an argument to add, or a tool."""
        if self.whole:
            return f"{self.operation}({self.worded_arguments})"
        return self.worded_arguments or self.operation


Say = Callable[[Step], str]
"""The function by which a wire words a step: as a tool, a command or an HTTP route."""


class Advice:
    """A text for the caller, in which the steps to make next are data.

    In the template, `{memory_held}` is a step, unless there is a value of that name. A value may
    be a step with arguments, or anything that a text can hold.
    """

    def __init__(self, template: str, /, **values: object) -> None:
        """Parse a template; whatever a caller sent stands in `values`, never in the template."""
        parts: list[str | Step] = []
        for literal_text, value_name, _, _ in Formatter().parse(template):
            parts.append(literal_text)
            if value_name is not None:
                value = values.get(value_name, Step(value_name))
                parts.append(value if isinstance(value, Step) else str(value))
        self._parts = tuple(parts)

    @classmethod
    def joined(cls, texts: Iterable["str | Advice"]) -> "Advice":
        """Join texts with a blank between them."""
        advice, parts = cls(""), list[str | Step]()
        for text in texts:
            parts += [" "] if parts else []
            parts += [text] if isinstance(text, str) else text._parts
        advice._parts = tuple(parts)
        return advice

    def by(self, toolset: str) -> "Advice":
        """Return the advice with steps that mean the tools of a toolset."""
        advice = Advice("")
        advice._parts = tuple(
            replace(part, toolset=toolset) if isinstance(part, Step) else part
            for part in self._parts
        )
        return advice

    @property
    def steps(self) -> list[Step]:
        """The steps, in the order of the text."""
        return [part for part in self._parts if isinstance(part, Step)]

    def worded(self, say: Say = str) -> str:
        """Return the text with its steps worded by `say`: as tools, commands or routes."""
        return "".join(part if isinstance(part, str) else say(part) for part in self._parts)

    __str__ = worded


class Day1Error(Exception):
    """The base class of every error that day1 raises on purpose."""

    code: ClassVar[str] = "internal"
    """For programs: the class's name in small letters, as in `store_busy`; it stays for good."""
    retryable: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Set the code; an error that another module derives keeps that of its parent."""
        if cls.__module__ == __name__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(
        self, message: "str | Advice", advice: Advice | None = None, /, **details: Json
    ) -> None:
        """Take the message, advice what to do next, and details for a program."""
        self.advice = Advice.joined(text for text in (message, advice) if text is not None)
        self.details = details
        super().__init__(str(self.advice))

    def worded(self, say: Say = str) -> str:
        """Return the message and the advice, with its steps worded by `say`."""
        return self.advice.worded(say)

    def body(self, say: Say = str) -> dict[str, Json]:
        """Return the error as JSON, in the same form on every wire; `say` words its steps."""
        error_body: dict[str, Json] = {
            "code": self.code,
            "message": self.worded(say),
            "details": self.details,
        }
        step_objects = [_as_json(step) for step in self.advice.steps]
        return {"error": {**error_body, "next": step_objects} if step_objects else error_body}


def _as_json(step: Step) -> dict[str, Json]:
    arguments_field = {"arguments": step.arguments} if step.arguments else {}
    return {"operation": step.operation, **arguments_field}


class InvalidRequest(Day1Error):
    """The arguments are not valid: `details["problems"]` lists each problem."""


class BodyAmbiguous(InvalidRequest):
    """An HTTP request says the length of its body in two ways; its connection is closed."""


class BodyTooLong(InvalidRequest):
    """The body of an HTTP request has more bytes than the server takes."""


class BodyTooSlow(InvalidRequest):
    """The body of an HTTP request did not come in time."""


class HostUnknown(InvalidRequest):
    """The HTTP request's Host is no name of the server; DAY1_HTTP__NAMES lists its names."""


class ValueTooLarge(InvalidRequest):
    """A value of an entry is longer than day1 keeps; `details["limit"]` is the most bytes."""


class AnswerTooLarge(InvalidRequest):
    """The asked values have more bytes together than one answer; `details["limit"]` is the most."""


class NotFound(Day1Error):
    """The thing that a call names does not exist."""


class UnknownBranch(NotFound):
    """There is no branch of that name."""


class UnknownTool(NotFound):
    """The served toolsets have no operation of that name."""


class UnknownModel(NotFound):
    """The store embeds with another model than the call names; `details["model"]` names it."""


class Conflict(Day1Error):
    """The call does not fit the present state of the memory."""


class RequestReused(Conflict):
    """The `request_id` was used before, in another call; `details["id"]` is the row it made."""


class BranchExists(Conflict):
    """The branch name is taken (case does not count)."""


class BranchClosed(Conflict):
    """The branch was squashed into another, or is kept as a template: it takes no writes."""


class RevisionChanged(Conflict):
    """`expect_revision` is not the row's present revision."""


class PlanChanged(Conflict):
    """The merge plan is not the one that was previewed."""


class WouldHold(Conflict):
    """A squash would leave rows undecided."""


class Refused(Day1Error):
    """A rule forbids the call, in every state of the memory."""


class ConfirmationNeeded(Refused):
    """A destructive operation lacks its confirmation value."""


class Unauthorized(Day1Error):
    """The caller gave no token, or one that does not open this store."""


class TokenRequired(Unauthorized):
    """The store requires tokens and its ledger has none: the ledger was lost or replaced."""


class ForeignStore(Refused):
    """The database or file is another program's; day1 changes nothing in it."""


class StoreOfAnother(Refused):
    """The store is another user's, and was found upward: no setting names it."""


class Forbidden(Refused):
    """The caller's token does not allow the call."""


class OriginForbidden(Forbidden):
    """The request comes from a page of another web site."""


class BranchProtected(Refused):
    """The branch is protected: it takes only merges that fulfil its requirements."""


class HandleClosed(Day1Error):
    """A Python program called a memory that it had closed; nothing was done."""


class UsedAfterFork(Day1Error):
    """A forked process used a connection of its parent; it connects for itself."""


class Unsupported(Day1Error):
    """The engine cannot do this; `details["instead"]` names an alternative."""


class StoreUnavailable(Day1Error):
    """The store does not answer now; trying again may succeed."""

    retryable = True


class StoreBusy(StoreUnavailable):
    """Another writer held the store's lock for longer than the limit."""


class TooManyRequests(StoreUnavailable):
    """The caller exceeds its rate; `details["retry_after"]` is the number of seconds to wait."""


class StoreFull(StoreUnavailable):
    """The disk is full, or the file could not grow; nothing was written."""


class OutputFailed(Day1Error):
    """A command could not write its answer to standard output; what it did is done."""


class StoreReadOnly(Day1Error):
    """The store's folder is not writable for this user."""


class StoreDamaged(Day1Error):
    """A file of the store cannot be read."""


class StoreVersionUnknown(Day1Error):
    """The store was written by another version of the schema or of the engine's format."""


class NotAStore(NotFound):
    """The path holds no day1 store."""


class EmbedderUnavailable(Day1Error):
    """No embedding model can be loaded or reached; keyword search still works."""


class ChatUnavailable(Day1Error):
    """The chat model does not answer, or its answer does not have the requested form."""

    retryable = True


class ImportBroken(Day1Error):
    """An import file has a line that cannot be read; `details["line"]` is its number."""


class IntegrityBroken(Day1Error):
    """day1's own check before a commit failed: nothing was committed."""
