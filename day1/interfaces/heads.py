"""The HEAD of a client (the branch it is on), and the caller of a local call."""

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
    """The HEAD of one process or session: it starts on a branch and ends with the process.

    It remembers the branch's id: a later branch of the same name is another branch. Only main is
    found by its name: it is never deleted, but gets a new id when the ledger is made anew.
    """

    def __init__(self, repo: Repository, start: str) -> None:
        """Start on a branch, which need not exist until it is used."""
        self._repo, self._name = repo, start
        self._held = repo.ledger.branch(start)

    def name(self) -> str:
        """Return the name of the branch.

        Raises:
            UnknownBranch: the branch was deleted.
        """
        branch = self._repo.ledger.branch(self._name)
        if self._held is None:
            self._held = branch
        elif self._name != MAIN and (branch is None or branch.id != self._held.id):
            parent_name = name_of(self._repo, self._held.parent_id or "") or MAIN
            or_new = "" if branch is None else f", or to {self._name!r} for the new one of its name"
            raise UnknownBranch(
                f"The branch {self._name!r} that you were on is gone.",
                Advice(
                    "{memory_branch_switch} to {instead}, then call again.",
                    instead=f"{parent_name!r}{or_new}",
                ),
                branch=self._name,
                instead=parent_name,
            )
        return self._name

    def move(self, name: str) -> None:
        """Move the HEAD to another branch."""
        self._name, self._held = name, find(self._repo, name)


class LedgerHead:
    """A HEAD stored in the ledger: the command line's, one per store, and those of tokens."""

    def __init__(self, repo: Repository, key: str) -> None:
        """Use the HEAD that the ledger has under a key."""
        self._repo, self._key = repo, key

    def name(self) -> str | None:
        """Return the name of the branch; None until the HEAD is first moved."""
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
        """Move the HEAD to another branch."""
        self._repo.ledger.set_head(self._key, find(self._repo, name).id)


def said_in(meta: Mapping[str, Any] | None, key: str) -> str | None:
    """Read a name, such as `agent_id`, from the `_meta` of a request."""
    return named((meta or {}).get(f"day1/{key}"), f"_meta day1/{key}")


def spaced(text: str | None) -> str | None:
    """Normalize the name of a space that a header, `_meta` or setting gives."""
    return None if text is None else asked_space(text)


def caller_of(settings: Settings, head: Head | None, meta: Mapping[str, Any] | None) -> Caller:
    """Build the caller from a request's `_meta`, else from the settings."""
    return Caller(
        agent_id=said_in(meta, "agent_id") or settings.agent_id,
        session_id=said_in(meta, "session_id") or settings.session_id,
        task_id=said_in(meta, "task_id") or settings.task_id,
        branch=said_in(meta, "branch"),
        space=spaced(said_in(meta, "space") or settings.space),
        head=head,
        client=said_in(meta, "client"),
    )
