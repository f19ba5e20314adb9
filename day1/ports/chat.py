"""A chat model that answers in a given form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from day1.errors import Json


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered. Units: tokens as the endpoint counts them, 0 where it does not."""

    value: dict[str, Any]
    """A JSON object. The schema was asked for; what is used of it is yet to be checked."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Chat(Protocol):
    """A model behind an endpoint; safe to share between threads."""

    @property
    def name(self) -> str:
        """The model, as answers and rows name it."""

    def ask(self, instructions: str, data: Json, schema: Mapping[str, Json], what: str) -> Answer:
        """Ask once; the endpoint's passing troubles are waited out.

        Args:
            instructions: what to do, in day1's own words. Text from memory never stands here.
            data: what to do it with, sent as one JSON document of its own: untrusted.
            schema: the JSON Schema of the object that is asked for.
            what: the schema's name: letters, digits and `_`.

        Raises:
            ChatUnavailable: no answer, or none that is a JSON object.
        """
