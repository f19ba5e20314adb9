"""A day of normal use on a new store in FOLDER, the only argument: commands, a server, an agent.

Run under a watch by `test_privacy.py`. It lives in FOLDER, as a user does in a project.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import until
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import WAIT_S, Session


def main() -> None:
    folder = Path(sys.argv[1])
    os.chdir(folder)
    store = folder / ".day1"
    (folder / "notes.md").write_text("# Deploys\n\nThe deploy job needs 4 GB.\n", "utf-8")
    day1("init")
    for text in ("The gateway times out after 30 seconds", "Billing is owned by the blue team"):
        day1("add", text)
    day1("search", "who pays attention to invoices?")
    day1("branch", "feature")
    day1("add", "The cache holds 512 entries", "-b", "feature")
    day1("merge", "feature")
    day1("import", "markdown", "notes.md")
    day1("export", "-o", "memory.jsonl")
    day1("backup", "memory.tar.gz")
    model: dict[str, Any] = {"DAY1_EMBEDDER__KIND": "minilm"}
    with Session(store, **model) as session:
        session.ok("memory_write_fact", fact_text="Exports run at night")
        session.ok("memory_search", query="when are exports made?", search_type="vector")
    chroma: dict[str, Any] = {"DAY1_SEARCH__CHROMA": "true", "DAY1_SEARCH__CHROMA_ROWS": "0"}
    with HttpServer(store, **model, **chroma) as server:
        with HttpSession(server) as session:
            session.ok("memory_write_fact", fact_text="Reports are kept for a year")
            session.ok("memory_search", query="how long are reports kept?", search_type="vector")
        assert server.http.get("/review/branches/main").status_code == 200
        await_chroma(store)
    day1("gc")
    day1("doctor")


def day1(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "day1", *arguments], check=True)


def await_chroma(store: Path) -> None:
    """Wait until the server's background worker has opened Chroma's files."""
    made, opening = store / "chroma" / "chroma.sqlite3", store / "chroma.opening"
    until(lambda: made.exists() and not opening.exists(), "a process opens Chroma", WAIT_S)


if __name__ == "__main__":
    main()
