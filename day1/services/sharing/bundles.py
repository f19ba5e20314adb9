"""Bundles: facts and conversations to import into other branches and other stores."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from day1.errors import Advice, BranchExists, Conflict
from day1.model.branches.branch import MAIN, Branch
from day1.model.branches.names import branch_part, numbered
from day1.model.files.bundle import BundleFile, bundle_lines, counted, digest, read_bundle
from day1.model.records.sharing import BUNDLES, FILLED, Bundle, ShelfStatus
from day1.model.rows.change import Ref
from day1.model.rows.kind import Kind, Row
from day1.services.branches.forking import fork
from day1.services.branches.lookup import find, find_open_again, first_commit
from day1.services.repository.idempotency import made_by
from day1.services.repository.repository import Repository, find_record
from day1.services.rows.binding import Brought
from day1.services.rows.spaces import spaces_below
from day1.services.rows.transplanting import (
    CopiedRows,
    Selection,
    commit_copy,
    put,
    select_rows,
    without_expired,
    without_private,
    without_secrets,
)


@dataclass(frozen=True, slots=True)
class NewBundle:
    """A bundle to create."""

    name: str
    description: str | None = None
    tags: tuple[str, ...] = ()
    verified_only: bool = True
    created_by: str | None = None
    space: str | None = None
    after: int | None = None
    before: int | None = None


def create_bundle(repo: Repository, source: Branch, new: NewBundle, now: int) -> Bundle:
    """Create a bundle of the active facts and conversations that a branch has now.

    With `verified_only` relations are left out, since nobody judges them.

    Raises:
        RequestReused: the request bundled something else.
    """
    bundle = plan_bundle(repo, source, new, now)
    bundle_fields = {"name": new.name, "description": new.description, "source_branch": source.name}
    earlier_bundle = made_by(
        repo.ledger, Bundle, bundle.id, **bundle_fields, verified_only=new.verified_only
    )
    if earlier_bundle is not None:
        return earlier_bundle
    add_bundle(repo, bundle)
    return bundle


def add_bundle(repo: Repository, bundle: Bundle) -> None:
    """Store the record of a planned bundle."""
    repo.ledger.put(bundle)


def plan_bundle(repo: Repository, source: Branch, new: NewBundle, now: int) -> Bundle:
    """Build the record of a bundle of what a branch has now, and count its rows."""
    commit_id = repo.store.commit_pending(source.name)
    bundle = Bundle(
        id=repo.new_id("bundle", now),
        source_branch=source.name,
        source_commit=commit_id,
        commit=commit_id,
        sha256="",
        status="active",
        created_at=now,
        **(asdict(new) | counted({})),
    )
    rows_by_kind = without_private(_rows_of(repo, bundle))
    return replace(bundle, sha256=digest(rows_by_kind), **counted(rows_by_kind))


def _rows_of(repo: Repository, bundle: Bundle) -> dict[Kind, list[Row]]:
    """Read the rows of a bundle as they may leave the store now.

    The rows of a bundle of one space are read as of the bundle's instant: its file is named by its
    content, which must not change with the clock.
    """
    ref = repo.shown(Ref(commit=bundle.commit))
    if bundle.space is not None:
        ref = replace(ref, shown_at=bundle.created_at)
    with repo.store.reading(ref) as reading:
        selection = Selection(
            verified_only=bundle.verified_only,
            relations=not bundle.verified_only,
            spaces=None if bundle.space is None else spaces_below(reading, bundle.space),
            after=bundle.after,
            before=bundle.before,
        )
        rows_by_kind = without_secrets(select_rows(reading, selection))
    return (
        rows_by_kind if bundle.space is None else without_expired(rows_by_kind, bundle.created_at)
    )


def find_bundle(repo: Repository, bundle_id: str) -> Bundle:
    """Find a bundle by its id.

    Raises:
        NotFound: no bundle has this id.
    """
    advice = Advice(
        "{knowledge_bundle_list} lists the bundles, and `day1 bundle import FILE` imports one "
        "from another store."
    )
    return find_record(repo, Bundle, bundle_id, advice)


def list_bundles(repo: Repository, status: ShelfStatus, limit: int) -> list[Bundle]:
    """Return bundles with a status, the newest first."""
    bundles = [bundle for bundle in repo.ledger.records(Bundle) if bundle.status == status]
    return bundles[::-1][:limit]


def deprecate_bundle(repo: Repository, bundle_id: str) -> Bundle:
    """Mark a bundle as deprecated; it can still be imported by its id.

    Raises:
        NotFound: there is no such bundle.
    """
    with repo.ledger.transaction():
        bundle = replace(find_bundle(repo, bundle_id), status="deprecated")
        repo.ledger.put(bundle)
    return bundle


def import_bundle(repo: Repository, bundle_id: str, target: Branch) -> CopiedRows:
    """Copy a bundle's rows to a branch. Rows that the branch has are counted and not changed.

    Raises:
        NotFound: there is no such bundle.
        UnknownBranch, BranchClosed, BranchProtected: the branch no longer accepts rows.
    """
    bundle = find_bundle(repo, bundle_id)
    rows_by_kind = _rows_of(repo, bundle)
    with repo.store.changing(find_open_again(repo, target).name) as unit_of_work:
        copied_rows = put(unit_of_work, target.name, rows_by_kind, brought=Brought())
        commit_copy(
            unit_of_work, copied_rows, "import", f"import {copied_rows.total} rows of a bundle"
        )
    return copied_rows


def export_bundle(repo: Repository, bundle_id: str) -> Iterator[bytes]:
    """Yield the lines of a bundle's file, without the thinking of messages.

    Raises:
        NotFound: there is no such bundle.
    """
    bundle = find_bundle(repo, bundle_id)
    yield from file_lines(bundle, exported_rows(repo, bundle))


def file_lines(bundle: Bundle, rows: Mapping[Kind, Sequence[Row]]) -> Iterator[bytes]:
    """Yield the lines of a bundle's file with the rows that are exported now."""
    # Rows redacted since the bundle was made are left out, so the file gets a digest of its own.
    yield from bundle_lines(replace(bundle, sha256=digest(rows)), rows)


def exported_rows(repo: Repository, bundle: Bundle) -> dict[Kind, list[Row]]:
    """Return a bundle's rows as they are exported: without the thinking of messages."""
    return without_private(_rows_of(repo, bundle))


def take_bundle(repo: Repository, lines: Iterable[bytes], now: int) -> Bundle:
    """Import a bundle's file into this store, on a new closed branch of its own.

    If the store has the bundle already, that bundle is returned.

    Raises:
        ImportBroken: the file is damaged; nothing was imported.
        Conflict: the store has a different bundle with this id.
    """
    bundle_file = read_bundle(lines)
    branch_names = [branch.name for branch in repo.ledger.branches()]
    # Read after the names: a process that imported this bundle meanwhile has recorded it by now.
    stored_bundle = repo.ledger.record(Bundle, bundle_file.id)
    if stored_bundle is not None:
        # Maybe only one of them has a row that expired: compare both without expired rows.
        unexpired_digest = digest(without_expired(bundle_file.rows, repo.clock()))
        if {bundle_file.sha256, unexpired_digest}.isdisjoint(
            (stored_bundle.sha256, digest(exported_rows(repo, stored_bundle)))
        ):
            raise Conflict(
                "This store has another bundle of the same id: ask for a new export, or import "
                "this file into another store.",
                bundle_id=bundle_file.id,
            )
        return stored_bundle
    base_name = f"{BUNDLES}/{branch_part(bundle_file.name)}/{branch_part(bundle_file.id[-8:])}"
    branch = Branch(
        id=repo.new_id("branch", now),
        name=numbered(base_name, branch_names),
        parent_id=find(repo, MAIN).id,
        fork_commit=first_commit(repo),
        created_at=now,
        description=bundle_file.description,
        closed=True,
    )
    bundle = _bundle_record(bundle_file)

    def fill() -> None:
        with repo.store.changing(branch.name) as unit_of_work:
            # A new branch has no removed rows, whatever edits came with the file.
            copied_rows = put(unit_of_work, branch.name, bundle_file.rows, back=True)
            commit_copy(
                unit_of_work, copied_rows, "import", f"take {copied_rows.total} rows of a bundle"
            )

    try:
        fork(repo, branch, bundle, fill=fill)
    except BranchExists:
        if repo.ledger.record(Bundle, bundle_file.id) is None:
            raise
    return find_bundle(repo, bundle_file.id)


def _bundle_record(file: BundleFile) -> Bundle:
    """Return the record of an imported bundle, whose rows are on a branch of its own."""
    return Bundle(
        id=file.id,
        name=file.name,
        description=file.description,
        tags=file.tags,
        source_branch=file.source_branch,
        source_commit=file.source_commit,
        commit=FILLED,
        verified_only=file.verified_only,
        sha256=file.sha256,
        status="active",
        created_by=None,
        created_at=file.created_at,
        **counted(file.rows),
    )
