"""Archives: a wallet's memory as a file under its content id, and a fact that says what is in it.

An archive is a bundle of the rows of one wallet, in all of its spaces. Its bytes follow from the
bundle's commit and instant, and from the redactions: a redaction changes them and the id.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from day1.model.branches.branch import Branch
from day1.model.files.bundle import format_of
from day1.model.files.cid import cid_of
from day1.model.layers.row_detail import detail_of
from day1.model.records.sharing import Bundle
from day1.model.rows.change import CommitId, Message, ReadState, Ref
from day1.model.rows.kind import FACT, Cell, Row, canonical
from day1.model.rows.origin import Origin
from day1.model.values.instant import show
from day1.model.values.wallet_space import Owner
from day1.ports.pinning import Pinning, PinningFailed
from day1.services.archives.compressing import ARCHIVE
from day1.services.repository.repository import Repository
from day1.services.rows.recording import NewFact, fact_row
from day1.services.sharing.bundles import (
    NewBundle,
    add_bundle,
    exported_rows,
    file_lines,
    plan_bundle,
)

_COUNTED_TABLES: Final = ("fact", "relation", "conversation", "message")


@dataclass(frozen=True, slots=True)
class Archiving:
    """The wallet to archive, the author, and the rows' time range. Units: microseconds UTC."""

    branch: Branch
    owner: Owner
    """The owner whose wallet is archived: the rows of all users of the wallet."""
    origin: Origin
    after: int | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Archived:
    """A new archive: the id of its fact, its content id, its bundle, and the commit of the fact."""

    archive_id: str
    cid: str
    bundle: Bundle
    commit: CommitId


def create_archive(repo: Repository, archiving: Archiving) -> Archived | None:
    """Archive the rows of a wallet in one commit; None if it has none.

    Raises:
        UnknownBranch: there is no such branch.
    """
    owner = Owner(archiving.owner.wallet)
    new_bundle = NewBundle(
        "archive",
        verified_only=False,
        created_by=archiving.origin.agent_id,
        space=owner.space,
        after=archiving.after,
        before=archiving.before,
    )
    bundle = plan_bundle(repo, archiving.branch, new_bundle, repo.clock())
    count_by_table = {
        table_name: getattr(bundle, f"{table_name}_count") for table_name in _COUNTED_TABLES
    }
    if not any(count_by_table.values()):
        return None
    add_bundle(repo, bundle)
    archived_rows = exported_rows(repo, bundle)
    cid = cid_of(file_lines(bundle, archived_rows))
    archive_details = {
        "bundle_id": bundle.id,
        "cid": cid,
        "format": format_of(archived_rows),
        "counts": count_by_table,
        "after": archiving.after,
        "before": archiving.before,
    }
    repo.point("archive.bundled")
    with repo.store.changing(archiving.branch.name) as work:
        archive_id = repo.new_id(FACT.prefix, work.now)
        archive_fact = NewFact(_text(count_by_table, bundle), ARCHIVE, space=owner.space)
        columns: Row = {
            "structure": canonical({"archive": archive_details}),
            "detail": detail_of(owner),
        }
        work.add(FACT, [fact_row(archive_id, archive_fact, archiving.origin, work.now) | columns])
        commit = work.commit(Message("change", "describe an archive"))
    return Archived(archive_id, cid, bundle, commit)


def _text(counts: Mapping[str, int], bundle: Bundle) -> str:
    count_texts = [
        f"{count} {table_name}{'' if count == 1 else 's'}"
        for table_name, count in counts.items()
        if count
    ]
    start_words = "" if bundle.after is None else f" from {show(bundle.after)}"
    end_words = show(bundle.created_at if bundle.before is None else bundle.before)
    return f"Archive of {', '.join(count_texts)}{start_words} until {end_words}."


@dataclass(frozen=True, slots=True)
class Synced:
    """The present id of an archive's file, and whether the pinning service keeps the file."""

    cid: str
    """The content id that day1 computed, or a different one that the pinning service returned."""
    pinned: bool
    bundle_id: str
    notes: tuple[str, ...]
    state: ReadState


def sync_archive(
    repo: Repository, branch: Branch, owner: Owner, archive_id: str, pinning: Pinning | None
) -> Synced | None:
    """Compute the id of an archive's file and hand the file to the pinning service, if any.

    Returns None if the wallet has no such archive, or only a summary, which has no file.
    """
    with repo.store.reading(repo.shown(Ref(branch=branch.name))) as reading:
        archive_row = reading.get(FACT, [archive_id]).get(archive_id)
        read_state = reading.state
    description = (
        {}
        if archive_row is None or archive_row["space"] != owner.space
        else _about(archive_row["structure"])
    )
    bundle = repo.ledger.record(Bundle, str(description.get("bundle_id")))
    if bundle is None or bundle.space is None or bundle.space != owner.space:
        return None
    file_content = b"".join(file_lines(bundle, exported_rows(repo, bundle)))
    computed_cid = cid_of([file_content])
    notes = [] if computed_cid == description.get("cid") else [_changed(description.get("cid"))]
    final_cid, is_pinned = computed_cid, False
    if pinning is None:
        notes.append("No pinning service is configured: the file was handed to nobody.")
    else:
        try:
            final_cid = pinning.pin(f"{bundle.id}.jsonl", file_content)
            is_pinned = final_cid == computed_cid
        except PinningFailed as error:
            notes.append(f"The pinning service does not keep the file: {error}.")
    if final_cid != computed_cid:
        notes.append(f"The pinning service named an id of its own; ours is {computed_cid}.")
    return Synced(final_cid, is_pinned, bundle.id, tuple(notes), read_state)


def _about(cell: Cell) -> Mapping[str, Any]:
    """Read what the fact of an archive says about its file; empty for the fact of a summary."""
    try:
        archive_details = json.loads(str(cell)).get("archive")
    except (ValueError, AttributeError):
        return {}
    return archive_details if isinstance(archive_details, dict) else {}


def _changed(earlier: object) -> str:
    return (
        "The file differs from the one that the archive was made with, because rows were redacted "
        f"or history was rewritten since: its id was {earlier}."
    )
