"""A process that searches facts by a column that a test added, and prints what it found as JSON.

Arguments: the folder of a store, the column, and a value. It prints the columns of the table, the
facets of facts, what importers claim of them, and the ids that were found.
"""

import json
import sys
from pathlib import Path

from day1.adapters.rows.tables import TABLES
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.services.branches.lookup import find
from day1.services.search.request import SearchRequest
from day1.services.search.searching import search
from tests.flows.opened_store import call, opened


def main() -> None:
    folder, column, value = sys.argv[1:]
    with opened(Path(folder)) as store:
        call(store, "memory_search", query="gate")  # what is new enters the index
        request = SearchRequest("gate", kinds=("facts",), equal={column: value}, wait=True)
        branch = find(store.repo, "main")
        found = search(store.search, Ref(branch="main"), branch.id, request)
        answer = {
            "table": [column.name for column in TABLES[FACT.table].columns],
            "indexes": sorted(str(index.name) for index in TABLES[FACT.table].indexes),
            "facets": FACT.facets,
            "claimed": FACT.claimed,
            "found": [hit.row["id"] for hit in found.hits],
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
