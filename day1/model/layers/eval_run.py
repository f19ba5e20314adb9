"""The ledger's record of an evaluation: how well known questions found their memories."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from day1.errors import Json
from day1.model.rows.change import CommitId
from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class EvalRun:
    """An evaluation of the search on a branch. It has no text: a redaction need not look here."""

    KIND: ClassVar = RecordKind("eval_runs", ("branch_id",), branch_ids=("branch_id",))

    id: str
    branch_id: str
    commit: CommitId
    """The commit of the branch that was searched."""
    scores: Mapping[str, Json]
    results: tuple[Mapping[str, Json], ...]
    """The outcome of each case, with the hash of the question."""
    created_at: int
