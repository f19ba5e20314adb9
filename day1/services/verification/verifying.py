"""Verifying facts: gather evidence, ask a judge, write the verdict.

A judge may take seconds, so no lock is held and no reading is open meanwhile. A verdict is written
only if the fact still has the text that the judge saw.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from day1.errors import Advice, ChatUnavailable, NotFound, Refused
from day1.model.branches.branch import Branch
from day1.model.records.judgement import DIMENSIONS, Case, Evidence, Judgement, Score, Verdict
from day1.model.redaction.basis import VERDICT_BASIS
from day1.model.redaction.veil import SECRET, is_secret
from day1.model.rows.change import CommitId, Message, Pending, Query, Ref
from day1.model.rows.kind import FACT, RELATION, Row, canonical, kind_of, text_of, when, words_of
from day1.model.rows.origin import Origin
from day1.ports.judge import Judge
from day1.ports.reading import Reading
from day1.services.branches.lookup import branches_with, find_open_again
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import add_new, basis_columns, basis_edit
from day1.services.rows.editing import Editor
from day1.services.search.request import Hit, SearchPorts, SearchRequest
from day1.services.search.searching import search

_EVIDENCE, _RELATIONS, _ENTITIES, _QUESTION = 8, 8, 64, 1_000
_LOOKED = 100
"""Memories that are looked at for evidence."""
UNIT = 16
"""Verdicts in one commit of a batch."""


@dataclass(slots=True)
class Verification:
    """The judge, and where evidence is looked up. After a chat model failed, the rules go on."""

    repo: Repository
    search: SearchPorts
    judge: Judge
    clock: Callable[[], int]
    notes: dict[str, None] = field(default_factory=dict)
    """What the reader of the answer must know, each once."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A fact as it was judged, and what was found."""

    row: Row
    judgement: Judgement
    read: tuple[str, ...] = ()
    """The ids of the memories that the judge had read."""


@dataclass(frozen=True, slots=True)
class KeptVerdicts:
    """The commit that has the verdicts; without a new verdict no commit is made."""

    commit: CommitId
    pending: Pending
    left: tuple[str, ...] = ()
    """Facts whose text changed, or that went, while they were judged."""


def fact_on(repo: Repository, branch: Branch, fact_id: str) -> Row:
    """A fact of a branch.

    Raises:
        NotFound: it is not there; the message names the branches that have it.
        Refused: it is no fact, or a secret one.
    """
    if kind_of(fact_id) not in {FACT, None}:
        raise Refused("Only a fact can be verified.", id=fact_id)
    with repo.store.reading(repo.shown(Ref(branch=branch.name))) as reading:
        row = reading.get(FACT, [fact_id]).get(fact_id)
    if is_secret(row):
        raise Refused("A secret fact is shown to no judge.", id=fact_id)
    if row is not None:
        return row
    having = list(branches_with(repo, FACT, fact_id))
    where = Advice("No branch has it; {memory_search} finds those there are.")
    if having:
        where = Advice("It is on {branches}.", branches=", ".join(having[:5]))
    raise NotFound(
        f"{fact_id} is not on branch {branch.name!r}.",
        where,
        id=fact_id,
        branch=branch.name,
        having=having,
    )


def judged(
    verification: Verification,
    branch: Branch,
    row: Row,
    dimensions: Sequence[str] = DIMENSIONS,
    context: str | None = None,
) -> Judged:
    """Have a fact judged, with no lock held; nothing is written.

    If the chat model cannot be used, the rules judge, and the notes say so.
    """
    case, read = _case(verification, branch, row, dimensions, context)
    try:
        judgement = verification.judge.judge(case)
    except ChatUnavailable as error:
        if verification.judge.stand_in is None:
            raise
        verification.judge = verification.judge.stand_in
        verification.notes[f"judged by {verification.judge.name}: {error}"] = None
        judgement = verification.judge.judge(case)
    if judgement.left_out:
        said = "piece that speaks" if judgement.left_out == 1 else "pieces that speak"
        reason = f"{judgement.reason} Left out: {judgement.left_out} {said} to the judge."
        judgement = replace(judgement, reason=reason)
    return Judged(row, judgement, read)


def _case(
    verification: Verification,
    branch: Branch,
    row: Row,
    dimensions: Sequence[str],
    context: str | None,
) -> tuple[Case, tuple[str, ...]]:
    """Gather what memory knows of a fact on its branch, and the ids of those memories.

    What the fact says to a judge is not asked for.
    """
    text = verification.judge.clear(str(row["fact_text"]))
    hits: list[Hit] = []
    if text:
        kinds = ("facts", "observations")
        request = SearchRequest(text[:_QUESTION], kinds=kinds, limit=_LOOKED)
        found = search(verification.search, Ref(branch=branch.name), branch.id, request)
        verification.notes.update(dict.fromkeys(found.notes))
        hits = _once_each(hit for hit in found.hits if not _same_memory(hit.row, row))
    with verification.repo.store.reading(Ref(branch=branch.name)) as reading:
        relations = _touching(reading, text)
    case = Case(
        text=str(row["fact_text"]),
        at=when(row),
        now=verification.clock(),
        category=text_of(row["category"]),
        confidence=float(row["confidence"] or 0),
        agent_id=text_of(row["agent_id"]),
        source=text_of(row["source"]),
        evidence=tuple(map(_evidence, hits[:_EVIDENCE])),
        relations=tuple(relations.values()),
        context=context,
        dimensions=tuple(dimensions),
    )
    return case, (*(one.id for one in case.evidence), *relations)


def _same_memory(one: Row, other: Row) -> bool:
    """Whether one row is a copy of the other, and so is no evidence for it."""
    ids = {other["id"], other["origin_id"]} - {None}
    return one["id"] in ids or one["origin_id"] in ids


def _once_each(hits: Iterable[Hit]) -> list[Hit]:
    """Each text of an author once, so that repetition does not displace what others wrote."""
    once: dict[tuple[object, ...], Hit] = {}
    for hit in hits:
        once.setdefault((hit.kind.name, hit.row["content_hash"], hit.row["agent_id"]), hit)
    return list(once.values())


def _evidence(hit: Hit) -> Evidence:
    row = hit.row
    confidence = row.get("confidence")
    return Evidence(
        id=str(row["id"]),
        kind=hit.kind.name,
        text=str(row[hit.kind.text or ""]),
        at=when(row),
        agent_id=text_of(row["agent_id"]),
        source=text_of(row["source"]),
        verified=row.get("verification") == "verified",
        confidence=1.0 if confidence is None else float(confidence),
        cosine=hit.cosine,
    )


def _touching(reading: Reading, text: str) -> dict[str, str]:
    """Relations of the things that a text names, each as a line, by id."""
    bare = [word.strip(".,;:!?()[]{}\"'`") for word in text.split()]
    words = [word for word in dict.fromkeys(bare) if word][:_ENTITIES]
    pairs = [f"{a} {b}" for a, b in pairwise(bare) if a[:1].isupper()]
    found: dict[str, str] = {}
    for side in ("source_entity", "target_entity"):
        query = Query(among={side: [*words, *pairs[:_ENTITIES]]}, descending=True, limit=_RELATIONS)
        for row in reading.find(RELATION, query):
            found[str(row["id"])] = words_of(RELATION, row)
    lines = {line: row_id for row_id, line in reversed(found.items())}
    once = [(row_id, line) for row_id, line in found.items() if lines[line] == row_id]
    return dict(once[:_RELATIONS])


def keep(
    repo: Repository, branch: Branch, verdicts: Sequence[Judged], origin: Origin
) -> KeptVerdicts:
    """Write verdicts to their facts as one commit; those of changed texts are left."""
    ids = [str(one.row["id"]) for one in verdicts]
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        rows = reading.get(FACT, ids)
        if all(_has_verdict(rows.get(i), one) for i, one in zip(ids, verdicts, strict=True)):
            return KeptVerdicts(reading.tip, reading.pending)
    left: list[str] = []
    said: list[str] = []
    find_open_again(repo, branch)  # it may have been closed while the facts were judged
    with repo.store.changing(branch.name) as work:
        rows = work.get(FACT, ids)
        for fact_id, one in zip(ids, verdicts, strict=True):
            row, judgement = rows.get(fact_id), one.judgement
            if row is None or one.row["content_hash"] != row["content_hash"]:
                left.append(fact_id)
            elif not _has_verdict(row, one):
                columns = {"verification": judgement.verdict, "scores": _as_json(judgement)}
                Editor(repo, work, origin, judgement.reason).change(FACT, row, columns)
                read = [{"id": row_id} for row_id in one.read]
                basis = basis_columns(FACT, fact_id, read, VERDICT_BASIS)
                add_new(work, [basis_edit(basis, origin, work.now)] * bool(read))
                said.append(f"{fact_id}: {judgement.verdict}")
        if not said:
            return KeptVerdicts(work.tip, work.pending, tuple(left))
        line = f"verify fact {said[0]}" if len(said) == 1 else f"verify {len(said)} facts"
        return KeptVerdicts(work.commit(Message("change", line)), Pending(), tuple(left))


def _as_json(judgement: Judgement) -> str:
    scores = [_score_json(score) for score in judgement.scores]
    return canonical({"judge": judgement.judge, "reason": judgement.reason, "scores": scores})


def _score_json(score: Score) -> dict[str, Any]:
    return {"dimension": score.dimension, "score": score.score, "reason": score.reason}


def _has_verdict(row: Row | None, one: Judged) -> bool:
    """Whether a fact already has this verdict with these scores by this judge."""
    judgement = one.judgement
    if row is None or row["content_hash"] != one.row["content_hash"]:
        return False
    if row["verification"] != judgement.verdict or row["scores"] is None:
        return False
    kept = json.loads(str(row["scores"]))
    if not isinstance(kept, dict) or kept.get("judge") != judgement.judge:
        return False
    before = [[s.get("dimension"), s.get("score")] for s in kept.get("scores", ())]
    return before == [[s.dimension, s.score] for s in judgement.scores]


@dataclass(slots=True)
class VerifiedBatch:
    """The result of verifying many facts."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    judges: dict[str, None] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    errors: int = 0
    """Facts whose text changed, or that went, while they were judged."""
    remaining: int = 0
    """Facts of those asked for that no judge has seen yet."""
    stopped: bool = False
    kept: KeptVerdicts | None = None


@dataclass(frozen=True, slots=True)
class BatchWatch:
    """How the caller of a batch is told of progress, and can stop it."""

    progress: Callable[[int, int | None], None]
    stopped: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class FactSelection:
    """Which facts to judge."""

    equal: Row
    """Column -> value."""
    limit: int


def verify_many(
    verification: Verification,
    branch: Branch,
    selection: FactSelection,
    origin: Origin,
    watch: BatchWatch,
) -> VerifiedBatch:
    """Judge chosen facts one by one; those first that no judge has seen, newest first.

    Verdicts are written in units of `UNIT`, and at the end; also when the caller wants no more.
    """
    batch, unwritten = VerifiedBatch(), list[Judged]()
    shown = verification.repo.shown(Ref(branch=branch.name))
    with verification.repo.store.reading(shown) as reading:
        rows = _chosen(reading, selection)
    try:
        for number, row in enumerate(rows, start=1):
            if watch.stopped():
                batch.stopped = True
                break
            unwritten.append(judged(verification, branch, row))
            if len(unwritten) == UNIT:
                _write_verdicts(verification, branch, unwritten, origin, batch)
            watch.progress(number, len(rows))
    finally:  # what was judged is kept, whatever happens to the next
        _write_verdicts(verification, branch, unwritten, origin, batch)
    unseen = {**selection.equal, "scores": None}
    with verification.repo.store.reading(verification.repo.shown(Ref(branch=branch.name))) as left:
        batch.remaining = left.count(FACT, unseen) - left.count(
            FACT, {**unseen, "sensitivity": SECRET}
        )
    return batch


def _chosen(reading: Reading, selection: FactSelection) -> list[Row]:
    equal, limit = selection.equal, selection.limit
    unseen = Query(equal={**equal, "scores": None}, public=True, descending=True, limit=limit)
    first = reading.find(FACT, unseen)
    if len(first) == limit:
        return first
    rest = reading.find(FACT, Query(equal=equal, public=True, descending=True, limit=limit))
    return [*first, *(row for row in rest if row["scores"] is not None)][:limit]


def _write_verdicts(
    verification: Verification,
    branch: Branch,
    unwritten: list[Judged],
    origin: Origin,
    batch: VerifiedBatch,
) -> None:
    """Write the verdicts that are not written yet, and count them."""
    some = list(unwritten)
    unwritten.clear()
    batch.kept = keep(verification.repo, branch, some, origin)
    for one in some:
        if one.row["id"] in batch.kept.left:
            batch.errors += 1
            continue
        batch.verdicts[one.judgement.verdict] += 1
        batch.judges[one.judgement.judge] = None
        batch.prompt_tokens += one.judgement.prompt_tokens
        batch.completion_tokens += one.judgement.completion_tokens
