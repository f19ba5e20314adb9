"""The ledger and the counts of shown memories, as seen with a token that has limits.

Each kind of record says which branches it is about (`RecordKind`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, Final, Protocol, TypeVar

from typing_extensions import override

from day1.errors import Forbidden
from day1.model.access.permissions import Access
from day1.model.branches.branch import Branch
from day1.model.lessons.rating import Votes, given_on
from day1.model.records.intent import Intent, IntentKind
from day1.model.redaction.mask import Mask
from day1.model.rows.change import CommitId
from day1.model.values.record_kind import RecordKind
from day1.ports.ledger import Ledger
from day1.ports.uses import Branches, Use, Uses
from day1.services.repository.repository import Repository

P = TypeVar("P")
T = TypeVar("T")
_LIMITS_KEPT: Final = 64
"""Sets of limits whose votes are cached, at most."""


class Reached(Protocol):
    """A source of the commits that visible branches have in their past."""

    def reaches(self, commit: CommitId) -> bool:
        """Whether a visible branch has a commit in its past."""


def of_every_branch(what: str) -> Forbidden:
    """Build the error for a call that is about the whole store."""
    return Forbidden(f"{what} is about every branch: use a token without limits.")


class ScopedLedger(Ledger):
    """A ledger with only the records of visible branches, and without tokens and intents.

    Writing a record of another branch, or asking for one by its name, raises `Forbidden`.
    """

    def __init__(self, repo: Repository, access: Access, history: Reached) -> None:
        """Limit the ledger of a store to what `access` may see."""
        self._repo, self._ledger, self._access = repo, repo.ledger, access
        self._history = history

    @property
    @override
    def is_limited(self) -> bool:
        return True

    def _shows(self, record: Any) -> bool:
        """Whether everything that a record is about is visible."""
        record_kind: RecordKind = record.KIND
        return (
            bool(record_kind.branch_names or record_kind.branch_ids or record_kind.part_of)
            and all(
                self._access.sees(getattr(record, field_name))
                for field_name in record_kind.branch_names
            )
            and all(
                self._sees(getattr(record, field_name)) for field_name in record_kind.branch_ids
            )
            and all(
                self._history.reaches(getattr(record, field_name))
                for field_name in record_kind.commits
            )
            and all(
                self.record(whole_type, getattr(record, field_name)) is not None
                for field_name, whole_type in record_kind.part_of.items()
            )
        )

    def _sees(self, branch_id: str | None) -> bool:
        return branch_id is not None and self.record(Branch, branch_id) is not None

    def _check(self, records: Sequence[object]) -> None:
        """Refuse to write or overwrite records of branches that are not visible.

        Raises:
            Forbidden: a record is, or would replace such a record.
        """
        for record in records:
            stored_record = self._ledger.record(type(record), record.id)  # type: ignore[attr-defined]  # every record has one
            if not self._shows(record) or not (stored_record is None or self._shows(stored_record)):
                raise Forbidden(
                    "This token may not write records about other branches: use a token for those "
                    "branches."
                )

    def transaction(self) -> AbstractContextManager[None]:
        """Make the writes of the block one transaction."""
        return self._ledger.transaction()

    @override
    def check(self) -> list[str]:
        raise of_every_branch("A check")

    def same_version(self) -> AbstractContextManager[None]:
        """Let this thread ask for the ledger's stamp only once during the block."""
        return self._ledger.same_version()

    def stamp(self) -> Hashable:
        """Return a value that changes with every write to the ledger."""
        return self._ledger.stamp()

    def mask(self) -> Mask:
        """Return the redactions of all branches."""
        return self._ledger.mask()

    def votes(self) -> Votes:
        """Return the votes that were given on visible branches."""
        all_votes, votes_by_limits = self._ledger.votes(), self._repo.votes_kept
        visible_ids = frozenset(branch.id for branch in self.branches())
        cached_votes = votes_by_limits.get(self._access.branches)
        if (
            cached_votes is None
            or cached_votes[0] is not all_votes
            or cached_votes[1] != visible_ids
        ):
            if len(votes_by_limits) >= _LIMITS_KEPT:
                votes_by_limits.clear()
            cached_votes = votes_by_limits[self._access.branches] = (
                all_votes,
                visible_ids,
                given_on(all_votes, visible_ids),
            )
        return cached_votes[2]

    def branches(self) -> list[Branch]:
        """Return the visible branches, retired ones too, oldest first."""
        return [branch for branch in self._ledger.branches() if self._shows(branch)]

    @override
    def branch(self, name: str) -> Branch | None:
        self._access.check(name)
        return self._ledger.branch(name)

    @override
    def put_branch(self, branch: Branch) -> None:
        self._access.check(branch.name)
        with self._ledger.transaction():
            self._check([branch])
            self._ledger.put_branch(branch)

    def remove_branch(self, branch_id: str) -> None:
        """Delete the record of a visible branch."""
        self.remove(Branch, branch_id)

    def record(self, kind: type[T], record_id: str) -> T | None:
        """Find a visible record by id."""
        stored_record = self._ledger.record(kind, record_id)
        return stored_record if stored_record is not None and self._shows(stored_record) else None

    def records(self, kind: type[T], **equal: str) -> list[T]:
        """Find the visible records of a kind that have these values."""
        return [record for record in self._ledger.records(kind, **equal) if self._shows(record)]

    def swap(self, expected: T | None, record: T) -> bool:
        """Write a visible record if the stored one is still equal to `expected`."""
        with self._ledger.transaction():
            self._check([record])
            return self._ledger.swap(expected, record)

    def put(self, *records: object) -> None:
        """Write records by id; Forbidden if one is about a branch outside of the token's limits."""
        with self._ledger.transaction():
            for record in records:  # the next may be about a branch that this one creates
                self._check([record])
                self._ledger.put(record)

    @override
    def remove(self, kind: type, *record_ids: str) -> None:
        with self._ledger.transaction():
            for record_id in record_ids:
                self._check(self._ledger.records(kind, id=record_id))
            self._ledger.remove(kind, *record_ids)

    def open_intent(
        self, kind: IntentKind[Any, P], payload: P, now: int, names: Collection[str] = ()
    ) -> AbstractContextManager[None]:
        """Open an intent about visible branches, after recovery of intents of dead processes.

        Raises:
            Forbidden: the intent is about other branches.
        """
        payload_fields = asdict(payload)  # type: ignore[call-overload]  # a dataclass
        branch_fields = payload_fields.get("branch", {})
        optional_names = [
            payload_fields.get("name"),
            payload_fields.get("target"),
            branch_fields.get("name"),
        ]
        branch_ids = [
            payload_fields[id_field]
            for id_field in ("source_id", "target_id")
            if id_field in payload_fields
        ]
        branch_names = [name for name in optional_names if name is not None]
        if not branch_names and not branch_ids:
            raise of_every_branch(f"To {kind.name}")
        for name in branch_names:
            self._access.check(name)
        if not all(map(self._sees, branch_ids)):
            raise self._access.outside()
        return self._ledger.open_intent(kind, payload, now, names)

    def ending(self, *, own: bool = False) -> AbstractContextManager[None]:
        """Make the writes of the block and the end of the open intent one transaction."""
        return self._ledger.ending(own=own)

    def exclusive(self, *names: str) -> AbstractContextManager[None]:
        """Keep other intents with these names, or all, from being opened during the block."""
        return self._ledger.exclusive(*names)

    def recover_orphans(self) -> int:
        """Recover intents whose process has died."""
        return self._ledger.recover_orphans()

    def open_intents(self) -> list[Intent]:
        """Return no intents: a token with limits sees none."""
        return []

    def head(self, key: str) -> str | None:
        """Return the id of the branch that a client's HEAD points at; None if not visible."""
        branch_id = self._ledger.head(key)
        return branch_id if self._sees(branch_id) else None

    def heads(self) -> dict[str, str]:
        """Return the HEADs that point at visible branches: branch id by client."""
        all_heads = self._ledger.heads().items()
        return {
            client_key: branch_id
            for client_key, branch_id in all_heads
            if self.record(Branch, branch_id) is not None
        }

    @override
    def set_head(self, key: str, branch_id: str) -> None:
        if not self._sees(branch_id):
            raise self._access.outside()
        self._ledger.set_head(key, branch_id)


class ScopedUses(Uses):
    """Counts of how often memories were shown on visible branches."""

    def __init__(self, uses: Uses, ledger: Ledger, access: Access) -> None:
        """Limit a machine's counts of shown memories to the branches of a limited ledger."""
        self._uses, self._ledger, self._access = uses, ledger, access

    @override
    def shown(self, row_ids: Sequence[str], at: int, branch_id: str) -> None:
        """Count that rows of a visible branch were shown.

        Raises:
            Forbidden: the branch is not visible.
        """
        if branch_id not in self._seen():
            raise self._access.outside()
        self._uses.shown(row_ids, at, branch_id)

    @override
    def known(self, branches: Branches = None) -> Mapping[str, Use]:
        return self._uses.known(self._within(branches))

    @override
    def of(self, row_ids: Collection[str], branches: Branches = None) -> Mapping[str, Use]:
        return self._uses.of(row_ids, self._within(branches))

    @override
    def most(self, count: int, branches: Branches = None) -> Mapping[str, Use]:
        return self._uses.most(count, self._within(branches))

    def _within(self, branches: Branches) -> Branches:
        visible_ids = self._seen()
        return visible_ids if branches is None else visible_ids & branches

    def _seen(self) -> frozenset[str]:
        return frozenset(branch.id for branch in self._ledger.branches())
