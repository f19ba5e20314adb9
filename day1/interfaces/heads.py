"""The HEAD of a client (the branch it is on), and the caller."""

from collections.abc import Mapping
from typing import Any

from day1.errors import Advice, UnknownBranch
from day1.model.branches.branch import MAIN, Branch
from day1.model.rows.origin import named
from day1.model.values.space import asked_space
from day1.services.access.caller import Caller, Head
from day1.services.branches.lookup import find, name_of
from day1.services.repository.repository import Repository
from day1.settings import Settings


class ProcessHead:
    """The HEAD of one process: it starts on a branch and is forgotten with the process.

    It holds the branch itself: another one that gets its name later is not the one meant. Only
    main is always meant by its name: it is never deleted, and has another id in a ledger made anew.
    """

    def __init__(self, repo: Repository, start: str) -> None:
        """Begin on a branch, which need not exist until it is used."""
        self._repo, self._name = repo, start
        self._held = repo.ledger.branch(start)

    def name(self) -> str:
        """The branch it points at.

        Raises:
            UnknownBranch: it is gone.
        """
        found = self._repo.ledger.branch(self._name)
        if self._held is None:
            self._held = found
        elif self._name != MAIN and (found is None or found.id != self._held.id):
            instead = name_of(self._repo, self._held.parent_id or "") or MAIN
            again = "" if found is None else f", or to {self._name!r} for the new one of its name"
            raise UnknownBranch(
                f"The branch {self._name!r} that you were on is gone.",
                Advice(
                    "{memory_branch_switch} to {instead}, then call again.",
                    instead=f"{instead!r}{again}",
                ),
                branch=self._name,
                instead=instead,
            )
        return self._name

    def move(self, name: str) -> None:
        """Point it at another branch."""
        self._name, self._held = name, find(self._repo, name)


class LedgerHead:
    """A HEAD that lasts: the CLI's, one per store, and those of tokens."""

    def __init__(self, repo: Repository, key: str) -> None:
        """Use the ledger's head of this key."""
        self._repo, self._key = repo, key

    def name(self) -> str | None:
        """The branch it points at; None until it is moved."""
        branch_id = self._repo.ledger.head(self._key)
        if branch_id is None:
            return None
        branch = self._repo.ledger.record(Branch, branch_id)
        if branch is not None:
            return branch.name
        raise UnknownBranch(
            "The branch you were on is gone: `day1 switch main` goes back to main.",
            head=self._key,
        )

    def move(self, name: str) -> None:
        """Point it at another branch."""
        self._repo.ledger.set_head(self._key, find(self._repo, name).id)


def said_in(meta: Mapping[str, Any] | None, key: str) -> str | None:
    """A name that a request's `_meta` gives for its call."""
    return named((meta or {}).get(f"day1/{key}"), f"_meta day1/{key}")


def spaced(text: str | None) -> str | None:
    """The space that a wire names for its calls, in its one way."""
    return None if text is None else asked_space(text)


def caller_of(settings: Settings, head: Head | None, meta: Mapping[str, Any] | None) -> Caller:
    """Who calls: the environment, and what the request's `_meta` says of this call."""
    return Caller(
        agent_id=said_in(meta, "agent_id") or settings.agent_id,
        session_id=said_in(meta, "session_id") or settings.session_id,
        task_id=said_in(meta, "task_id") or settings.task_id,
        branch=said_in(meta, "branch"),
        space=spaced(said_in(meta, "space") or settings.space),
        head=head,
        client=said_in(meta, "client"),
    )
