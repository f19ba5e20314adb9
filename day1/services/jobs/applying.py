"""Writing what a job changes: one commit on its branch, or a review where that is protected."""

from collections.abc import Callable
from contextlib import suppress

from day1.errors import Day1Error, Json
from day1.model.branches.branch import Branch
from day1.model.jobs.job import Job
from day1.model.records.review import Review
from day1.model.rows.change import CommitId, Message
from day1.model.rows.origin import Origin
from day1.services.branches.deleting import delete_taken
from day1.services.branches.forking import fork_under, new_below
from day1.services.branches.lookup import find_again, refuse_closed
from day1.services.jobs.workshop import JobRun
from day1.services.merges.planning import MergeRequest
from day1.services.merges.proposing import Proposer, propose
from day1.services.merges.protection import TIERED, Merger, guard
from day1.services.merges.reviews import open_review
from day1.services.rows.editing import Editor
from day1.services.tasks.sessions import register_writer

Change = Callable[[Editor], str]
"""A function that changes rows in open work and describes the change; "" if it changed nothing."""
Write = Callable[[Branch], CommitId | None]
"""A function that writes to a branch and returns the commit; None if nothing was to be written."""
_STILL_OPEN = "The review of an earlier job is still open: nothing was proposed again."


def change_rows(run: JobRun, change: Change) -> dict[str, Json]:
    """Change rows in one commit, or propose it in a review if the branch is protected."""
    return apply(run, lambda branch: _commit(run, branch, change))


def apply(run: JobRun, write: Write) -> dict[str, Json]:
    """Let a job write to its branch; where that is protected, propose the commit in a review.

    Returns:
        `commit` and `review_id`; a key is missing if there is no commit or review.

    Raises:
        UnknownBranch, BranchClosed: the branch takes no change any more.
        JobStoppedError: the job must end.
    """
    branch = refuse_closed(find_again(run.repo, run.branch))
    if not branch.protection:
        commit = _written(run, branch, write)
        return {} if commit is None else {"commit": commit}
    open_review = _open_review_of(run)
    if open_review is not None:
        return {"review_id": open_review.id, "notes": [_STILL_OPEN]}
    fork_branch = fork_under(
        run.repo,
        lambda: f"jobs/{run.job.kind}",
        lambda name: (new_below(run.repo, branch, name, run.repo.clock()), ()),
    )
    try:
        commit = _written(run, fork_branch, write)
    except Exception:
        with suppress(Day1Error):  # the fork stays if it has rows; the error of the job counts
            delete_taken(run.repo, fork_branch, None, run.repo.clock())
        raise
    if commit is None:
        delete_taken(run.repo, fork_branch, None, run.repo.clock())
        return {}
    return _proposed(run, fork_branch, branch)


def _written(run: JobRun, branch: Branch, write: Write) -> CommitId | None:
    """Record the author and write to a branch; None if there was nothing to write."""
    now, token_id = run.repo.clock(), run.job.token_id
    register_writer(run.repo, branch, run.origin, now)
    if token_id is not None:
        register_writer(run.repo, branch, Origin(), now, token_id)
    run.repo.point("job.before_commit")
    commit = write(branch)
    run.repo.point("job.after_commit")
    return commit


def _commit(run: JobRun, branch: Branch, change: Change) -> CommitId | None:
    """Change rows of a branch that takes writes; None if there was nothing to change."""
    with run.repo.store.changing(branch.name) as work:
        change_text = change(Editor(run.repo, work, run.origin, run.job.kind))
        if not change_text:
            return None
        run.go_on()
        return work.commit(Message("change", f"{run.job.kind}: {change_text}"))


def _proposed(run: JobRun, fork: Branch, branch: Branch) -> dict[str, Json]:
    """Open a review of the fork; with tiers, merge what needs no approval."""
    now, token_id = run.repo.clock(), run.job.token_id
    if TIERED not in branch.protection:
        title_and_text = f"Maintenance: {run.job.kind}", None
        review = open_review(
            run.repo, (fork, branch), title_and_text, (run.job.wallet, token_id), now
        )
        return {"review_id": review.id}
    proposal = propose(
        run.repo,
        MergeRequest(fork, branch, "auto"),
        Proposer(run.origin, token_id),
        now,
        guard(run.repo, Merger(token_id)),
    )
    commit = None if proposal.merged is None else proposal.merged.record.commit
    review_id = None if proposal.review is None else proposal.review.id
    optional_ids: dict[str, Json] = {"commit": commit, "review_id": review_id}
    return {name: value for name, value in optional_ids.items() if value is not None}


def _open_review_of(run: JobRun) -> Review | None:
    """Find the open review of an earlier job of the same kind, wallets and branch."""
    for job in reversed(run.repo.ledger.records(Job, status="completed")):
        review_id = job.data.get("review_id")
        if _subject(job) != _subject(run.job):
            continue
        review = run.repo.ledger.record(Review, str(review_id)) if review_id else None
        if review is not None:
            return review if review.status == "open" else None
    return None


def _subject(job: Job) -> tuple[object, ...]:
    return job.kind, job.wallets, job.branch_id
