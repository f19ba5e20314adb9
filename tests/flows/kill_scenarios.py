"""What `test_kills.py` and `scripts/kills` share: actions, what they come to, and the check after.

`State` is the whole memory as it must be: branch -> fact id -> text. Every action is known before it
is begun, so that of one that was cut off it can be asked whether it is whole or absent.
"""

import json
import os
import secrets
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from day1.interfaces.open_store import OpenStore
from day1.model.records.merge_record import MergeRecord
from day1.model.redaction.mask import REDACTED
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.model.values.ids import new_id
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.health.doctor import StoreLocation, check
from day1.services.search.indexing import embed_pending, follow
from day1.services.search.request import SearchRequest
from day1.services.search.searching import search
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows import killed_process
from tests.forkserver import python

ROOT = Path(__file__).resolve().parents[2]
Action = dict[str, Any]
State = dict[str, dict[str, str]]
UNIT_ROWS = 20


class Process:
    """A process that does actions on a store, killed at a named point if one is given."""

    def __init__(self, folder: Path, kill_at: str | None = None, *, behind_s: int = 0) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DAY1_")}
        if kill_at is not None:
            environment["DAY1_KILL_AT"] = kill_at
        self._process = subprocess.Popen(
            [*python(), "-m", "tests.flows.killed_process", str(folder), str(behind_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
            text=True,
        )
        self.units = 0
        """How many units of the import that runs were acknowledged."""
        self._read()

    def do(self, action: Action) -> Any:
        """Do an action to its end.

        Raises:
            Killed: the process died in it.
            Refused: day1 refused it.
        """
        self.units = 0
        try:
            print(json.dumps(action), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise Killed from None
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if "done" in answer:
                return answer["done"]
            if "refused" in answer:
                raise Refused(answer["refused"])
            self.units += 1
        raise Killed

    def kill(self) -> None:
        """`kill -9`, wherever it is."""
        self._process.send_signal(signal.SIGKILL)

    def end(self) -> tuple[int, str]:
        """Let it leave; says how it ended, and what it wrote to stderr."""
        _, errors = self._process.communicate()
        return self._process.returncode, errors


class Killed(Exception):
    """The process died in an action."""


class Refused(Exception):
    """day1 refused an action, with this code."""


def fact_id() -> str:
    return new_id(FACT.prefix, now())


def outcomes(state: State, action: Action, units: int = 0) -> Iterator[State]:
    """What memory may be after an action that was cut off: as before it, or as after it.

    Of an import any number of whole units, at least the `units` that were acknowledged.
    """
    if action["action"] == "import":
        facts = list(action["facts"].items())
        size = action["unit_rows"]
        for rows in range(units * size, len(facts) + size, size):
            yield after(state, {**action, "facts": dict(facts[:rows])})
        return
    yield state
    yield after(state, action)


def after(state: State, action: Action) -> State:
    """What memory is after an action that was acknowledged."""
    new = deepcopy(state)
    match action:
        case {"action": "write" | "change", "branch": branch, "id": row_id, "text": text}:
            new[branch][row_id] = text
        case {"action": "fork", "name": name, "parent": parent}:
            new[name] = dict(new[parent])
        case {"action": "delete" | "retire", "name": name}:
            del new[name]
        case {"action": "revive" | "undelete" | "curate" | "take", "name": name, "facts": facts}:
            new[name] = dict(facts)
        case {"action": "propose", "name": name, "target": target, "facts": facts}:
            # It is killed before it merges what may be merged unseen.
            new[target] = dict(new["main"])
            new[name] = {**new["main"], **facts}
        case {"action": "merge", "source": source, "target": target}:
            # Only rows that the target never had come from a fork in these stories.
            new[target] = {**new[source], **new[target]}
        case {"action": "import", "branch": branch, "facts": facts}:
            new[branch] |= facts
        case {"action": "redact" | "purge", "id": row_id}:
            for facts in new.values():
                facts.update({one: REDACTED for one in facts if one == row_id})
    return new


def check_after_kill(folder: Path, allowed: list[State]) -> State:
    """Open the store as the next command would, and check it; says which state it is in."""
    store = killed_process.opened(folder)
    try:
        found = {name: facts_on(store, name) for name in store.repo.history.branches()}
        assert found in allowed, _difference(found, allowed)
        check_doctor(store, folder)
        check_ledger(store)
        check_index(store, found)
        check_neighbours(store, folder, found)
    finally:
        store.close()
    return found


def facts_on(store: OpenStore, branch: str) -> dict[str, str]:
    with store.repo.store.reading(Ref(branch=branch)) as reading:
        rows = reading.scan(FACT, ("id", "fact_text"), Query())
    return {str(row_id): str(text) for row_id, text in rows}


def _difference(found: State, allowed: list[State]) -> str:
    lines = []
    for number, state in enumerate(allowed):
        for branch in found.keys() | state.keys():
            here, there = found.get(branch), state.get(branch)
            if here is None or there is None:
                lines.append(f"{number}: {branch} is {'gone' if here is None else 'there'}")
            elif here != there:
                missing, more = there.keys() - here.keys(), here.keys() - there.keys()
                other = [i for i in here.keys() & there.keys() if here[i] != there[i]]
                lines.append(f"{number}: {branch}: {missing=} {more=} {other=}")
    return "\n".join(lines)


def check_doctor(store: OpenStore, folder: Path) -> None:
    """`day1 doctor` finds nothing to complain of, and no action is half done."""
    place = StoreLocation(0, 1 << 40, read_only=False, chroma=False)
    bad = [f for f in check(store.repo, store.search, place) if f.level != "ok"]
    assert not bad, bad
    for name in ("ledger.db", "index.db"):
        connection = sqlite3.connect(folder / name)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], name
        connection.close()


def check_ledger(store: OpenStore) -> None:
    """Every branch knows where it was forked, and every merge of the engine has its record."""
    ledger, history = store.repo.ledger, store.repo.history
    for branch in ledger.branches():
        assert branch.name == "main" or (branch.parent_id and branch.fork_commit), branch
    graph = history.graph(list(history.branches().values()))
    merges = {commit.id: commit.meta["id"] for commit in graph if commit.op == "merge"}
    recorded = {record.commit: record.id for record in ledger.records(MergeRecord) if record.commit}
    assert merges == recorded


def check_index(store: OpenStore, state: State) -> None:
    """The index catches up, and finds the newest facts of each branch by words and by vector."""
    repo, ports = store.repo, store.search
    embedder = HashingEmbedder()
    object.__setattr__(ports, "embedder", embedder)
    for name, facts in state.items():
        branch = find(repo, name)
        follow(repo.store, repo.history, ports.index, name, branch.id)
        assert embed_pending(ports.index, embedder, None) == 0
        for row_id, text in list(facts.items())[-3:]:
            if text == REDACTED:
                continue
            for mode in ("keyword", "vector"):
                request = SearchRequest(text, mode=mode, limit=3)
                hits = search(ports, Ref(branch=name), branch.id, request).hits
                assert row_id in [hit.row["id"] for hit in hits], (name, mode, text)


def check_neighbours(store: OpenStore, folder: Path, state: State) -> None:
    """This process and a new one see each other's writes at once; `state` gets them too."""
    peer = Process(folder)
    for _ in range(2):
        ours = {"action": "write", "branch": "main", "id": fact_id(), "text": "ours"}
        theirs = {**ours, "id": fact_id(), "text": "theirs"}
        killed_process.write(store, ours)
        assert peer.do({**ours, "action": "look"}) == [ours["id"]]
        peer.do(theirs)
        assert killed_process.look(store, theirs) == [theirs["id"]]
        for action in (ours, theirs):
            state["main"][action["id"]] = action["text"]
    assert peer.end() == (0, "")


def facts(count: int, what: str) -> dict[str, str]:
    """So many facts, each with a word of its own by which search can tell it from all others."""
    return {fact_id(): f"{what} {secrets.token_hex(6)}" for _ in range(count)}


def story() -> list[Action]:
    """What is there before a kill: main, a side, a retired and a deleted branch, pending rows, an index."""
    first = fact_id()
    on_main = {"action": "write", "branch": "main"}
    return [
        {**on_main, "id": first, "text": "as first said"},
        {"action": "change", "branch": "main", "id": first, "text": "as said again"},
        {"action": "fork", "name": "side", "parent": "main"},
        {"action": "write", "branch": "side", "id": fact_id(), "text": "said on the side"},
        {"action": "fork", "name": "old", "parent": "side"},
        {"action": "retire", "name": "old"},
        {"action": "fork", "name": "gone", "parent": "side"},
        {"action": "delete", "name": "gone"},
        {"action": "embed", "branch": "main"},
        {**on_main, "id": fact_id(), "text": "said and waiting"},
    ]


def action_for(point: str, state: State) -> Action:
    """An action that passes a point."""
    row_id = next(iter(state["main"]))
    written = {"branch": "main", "id": fact_id(), "text": "written when killed"}
    kind = point.split(".", maxsplit=1)[0]
    actions: dict[str, Action] = {
        "add": {"action": "write", **written},
        "change": {"action": "change", "branch": "main", "id": row_id, "text": "changed at last"},
        "pending": {"action": "commit_pending", "branch": "main"},
        "fork": {"action": "fork", "name": "fresh", "parent": "main"},
        "fill": {
            "action": "curate",
            "name": "fresh",
            "parent": "main",
            "facts": dict(state["main"]),
        },
        "delete": {"action": "delete", "name": "side"},
        "merge": {"action": "merge", "source": "side", "target": "main"},
        "propose": {
            "action": "propose",
            "name": "proposed",
            "target": "tiered",
            "facts": {fact_id(): "note", fact_id(): "policy"},
        },
        "retire": {"action": "retire", "name": "side"},
        "revive": {"action": "revive", "name": "old", "facts": state["side"]},
        "undelete": {"action": "undelete", "name": "gone", "facts": state["side"]},
        "import": {
            "action": "import",
            "branch": "main",
            "facts": facts(3 * UNIT_ROWS, "imported"),
            "unit_rows": UNIT_ROWS,
        },
        "embed": {"action": "embed", "branch": "main"},
        "compact": {"action": "compact"},
        "redact": {"action": "redact", "id": row_id},
        "backup": {"action": "backup"},
        "restore": {"action": "restore"},
        "copy": {"action": "copy"},
        "purge": {"action": "purge", "id": row_id},
    }
    return actions[kind]


POINTS = (
    "add.before_commit",
    "add.after_commit",
    "pending.before_commit",
    "pending.after_commit",
    "change.after_pending",
    "change.before_commit",
    "change.after_commit",
    "fork.after_intent",
    "fork.after_engine",
    "fork.after_ledger",
    "fill.after_rows",
    "delete.after_intent",
    "delete.after_keep",
    "delete.after_engine",
    "delete.after_ledger",
    "merge.after_intent",
    "merge.after_engine",
    "merge.after_ledger",
    "propose.after_review",
    "retire.after_intent",
    "retire.marked",
    "retire.after_engine",
    "revive.after_intent",
    "revive.forked",
    "revive.after_ledger",
    "undelete.after_intent",
    "undelete.retired",
    "import.after_unit",
    "embed.vectors_written",
    "embed.before_commit",
    "redact.after_intent",
    "redact.after_ledger",
    "redact.after_index",
    "compact.before",
    "compact.done",
    "backup.ahead",
    "backup.copied",
    "backup.packed",
    "backup.checked",
    "restore.checked",
    "restore.published",
    "copy.marked",
    "copy.after_commit",
    "copy.replayed",
    "copy.before_whole",
    "copy.whole",
    "purge.after_intent",
    "purge.copied",
    "purge.replaced",
    "purge.after_ledger",
    "purge.scrubbed",
)


def told(folder: Path) -> State:
    """Make a store and let the story happen in it; says the state."""
    state: State = {"main": {}}
    process = Process(folder)
    for action in story():
        process.do(action)
        state = after(state, action)
    assert process.end() == (0, "")
    return state


def kill_at(point: str, folder: Path, state: State) -> State:
    """Let a process die at a point of an action, and check what it left; says the new state."""
    last = action_for(point, state)
    units = die_at(point, folder, last)
    return check_after_kill(folder, list(outcomes(state, last, units)))


def die_at(point: str, folder: Path, action: Action) -> int:
    """Let a process die at a point of an action; says how many units it acknowledged."""
    process = Process(folder, kill_at=point)
    try:
        process.do(action)
    except Killed:
        pass
    else:
        raise AssertionError(f"{point} was not passed")
    code, errors = process.end()
    assert code == -signal.SIGKILL, errors
    return process.units
