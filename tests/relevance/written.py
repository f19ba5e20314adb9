"""The written memories and questions, and stores that hold them.

`memories/BRANCH.jsonl` are the memories of a branch:

- `main`: facts of a software company, written at once, so no order is known of them;
- `home`: two friends talk, as messages, in six sessions;
- `office`: two colleagues talk, as facts, in six sessions, and thirty notes in three;
- `people`: five facts about each of twenty people, in no order;
- `workshop`: observations of two agents, long ones and two words, and a few facts;
- `versions`: facts that differ in a date or a number, some of them superseded, in no order;
- `user`: what a user told, as facts, in no order;
- `messages`: what engineers of three projects wrote to an assistant or to one another, as long
  messages in twelve sessions, of which many end in a request;
- `updates`: thirty subjects, each stated two or three times over fifteen months with a new value,
  in other words and not marked as superseded;
- `answers`: a user asks an assistant in fourteen sessions, as messages; the answers are long.

`questions.jsonl` has questions to one branch, each with its type and the memories that answer it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Message
from day1.model.rows.kind import CONVERSATION, FACT, KINDS, MESSAGE, OBSERVATION, Kind, Row
from day1.model.rows.origin import Origin
from day1.model.values.instant import parse
from day1.services.branches.forking import create
from day1.services.branches.lookup import find
from day1.services.rows.recording import NewFact, NewObservation, fact_row, new_row, observation_row
from day1.services.search.indexing import embed_pending, follow

HERE = Path(__file__).parent
STORES = (
    ("main", "home", "office", "people", "workshop", "versions", "user"),
    ("messages", "updates"),
    ("answers",),
)
"""The branches of each store. A word is as rare as it is in the whole store, so branches that are
written later get a store of their own and do not change the figures of earlier ones."""
BRANCHES = tuple(branch for branches in STORES for branch in branches)
AT = "2025-01-07T09:00:00Z"
"""When the memories without a time were written: all at once."""


@dataclass(frozen=True)
class Question:
    """A question to a branch; `relevant` are the written ids of what answers it."""

    branch: str
    type: str
    question: str
    relevant: frozenset[str]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@cache
def memories(branch: str) -> list[dict[str, Any]]:
    return _lines(HERE / "memories" / f"{branch}.jsonl")


@cache
def questions() -> list[Question]:
    lines = _lines(HERE / "questions.jsonl")
    return [Question(**{**line, "relevant": frozenset(line["relevant"])}) for line in lines]


def written_id(row: Row) -> str:
    """The id of a memory in its file."""
    return str(row["id"]).partition("_")[2]


def _row(line: dict[str, Any]) -> tuple[Kind, Row]:
    at = parse(line.get("at", AT))
    origin = Origin(line.get("agent", "fixture"), line.get("session"))
    match line.get("kind", "fact"):
        case "message":
            said = {"content": line["text"], "role": line.get("role", "user")}
            where = {"conversation_id": f"conv_{line['session']}"}
            return MESSAGE, new_row(MESSAGE, f"msg_{line['id']}", said | where, origin, at)
        case "observation":
            observed = NewObservation(line["type"], line["text"])
            return OBSERVATION, observation_row(f"obs_{line['id']}", observed, origin, at)
    happened_at = parse(line["happened_at"]) if "happened_at" in line else None
    fact = NewFact(line["text"], category=line.get("category"), happened_at=happened_at)
    row = fact_row(f"fact_{line['id']}", fact, origin, at)
    if "superseded_by" in line:
        row |= {"status": "superseded", "superseded_by": f"fact_{line['superseded_by']}"}
    return FACT, row


def _write(opened: OpenStore, branch: str, lines: Iterable[dict[str, Any]]) -> None:
    rows = [_row(line) for line in lines]
    with opened.repo.store.changing(branch) as work:
        talks = {str(row["conversation_id"]): row for kind, row in rows if kind is MESSAGE}
        there = work.get(CONVERSATION, list(talks))
        for conversation_id, first in talks.items():
            if conversation_id not in there:
                at = int(str(first["created_at"]))
                talk = new_row(CONVERSATION, conversation_id, {}, Origin("fixture"), at)
                work.add(CONVERSATION, [talk])
        for kind in KINDS:
            mine = [row for each, row in rows if each is kind]
            if mine:
                work.add(kind, mine)
        work.commit(Message("import", f"import {len(rows)} rows"))


def fill(opened: OpenStore, branches: Sequence[str], *, halves: int) -> None:
    """Write these branches into a new store: first every second memory, then the others.

    So many halves of them get their vectors: 0, 1 or 2.
    """
    repo, index, embedder = opened.repo, opened.search.index, opened.search.embedder
    at = parse(AT)
    for branch in branches:
        if branch != "main":
            create(repo, branch, find(repo, "main"), at)
    for half in range(2):
        for branch in branches:
            _write(opened, branch, memories(branch)[half::2])
            follow(repo.store, repo.history, index, branch, find(repo, branch).id)
        if embedder is not None and half < halves:
            embed_pending(index, embedder, None)
