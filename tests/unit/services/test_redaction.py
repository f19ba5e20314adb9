"""Redaction: every text that a row ever had is masked, and nothing quotes it any more."""

from dataclasses import replace

import pytest

from day1.errors import InvalidRequest, NotFound
from day1.model.records.sharing import Handoff
from day1.model.redaction.redaction import Redaction
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from day1.ports.index import IndexBehind
from day1.services.redaction.redacting import look, redact
from day1.services.rows.editing import Correction, update
from day1.services.sharing.handoffs import HandoffRequest, hand_over
from tests.unit.services.conftest import ADA, Bench, Died, dying_at


@pytest.fixture(autouse=True)
def fact_a(bench: Bench) -> None:
    bench.add("fact_a", "the code is 1234")
    update(bench.repo, bench.branch(), Correction("fact_a", {"fact_text": "no code"}), ADA)


def test_what_a_row_said_before_is_redacted_with_it(bench: Bench) -> None:
    target = look(bench.repo, "fact_a")
    assert target.texts == {"the code is 1234", "no code"}
    redaction = redact(bench.repo, target, None, "ada", bench.now)
    assert content_hash("the code is 1234") in redaction.hashes
    assert (redaction.masked_rows, redaction.branches) == (1, 1)
    mask = bench.repo.ledger.mask()
    (row,) = mask.tuples(
        FACT, FACT.columns, [tuple(bench.present("fact_a")[c] for c in FACT.columns)]
    )
    assert "no code" not in row


def test_a_row_that_never_was_cannot_be_redacted(bench: Bench) -> None:
    with pytest.raises(NotFound):
        look(bench.repo, "fact_none")


def test_the_reason_does_not_repeat_what_is_redacted(bench: Bench) -> None:
    target = look(bench.repo, "fact_a")
    with pytest.raises(InvalidRequest, match="without the redacted text"):
        redact(bench.repo, target, "it said: the code is 1234", None, bench.now)
    assert bench.repo.ledger.records(Redaction) == []


def test_redacting_again_makes_no_second_record(bench: Bench) -> None:
    for _ in range(2):
        redact(bench.repo, look(bench.repo, "fact_a"), None, None, bench.now)
    assert len(bench.repo.ledger.records(Redaction)) == 1


def test_a_handoff_that_quotes_the_text_loses_it(bench: Bench) -> None:
    bench.fork("side")
    said = HandoffRequest(
        bench.branch(), bench.branch("side"), "x", context_summary="note: the code is 1234"
    )
    made = hand_over(bench.repo, said, bench.now).handoff
    redact(bench.repo, look(bench.repo, "fact_a"), None, None, bench.now)
    after = bench.repo.ledger.record(Handoff, made.id)
    assert after
    assert "1234" not in str(after.context_summary)


def test_an_index_that_cannot_be_written_hinders_no_redaction(bench: Bench) -> None:
    def behind(_hashes: object) -> None:
        raise IndexBehind("The disk is full.")

    repo = replace(bench.repo, forget=behind)
    redact(repo, look(repo, "fact_a"), None, None, bench.now)
    assert len(repo.ledger.records(Redaction)) == 1


def test_a_redaction_whose_process_died_is_finished(bench: Bench) -> None:
    repo = dying_at(bench.repo, "redact.after_intent")
    with pytest.raises(Died):
        redact(repo, look(repo, "fact_a"), None, None, bench.now)
    assert bench.repo.ledger.records(Redaction) == []
    bench.repo.ledger.recover_orphans()
    assert [one.row_id for one in bench.repo.ledger.records(Redaction)] == ["fact_a"]
