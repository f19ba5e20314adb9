"""Redacting: make a row unreadable at once and for good, on every branch.

A redaction is a ledger record. Every reading of rows masks the rows and texts that it names
(`model.redaction.mask`).
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from day1.errors import InvalidRequest, NotFound
from day1.model.records.intent import IntentKind
from day1.model.records.review import Review
from day1.model.redaction.mask import COPIED, REDACTED, REDACTED_HASH, mask_of
from day1.model.redaction.quotes import without
from day1.model.redaction.redaction import Redaction
from day1.model.rows.change import Query, Ref
from day1.model.rows.json_columns import read_side
from day1.model.rows.kind import BY_TABLE, FACT, HELD, MEMORIES, Kind, Row, kind_of, text_of
from day1.model.values.ids import content_hash
from day1.model.values.parts import part_of
from day1.ports.index import IndexBehind, IndexLost
from day1.services.redaction.cleaning import cleaned
from day1.services.repository.commit_ids import carried, put
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import made_of, titles_of, verdicts_of
from day1.services.search.indexing import INDEXED

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Target:
    """The rows and texts that redacting a row will mask."""

    kind: Kind
    row_id: str
    rows: frozenset[str]
    """The row, its copies, and the row that it was copied from."""
    texts: frozenset[str]
    hashes: frozenset[str]
    known: Redaction | None
    """An earlier redaction that covers all of it; None if there is none."""
    made: frozenset[str] = frozenset()
    """Ids of rows that were derived from it, which are hidden too."""


def look(repo: Repository, row_id: str) -> Target:
    """Find the copies of a row, and every text that they ever had on any branch.

    Raises:
        NotFound: the store never had this row.
        Forbidden: the caller does not see every branch.
    """
    kind = kind_of(row_id)
    row_versions = (
        [] if kind not in MEMORIES or kind is None else repo.history.unmasked(kind, row_id)
    )
    if kind is None or not row_versions:
        raise NotFound(
            f"{row_id} is not in this store and never was: `day1 search` finds ids.", id=row_id
        )
    row_ids = {row_id}
    if kind in COPIED:
        row_ids |= {str(row["origin_id"]) for row in row_versions if row["origin_id"] is not None}
        row_ids = _with_copies(repo, kind, row_ids)
    text_by_hash = texts_of(repo, kind, row_id, row_versions)
    derived_ids, derived_text_by_hash = _made_of(repo, row_ids, text_by_hash.values())
    text_by_hash |= derived_text_by_hash
    hashes_to_mask = frozenset(text_by_hash) - {REDACTED_HASH}
    earlier_redactions = repo.ledger.records(Redaction, row_id=row_id)
    masked_hashes = {
        text_hash for redaction in earlier_redactions for text_hash in redaction.hashes
    }
    covering_redaction = (
        earlier_redactions[-1] if earlier_redactions and hashes_to_mask <= masked_hashes else None
    )
    texts_to_mask = frozenset(text_by_hash.values())
    return Target(
        kind,
        row_id,
        frozenset(row_ids),
        texts_to_mask,
        hashes_to_mask,
        covering_redaction,
        frozenset(derived_ids),
    )


def other_parts(repo: Repository, target: Target) -> list[Target]:
    """Find the targets for the other parts of a split text; empty if the text was not split."""
    text_parts = (
        part_of({"id": row_id}, text)
        for text in sorted(target.texts)
        for row_id in sorted(target.rows)
    )
    part_ids = dict.fromkeys(
        row_id for text_part in text_parts if text_part is not None for row_id in text_part.ids
    )
    other_part_ids = [row_id for row_id in part_ids if row_id not in target.rows]
    return [
        look(repo, row_id)
        for row_id in other_part_ids
        if repo.history.unmasked(target.kind, row_id)
    ]


def _made_of(
    repo: Repository, rows: Collection[str], texts: Collection[str]
) -> tuple[set[str], dict[str, str]]:
    """Find the rows derived from `rows` on any branch, and their texts to mask, by content hash.

    Every text that a derived fact ever had is masked, since the index has the words of removed rows
    and earlier versions too; but not a text that some other row has on its own. A verdict's words
    are masked if they quote one of `texts`. Other derived words are hidden on reading, by `basis`.
    """
    derived_ids: set[str] = set()
    fact_ids: set[str] = set()
    derived_texts: set[str] = set()
    for branch_name in repo.history.branches():
        with repo.store.reading(Ref(branch=branch_name)) as reading:
            derived_rows = made_of(reading, rows)
            derived_ids |= derived_rows.words | derived_rows.verdicts
            derived_texts |= titles_of(reading, derived_rows)
            verdict_texts = verdicts_of(reading, derived_rows)
            derived_texts |= {
                verdict
                for verdict in verdict_texts
                if any(verdict in text or text in verdict for text in texts)
            }
            fact_ids |= {row_id for row_id in derived_rows.words if kind_of(row_id) is FACT}
    fact_text_by_hash: dict[str, str] = {}
    for row_id in sorted(fact_ids):
        fact_text_by_hash |= texts_of(repo, FACT, row_id)
    for text_hash in _said_by_others(repo, fact_text_by_hash, {*rows, *derived_ids}):
        del fact_text_by_hash[text_hash]
    derived_text_by_hash = {
        content_hash(derived_text): derived_text for derived_text in derived_texts
    } | fact_text_by_hash
    return derived_ids, {
        text_hash: derived_text
        for text_hash, derived_text in derived_text_by_hash.items()
        if derived_text != REDACTED
    }


def _said_by_others(repo: Repository, hashes: Collection[str], rows: Collection[str]) -> set[str]:
    """Return the hashes of texts that a row outside `rows` has too."""
    shared_hashes: set[str] = set()
    same_text_query = Query(among={"content_hash": sorted(hashes)})
    for branch_name in repo.history.branches() if hashes else ():
        with repo.store.reading(Ref(branch=branch_name)) as reading:
            for kind in INDEXED:
                ids_and_hashes = reading.scan(kind, ("id", "content_hash"), same_text_query)
                shared_hashes |= {
                    str(text_hash) for row_id, text_hash in ids_and_hashes if row_id not in rows
                }
    return shared_hashes


def _with_copies(repo: Repository, kind: Kind, rows: set[str]) -> set[str]:
    """Return the ids of rows, of their copies, of the copies of these, and so on."""
    row_and_copy_ids, new_ids = set(rows), rows
    while new_ids:
        copies_query = Query(among={"origin_id": sorted(new_ids)})
        next_copy_ids: set[str] = set()
        for branch_name in repo.history.branches():
            with repo.store.reading(Ref(branch=branch_name)) as reading:
                next_copy_ids |= {str(row[0]) for row in reading.scan(kind, ("id",), copies_query)}
        new_ids = next_copy_ids - row_and_copy_ids
        row_and_copy_ids |= new_ids
    return row_and_copy_ids


def redact(
    repo: Repository, target: Target, reason: str | None, agent_id: str | None, now: int
) -> Redaction:
    """Mask a row for good; repeating it is harmless, and retries a failed cleaning of the index.

    Raises:
        InvalidRequest: the reason contains a text to redact.
    """
    if reason is not None and any(text in reason for text in target.texts):
        raise InvalidRequest(
            "`reason` is stored and shown, and contains the redacted text: write it without the "
            "redacted text."
        )
    redaction = target.known
    if redaction is None:
        masked_count, branch_count = _extent(repo, target)
        redaction = Redaction(
            id=repo.new_id("redaction", now),
            row_id=target.row_id,
            row_kind=target.kind.table,
            rows=tuple(sorted(target.rows)),
            hashes=tuple(sorted(target.hashes)),
            masked_rows=masked_count,
            branches=branch_count,
            reason=reason,
            agent_id=agent_id,
            created_at=now,
        )
    with repo.ledger.open_intent(REDACT, redaction, now):
        repo.point("redact.after_intent")
        _record(repo, redaction, target.texts)
        repo.point("redact.after_index")
    return redaction


def forget_redacted(repo: Repository) -> None:
    """Delete from this node's index the texts that any node has redacted."""
    hashes = repo.ledger.mask().hashes
    if hashes:
        forget(repo, hashes)


def _extent(repo: Repository, target: Target) -> tuple[int, int]:
    """Count the rows to mask, and the branches that have them."""
    masked_ids: set[str] = set()
    branch_count = 0
    same_text_query = Query(among={"content_hash": sorted(target.hashes)})
    for branch_name in repo.history.branches():
        with repo.store.reading(Ref(branch=branch_name)) as reading:
            branch_masked_ids = set(reading.get(target.kind, sorted(target.rows)))
            for kind in INDEXED:
                branch_masked_ids |= {
                    str(row[0]) for row in reading.scan(kind, ("id",), same_text_query)
                }
        masked_ids |= branch_masked_ids
        branch_count += bool(branch_masked_ids)
    return len(masked_ids), branch_count


def record_redaction(repo: Repository, redaction: Redaction) -> None:
    """Write a redaction to the ledger, which masks the rows; then delete its texts from the index.

    The texts cannot be found once the ledger has the redaction. So an index that cannot be written
    now is not an error: the next process that opens the store cleans it.
    """
    kind = BY_TABLE[redaction.row_kind]
    texts = texts_of(repo, kind, redaction.row_id).values()
    derived_texts = _made_of(repo, redaction.rows, texts)[1].values()
    _record(repo, redaction, [*texts, *derived_texts])


def _record(repo: Repository, redaction: Redaction, texts: Collection[str]) -> None:
    """Write a redaction whose texts are known: finding them opens every branch several times."""
    with repo.ledger.transaction():
        for record in _quoting(repo, redaction, texts):
            put(repo.ledger, record)
        repo.ledger.put(redaction)
    repo.point("redact.after_ledger")
    repo.forget_primes()
    forget(repo, redaction.hashes)


def forget(repo: Repository, hashes: Collection[str]) -> bool:
    """Delete redacted texts from this node's index; returns whether that was possible."""
    try:
        repo.forget(hashes)
    except IndexLost:
        pass  # the lost index starts empty and gets only masked texts
    except IndexBehind as error:
        log.warning("the index keeps redacted texts: %s", error.details.get("engine_code"))
        return False
    return True


def texts_of(
    repo: Repository, kind: Kind, row_id: str, versions: Sequence[Row] | None = None
) -> dict[str, str]:
    """Collect every text that a row ever had, by content hash, including texts that merges held.

    `versions` has the row's versions if they are read already: reading them opens every branch.
    """
    if kind.text is None:
        return {}
    row_versions = list(repo.history.unmasked(kind, row_id) if versions is None else versions)
    for held_row in repo.history.unmasked(HELD, row_id):
        sides = (read_side(text_of(held_row[side])) for side in ("ours", "theirs"))
        row_versions += [side for side in sides if side is not None and kind.text in side]
    return {str(row["content_hash"]): str(row[kind.text]) for row in row_versions}


def _quoting(repo: Repository, redaction: Redaction, texts: Collection[str]) -> Iterator[object]:
    """Yield the ledger records that quote one of the texts, with the quotes removed."""
    remove_texts, mask = without(texts), mask_of([redaction])
    for record in carried(repo.ledger):
        if isinstance(record, Review):
            cleaned_record: object = record.cleaned(redaction.rows, remove_texts)
        else:
            cleaned_record = cleaned(record, mask, remove_texts)
        if cleaned_record != record:
            yield cleaned_record


REDACT = IntentKind("redact", Redaction, record_redaction)
"""The intent to redact: its record is the redaction itself."""
