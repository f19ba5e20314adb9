"""Working sessions: the desks of sessions, which end a day after the last write."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import Conflict, Day1Error, InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.layers.thread import Thread
from day1.model.layers.working import LASTS, MOST_BYTES, WorkingMemory, working_memory
from day1.model.records.desk import Desk, desk_id, next_desk
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.kind import MESSAGE, canonical
from day1.model.values.wallet_space import Owner
from day1.ports.reading import Reading
from day1.services.branches.desks import write_desk
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

CLIENT: Final = "compose"
"""The client of the desks of working sessions."""


@dataclass(frozen=True, slots=True)
class WorkingSession:
    """A session's working memory, and its times in microseconds UTC."""

    memory: WorkingMemory
    created_at: int
    changed_at: int

    @property
    def expires_at(self) -> int:
        """When the working memory ends, unless it is written to before."""
        return self.changed_at + LASTS


def find_working(
    repo: Repository, branch: Branch, owner: Owner, session: str, now: int
) -> WorkingSession | None:
    """Find the working session of a wallet; None if it ended, or is of another user or device.

    A wallet without a user sees the sessions of all its users, by their ids.
    """
    desk = repo.ledger.record(Desk, desk_id(*_desk_key(branch, owner, session)))
    working_session = None if desk is None else _session_of(desk, now)
    if working_session is None:
        return None
    owner_pairs = (
        (owner.user, working_session.memory.user),
        (owner.device, working_session.memory.device),
    )
    is_hidden = any(
        None not in compared_ids and compared_ids[0] != compared_ids[1]
        for compared_ids in owner_pairs
    )
    return None if is_hidden else working_session


def write_working(
    repo: Repository,
    branch: Branch,
    key: tuple[Owner, str],
    change: Callable[[WorkingMemory], WorkingMemory],
    now: int,
) -> WorkingSession:
    """Change the working memory of an owner's session; one that ended begins anew.

    Args:
        repo: whose ledger has the desks.
        branch: the branch of the session.
        key: the owner and the session.
        change: makes the new working memory of the present one; it returns the very same object
            if there is nothing to write.
        now: the present time: microseconds UTC.

    Raises:
        Conflict: the session is of another user or device.
        UnknownBranch: the branch was deleted meanwhile.
        InvalidRequest: the working memory would be too long.
    """
    owner, session = key
    desk_key = _desk_key(branch, owner, session)
    exclusive_or_not: Callable[[], AbstractContextManager[None]] = nullcontext
    while True:
        with exclusive_or_not():
            desk = repo.ledger.record(Desk, desk_id(*desk_key))
            present_session = None if desk is None else _session_of(desk, now)
            memory = (
                WorkingMemory(owner.user, owner.device)
                if present_session is None
                else present_session.memory
            )
            if not memory.is_of(owner):
                raise Conflict(
                    "Another user or device works in the session: use another sessionId."
                )
            new_memory = change(memory)
            if new_memory is memory and present_session is not None:
                return present_session
            memory_json = _checked_value(new_memory)
            present_desk = None if present_session is None else desk
            new_desk = next_desk(present_desk, desk_key, memory_json, now)
            if write_desk(repo, desk, new_desk):
                return WorkingSession(new_memory, new_desk.created_at, new_desk.changed_at)
        exclusive_or_not = repo.ledger.transaction  # others wrote meanwhile: now they wait


def remember_messages(
    repo: Repository, branch: Branch, thread: Thread, message_ids: Sequence[str], now: int
) -> bool:
    """Record stored messages in the working session; return whether that was possible.

    The messages are stored whatever happens here.
    """

    def with_new_messages(memory: WorkingMemory) -> WorkingMemory:
        changed_memory = replace(memory.with_messages(message_ids), thread=thread.name)
        return memory if changed_memory == memory else changed_memory

    repo.point("turn.recorded")
    try:
        write_working(repo, branch, (thread.owner, thread.session), with_new_messages, now)
    except Day1Error as error:
        log.warning("the working session was not updated: %s", error.code)
        return False
    return bool(message_ids)


def lines_of(reading: Reading, memory: WorkingMemory) -> list[str]:
    """Return the lines of the caller, then the messages of turns that may be shown."""
    message_by_id = reading.get(MESSAGE, memory.messages)
    present_messages = (
        message_by_id[row_id] for row_id in memory.messages if row_id in message_by_id
    )
    shown_messages = (row for row in present_messages if row["content_hash"] != REDACTED_HASH)
    client_lines = memory.lines(reading.mask.hashes)
    return [*client_lines, *(f"{row['role']}: {row['content']}" for row in shown_messages)]


def drop_ended(repo: Repository, branch: Branch, wallets: Sequence[str], now: int) -> int:
    """Drop the working sessions of wallets that have ended; return how many there were."""
    with repo.ledger.transaction():  # else a session that begins anew meanwhile would be dropped
        ended_ids = [
            desk.id
            for desk in repo.ledger.records(Desk, branch_id=branch.id)
            if desk.client == CLIENT
            and desk.changed_at + LASTS <= now
            and json.loads(desk.name)[0] in wallets
        ]
        repo.ledger.remove(Desk, *ended_ids)
    return len(ended_ids)


def _desk_key(branch: Branch, owner: Owner, session: str) -> tuple[str, str, str]:
    return branch.id, CLIENT, canonical([owner.wallet, session])


def _session_of(desk: Desk, now: int) -> WorkingSession | None:
    if desk.changed_at + LASTS <= now:
        return None
    return WorkingSession(working_memory(desk.value), desk.created_at, desk.changed_at)


def _checked_value(memory: WorkingMemory) -> str:
    """Return a working memory as JSON.

    Raises:
        InvalidRequest: it is too long.
    """
    memory_json = memory.value
    byte_count = len(memory_json.encode())
    if byte_count > MOST_BYTES:
        problem = (
            f"the working memory would have {byte_count:,} bytes, and may have {MOST_BYTES:,}: "
            "shorten it, or give a shorter one with `replace`"
        )
        raise InvalidRequest(
            f"{memory.longest}: {problem}.",
            problems=[{"argument": memory.longest, "problem": problem}],
        )
    return memory_json
