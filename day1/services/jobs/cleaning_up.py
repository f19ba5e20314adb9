"""The job `cleanup`: archive expired facts, drop ended sessions, remove old transcripts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from day1.errors import Json
from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, WHOLE, Kind, Row
from day1.model.values.instant import DAY
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.jobs.applying import change_rows
from day1.services.jobs.workshop import JobRun, is_of_compose
from day1.services.rows.editing import Editor
from day1.services.turns.working import drop_ended

OLDER_THAN_DAYS: Final = 30
"""The age at which a cleanup acts, by default."""


@dataclass(frozen=True, slots=True)
class _Transcript:
    """A conversation and all its messages."""

    conversation: Row
    messages: Sequence[Row]

    def is_unchanged(self, work: Work) -> bool:
        """Whether nobody added a message since the transcript was read."""
        equal_columns = {"conversation_id": self.conversation["id"]}
        return work.count(MESSAGE, equal_columns) == len(self.messages)


@dataclass(slots=True)
class _CleanupCandidates:
    """What a cleanup may change, found in one reading."""

    facts: list[Row] = field(default_factory=list)
    transcripts: list[_Transcript] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def clean_up(run: JobRun) -> dict[str, Json]:
    """Archive expired facts and remove old transcripts in one commit, and drop ended sessions."""
    min_age_days = run.number("olderThanDays", OLDER_THAN_DAYS)
    cutoff_time = run.repo.clock() - round(min_age_days * DAY)
    with run.repo.store.reading(run.reading_ref()) as reading:
        candidates = _cleanup_candidates(run, reading, cutoff_time, min_age_days)
    count_by_name = dict.fromkeys(("archivedFacts", "removedConversations", "removedMessages"), 0)

    def change(editor: Editor) -> str:
        count_by_name["archivedFacts"] = _archive(editor, candidates.facts)
        old_transcripts = [
            transcript
            for transcript in candidates.transcripts
            if transcript.is_unchanged(editor.work)
        ]
        messages = [message for transcript in old_transcripts for message in transcript.messages]
        count_by_name["removedMessages"] = _remove(editor, MESSAGE, messages)
        old_conversations = [transcript.conversation for transcript in old_transcripts]
        count_by_name["removedConversations"] = _remove(editor, CONVERSATION, old_conversations)
        count_texts = [f"{name} {count}" for name, count in count_by_name.items() if count]
        return ", ".join(count_texts)

    change_result = change_rows(run, change) if candidates.facts or candidates.transcripts else {}
    added_notes = change_result.pop("notes", [])
    notes: list[Json] = [*candidates.notes, *(added_notes if isinstance(added_notes, list) else [])]
    return {
        "olderThanDays": min_age_days,
        **count_by_name,
        "endedSessions": drop_ended(run.repo, run.branch, run.job.wallets, run.repo.clock()),
        **change_result,
        **({"notes": notes} if notes else {}),
    }


def _cleanup_candidates(
    run: JobRun, reading: Reading, before: int, days: float
) -> _CleanupCandidates:
    candidates = _CleanupCandidates()
    min_transcript_days = run.shop.services.transcript_days
    if min_transcript_days is None:
        candidates.notes.append("No transcript is removed: DAY1_JOBS__TRANSCRIPT_DAYS is not set.")
    elif days < min_transcript_days:
        candidates.notes.append(
            f"No transcript is removed before it is {min_transcript_days} days old."
        )
    for space in run.spaces(reading):
        run.go_on()
        facts = reading.find(FACT, Query(equal={"status": "active", "space": space}))
        candidates.facts += [row for row in facts if run.covers(row) and _has_expired(row, before)]
        if min_transcript_days is not None and days >= min_transcript_days:
            _find_transcripts(run, reading, space, before, candidates)
    return candidates


def _has_expired(row: Row, before: int) -> bool:
    return row["expires_at"] is not None and int(row["expires_at"]) <= before


def _find_transcripts(
    run: JobRun, reading: Reading, space: str, before: int, candidates: _CleanupCandidates
) -> None:
    """Add to `candidates` the conversations of a space whose messages are all old enough."""
    for conversation in reading.find(CONVERSATION, Query(equal={"space": space})):
        if not is_of_compose(conversation["detail"]):
            continue
        run.go_on()
        query = Query(equal={"conversation_id": conversation["id"]})
        messages = reading.find(MESSAGE, query)
        transcript_rows = [conversation, *messages]
        if all(int(row["created_at"] or 0) <= before for row in transcript_rows):
            candidates.transcripts.append(_Transcript(conversation, messages))


def _archive(editor: Editor, rows: Sequence[Row]) -> int:
    """Archive the facts whose status and expiry did not change meanwhile; return their number."""
    present_row_by_id = editor.work.get(FACT, [str(row["id"]) for row in rows])
    archived_count = 0
    for row in rows:
        present_row = present_row_by_id.get(str(row["id"]))
        compared_columns = ("status", "expires_at")
        if present_row is not None and all(
            present_row[column] == row[column] for column in compared_columns
        ):
            editor.change(FACT, present_row, {"status": "archived"})
            archived_count += 1
    return archived_count


def _remove(editor: Editor, kind: Kind, rows: Sequence[Row]) -> int:
    """Remove the rows that are still there; history keeps them."""
    present_row_by_id = editor.work.get(kind, [str(row["id"]) for row in rows])
    for row_id, row in present_row_by_id.items():
        editor.work.apply({kind.table: {row_id: None}})
        editor.add_edits(kind, row, [WHOLE])
    return len(present_row_by_id)
