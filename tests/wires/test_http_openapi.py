"""The REST routes do what their OpenAPI description says, whatever they are asked (schemathesis)."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.wires.http_server import HttpServer

SEED = 5
FUZZING_S = {"/api/v1/openapi.json": 40, "/openapi/compose.json": 300}
"""The documents, each with the seconds for which its routes are asked at random."""
DAILY_SHARE = 4
"""Every run tries each fourth route; all of them are for once a week."""
LIMIT_S = 1200
"""A limit against a hang: a busy machine may take long for the cases of all routes."""
REVOKING = "/api/v1/token_revoke"
"""Left out: it would revoke the token that all requests have."""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
"""Not whether each request was rightly taken or refused: rules such as that of a time are more than
a schema says, and `1` for true is taken from agents that mean well."""


@pytest.mark.parametrize("document", FUZZING_S)
@pytest.mark.parametrize(
    ("phases", "share"),
    [
        ("coverage", DAILY_SHARE),
        pytest.param("coverage", 1, marks=pytest.mark.weekly),
        pytest.param("fuzzing", 1, marks=pytest.mark.weekly),
    ],
)
def test_every_route_answers_as_described(
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    phases: str,
    share: int,
    document: str,
) -> None:
    with HttpServer(tmp_path / "store", DAY1_HTTP__RATE="0") as server:
        token = server.token("root")
        paths = server.ask("GET", document, token).body["paths"]
        chosen = [path for path in list(paths)[::share] if path != REVOKING]
        done = subprocess.run(
            [
                *(Path(sys.executable).parent / "schemathesis", "run"),
                f"{server.address}{document}",
                *("-H", f"Authorization: Bearer {token}"),
                *("--checks", ",".join(CHECKS), "--phases", phases),
                *("--seed", str(SEED), "--continue-on-failure"),
                *(("--max-time", str(FUZZING_S[document])) if phases == "fuzzing" else ()),
                *(part for path in chosen for part in ("--include-path", path)),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-1_000:]
        assert server.ask("GET", "/health").status == 200
        asked = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in asked
    unasked = [
        path
        for path in chosen
        for method in paths[path]
        if not re.search(f"{method.upper()} {re.sub('{[^}]*}', '[^/ ]*', path)} ", asked)
    ]
    assert unasked == []
    record_property("summary", f"{asked.count('day1.access: ')} requests")
