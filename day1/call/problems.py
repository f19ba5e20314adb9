"""The problems of a call's arguments, all reported at once."""

from typing import Final

from pydantic import BaseModel, ValidationError

from day1.errors import InvalidRequest, Json
from day1.model.values.parts import TooLong

_HOW_TO_IMPORT: Final = (
    "Save the text as a file and run `day1 import text FILE`: it is kept in parts that know one "
    "another and are found as one. Without a shell, write several memories: cut the text between "
    "paragraphs, and begin each with what it is a part of, such as 'Report on the mill, part 2 of "
    "3:'."
)
_MOST_PROBLEMS: Final = 100
"""Maximum number of problems that an error names: a body may have a million."""


def invalid(what: str, request: type[BaseModel], exc: ValidationError) -> InvalidRequest:
    """Build the error with the problems of the arguments, without repeating their values.

    The error names the first 100. `what` names the arguments in the plural, such as "The arguments
    of memory_add".
    """
    is_too_long = False
    problem_by_argument: dict[tuple[str, str], dict[str, Json]] = {}
    for error in exc.errors(include_url=False, include_input=False, include_context=True):
        argument = ".".join(
            str(location_part)
            for location_part in error["loc"]
            if not _is_branch_of_union(location_part)
        )
        description = _sentence(error["msg"])
        if error["type"] == "extra_forbidden":
            description = "unknown argument"
            if len(error["loc"]) == 1:
                known_names = ", ".join(request.model_fields)
                description += (
                    f"; known are: {known_names}" if known_names else "; this call takes none"
                )
        is_too_long = is_too_long or isinstance(error.get("ctx", {}).get("error"), TooLong)
        problem_by_argument[argument, description] = {"argument": argument, "problem": description}
        if len(problem_by_argument) > _MOST_PROBLEMS:
            break
    problems = [*problem_by_argument.values()][:_MOST_PROBLEMS]
    problem_text = "; ".join(
        f"{p['argument']}: {p['problem']}" if p["argument"] else str(p["problem"]) for p in problems
    )
    if len(problem_by_argument) > len(problems):
        problem_text += "; and there are more problems"
    if is_too_long:
        return text_too_long(
            f"{what} are invalid: {problem_text.removesuffix('.')}", problems=problems
        )
    sentence = f"{what} are invalid: {problem_text.removesuffix('.')}."
    return InvalidRequest(sentence, problems=problems)


def invalid_settings(exc: ValidationError) -> InvalidRequest:
    """Build the error with every setting that is not valid, by its name in the environment."""
    problems = [
        f"DAY1_{'__'.join(map(str, error['loc'])).upper()}: {_sentence(error['msg'])}"
        for error in exc.errors(include_input=False)
    ]
    return InvalidRequest("; ".join(problems), problems=problems)


def text_too_long(what: str, **details: Json) -> InvalidRequest:
    """Build the error for a text that is too long; it says how to import the text."""
    return InvalidRequest(f"{what}. {_HOW_TO_IMPORT}", **details)


def _sentence(message: str) -> str:
    """Return pydantic's message without the prefix that it gives to messages of day1."""
    return message.removeprefix("Value error, ")


def _is_branch_of_union(part: object) -> bool:
    return isinstance(part, str) and (part.startswith(("constrained-", "literal[")) or "[" in part)
