"""Turn errors of the memory into `ToolError`s: one sentence for the model, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anthropic.lib.tools import ToolError

from day1 import errors

_UNCHANGED = "so nothing was changed"


@contextmanager
def refusals(path: str, branch: str) -> Iterator[None]:
    """Turn errors of the memory in the block into `ToolError`s that name the path.

    Raises:
        ToolError: the memory refuses, or does not answer.
    """
    try:
        yield
    except errors.ValueTooLarge as exc:
        limit = exc.details.get("limit")
        raise ToolError(
            f"The text of {path} would be too long, {_UNCHANGED}: a file has at most {limit:,} "
            "bytes as JSON, so divide it into several files."
        ) from exc
    except (errors.AnswerTooLarge, errors.BodyTooLong) as exc:
        raise ToolError(
            f"{path} has too much text to be read or written in one step, {_UNCHANGED}: take its "
            "files one by one."
        ) from exc
    except errors.BranchProtected as exc:
        raise ToolError(
            f"The memory branch {branch!r} is protected, {_UNCHANGED}: ask the user for another "
            "branch, which a person can review and merge."
        ) from exc
    except (errors.BranchClosed, errors.UnknownBranch) as exc:
        raise ToolError(
            f"The memory branch {branch!r} is closed or does not exist, {_UNCHANGED}: ask the user "
            "which branch to use."
        ) from exc
    except (errors.Forbidden, errors.Unauthorized) as exc:
        raise ToolError(
            f"The program's token does not allow this in the memory branch {branch!r}, "
            f"{_UNCHANGED}: ask the user for a token that does."
        ) from exc
    except errors.RevisionChanged as exc:
        raise ToolError(
            f"Others are changing {path} all the time, {_UNCHANGED}: view it and try again."
        ) from exc
    except errors.Day1Error as exc:
        raise ToolError(str(exc)) from exc
