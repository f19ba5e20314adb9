"""The intent of a merge: its record before it begins, and the recovery of one that was killed."""

from dataclasses import dataclass, replace

from day1.errors import Json
from day1.model.branches.branch import Branch
from day1.model.records.codec import from_json, to_json
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review
from day1.model.rows.change import CommitId
from day1.services.repository.intents import IntentKind
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class MergeIntent:
    """A merge that is to be done: its record, without what only doing it tells."""

    id: str
    source_id: str
    target_id: str
    source_commit: CommitId
    strategy: str
    choices: Json
    decided_by: str | None
    created_at: int
    target: str
    """The name of the target branch."""
    review_id: str | None = None

    def record(self, **done: Json) -> MergeRecord:
        """The record of the merge, once it is done."""
        fields = to_json(self)
        del fields["target"]
        return from_json(MergeRecord, {**fields, **done})


def record_merge(repo: Repository, record: MergeRecord) -> None:
    """Write a merge to the ledger, and what follows for its review and its source."""
    with repo.ledger.together():
        repo.ledger.put(record)
        review = repo.ledger.record(Review, record.review_id or "")
        if review is not None and record.commit is not None:
            repo.ledger.put(review.merged(record))
        source = repo.ledger.record(Branch, record.source_id)
        if source is None or record.commit is None:
            return
        if record.strategy == "squash":
            repo.ledger.put_branch(replace(source, closed=True, merged_tip=record.source_commit))
        elif record.strategy == "auto" and record.rejected_count == 0:
            repo.ledger.put_branch(replace(source, merged_tip=record.source_commit))


def _finish(repo: Repository, intent: MergeIntent) -> None:
    """A merge was done if a commit of the target carries its id, with the counts beside it."""
    if intent.target not in repo.history.branches():
        return
    for commit in repo.history.log(intent.target):
        if commit.ts < intent.created_at:
            return
        if commit.meta.get("id") == intent.id:
            counts = {key: commit.meta[key] for key in ("base", "merged_count", "rejected_count")}
            record_merge(repo, intent.record(**counts, commit=commit.id))
            return


MERGE = IntentKind("merge", MergeIntent, _finish)
