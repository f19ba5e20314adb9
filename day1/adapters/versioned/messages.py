"""Commit messages: a readable line, then one line of JSON that day1 reads back."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from day1.errors import Json
from day1.model.rows.change import Commit, CommitId, Message
from day1.model.rows.kind import canonical
from day1.model.values.instant import SECOND

FOREIGN = "foreign"
_VERSION = 1
_MAX_LINE = 200


def encode(message: Message, ts: int, agents: Iterable[str], counts: Mapping[str, int]) -> str:
    """Write the message of a commit made at `ts` (microseconds UTC)."""
    known: dict[str, Json] = {
        **message.meta,
        "v": _VERSION,
        "op": message.op,
        "ts": ts,
        "id": message.id,
        "agents": sorted(agents),
        "counts": dict(counts),
    }
    line = message.line.replace("\n", " ").replace("\0", " ")[:_MAX_LINE]
    return f"{line}\n\n{canonical(known)}"


def encode_again(commit: Commit) -> str:
    """Write the message of a commit of another store as it was there, and which one that is."""
    known = {**commit.meta, "v": _VERSION, "op": commit.op, "ts": commit.ts, "from": commit.id}
    return f"{commit.line}\n\n{canonical(known)}"


def decode(
    commit: CommitId, parents: Iterable[CommitId], author: str, date: str, text: str
) -> Commit:
    """Read a commit; one without day1's JSON line counts with the engine's date."""
    line, _, rest = text.partition("\n")
    meta: dict[str, Json] = {}
    for candidate in reversed(rest.strip().splitlines()):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            break
        if isinstance(found, dict) and isinstance(found.get("ts"), int) and "op" in found:
            meta = found
        break
    ts = meta.get("ts")
    if not isinstance(ts, int):
        moment = datetime.fromisoformat(date).replace(tzinfo=UTC)
        ts = int(moment.timestamp()) * SECOND
    op = str(meta.get("op", FOREIGN))
    return Commit(commit, tuple(parents), op, ts, author, line, meta)


def author_of(agents: Iterable[str]) -> str:
    """The `--author` of a commit: the agent where all rows have one, else day1."""
    names = set(agents)
    name = names.pop() if len(names) == 1 else "day1"
    # The engine refuses a name that has parentheses: `ada (laptop)`.
    clean = "".join(c for c in name if c.isprintable() and c not in "<>()") or "day1"
    return f"{clean} <{clean.replace(' ', '-')}@day1>"
