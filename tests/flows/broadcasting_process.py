"""A process that competes and broadcasts at a given instant, and prints all that came of it.

Arguments: the store's folder, and the instant in microseconds UTC.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from day1.model.records.desk import Desk
from day1.services.access.caller import Caller
from day1.toolsets.gwt import GWT
from tests.flows.opened_store import opened


def main() -> None:
    """Compete, broadcast, and print the answers, the text and the desks."""
    now = int(sys.argv[2])
    with opened(Path(sys.argv[1])) as store:
        ctx = replace(store, clock=lambda: now).context(Caller())
        answers: list[Any] = [
            GWT.tools[tool].call(ctx, {}) for tool in ("gwt_compete", "gwt_broadcast")
        ]
        desks = [desk.value for desk in store.repo.ledger.records(Desk)]
        print(json.dumps([answers, desks]))


if __name__ == "__main__":
    main()
