"""Programs that share a memory by `import day1`: none is lost, also where one is killed."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

import day1
from tests.engine import needs_files
from tests.forkserver import python

ROOT = Path(__file__).resolve().parents[2]
QUIET = {"embedder": {"kind": "none"}, "store": {"wait_s": 60}}
PROCESSES, THREADS, WRITES = 4, 4, 12

WRITING = f"""
import sys, threading
import day1

folder, name = sys.argv[1:]
memory = day1.connect(folder, settings={QUIET!r})

def write(thread):
    for number in range({WRITES}):
        memory.add(f"Process {{name}}, thread {{thread}}, number {{number}}.")

threads = [threading.Thread(target=write, args=(each,)) for each in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
KILLED = f"""
import sys
import day1

memory = day1.connect(sys.argv[1], settings={QUIET!r})
with memory.batch("together", request_id="together") as batch:
    for number in range(3):
        batch.add(f"Part {{number}} of one batch.")
    batch.update(sys.argv[2], category="changed")
"""


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DAY1_")}
    return {**kept, "PYTHONPATH": str(ROOT), **variables}


def test_processes_with_threads_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    needs_files()
    folder = tmp_path / "store"
    with day1.connect(folder, settings=QUIET) as memory:
        running = [
            subprocess.Popen(
                [*python(), "-c", WRITING, str(folder), str(number)], env=environment()
            )
            for number in range(PROCESSES)
        ]
        assert [each.wait(300) for each in running] == [0] * PROCESSES
        count = PROCESSES * THREADS * WRITES
        pages = [memory.rows("fact", limit=200, offset=at) for at in range(0, count + 1, 200)]
        texts = [row["fact_text"] for page in pages for row in page]
        assert len(texts) == len(set(texts)) == count


@pytest.mark.parametrize(
    ("point", "done"), [("change.before_commit", False), ("change.after_commit", True)]
)
def test_a_batch_whose_process_is_killed_is_whole_or_not_there(
    tmp_path: Path, point: str, done: bool
) -> None:
    needs_files()
    folder = tmp_path / "store"
    with day1.connect(folder, settings=QUIET) as memory:
        made = memory.add("This is changed.")
    command = [*python(), "-c", KILLED, str(folder), made.id]
    killed = subprocess.run(command, env=environment(DAY1_KILL_AT=point), timeout=120)
    assert killed.returncode == -signal.SIGKILL
    with day1.connect(folder, settings=QUIET) as memory:
        assert memory.rows("fact").total == (4 if done else 1)
        assert (memory.row(made.id).row["category"] == "changed") is done
    again = subprocess.run(command, env=environment(), timeout=120, capture_output=True)
    assert (again.returncode, again.stderr) == (0, b"")
    with day1.connect(folder, settings=QUIET) as memory:
        assert memory.rows("fact").total == 4
        assert len([commit for commit in memory.log() if commit.line.startswith("batch")]) == 1
