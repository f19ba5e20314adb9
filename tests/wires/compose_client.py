"""A client of Compose Memory over HTTP that holds each answer to the contract and the document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # no stubs

from day1.interfaces.http.openapi import openapi
from day1.ports.embedder import Embedder
from day1.toolsets.compose import COMPOSE
from tests.flows.opened_store import opened
from tests.wires.compose_contract import CONTRACT
from tests.wires.served_toolsets import served

WALLET: Final = "0xa1"
_numbers = count(1)


@cache
def served_document() -> dict[str, Any]:
    """The document that is served at `/openapi/compose.json`."""
    return openapi(COMPOSE.namespace, [COMPOSE])


@cache
def described(operation: str, status: int) -> Draft202012Validator:
    """The schema that the served document has for an operation's answers of a status."""
    document, facts = served_document(), CONTRACT["operations"][operation]
    answer = document["paths"][facts["path"]][facts["method"].lower()]["responses"][str(status)]
    if "$ref" in answer:
        answer = document["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    schema = answer["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": document["components"]})


class ComposeClient:
    """Calls operations by their ids: arguments go into the path, the query or the body."""

    def __init__(self, http: httpx2.Client, **headers: str) -> None:
        """Use an HTTP client; `headers` go with each request."""
        self.http, self.headers = http, headers

    def on_a_branch(self) -> ComposeClient:
        """A client on a new branch of the same store, whose main must be empty."""
        name = f"alone/{next(_numbers)}"
        made = self.http.post("/api/v1/memory_branch_create", json={"branch_name": name, "parent_branch": "main"})  # fmt: skip
        assert made.status_code < 300, made.text
        return ComposeClient(self.http, **{**self.headers, "Day1-Branch": name})

    def send(self, operation: str, /, **arguments: Any) -> httpx2.Response:
        """Send the request of an operation; the answer is one that the served document has."""
        response = self._sent(operation, arguments)
        described(operation, response.status_code).validate(response.json())
        return response

    def _sent(self, operation: str, arguments: dict[str, Any]) -> httpx2.Response:
        facts = CONTRACT["operations"][operation]
        places = {name: part["in"] for name, part in facts["parameters"].items()}
        path = facts["path"].format_map(
            {k: quote(str(v), safe="") for k, v in arguments.items() if places.get(k) == "path"}
        )
        rest = {k: v for k, v in arguments.items() if places.get(k) != "path"}
        has_body = facts["request"] is not None
        return self.http.request(
            facts["method"],
            path,
            params={} if has_body else {k: json.dumps(v) if isinstance(v, bool) else v for k, v in rest.items()},
            json=rest if has_body else None,
            headers=self.headers,
        )  # fmt: skip

    def ok(self, operation: str, /, **arguments: Any) -> Any:
        """Call an operation; the answer fits the contract, and its state stands in headers."""
        response = self.send(operation, **arguments)
        assert response.status_code == 200, response.text
        answer = response.json()
        Draft202012Validator(CONTRACT["operations"][operation]["answer"]).validate(answer)
        return answer

    def refused(self, status: int, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Call an operation that must fail with this status; returns the error."""
        response = self.send(operation, **arguments)
        assert response.status_code == status, response.text
        Draft202012Validator({"type": "object", "required": ["error"]}).validate(response.json())
        error: dict[str, Any] = response.json()["error"]
        assert {"code", "message"} <= error.keys()
        return error

    def problems(self, operation: str, /, **arguments: Any) -> list[str]:
        """The fields that a refusal with status 400 names."""
        found = self.refused(400, operation, **arguments)["details"]["problems"]
        return [problem["argument"] for problem in found]

    def day1(self, tool: str, /, **arguments: Any) -> Any:
        """Call one of day1's own operations on the same branch."""
        response = self.http.post(f"/api/v1/{tool}", json=arguments, headers=self.headers)
        assert response.status_code < 300, response.text
        return response.json()


@contextmanager
def composing(folder: Path, embedder: Embedder | None = None) -> Iterator[ComposeClient]:
    """Serve a new store in this process, by default without a model."""
    with opened(folder, create=True) as store:
        store.search = replace(store.search, embedder=embedder)
        with served(store) as http:
            yield ComposeClient(http)
