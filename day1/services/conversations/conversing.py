"""Conversations: log a message, read them in order, list them, and copy a part of one."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache

from day1.errors import InvalidRequest, NotFound
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Commit, CommitId, Query, Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE, Cell, Kind, Row, text_of, when
from day1.model.rows.message_order import Link, in_sequence, rivals
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.repository.idempotency import BY_REQUEST, reused, written_by
from day1.services.repository.repository import Repository

_HEADLINE = 60
"""Characters of a first message that stand for a title."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it is logged."""

    role: str
    content: str
    thinking: str | None = None
    tool_calls: str | None = None
    """Canonical JSON."""
    model: str | None = None
    happened_at: int | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A conversation with what its messages say of it."""

    row: Row
    title: str | None
    message_count: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Logged:
    """A message in its conversation; `added` are the rows that this call added."""

    message_id: str
    conversation_id: str
    sequence: int
    added: int
    notes: tuple[str, ...] = ()


# Writing


def start(
    repo: Repository, work: Additions, origin: Origin, title: str | None, happened_at: int | None
) -> str:
    """Begin a conversation in an open unit; gives its id."""
    conversation_id = repo.new_id(CONVERSATION.prefix, work.now)
    row = {"id": conversation_id, "title": title, "happened_at": happened_at}
    work.add(CONVERSATION, [{**row, **origin.columns(work.now)}])
    return conversation_id


def log(  # noqa: PLR0913 - what is said, where, and by which request
    repo: Repository,
    work: Additions,
    conversation_id: str | None,
    said: Said,
    origin: Origin,
    title: str | None = None,
    request_id: str | None = None,
) -> Logged | None:
    """Add a message at the end of a conversation or of a new one, in an open unit.

    What the request added before is not added again. Without a request id a message is always one
    more: a conversation is what was said, and "ok" or a tool's result may be said twice.

    None if the conversation is not on the branch.

    Raises:
        RequestReused: the request wrote something else.
    """
    message_id = repo.new_id(MESSAGE.prefix, work.now)
    columns: Row = {**asdict(said), "content_hash": content_hash(said.content)}
    if request_id is not None:
        place: Row = {} if conversation_id is None else {"conversation_id": conversation_id}
        first = written_by(work, MESSAGE, message_id, {**columns, **place})
        if first is not None:
            return _logged_before(repo, work, first)
    count, last, begun = 0, None, conversation_id is None
    if conversation_id is None:
        conversation_id = start(repo, work, origin, title, said.happened_at)
    elif not work.get(CONVERSATION, [conversation_id]):
        return None
    else:
        count = work.count(MESSAGE, {"conversation_id": conversation_id})
        last = _last(repo, work, conversation_id) if count else None
    row: Row = {
        "id": message_id,
        **columns,
        "conversation_id": conversation_id,
        "previous_id": last,
        **origin.columns(work.now),
    }
    work.add(MESSAGE, [row])
    return Logged(message_id, conversation_id, count + 1, 1 + begun)


def _logged_before(repo: Repository, work: Additions, message: Row) -> Logged:
    message_id, conversation_id = str(message["id"]), str(message["conversation_id"])
    place = order_of(repo, work, conversation_id).index(message_id) + 1
    return Logged(message_id, conversation_id, place, 0, (BY_REQUEST,))


def _last(repo: Repository, work: Additions, conversation_id: str) -> str:
    """The last message of a conversation that has some.

    Each is logged at the end, so the newest one is the last, unless messages came to the branch or
    left it since. Only then the cost grows with the conversation's own length.
    """
    equal = {"conversation_id": conversation_id}
    query = Query(equal=equal, created_after=0, descending=True, limit=1)
    ((newest, at),) = work.scan(MESSAGE, ("id", "created_at"), query)
    written, oldest = int(at or 0), work.pending.oldest
    waits = oldest is not None and written >= oldest  # it is later than every commit
    for commit in () if waits else repo.history.log(work.tip):
        if commit.ts < written:
            break
        if _may_bring(commit):
            return order_of(repo, work, conversation_id)[-1]
    return str(newest)


def fork(
    repo: Repository,
    work: Additions,
    branch: str,
    conversation: Row,
    messages: Sequence[Row],
    origin: Origin,
) -> tuple[str, int]:
    """Copy messages into a conversation of their own, in an open unit.

    Gives its id, and how many rows this call added: none if the request did before.

    Every row is new, so that nothing that happens to one conversation happens to the other. The
    conversation is the forking agent's, its messages are still those of who said them.

    Args:
        repo: makes the ids.
        work: of the branch that they go to.
        branch: they were read from, as the copies will say.
        conversation: as it is there, but for the title.
        messages: in sequence.
        origin: who forks.

    Raises:
        RequestReused: the request copied something else.
    """

    def copied(row: Row, row_id: str) -> Row:
        new: Row = {"id": row_id, "happened_at": when(row), "created_at": work.now}
        return {**row, **new, "origin_id": row["id"], "origin_branch": branch}

    conversation_id = repo.new_id(CONVERSATION.prefix, work.now)
    same = {"origin_id": conversation["id"]}
    if written_by(work, CONVERSATION, conversation_id, same) is not None:
        if not _has_copies(work, conversation_id, messages):
            raise reused(conversation_id)
        return conversation_id, 0
    work.add(CONVERSATION, [{**copied(conversation, conversation_id), **asdict(origin)}])
    # In order, since all are of one time and equal times are in the order of ids.
    ids = sorted(repo.new_id(MESSAGE.prefix, work.now) for _ in messages)
    chain = zip(messages, ids, [None, *ids], strict=False)
    rows = [
        {**copied(row, new), "conversation_id": conversation_id, "previous_id": previous}
        for row, new, previous in chain
    ]
    work.add(MESSAGE, rows)
    return conversation_id, len(rows) + 1


def _has_copies(work: Additions, conversation_id: str, messages: Sequence[Row]) -> bool:
    query = Query(equal={"conversation_id": conversation_id})
    copied = {origin for (origin,) in work.scan(MESSAGE, ("origin_id",), query)} - {None}
    return copied == {row["id"] for row in messages}


# Reading


def order_of(repo: Repository, reading: Reading, conversation_id: str) -> list[str]:
    """The ids of a conversation's messages in sequence, from 1, on the state that is read."""
    query = Query(equal={"conversation_id": conversation_id})
    rows = reading.scan(MESSAGE, ("id", "previous_id", "created_at"), query)
    return _ordered(repo, reading, [Link(*row) for row in rows])  # type: ignore[arg-type]  # of these columns


def messages_of(repo: Repository, reading: Reading, conversation_id: str) -> list[tuple[int, Row]]:
    """A conversation's messages with their sequence, from 1, on the state that is read."""
    found = reading.find(MESSAGE, Query(equal={"conversation_id": conversation_id}))
    rows = {str(row["id"]): row for row in found}
    links = [Link(i, r["previous_id"], r["created_at"]) for i, r in rows.items()]  # type: ignore[arg-type]  # of these columns
    return [(place, rows[i]) for place, i in enumerate(_ordered(repo, reading, links), start=1)]


def part_of(
    repo: Repository,
    reading: Reading,
    conversation_id: str,
    first: int | None = None,
    last: int | None = None,
) -> dict[Kind, list[Row]]:
    """A conversation with its messages from `first` to `last`, both included, in sequence.

    Raises:
        NotFound: it is not on the branch that is read; the message names those that have it.
        InvalidRequest: it ends before `first`.
    """
    found = reading.get(CONVERSATION, [conversation_id])
    if not found:
        raise unknown(repo, conversation_id, str(reading.branch))
    messages = messages_of(repo, reading, conversation_id)
    if first is not None and first > len(messages):
        raise InvalidRequest(
            f"The conversation has {len(messages)} messages on {reading.branch!r}, so none from "
            f"{first} on.",
            messages=len(messages),
            branch=reading.branch,
        )
    some = [row for _, row in messages[(first or 1) - 1 : last]]
    return {CONVERSATION: list(found.values()), MESSAGE: some}


def up_to(
    repo: Repository, conversation_id: str, message_id: str, looked: Sequence[str]
) -> tuple[str, Row, list[Row]]:
    """A conversation up to a message, with the branch it was found on: one of `looked`, or any.

    Raises:
        NotFound: no branch has the conversation, or none has the message in it.
    """
    source = next(branches_with(repo, MESSAGE, message_id, looked), None)
    source = source or next(branches_with(repo, CONVERSATION, conversation_id, looked), looked[-1])
    with repo.store.reading(Ref(branch=source)) as reading:
        part = part_of(repo, reading, conversation_id)
    ids = [row["id"] for row in part[MESSAGE]]
    if message_id not in ids:
        raise NotFound(
            f"{conversation_id} has no message {message_id!r}; memory_search_messages finds them.",
            conversation_id=conversation_id,
            message_id=message_id,
        )
    return source, part[CONVERSATION][0], part[MESSAGE][: ids.index(message_id) + 1]


def _ordered(repo: Repository, reading: Reading, links: Sequence[Link]) -> list[str]:
    return in_sequence(links, _arrivals(repo, reading.tip, rivals(links)))


def _arrivals(repo: Repository, tip: CommitId, some: Sequence[Link]) -> dict[str, int]:
    """When messages came to the past of `tip`: with a merge or the like, or as they were written.

    Asked only of messages that follow the same one, and only of commits that brought messages, by
    halving.
    """
    if not some:
        return {}
    oldest = min(link.created_at for link in some)
    bringing: list[Commit] = []
    for commit in repo.history.log(tip):
        if commit.ts <= oldest:
            break
        if _may_bring(commit):
            bringing.append(commit)
    bringing.reverse()
    ids = [link.id for link in some]

    @cache
    def present(commit: CommitId) -> frozenset[Cell]:
        with repo.store.reading(Ref(commit=commit)) as past:
            return frozenset(r[0] for r in past.scan(MESSAGE, ("id",), Query(among={"id": ids})))

    def came(link: Link) -> int:
        later = [commit for commit in bringing if commit.ts > link.created_at]
        place = bisect_left(later, 1, key=lambda commit: link.id in present(commit.id))
        brought = place < len(later) and link.id not in present(later[place].parents[0])
        return later[place].ts if brought else link.created_at

    return {link.id: came(link) for link in some}


def _may_bring(commit: Commit) -> bool:
    """Whether a commit may have brought messages from elsewhere, or taken some away."""
    counts = commit.meta.get("counts")
    return commit.op != "add" and (not isinstance(counts, Mapping) or MESSAGE.table in counts)


def recent(reading: Reading, equal: Mapping[str, Cell], limit: int) -> list[Listed]:
    """The conversations with these values, the one that was added to last first.

    The cost is that of the messages of the `limit` newest and the `limit` most active ones.
    """
    newest = Query(equal=equal, created_after=0, descending=True, limit=limit)
    ids = [str(row[0]) for row in reading.scan(CONVERSATION, ("id",), newest)]
    if len(ids) == limit:
        ids += _active(reading, equal, limit)
    rows = reading.get(CONVERSATION, ids)
    of_these = Query(among={"conversation_id": [*rows]})
    keys: dict[str, list[tuple[int, str]]] = {}
    for row in reading.scan(MESSAGE, ("conversation_id", "created_at", "id"), of_these):
        keys.setdefault(str(row[0]), []).append((int(row[1] or 0), str(row[2])))

    def updated(conversation_id: str) -> int:
        last = max(keys.get(conversation_id, ()), default=None)
        return int(rows[conversation_id]["created_at"] or 0) if last is None else last[0]

    shown = sorted(rows, key=lambda i: (updated(i), i), reverse=True)[:limit]
    untitled = {i: min(keys[i])[1] for i in shown if rows[i]["title"] is None and i in keys}
    firsts = reading.get(MESSAGE, [*untitled.values()])
    titles = {i: _headline(str(firsts[first]["content"])) for i, first in untitled.items()}
    return [
        Listed(
            rows[i], titles.get(i) or text_of(rows[i]["title"]), len(keys.get(i, ())), updated(i)
        )
        for i in shown
    ]


def _active(reading: Reading, equal: Mapping[str, Cell], limit: int) -> list[str]:
    """The ids of the conversations with the newest messages, read back as far as it takes."""
    most = 8 * limit
    while True:
        newest = Query(created_after=0, descending=True, limit=most)
        messages = reading.scan(MESSAGE, ("conversation_id",), newest)
        ids = list(dict.fromkeys(str(row[0]) for row in messages))
        rows = reading.get(CONVERSATION, ids)
        fit = [i for i in ids if i in rows and all(rows[i][c] == v for c, v in equal.items())]
        if len(fit) >= limit or len(messages) < most:
            return fit[:limit]
        most *= 4


def _headline(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _HEADLINE else f"{words[:_HEADLINE].rstrip()} \u2026"


# Finding


def branches_with(
    repo: Repository, kind: Kind, row_id: str, first: Sequence[str] = ()
) -> Iterator[str]:
    """The branches that have a row: of the `first` ones, then main, then the oldest."""
    there = repo.history.branches()
    every = (*first, MAIN, *(branch.name for branch in repo.ledger.branches()))
    for name in dict.fromkeys(every):
        if name in there:
            with repo.store.reading(Ref(branch=name)) as reading:
                if reading.get(kind, [row_id]):
                    yield name


def unknown(repo: Repository, conversation_id: str, branch: str) -> NotFound:
    """Say that a branch has not the conversation, and which have."""
    names = list(branches_with(repo, CONVERSATION, conversation_id))
    if names:
        where = f"It is on {', '.join(names[:10])}: memory_cherry_pick_conversation brings it."
    else:
        where = "No branch has it; memory_list_conversations shows those there are."
    return NotFound(
        f"There is no conversation {conversation_id!r} on {branch!r}. {where}",
        conversation_id=conversation_id,
        branch=branch,
        branches=names,
    )
