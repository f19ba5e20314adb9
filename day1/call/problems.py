"""What is wrong with the arguments of a call, said all at once."""

from pydantic import BaseModel, ValidationError

from day1.errors import InvalidRequest, Json


def invalid(name: str, request: type[BaseModel], exc: ValidationError) -> InvalidRequest:
    """Say every problem of the arguments, without repeating what was given."""
    problems: list[dict[str, Json]] = []
    for error in exc.errors(include_url=False, include_input=False, include_context=True):
        where = ".".join(str(part) for part in error["loc"] if not _is_branch_of_union(part))
        text = error["msg"].removeprefix("Value error, ")
        if error["type"] == "extra_forbidden":
            text = "unknown argument"
            if len(error["loc"]) == 1:
                text += f"; known are: {', '.join(request.model_fields)}"
        problem: dict[str, Json] = {"argument": where, "problem": text}
        if problem not in problems:
            problems.append(problem)
    shown = "; ".join(f"{p['argument']}: {p['problem']}" for p in problems)
    return InvalidRequest(f"{name}: {shown}", problems=problems)


def _is_branch_of_union(part: object) -> bool:
    return isinstance(part, str) and (part.startswith(("constrained-", "literal[")) or "[" in part)
