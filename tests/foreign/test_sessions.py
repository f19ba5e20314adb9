"""A session of each client with what `day1 setup` wrote, where its program is on the PATH.

No account is needed: a stand-in (`stand_in.py`) is the model. It sees what the client tells it.
"""

import html
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine import needs_files
from tests.flows.heard import taken
from tests.flows.kill_scenarios import facts_on
from tests.flows.opened_store import make, opened
from tests.foreign.stand_in import FACT, SAYS, StandIn, stand_in

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "Where do swallows sleep?"
LIMIT_S = 180
RUNS = {
    "claude": ["claude", "--allowedTools=mcp__day1", "-p", PROMPT],
    "codex": ["codex", "exec", "--dangerously-bypass-hook-trust", PROMPT],
    "gemini": ["gemini", "--approval-mode", "yolo", "-m", "gemini-3-flash", "-p", PROMPT],
    "opencode": ["opencode", "run"],
}
OPENCODE: dict[str, object] = {
    "npm": "@ai-sdk/openai-compatible",
    "models": {"m": {"limit": {"context": 200_000, "output": 1_000}}},
}


def point(client: str, home: Path, model: StandIn) -> dict[str, str]:
    """Have a client ask the stand-in; what its environment has to say."""
    if client == "claude":
        return {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_CONNECTION_NONBLOCKING": "false",  # the only prompt waits for the server
            "MCP_CONNECT_TIMEOUT_MS": "60000",
        }
    if client == "codex":
        path = home / ".codex" / "config.toml"
        head = 'model = "m"\nmodel_provider = "m"\n'
        tail = (
            f'[model_providers.m]\nname = "m"\nbase_url = "{model.url}"\nwire_api = "responses"\n'
        )
        path.write_text(f"{head}{path.read_text()}required = true\n{tail}")
        return {}
    if client == "gemini":
        path = home / ".gemini" / "settings.json"
        key = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        quietly = {"privacy": {"usageStatisticsEnabled": False}}
        path.write_text(json.dumps({**json.loads(path.read_text()), **key, **quietly}))
        reached = {"GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "x"}
        return {**reached, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    path = home / ".config" / "opencode" / "opencode.json"
    provider = {**OPENCODE, "options": {"apiKey": "x", "baseURL": f"{model.url}/v1"}}
    chosen = {"provider": {"m": provider}, "model": "m/m"}
    path.write_text(json.dumps({**json.loads(path.read_text()), **chosen}))
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


@pytest.mark.weekly
@pytest.mark.parametrize("client", RUNS)
def test_a_session_is_told_what_there_is_and_is_heard(tmp_path: Path, client: str) -> None:
    if shutil.which(client) is None:
        pytest.skip(f"no `{client}` on the PATH")
    needs_files()
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home, project):
        folder.mkdir()
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "DAY1_EMBEDDER__KIND": "none",
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=project, env=env, capture_output=True, text=True, check=False,
            timeout=LIMIT_S, input=PROMPT if client == "opencode" else "",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
        return done.stdout

    run("git", "init", "-q")
    make(project / ".day1")
    run(sys.executable, "-m", "day1", "add", "The gateway answers at noon.")
    run(sys.executable, "-m", "day1", "setup", client)
    with stand_in() as model:
        env |= point(client, home, model)
        assert SAYS in run(*RUNS[client])
        first = next(asked for asked in model.asked if asked.get("tools"))
    told = html.unescape(json.dumps(first, ensure_ascii=False).replace('\\"', '"'))
    assert '<day1-memory branch="main"' in told
    assert "The gateway answers at noon." in told
    store = project / ".day1"
    (talk,) = taken(store).values()
    assert [(role, text.strip()) for role, text in talk] == [("user", PROMPT), ("assistant", SAYS)]
    with opened(store) as kept:
        assert list(facts_on(kept, "main").values()).count(FACT) == 1
