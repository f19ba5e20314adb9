"""Every error that day1 raises on purpose.

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
    """A call to make next: an operation, and the arguments that matter."""

    operation: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    toolset: str = ""
    """The toolset that was called: of operations with one name its own is meant."""
    whole: bool = False
    """The arguments are all that the call needs; else they go with those of the failed call."""

    @property
    def worded_arguments(self) -> str:
        """The arguments in the words of MCP."""
        return ", ".join(f"{name}={json.dumps(value)}" for name, value in self.arguments.items())

    def __str__(self) -> str:
        """The step in the words of MCP: a whole call, an argument to add, or a tool."""
        if self.whole:
            return f"{self.operation}({self.worded_arguments})"
        return self.worded_arguments or self.operation


Say = Callable[[Step], str]
"""How a wire names a step: MCP the tool, the command line its command, HTTP the route."""


class Advice:
    """A text for whoever calls, in which the steps to make next are data.

    In the template, `{memory_held}` is a step, unless there is a value of that name. A value may
    be a step with arguments, or anything that a text can hold.
    """

    def __init__(self, template: str, /, **values: object) -> None:
        """Read a template, which holds nothing that a caller gave: values do."""
        parts: list[str | Step] = []
        for text, name, _, _ in Formatter().parse(template):
            parts.append(text)
            if name is not None:
                value = values.get(name, Step(name))
                parts.append(value if isinstance(value, Step) else str(value))
        self._parts = tuple(parts)

    @classmethod
    def joined(cls, texts: Iterable["str | Advice"]) -> "Advice":
        """One text after the other, with a blank between them."""
        made, parts = cls(""), list[str | Step]()
        for text in texts:
            parts += [" "] if parts else []
            parts += [text] if isinstance(text, str) else text._parts
        made._parts = tuple(parts)
        return made

    def by(self, toolset: str) -> "Advice":
        """The advice as the tools of a toolset give it."""
        made = Advice("")
        made._parts = tuple(
            replace(part, toolset=toolset) if isinstance(part, Step) else part
            for part in self._parts
        )
        return made

    @property
    def steps(self) -> list[Step]:
        """The steps, in the order of the text."""
        return [part for part in self._parts if isinstance(part, Step)]

    def worded(self, say: Say = str) -> str:
        """The text in the words of a wire."""
        return "".join(part if isinstance(part, str) else say(part) for part in self._parts)

    __str__ = worded


class Day1Error(Exception):
    """The root: whoever wants to say "if day1 refused" catches this."""

    code: ClassVar[str] = "internal"
    """For programs: the class's name in small letters, as in `store_busy`; it stays for good."""
    retryable: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Name the code; an error that another module derives keeps that of its parent."""
        if cls.__module__ == __name__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(
        self, message: "str | Advice", advice: Advice | None = None, /, **details: Json
    ) -> None:
        """Say what is wrong, what to do next, and more for a program."""
        self.advice = Advice.joined(text for text in (message, advice) if text is not None)
        self.details = details
        super().__init__(str(self.advice))

    def worded(self, say: Say = str) -> str:
        """The message in the words of a wire."""
        return self.advice.worded(say)

    def body(self, say: Say = str) -> dict[str, Json]:
        """The one JSON shape of a failure on every wire."""
        told: dict[str, Json] = {
            "code": self.code,
            "message": self.worded(say),
            "details": self.details,
        }
        steps = [_as_json(step) for step in self.advice.steps]
        return {"error": {**told, "next": steps} if steps else told}


def _as_json(step: Step) -> dict[str, Json]:
    given = {"arguments": step.arguments} if step.arguments else {}
    return {"operation": step.operation, **given}


class InvalidRequest(Day1Error):
    """The arguments do not fit: each problem is named in `details["problems"]`."""


class BodyAmbiguous(InvalidRequest):
    """An HTTP request says the length of its body in two ways; its connection is closed."""


class BodyTooLong(InvalidRequest):
    """The body of an HTTP request has more bytes than the server takes."""


class BodyTooSlow(InvalidRequest):
    """The body of an HTTP request did not come in time."""


class HostUnknown(InvalidRequest):
    """The server is not called as the HTTP request says: DAY1_HTTP__NAMES names it."""


class NotFound(Day1Error):
    """What was named does not exist where it was looked for."""


class UnknownBranch(NotFound):
    """There is no branch of that name."""


class UnknownTool(NotFound):
    """The served toolsets have no operation of that name."""


class UnknownModel(NotFound):
    """The store embeds with another model than the call names; `details["model"]` names it."""


class Conflict(Day1Error):
    """What was asked does not fit the present state."""


class RequestReused(Conflict):
    """The `request_id` was used before, for something else; `details["id"]` names what it made."""


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
    """The rules forbid it, whatever the state."""


class ConfirmationNeeded(Refused):
    """A destructive operation lacks its confirmation value."""


class Unauthorized(Day1Error):
    """The caller gave no token, or one that does not open this store."""


class TokenRequired(Unauthorized):
    """The store requires tokens, and its ledger has none: it was lost, or is another one."""


class ForeignStore(Refused):
    """The database or file is another program's: it is left as it is."""


class StoreOfAnother(Refused):
    """The store was found upward and is another user's: nobody named it."""


class Forbidden(Refused):
    """The caller's token does not allow it."""


class OriginForbidden(Forbidden):
    """A page of another site asks."""


class BranchProtected(Refused):
    """The branch is protected: it takes merges only, and those that fulfil its requirements."""


class Unsupported(Day1Error):
    """The engine cannot do this; `details["instead"]` names what can be done."""


class StoreUnavailable(Day1Error):
    """The store does not answer now; trying again may succeed."""

    retryable = True


class StoreBusy(StoreUnavailable):
    """Another writer held the store's lock for longer than the limit."""


class TooManyRequests(StoreUnavailable):
    """The caller asks more often than it may; `details["retry_after"]` says how long to wait."""


class StoreFull(StoreUnavailable):
    """The disk is full or the file could not grow; nothing was written."""


class StoreReadOnly(Day1Error):
    """The store's folder may not be written."""


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
    """An import file has a line that cannot be read; `details["line"]` names it."""


class IntegrityBroken(Day1Error):
    """day1's own check before a commit failed: nothing was committed."""
