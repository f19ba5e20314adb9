"""The sentence about arguments that are not valid."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ValidationError

from day1.call.fields import MemoryText
from day1.call.problems import invalid
from day1.model.contexts.content import kept_json
from day1.model.values.parts import MAX_TEXT


def _refuse(_: str) -> str:
    raise ValueError("A time is ISO 8601, such as 2026-03-01.")


class Arguments(BaseModel):
    when: Annotated[str | None, AfterValidator(_refuse)] = None
    content: Annotated[Any, AfterValidator(kept_json)] = None
    text: MemoryText = "text"


def message(**arguments: object) -> str:
    with pytest.raises(ValidationError) as refused:
        Arguments(**arguments)
    return str(invalid("The arguments of a call", Arguments, refused.value))


def test_a_problem_that_is_a_sentence_ends_with_one_period() -> None:
    assert message(when="the other day") == (
        "The arguments of a call are invalid: when: A time is ISO 8601, such as 2026-03-01."
    )


def test_a_text_that_is_too_long_is_told_how_to_be_imported() -> None:
    error_message = message(text="x" * (MAX_TEXT + 1))
    assert (
        "text: has 32,769 characters, and a memory at most 32,768. Save the text" in error_message
    )
    assert "day1 import text" in error_message


def test_json_that_is_too_long_is_no_text_to_import() -> None:
    assert message(content="x" * MAX_TEXT) == (
        "The arguments of a call are invalid: content: must have at most 32,768 characters as "
        "JSON, and has 32,770."
    )
