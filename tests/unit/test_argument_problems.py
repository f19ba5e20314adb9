"""The sentence about arguments that are not valid."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from day1.call.fields import MemoryText
from day1.call.problems import invalid
from day1.model.contexts.content import kept_json
from day1.model.values.parts import MAX_TEXT
from day1.toolsets.engram.lessons import MemoryStore
from day1.toolsets.gwt.reasoning import GwtAttend


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


def test_the_bound_of_a_short_text_is_told_in_characters() -> None:
    with pytest.raises(ValidationError) as refused:
        GwtAttend(question="x" * 2_001)
    assert str(invalid("The arguments of a call", GwtAttend, refused.value)) == (
        "The arguments of a call are invalid: question: String should have at most 2000 characters."
    )


class Nothing(BaseModel):
    """A call without arguments."""

    model_config = ConfigDict(extra="forbid")


def test_an_unknown_argument_of_a_call_without_arguments_is_told_so() -> None:
    with pytest.raises(ValidationError) as refused:
        Nothing(slots=1)  # type: ignore[call-arg]  # wrong on purpose
    assert str(invalid("The arguments of a call", Nothing, refused.value)) == (
        "The arguments of a call are invalid: slots: unknown argument; this call takes none."
    )


class Many(BaseModel):
    numbers: list[int]


def test_of_very_many_problems_the_first_ones_are_told() -> None:
    with pytest.raises(ValidationError) as refused:
        Many(numbers=["x"] * 30_000)
    error = invalid("The arguments of a call", Many, refused.value)
    problems = error.details["problems"]
    assert isinstance(problems, list)
    assert [problem["argument"] for problem in problems] == [f"numbers.{n}" for n in range(100)]
    assert str(error).endswith("; and there are more problems.")


class Pair(BaseModel):
    """Arguments that cannot be given together."""

    @model_validator(mode="after")
    def _never(self) -> "Pair":
        raise ValueError("`query` and `vector` cannot be given together")


def test_a_problem_of_several_arguments_begins_with_no_empty_name() -> None:
    with pytest.raises(ValidationError) as refused:
        Pair()
    assert str(invalid("The arguments of a call", Pair, refused.value)) == (
        "The arguments of a call are invalid: `query` and `vector` cannot be given together."
    )


def test_a_lesson_that_is_too_long_names_the_lesson() -> None:
    with pytest.raises(ValidationError) as refused:
        MemoryStore(context="a" * 20_000, action="b" * 20_000, result="c")
    error_message = str(invalid("The arguments of a call", MemoryStore, refused.value))
    assert error_message.startswith(
        "The arguments of a call are invalid: the whole lesson has 40,028 characters, and a memory "
        "at most 32,768. Save the text"
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
