"""Answers from any endpoint that speaks OpenAI's `POST /v1/chat/completions`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from day1.adapters.http_json import Bounds, EndpointFailed, JsonEndpoint
from day1.errors import ChatUnavailable, Json
from day1.ports.chat import Answer, Chat

_ANSWER_BYTES = 1024 * 1024
_MOST_TOKENS = 2**40
_FENCED = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)


class OpenAiChat(Chat):
    """A `Chat` over HTTP; safe to share between threads."""

    def __init__(
        self, url: str, model: str, *, key: str = "", timeout_s: float = 60.0, tries: int = 3
    ) -> None:
        """Set the endpoint (`https://host/v1`, with or without the path) and its model.

        Raises:
            InvalidRequest: the address is not http or https.
        """
        bounds = Bounds(timeout_s, tries, _ANSWER_BYTES)
        self._endpoint = JsonEndpoint(url, "/chat/completions", key=key, bounds=bounds)
        self._model = model

    @property
    @override
    def name(self) -> str:
        return self._model

    @override
    def ask(self, instructions: str, data: Json, schema: Mapping[str, Json], what: str) -> Answer:
        answer_format: Json = {"name": what, "strict": True, "schema": schema}
        request_body: Json = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": json.dumps(data, ensure_ascii=False)},
            ],
            "response_format": {"type": "json_schema", "json_schema": answer_format},
        }
        try:
            response = self._endpoint.post(request_body)
            answer_object = _object(response["choices"][0]["message"]["content"])
            token_usage = response.get("usage") or {}
            token_counts = (
                _count(token_usage.get(f"{token_kind}_tokens"))
                for token_kind in ("prompt", "completion")
            )
            return Answer(answer_object, *token_counts)
        except EndpointFailed as error:
            raise self._unavailable(str(error)) from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise self._unavailable("its answer is not the JSON that was asked for") from None

    def _unavailable(self, reason: str) -> ChatUnavailable:
        return ChatUnavailable(
            f"The chat model at {self._endpoint.host} cannot be used: {reason}. Check "
            "DAY1_CHAT__URL, __MODEL and __KEY."
        )


def _object(content: str) -> dict[str, Any]:
    """Read the one JSON object of a message; some models put it into a code fence."""
    fence_match = _FENCED.fullmatch(content)
    json_object = json.loads(fence_match[1] if fence_match else content)
    if not isinstance(json_object, dict):
        raise TypeError
    return json_object


def _count(tokens: object) -> int:
    """Return a number of tokens as an endpoint states it; 0 for anything else."""
    return tokens if type(tokens) is int and 0 <= tokens <= _MOST_TOKENS else 0
