"""A process that writes to one branch after the other until each is gone, for `test_deleting.py`.

Each line of stdin names a branch; the answer to it is a line of JSON: what was acknowledged, and
every refusal with its code and time.
"""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from day1.errors import Day1Error, UnknownBranch
from day1.interfaces.open_store import OpenStore
from tests.flows.opened_store import call, opened

THREADS = 2


def write_until_it_is_gone(store: OpenStore, branch: str, name: str, report: Any) -> None:
    number = 0
    while True:
        number += 1
        try:
            written = call(
                store, "memory_write_fact", fact_text=f"{name} says {number}", branch=branch
            )
        except Day1Error as error:
            refusal = {"code": error.code, "retryable": error.retryable, "at": time.monotonic()}
            report["refusals"].append(refusal)
            if isinstance(error, UnknownBranch):
                return
        else:
            report["acknowledged"].append(written["id"])


def main() -> None:
    folder, name = sys.argv[1:]
    with opened(Path(folder)) as store:
        print("ready", flush=True)
        for line in sys.stdin:
            report: dict[str, Any] = {"acknowledged": [], "refusals": []}
            writers = [
                threading.Thread(
                    target=write_until_it_is_gone,
                    args=(store, line.strip(), f"{name}{number}", report),
                )
                for number in range(THREADS)
            ]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
