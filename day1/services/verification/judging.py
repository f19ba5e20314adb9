"""Judging a fact: gather evidence for it, and ask a judge.

A judge may take seconds: no lock is held and no reading is open while it works.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from day1.errors import Advice, ChatUnavailable, NotFound, Refused
from day1.model.branches.branch import Branch
from day1.model.records.judgement import DIMENSIONS, Case, Evidence, Judgement
from day1.model.redaction.veil import is_secret
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, RELATION, Row, kind_of, text_of, when, words_of
from day1.ports.judge import Judge
from day1.ports.reading import Reading
from day1.services.branches.lookup import branches_with
from day1.services.repository.repository import Repository
from day1.services.search.request import Hit, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search

_MAX_EVIDENCE = 8
"""Maximum number of memories given to a judge: a chat model charges for each."""
_MAX_RELATIONS = 8
"""Maximum number of relations given to a judge, for the same reason."""
_MAX_ENTITIES = 64
"""Maximum number of words, and of word pairs, of a fact looked up as ends of relations."""
_QUERY_LENGTH = 1_000
"""Number of characters at the start of a fact that form the query for evidence."""
_CONSIDERED_HITS = 100
"""Maximum number of search hits considered as evidence."""


@dataclass(slots=True)
class Verification:
    """A judge and the store to gather evidence from; if a chat model fails, the rules take over."""

    repo: Repository
    search: SearchEngine
    judge: Judge
    clock: Callable[[], int]
    notes: dict[str, None] = field(default_factory=dict)
    """Notes for the answer, in order and without duplicates."""


@dataclass(frozen=True, slots=True)
class JudgedFact:
    """A fact in the version that was judged, and the judgement."""

    row: Row
    judgement: Judgement
    read: tuple[str, ...] = ()
    """The ids of the memories given to the judge as evidence."""


def fact_on(repo: Repository, branch: Branch, fact_id: str) -> Row:
    """Return a fact of a branch that can be judged.

    Raises:
        NotFound: the branch has no such fact; the message names the branches that have it.
        Refused: the row is not a fact, or is secret.
    """
    if kind_of(fact_id) not in {FACT, None}:
        raise Refused("Only a fact can be verified: give the id of a fact.", id=fact_id)
    with repo.store.reading(repo.shown(Ref(branch=branch.name))) as reading:
        row = reading.get(FACT, [fact_id]).get(fact_id)
    if is_secret(row):
        raise Refused("A secret fact cannot be verified: leave it unverified.", id=fact_id)
    if row is not None:
        return row
    branch_names = list(branches_with(repo, FACT, fact_id))
    advice = Advice("No branch has it; {memory_search} finds facts.")
    if branch_names:
        advice = Advice("It is on {branches}.", branches=", ".join(branch_names[:5]))
    raise NotFound(
        f"{fact_id} is not on branch {branch.name!r}.",
        advice,
        id=fact_id,
        branch=branch.name,
        having=branch_names,
    )


def judge_fact(
    verification: Verification,
    branch: Branch,
    row: Row,
    dimensions: Sequence[str] = DIMENSIONS,
    context: str | None = None,
) -> JudgedFact:
    """Judge a fact without holding a lock and without writing the verdict.

    If the chat model cannot be used, the rules judge, and the notes say so.
    """
    case, evidence_ids = _case(verification, branch, row, dimensions, context)
    try:
        judgement = verification.judge.judge(case)
    except ChatUnavailable as error:
        if verification.judge.stand_in is None:
            raise
        verification.judge = verification.judge.stand_in
        verification.notes[f"judged by {verification.judge.name}: {error}"] = None
        judgement = verification.judge.judge(case)
    if judgement.left_out:
        pieces_phrase = "piece that speaks" if judgement.left_out == 1 else "pieces that speak"
        reason = f"{judgement.reason} Left out: {judgement.left_out} {pieces_phrase} to the judge."
        judgement = replace(judgement, reason=reason)
    return JudgedFact(row, judgement, evidence_ids)


def _case(
    verification: Verification,
    branch: Branch,
    row: Row,
    dimensions: Sequence[str],
    context: str | None,
) -> tuple[Case, tuple[str, ...]]:
    """Gather evidence for a fact on its branch; return the case and the ids of the evidence.

    Parts of the fact that address the judge are left out of the query.
    """
    cleared_text = verification.judge.clear(str(row["fact_text"]))
    hits: list[Hit] = []
    if cleared_text:
        kinds = ("facts", "observations")
        request = SearchRequest(cleared_text[:_QUERY_LENGTH], kinds=kinds, limit=_CONSIDERED_HITS)
        search_answer = search(verification.search, Ref(branch=branch.name), branch.id, request)
        verification.notes.update(dict.fromkeys(search_answer.notes))
        hits = _without_repetition(
            hit for hit in search_answer.hits if not _same_memory(hit.row, row)
        )
    with verification.repo.store.reading(Ref(branch=branch.name)) as reading:
        relation_line_by_id = _relations_of(reading, cleared_text)
    case = Case(
        text=str(row["fact_text"]),
        at=when(row),
        now=verification.clock(),
        category=text_of(row["category"]),
        confidence=float(row["confidence"] or 0),
        agent_id=text_of(row["agent_id"]),
        source=text_of(row["source"]),
        evidence=tuple(map(_evidence, hits[:_MAX_EVIDENCE])),
        relations=tuple(relation_line_by_id.values()),
        context=context,
        dimensions=tuple(dimensions),
    )
    return case, (*(evidence.id for evidence in case.evidence), *relation_line_by_id)


def _same_memory(one: Row, other: Row) -> bool:
    """Whether two rows are copies of one memory: a copy is no evidence."""
    other_ids = {other["id"], other["origin_id"]} - {None}
    return one["id"] in other_ids or one["origin_id"] in other_ids


def _without_repetition(hits: Iterable[Hit]) -> list[Hit]:
    """Drop repeated texts of an author, so that they do not displace texts of other authors."""
    hit_by_text_and_author: dict[tuple[object, ...], Hit] = {}
    for hit in hits:
        hit_by_text_and_author.setdefault(
            (hit.kind.name, hit.row["content_hash"], hit.row["agent_id"]), hit
        )
    return list(hit_by_text_and_author.values())


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


def _relations_of(reading: Reading, text: str) -> dict[str, str]:
    """Find relations of the entities that a text names; return each as a line, by id."""
    bare_words = [word.strip(".,;:!?()[]{}\"'`") for word in text.split()]
    entity_words = [word for word in dict.fromkeys(bare_words) if word][:_MAX_ENTITIES]
    word_pairs = [
        f"{first_word} {second_word}"
        for first_word, second_word in pairwise(bare_words)
        if first_word[:1].isupper()
    ]
    line_by_id: dict[str, str] = {}
    for entity_column in ("source_entity", "target_entity"):
        query = Query(
            among={entity_column: [*entity_words, *word_pairs[:_MAX_ENTITIES]]},
            descending=True,
            limit=_MAX_RELATIONS,
        )
        for row in reading.find(RELATION, query):
            line_by_id[str(row["id"])] = words_of(RELATION, row)
    id_by_line = {line: row_id for row_id, line in reversed(line_by_id.items())}
    ids_and_lines = [
        (row_id, line) for row_id, line in line_by_id.items() if id_by_line[line] == row_id
    ]
    return dict(ids_and_lines[:_MAX_RELATIONS])
