"""Importing another tool's memory: a survey of it first, then an import to its own branch."""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from day1.model.branches.branch import Branch
from day1.model.branches.names import branch_part
from day1.model.rows.validation import looks_secret
from day1.model.values.instant import SECOND
from day1.ports.source import Draft, EventDraft, FactDraft, ObservationDraft, ToolMemory
from day1.services.branches.forking import NewBranch, fork_under, new_below
from day1.services.exchange.foreign_rows import losses, row_count
from day1.services.repository.repository import Repository

_MAX_SAMPLES = 5
_DATED = re.compile(r"-\d{4}-\d\d-\d\d(?:-\d+)?")
"""The end of the name of an import's branch: a date, and a number if the date was taken."""


@dataclass(slots=True)
class Survey:
    """What an import would bring: counts and samples, before anything is written."""

    facts: int = 0
    observations: int = 0
    relations: int = 0
    events: int = 0
    """The number of events of facts; each event becomes a commit."""
    samples: list[str] = field(default_factory=list)
    """The first few texts, to show."""
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """Places in the source that are not imported, by reason."""
    secrets: dict[str, list[str]] = field(default_factory=dict)
    """Ids of rows that look like a secret and would be imported, by kind of secret."""

    @property
    def total(self) -> int:
        """The number of rows that the import would bring."""
        return self.facts + self.observations + self.relations


def survey(source: ToolMemory) -> Survey:
    """Read all of a tool's memory and return only counts, a few samples and problems.

    Raises:
        ImportBroken: a file, a line or a row cannot be read; `details` names it.
        InvalidRequest: the path holds another kind of source.
    """
    memory_survey = Survey()
    draft_ids: set[str] = set()
    for item_drafts in source.items():
        for draft_or_event in item_drafts:
            draft = (
                draft_or_event.fact if isinstance(draft_or_event, EventDraft) else draft_or_event
            )
            memory_survey.events += draft is not draft_or_event
            if draft.id not in draft_ids:
                draft_ids.add(draft.id)
                _count(memory_survey, draft)
    memory_survey.left_out.update(
        {reason: list(places) for reason, places in source.left_out.items()}
    )
    return memory_survey


def _count(result: Survey, draft: Draft) -> None:
    for reason in losses(draft):
        result.left_out.setdefault(reason, []).append(draft.id)
    match draft:
        case FactDraft(text=text):
            result.facts += row_count(draft)
        case ObservationDraft(summary=text):
            result.observations += row_count(draft)
        case _:
            result.relations += 1
            return
    if len(result.samples) < _MAX_SAMPLES:
        result.samples.append(text)
    if secret_kind := looks_secret(text):
        result.secrets.setdefault(secret_kind, []).append(draft.id)


def import_branch(repo: Repository, source: str, into: Branch, now: int) -> Branch:
    """Find or create the branch `import/SOURCE-DATE` for an import.

    An import uses the branch of the import before it, if that was forked from `into` and still
    takes rows: rows that a review left out of a merge are then not offered again.

    Raises:
        Conflict: other processes took every name that was tried.
    """
    name_stem = f"import/{branch_part(source)}"
    import_date = datetime.fromtimestamp(now / SECOND, UTC).date()

    def latest_open_branch() -> Branch | None:
        open_branches = [
            branch
            for branch in repo.ledger.branches()
            if branch.name.startswith(name_stem)
            and _DATED.fullmatch(branch.name.removeprefix(name_stem))
            and branch.parent_id == into.id
            and not (branch.closed or branch.archived or branch.retired_tip)
        ]
        return max(open_branches, key=lambda branch: branch.created_at, default=None)

    def make(name: str) -> NewBranch:
        new_branch = new_below(repo, into, name, now)
        return replace(new_branch, description=f"Imported from {source}."), ()

    return fork_under(repo, lambda: f"{name_stem}-{import_date}", make, latest_open_branch)
