"""Redacting: making a row unreadable at once, on every branch and for good.

It writes one record of the ledger, and every reading of rows masks what the record says
(`model.redaction.mask`).
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from day1.errors import InvalidRequest, NotFound
from day1.model.merge.held import columns_of
from day1.model.records.intent import IntentKind
from day1.model.records.review import Review
from day1.model.redaction.mask import COPIED, REDACTED, REDACTED_HASH, mask_of
from day1.model.redaction.quotes import without
from day1.model.redaction.redaction import Redaction
from day1.model.rows.change import Query, Ref
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
    """What redacting a row will mask."""

    kind: Kind
    row_id: str
    rows: frozenset[str]
    """The row, what it is a copy of, and its copies."""
    texts: frozenset[str]
    hashes: frozenset[str]
    known: Redaction | None
    """The redaction that has redacted all of it before, if there is one."""
    made: frozenset[str] = frozenset()
    """The ids of rows with words that were made of it, which are hidden with it."""


def look(repo: Repository, row_id: str) -> Target:
    """Find every text that a row ever had, on any branch, and its copies.

    Raises:
        NotFound: there never was such a row.
        Forbidden: the caller does not see every branch.
    """
    kind = kind_of(row_id)
    versions = [] if kind not in MEMORIES or kind is None else repo.history.unmasked(kind, row_id)
    if kind is None or not versions:
        raise NotFound(
            f"{row_id} is not in this store and never was: `day1 search` finds ids.", id=row_id
        )
    rows = {row_id}
    if kind in COPIED:
        rows |= {str(row["origin_id"]) for row in versions if row["origin_id"] is not None}
        rows = _with_copies(repo, kind, rows)
    texts = texts_of(repo, kind, row_id, versions)
    made, copies = _made_of(repo, rows, texts.values())
    texts |= copies
    hashes = frozenset(texts) - {REDACTED_HASH}
    before = repo.ledger.records(Redaction, row_id=row_id)
    masked = {content for redaction in before for content in redaction.hashes}
    known = before[-1] if before and hashes <= masked else None
    words = frozenset(texts.values())
    return Target(kind, row_id, frozenset(rows), words, hashes, known, frozenset(made))


def other_parts(repo: Repository, target: Target) -> list[Target]:
    """What redacting the other parts of a longer text will mask; [] for a text of its own."""
    parts = (
        part_of({"id": row_id}, text)
        for text in sorted(target.texts)
        for row_id in sorted(target.rows)
    )
    ids = dict.fromkeys(row_id for part in parts if part is not None for row_id in part.ids)
    others = [row_id for row_id in ids if row_id not in target.rows]
    return [look(repo, row_id) for row_id in others if repo.history.unmasked(target.kind, row_id)]


def _made_of(
    repo: Repository, rows: Collection[str], texts: Collection[str]
) -> tuple[set[str], dict[str, str]]:
    """The rows that were made of some on any branch, and their words that are masked by content.

    Every text that a fact ever had is, unless a row has it that was made of nothing redacted: the
    index has the words of removed rows and of earlier versions. What a verdict says is, if it
    quotes one of `texts`. The others are hidden where they are read, by their basis.
    """
    ids: set[str] = set()
    made_facts: set[str] = set()
    words: set[str] = set()
    for branch in repo.history.branches():
        with repo.store.reading(Ref(branch=branch)) as reading:
            made = made_of(reading, rows)
            ids |= made.words | made.verdicts
            words |= titles_of(reading, made)
            told = verdicts_of(reading, made)
            words |= {one for one in told if any(one in text or text in one for text in texts)}
            made_facts |= {row_id for row_id in made.words if kind_of(row_id) is FACT}
    facts: dict[str, str] = {}
    for row_id in sorted(made_facts):
        facts |= texts_of(repo, FACT, row_id)
    for content in _said_by_others(repo, facts, {*rows, *ids}):
        del facts[content]
    copies = {content_hash(word): word for word in words} | facts
    return ids, {content: word for content, word in copies.items() if word != REDACTED}


def _said_by_others(repo: Repository, hashes: Collection[str], rows: Collection[str]) -> set[str]:
    """The hashes whose text also stands in a row outside `rows`."""
    found: set[str] = set()
    query = Query(among={"content_hash": sorted(hashes)})
    for branch in repo.history.branches() if hashes else ():
        with repo.store.reading(Ref(branch=branch)) as reading:
            for kind in INDEXED:
                same = reading.scan(kind, ("id", "content_hash"), query)
                found |= {str(content) for row_id, content in same if row_id not in rows}
    return found


def _with_copies(repo: Repository, kind: Kind, rows: set[str]) -> set[str]:
    """Rows, their copies, the copies of these, and so on."""
    found, new = set(rows), rows
    while new:
        query = Query(among={"origin_id": sorted(new)})
        copies: set[str] = set()
        for branch in repo.history.branches():
            with repo.store.reading(Ref(branch=branch)) as reading:
                copies |= {str(row[0]) for row in reading.scan(kind, ("id",), query)}
        new = copies - found
        found |= new
    return found


def redact(
    repo: Repository, target: Target, reason: str | None, agent_id: str | None, now: int
) -> Redaction:
    """Mask a row for good. Doing it again is harmless, and retries a failed cleaning of the index.

    Raises:
        InvalidRequest: the reason holds what is to be redacted.
    """
    if reason is not None and any(text in reason for text in target.texts):
        raise InvalidRequest("`reason` is kept and shown: say it without the redacted text.")
    redaction = target.known
    if redaction is None:
        masked, branches = _extent(repo, target)
        redaction = Redaction(
            id=repo.new_id("redaction", now),
            row_id=target.row_id,
            row_kind=target.kind.table,
            rows=tuple(sorted(target.rows)),
            hashes=tuple(sorted(target.hashes)),
            masked_rows=masked,
            branches=branches,
            reason=reason,
            agent_id=agent_id,
            created_at=now,
        )
    with repo.ledger.open_intent(REDACT, redaction, now):
        repo.point("redact.after_intent")
        record_redaction(repo, redaction)
        repo.point("redact.after_index")
    return redaction


def forget_redacted(repo: Repository) -> None:
    """Delete from this node's index what any node has redacted."""
    hashes = repo.ledger.mask().hashes
    if hashes:
        forget(repo, hashes)


def _extent(repo: Repository, target: Target) -> tuple[int, int]:
    """How many rows are about to be masked, and on how many branches they are now."""
    rows: set[str] = set()
    branches = 0
    alike = Query(among={"content_hash": sorted(target.hashes)})
    for branch in repo.history.branches():
        with repo.store.reading(Ref(branch=branch)) as reading:
            here = set(reading.get(target.kind, sorted(target.rows)))
            for kind in INDEXED:
                here |= {str(row[0]) for row in reading.scan(kind, ("id",), alike)}
        rows |= here
        branches += bool(here)
    return len(rows), branches


def record_redaction(repo: Repository, redaction: Redaction) -> None:
    """Write a redaction to the ledger, which masks the rows; then delete its texts from the index.

    The texts cannot be found from the first step on. So it is no error if the index cannot be
    written now: the next process that opens the store cleans it.
    """
    kind = BY_TABLE[redaction.row_kind]
    texts = texts_of(repo, kind, redaction.row_id).values()
    copies = _made_of(repo, redaction.rows, texts)[1].values()
    with repo.ledger.transaction():
        for record in _quoting(repo, redaction, [*texts, *copies]):
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
        pass  # it is empty, and learns masked texts from now on
    except IndexBehind as error:
        log.warning("the index keeps redacted texts: %s", error.details.get("engine_code"))
        return False
    return True


def texts_of(
    repo: Repository, kind: Kind, row_id: str, versions: Sequence[Row] | None = None
) -> dict[str, str]:
    """Every text that a row ever had, by content hash, including texts that merges held.

    `versions` are the row's, where they are read already: to read them opens every branch.
    """
    if kind.text is None:
        return {}
    rows = list(repo.history.unmasked(kind, row_id) if versions is None else versions)
    for item in repo.history.unmasked(HELD, row_id):
        sides = (columns_of(text_of(item[side])) for side in ("ours", "theirs"))
        rows += [side for side in sides if side is not None and kind.text in side]
    return {str(row["content_hash"]): str(row[kind.text]) for row in rows}


def _quoting(repo: Repository, redaction: Redaction, texts: Collection[str]) -> Iterator[object]:
    """The records that quote one of the texts, without it."""
    clean, mask = without(texts), mask_of([redaction])
    for record in carried(repo.ledger):
        if isinstance(record, Review):
            fresh: object = record.cleaned(redaction.rows, clean)
        else:
            fresh = cleaned(record, mask, clean)
        if fresh != record:
            yield fresh


REDACT = IntentKind("redact", Redaction, record_redaction)
"""What was to be redacted is: the redaction is its own intent."""
