"""The types of arguments and answers that operations share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    InstanceOf,
    JsonValue,
    PlainSerializer,
    SerializationInfo,
)

from day1.call.meanings import put_meanings
from day1.errors import Advice, InvalidRequest, Say
from day1.model.rows.origin import MAX_LABEL
from day1.model.rows.validation import clean, filled, one_memory, sound
from day1.model.values.instant import NEVER, parse, show
from day1.model.values.parts import MAX_TEXT
from day1.model.values.space import asked_space


def _timed(text: str) -> str:
    try:
        parse(text)
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from exc
    return text


def _ending(text: str) -> str:
    return NEVER if text.strip().casefold() == NEVER else _timed(text)


def _shown_time(instant: Any) -> Any:
    return show(instant) if isinstance(instant, int) else instant


def _space(text: str) -> str:
    try:
        return asked_space(text)
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from exc


Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), AfterValidator(filled)]
"""A text such as a query or a note: not blank, no NUL, at most 32,768 characters."""
ShortText = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(filled)]
"""A text such as a question, a goal or a reason: as `Text`, but at most 2,000 characters."""
MemoryText = Annotated[
    str,
    Field(min_length=1, json_schema_extra={"maxLength": MAX_TEXT}),
    AfterValidator(one_memory),
]
"""A text that becomes one memory; the error for a longer text says how to import it."""
LongText = Annotated[str, AfterValidator(clean)]
"""Debugging output of any length; the operation shortens it."""
Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL), AfterValidator(filled)]
"""A short name."""
Labels = Annotated[list[Label], Field(max_length=100)]
"""Short names such as tags; at most 100, since every list of rows repeats them."""
When = Annotated[Label, AfterValidator(_timed)]
"""A date or time in ISO 8601; the error for another text names the argument."""
Ending = Annotated[Label, AfterValidator(_ending)]
"""A time as `When`, or `never`."""
Time = Annotated[str, BeforeValidator(_shown_time)]
"""A time in an answer: ISO 8601, built from an instant in microseconds UTC."""
Space = Annotated[Label, AfterValidator(_space)]
"""The normalized name of a space, or `shared` or `*`."""
InSpace = Annotated[Space | None, Field(description="default: all")]
"""The space of a call that reads."""
OnBranch = Annotated[Label | None, Field(description="default: your active branch, at first main")]
"""The branch of a call."""


JsonObject = Annotated[dict[str, JsonValue], AfterValidator(sound)]
"""Any JSON object: its texts without NUL, its numbers finite, no longer than a memory text."""
JsonList = Annotated[list[JsonValue], AfterValidator(sound)]
"""Any JSON list, with the limits of `JsonObject`."""
_Sound = Annotated[JsonValue, AfterValidator(sound)]


class Request(BaseModel):
    """The arguments of a call; unknown ones are refused by name."""

    # A process uses few of its many models: each is built at its first use (by one thread, since
    # pydantic 2.14).
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Give each argument its meaning from the class's docstring."""
        schema = handler(core_schema)
        put_meanings(cls, handler.resolve_ref_schema(schema))
        return schema


class LooseRequest(Request):
    """The arguments of a contract that accepts unknown ones: they are ignored."""

    model_config = ConfigDict(extra="ignore")

    @classmethod
    def other_spellings(cls, field: str) -> tuple[str, ...]:  # noqa: ARG003 - contracts override it
        """Return the other names by which a caller may give a field."""
        return ()


class ExtraRequest(Request):
    """The arguments of a contract that accepts unknown ones: they are kept, as clean JSON."""

    model_config = ConfigDict(extra="allow")

    __pydantic_extra__: dict[str, _Sound]

    @property
    def extras(self) -> Mapping[str, JsonValue]:
        """The unknown arguments."""
        return self.__pydantic_extra__ or {}


class UnionRequest(ExtraRequest):
    """The arguments of a call in one of several forms; a field of the subclass names the form."""

    NAMED_BY: ClassVar[str]
    """The field that names the form."""
    FORMS: ClassVar[Mapping[str, type[Request]]]
    """The form of each value of that field."""

    __pydantic_extra__: dict[str, JsonValue]  # the form bounds them

    def form(self) -> Request:
        """Validate the other arguments as the form that `NAMED_BY` names.

        Raises:
            ValidationError: the arguments do not fit the form.
        """
        return self.FORMS[getattr(self, self.NAMED_BY)].model_validate(self.extras)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe the forms, each with its name as a constant."""
        schema_reference = super().__get_pydantic_json_schema__(core_schema, handler)
        schema = handler.resolve_ref_schema(schema_reference)
        for form in cls.FORMS.values():
            form.model_rebuild()  # since models are built at their first use
        core_schemas = [form.__pydantic_core_schema__ for form in cls.FORMS.values()]
        form_schemas = handler({"type": "tuple", "items_schema": core_schemas})["prefixItems"]
        form_field = schema["properties"][cls.NAMED_BY]
        kept_properties = {
            keyword: keyword_value
            for keyword, keyword_value in form_field.items()
            if keyword in {"meaning", "title"}
        }
        variants = [
            {
                "allOf": [
                    form,
                    _constant(
                        cls.NAMED_BY, {**kept_properties, "type": "string", "const": form_name}
                    ),
                ]
            }
            for form_name, form in zip(cls.FORMS, form_schemas, strict=True)
        ]
        title = schema["title"]
        schema.clear()
        schema.update(title=title, oneOf=variants)
        return schema_reference


def _constant(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [name], "properties": {name: schema}}


class Repeatable(Request):
    """The arguments of a call that writes; calls with one `request_id` take effect once.

    Attributes:
        request_id: A name for this call, used for no other: calling again with it writes nothing
            more, and is answered with what was written.
    """

    request_id: Label | None = None


class WriteRequest(Repeatable):
    """The arguments of a call that writes, with its agent, session and task.

    Attributes:
        agent_id: Who writes: any name that tells agents apart. Default: what the connection or
            token says, else the agent whose branch of a task it is.
        session_id: The session that it is written in, by which memory_session_context finds it
            again. Default: what the connection says.
        task_id: The task that it is written for. Default: what the connection says, else the task
            whose branch it is.
    """

    agent_id: Label | None = None
    session_id: Label | None = None
    task_id: Label | None = None


def _worded(text: str | Advice, info: SerializationInfo) -> str:
    say: Say = info.context or str
    return text if isinstance(text, str) else text.worded(say)


Note = Annotated[str | InstanceOf[Advice], PlainSerializer(_worded, return_type=str)]
"""A text that may name steps to make next; an answer has it in the words of the wire."""


class Read(BaseModel):
    """The branch and commit that an answer was read from, and notes on the answer."""

    branch: str | None
    commit: str
    pending: int = 0
    """The number of rows that no commit holds yet."""
    mode: str | None = None
    notes: list[Note] = Field(default_factory=list)


class Written(BaseModel):
    """The branch and commit of a write, and notes on it."""

    branch: str
    commit: str
    pending: int = 0
    notes: list[Note] = Field(default_factory=list)


class Response(BaseModel):
    """An answer; a field called `result` makes it a list on wires that have one."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    @classmethod
    def from_record(cls, record: object, **others: Any) -> Self:
        """Build an answer from the attributes of a record with its names, and from others."""
        field_names = (
            name for name in cls.model_fields if name not in others and hasattr(record, name)
        )
        return cls(**others, **{name: getattr(record, name) for name in field_names})


def written(
    branch: str, commit: str, pending: int = 0, notes: Iterable[str | Advice] = ()
) -> Written:
    """Build a `Written`; `pending` counts the rows that no commit holds yet."""
    return Written(branch=branch, commit=commit, pending=pending, notes=list(notes))
