"""Many agents on one store lose nothing, whatever is killed under them.

`scripts/endurance` does the same with a thousand agents, and a kill every 20 seconds.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine import needs_files
from tests.flows.many_agents_killed import Plan, on_a_folder, on_two_nodes
from tests.servers import DoltServer

pytestmark = pytest.mark.weekly
PLAN = Plan(agents=160, every_s=10)
"""About two minutes' work, with a kill of each kind at least."""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it finds workers in /proc")
def test_agents_on_a_folder_whose_workers_are_killed(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    needs_files()
    record_property("summary", on_a_folder(tmp_path / "store", PLAN))


def test_agents_on_two_nodes_that_are_killed_and_their_server_twice(
    tmp_path: Path, own_dolt: DoltServer, record_property: Callable[[str, object], None]
) -> None:
    record_property("summary", on_two_nodes(tmp_path / "nodes", own_dolt, PLAN))
