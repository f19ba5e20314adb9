"""The same desk, rows and instant give the same bytes, in whatever process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from day1.services.access.caller import Caller
from day1.toolsets.gwt import GWT
from tests.engine import needs_files
from tests.flows.opened_store import opened

ROOT = Path(__file__).resolve().parents[2]
MILLS = ("Selm", "Unna", "Bork", "Hamm", "Werl", "Soest")


def test_no_process_or_hash_seed_changes_a_broadcast(tmp_path: Path) -> None:
    needs_files()
    with opened(tmp_path / "store", create=True) as store:
        ctx = store.context(Caller())
        first = None
        for number, mill in enumerate(MILLS):
            for text in (
                f"The mill in {mill} grinds rye.",
                f"The owner of {mill} sold {number} oxen.",
            ):
                note: dict[str, Any] = {"content": text, "tags": [mill, "mill", "rye"]}
                link: dict[str, Any] = {} if first is None else {"link_to": first}
                stored = GWT.tools["gwt_store"].call(ctx, note | link)
                first = first or stored["id"]
        GWT.tools["gwt_set_goal"].call(ctx, {"description": "Which mill grinds rye in Selm?"})
        instant = store.clock() + 1_000_000
    said = []
    for seed in ("0", "1", "4711"):
        folder = tmp_path / seed
        shutil.copytree(tmp_path / "store", folder)
        done = subprocess.run(
            [sys.executable, "-m", "tests.flows.broadcasting_process", str(folder), str(instant)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout)
    assert "grinds rye" in said[0]
    assert said[1:] == said[:1] * 2
