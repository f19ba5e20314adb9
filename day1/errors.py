"""Every error that day1 raises on purpose.

A class is named for the state of the world and carries a stable `code`. The message is for a
person and says what to do next; the code is for a program; `details` are for an agent that
mends its call. No message or detail holds memory text, a token or a password.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


class Day1Error(Exception):
    """The root: whoever wants to say "if day1 refused" catches this."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Json) -> None:
        super().__init__(message)
        self.details = details

    def body(self) -> dict[str, Json]:
        """The one JSON shape of a failure on every wire."""
        return {"error": {"code": self.code, "message": str(self), "details": self.details}}


class InvalidRequest(Day1Error):
    """The arguments do not fit: each problem is named in `details["problems"]`."""

    code = "invalid_request"


class NotFound(Day1Error):
    """What was named does not exist where it was looked for."""

    code = "not_found"


class UnknownBranch(NotFound):
    """No branch of that name."""

    code = "unknown_branch"


class UnknownTool(NotFound):
    """No operation of that name in the served toolsets."""

    code = "unknown_tool"


class Conflict(Day1Error):
    """The deed does not fit the present state."""

    code = "conflict"


class RequestReused(Conflict):
    """The `request_id` was used before, for something else; `details["id"]` names what it made."""

    code = "request_reused"


class BranchExists(Conflict):
    """The branch name is taken (case does not count)."""

    code = "branch_exists"


class BranchClosed(Conflict):
    """The branch was squashed into another, or is kept as a template: it takes no writes."""

    code = "branch_closed"


class RevisionChanged(Conflict):
    """`expect_revision` is not the row's present revision."""

    code = "revision_changed"


class PlanChanged(Conflict):
    """The merge plan is not the one that was previewed."""

    code = "plan_changed"


class WouldHold(Conflict):
    """A squash would leave rows undecided."""

    code = "would_hold"


class Refused(Day1Error):
    """The rules forbid it, whatever the state."""

    code = "refused"


class ConfirmationNeeded(Refused):
    """A destructive operation without its confirmation value."""

    code = "confirmation_needed"


class Unauthorized(Day1Error):
    """No token was given, or none that opens this store."""

    code = "unauthorized"


class ForeignStore(Refused):
    """The database or file is another program's: it is left as it is."""

    code = "foreign_store"


class Forbidden(Refused):
    """The caller's token does not allow it."""

    code = "forbidden"


class BranchProtected(Refused):
    """The branch is protected: it takes merges only, and those that fulfil its requirements."""

    code = "branch_protected"


class Unsupported(Day1Error):
    """The engine cannot do this; `details["instead"]` names what can be done."""

    code = "unsupported"


class StoreUnavailable(Day1Error):
    """The store does not answer now; trying again may succeed."""

    code = "store_unavailable"
    retryable = True


class StoreBusy(StoreUnavailable):
    """Another writer held the store's lock for longer than the limit."""

    code = "store_busy"


class TooManyRequests(StoreUnavailable):
    """The caller asks more often than it may; `details["retry_after"]` says when to go on."""

    code = "too_many_requests"


class StoreFull(StoreUnavailable):
    """The disk is full or the file could not grow; nothing was written."""

    code = "store_full"


class StoreReadOnly(Day1Error):
    """The store's folder may not be written."""

    code = "store_read_only"


class StoreDamaged(Day1Error):
    """A file of the store cannot be read."""

    code = "store_damaged"


class StoreVersionUnknown(Day1Error):
    """The store was written by another version of the schema or of the engine's format."""

    code = "store_version_unknown"


class NotAStore(NotFound):
    """The path holds no day1 store."""

    code = "not_a_store"


class EmbedderUnavailable(Day1Error):
    """No embedding model can be loaded or reached; keyword search still works."""

    code = "embedder_unavailable"


class ChatUnavailable(Day1Error):
    """The chat model does not answer, or not in the form that was asked for."""

    code = "chat_unavailable"
    retryable = True


class ImportBroken(Day1Error):
    """An import file has a line that cannot be read; `details["line"]` names it."""

    code = "import_broken"


class IntegrityBroken(Day1Error):
    """day1's own check before a commit failed: nothing was committed."""

    code = "integrity_broken"
