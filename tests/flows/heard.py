"""What of the sessions of clients has become memory, and what still waits."""

from pathlib import Path

from day1.formats import spool
from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import CONVERSATION, Row
from day1.services.conversations.order import messages_of
from tests.flows.opened_store import opened


def said(store: OpenStore, branch: str = "main") -> dict[str, list[tuple[str, str]]]:
    """Every conversation of a branch by its session and agent, in order."""
    with store.repo.store.reading(Ref(branch=branch)) as reading:
        talks = reading.find(CONVERSATION, Query())
        return {
            f"{talk['session_id']} {talk['agent_id']}": [
                (str(row["role"]), str(row["content"]))
                for _, row in messages_of(store.repo, reading, str(talk["id"]))
            ]
            for talk in talks
        }


def the_conversation(store: OpenStore, branch: str = "main") -> Row:
    with store.repo.store.reading(Ref(branch=branch)) as reading:
        (row,) = reading.find(CONVERSATION, Query())
    return row


def taken(folder: Path, branch: str = "main") -> dict[str, list[tuple[str, str]]]:
    with opened(folder) as store:
        return said(store, branch)


def all_taken(folder: Path) -> None:
    """A command takes in for a second only."""
    while waiting(folder):
        taken(folder)


def waiting(folder: Path) -> list[str]:
    return [path.name for path in (folder / spool.FOLDER).glob("*.jsonl")]
