"""A process that opens stores, making them if needed, writes one fact and forks a branch in each.

Argument: its number. It says `ready` when all is imported, and `done` for each line, a folder.
"""

import sys
from pathlib import Path

from tests.flows.opened_store import call, opened, write


def main() -> None:
    number = sys.argv[1]
    print("ready", flush=True)
    for line in sys.stdin:
        with opened(Path(line.strip()), create=True) as store:
            write(store, f"fact {number}")
            call(store, "memory_branch_create", branch_name=f"branch-{number}")
        print("done", flush=True)


if __name__ == "__main__":
    main()
