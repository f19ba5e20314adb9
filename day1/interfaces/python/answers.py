"""Put the notes of an answer in the words of Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import BaseModel

from day1.errors import Advice

Reword = Callable[[str | Advice], str]
"""A function that returns the text of a note or of an advice."""


def reworded(answer: BaseModel, reword: Reword) -> Any:
    """Return an answer whose notes, and those of its parts, are texts in other words."""
    new_value_by_field = {
        field_name: new_value
        for field_name in _noted(type(answer))
        if (new_value := _changed(getattr(answer, field_name), reword)) is not None
    }
    return answer.model_copy(update=new_value_by_field) if new_value_by_field else answer


def _changed(value: Any, reword: Reword) -> Any:
    """Return the value of a field in other words; None if it has no note."""
    if isinstance(value, str | Advice):
        return reword(value)
    if isinstance(value, BaseModel):
        return reworded(value, reword)
    if isinstance(value, list):
        return [_changed(part, reword) or part for part in value] if value else None
    if isinstance(value, dict):
        return {key: _changed(part, reword) or part for key, part in value.items()}
    return None


@cache
def _noted(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields of a model that are notes or models with notes."""
    return tuple(name for name, field in model.model_fields.items() if _has_note(field.annotation))


def _has_note(annotation: Any) -> bool:
    if annotation is Advice:
        return True
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return bool(_noted(annotation))
    return any(map(_has_note, _parts(annotation)))


def _parts(annotation: Any) -> tuple[Any, ...]:
    """Return the parts of a generic type or of a union."""
    parts: tuple[Any, ...] = getattr(annotation, "__args__", ())
    return tuple(part for part in parts if not isinstance(part, str))
