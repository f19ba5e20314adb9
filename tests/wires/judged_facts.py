"""Claims for the tests of verification, and a fact as tools show it."""

from typing import Any

from tests.wires.mcp_session import Session

CLAIM = "The payment gateway of Acme times out after 30 seconds."
AGREES = "In staging the Acme payment gateway timed out after 30 seconds."
DENIES = "The payment gateway of Acme times out after 60 seconds."
KEY = "sk-wire-secret"
DIMENSIONS = ["accuracy", "relevance", "specificity"]
WORDS_ONLY = "keyword only: embedding is switched off (DAY1_EMBEDDER__KIND=none)"


def of(core: Session, branch: str, fact: str) -> dict[str, Any]:
    """A fact with every column that tools show."""
    diff = core.ok("memory_branch_diff", source_branch=branch, target_branch="empty")
    (found,) = [row for row in diff["new_facts"] if row["id"] == fact]
    return dict(found)
