"""The bytes of an HTTP answer."""

import json

import pytest

from day1.errors import InvalidRequest
from day1.interfaces.http.answers import Utf8JSONResponse
from day1.interfaces.http.failures import failure


def test_half_of_a_character_in_stored_json_fails_no_answer() -> None:
    stored = json.loads('{"arguments": "Zürich \\ud83d", "whole": "\\ud83d\\udc26"}')
    assert Utf8JSONResponse(stored).body == '{"arguments":"Zürich ?","whole":"🐦"}'.encode()


def test_an_error_may_quote_half_of_a_character() -> None:
    body = failure(InvalidRequest("No branch is called \ud83d.")).body
    assert json.loads(bytes(body))["error"]["message"] == "No branch is called ?."


def test_a_number_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        Utf8JSONResponse({"score": float("nan")})
