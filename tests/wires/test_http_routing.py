"""The routes of all toolsets are found by their path, as if they were compared one by one."""

from typing import Any, cast

import pytest
from starlette.routing import Match, Route

from day1.interfaces.http import rest
from day1.toolsets.over_http import TOOLSETS

(LOOKUP,) = cast("list[Any]", rest.routes(TOOLSETS, cast("Any", None)))
ROUTES: list[Route] = LOOKUP._routes
PATHS = sorted({route.path for route in ROUTES})


def scope_of(path: str, method: str = "POST") -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path}


def first_by_comparing(scope: dict[str, Any]) -> Route | None:
    return next((route for route in ROUTES if route.matches(scope)[0] is not Match.NONE), None)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_found_as_by_comparing(path: str) -> None:
    for asked in (path, path.replace("{", "").replace("}", ""), f"{path}/", f"{path}/more"):
        scope = scope_of(asked)
        route = first_by_comparing(scope)
        match, found = LOOKUP.matches(scope)
        assert (match is Match.NONE) == (route is None)
        if route is not None:
            expected_match, expected = route.matches(scope)
            assert match is expected_match
            assert found == {**expected, "day1.route": route}


def test_fixed_paths_are_looked_up_and_others_have_their_parameters() -> None:
    assert len(PATHS) > 100
    assert LOOKUP.matches(scope_of("/api/memory/nothing/of/this/kind")) == (Match.NONE, {})
    match, found = LOOKUP.matches(scope_of("/api/memory/items/fact_1", "GET"))
    assert match is Match.FULL
    assert list(found["path_params"].values()) == ["fact_1"]


def test_a_document_takes_only_get() -> None:
    for namespace, _ in rest.namespaces(TOOLSETS):
        assert LOOKUP.matches(scope_of(namespace.document))[0] is Match.PARTIAL
        assert LOOKUP.matches(scope_of(namespace.document, "GET"))[0] is Match.FULL
