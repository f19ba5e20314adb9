"""A chat model that answers in a given form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from day1.errors import Json


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer. Units: tokens as the endpoint counts them, 0 where it does not."""

    value: dict[str, Any]
    """A JSON object. It may break the schema: the caller checks the fields that it uses."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Chat(Protocol):
    """A model behind an endpoint; safe to share between threads."""

    @property
    def name(self) -> str:
        """The model's name in answers and rows."""

    def ask(self, instructions: str, data: Json, schema: Mapping[str, Json], what: str) -> Answer:
        """Ask for one object; a busy endpoint is asked again.

        Args:
            instructions: what to do, in day1's own words; never text from memory.
            data: what to do it with: untrusted, and sent as one JSON document of its own.
            schema: the JSON Schema of the answer.
            what: the schema's name: letters, digits and `_`.

        Raises:
            ChatUnavailable: there is no answer, or it is no JSON object.
        """
