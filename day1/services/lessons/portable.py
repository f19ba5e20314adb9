"""Exporting and importing lessons in engram's format, version 1.

An id of day1's form becomes the id of the row. Any other id is stored in `detail`, and the row's
id is derived from it. So a second import adds nothing. A row that another tool wrote is exported
with the row's own id, since two namespaces can use the same name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from day1.errors import InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.lessons.experience import Experience, experience_of
from day1.model.lessons.rating import rating_of
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.json_columns import read_detail, read_tags
from day1.model.rows.kind import EDIT, FACT, Row, canonical, cell_value, text_of
from day1.model.rows.origin import Origin
from day1.model.values.callbacks import ReportProgress
from day1.model.values.ids import content_hash, derived_id, is_made
from day1.model.values.instant import parse, show
from day1.model.values.space import space_name
from day1.ports.uses import Uses
from day1.services.branches.lookup import find_open_again
from day1.services.lessons.judging import mean_scores
from day1.services.lessons.storing import VIA
from day1.services.repository.repository import Repository
from day1.services.rows.bulk_writes import edits_of, was_removed
from day1.services.rows.recording import NewFact, fact_row

UNIT: Final = 2_000
"""Rows in one unit of an import; each unit is a commit, durable before the next begins."""
_PROJECT: Final = "project:"
_RATED_BY: Final = "import"


def row_id_of(memory_id: str) -> str:
    """Return the row id of a memory; an id that day1 did not make is turned into a derived one."""
    is_own_id = is_made(FACT.prefix, memory_id)
    return memory_id if is_own_id else derived_id(FACT.prefix, None, VIA, memory_id)


def space_of(project: str | None) -> str | None:
    """Return the space of a project; a name with a colon is a space already.

    Raises:
        InvalidRequest: the name is not a valid space.
    """
    if project is None or not project.strip():
        return None
    return space_name(project if ":" in project else f"{_PROJECT}{project}")


def project_of(space: object) -> str | None:
    """Return the project name that `space_of` turns into this space; else the space's name."""
    if space is None:
        return None
    project = str(space).removeprefix(_PROJECT)
    try:
        return project if space_of(project) == space else str(space)
    except InvalidRequest:
        return str(space)


def tags_of(tags: str | Sequence[str] | None) -> tuple[str, ...]:
    """Parse tags from a text with commas, or a list; each once, in order."""
    tag_texts = tags.split(",") if isinstance(tags, str) else tags or ()
    return tuple(dict.fromkeys(tag.strip() for tag in tag_texts if tag.strip()))


def shown_tags(row: Row) -> str | None:
    """Join the tags of a row with commas; None without tags."""
    return ",".join(read_tags(row["tags"])) or None


def export(repo: Repository, uses: Uses, branch: str, now: int) -> dict[str, Any]:
    """Export a branch's active memories in engram's format, without secret or redacted ones."""
    query = Query(equal={"status": "active"}, alive_at=now, present_at=now, public=True)
    with repo.store.reading(Ref(branch=branch)) as reading:
        rows = [row for row in reading.find(FACT, query) if row["content_hash"] != REDACTED_HASH]
        edits_by_row = _text_edits(reading.find(EDIT, Query(equal={"cell": "fact_text"})))
    score_by_id, uses_by_id = mean_scores(repo), uses.known()
    memories = []
    for row in rows:
        row_use = uses_by_id.get(str(row["id"]))
        detail = _own_notes(row)
        memories.append(
            {
                **_content(row),
                "id": _id(row, detail),
                "score": score_by_id.get(str(row["id"]), 0.0),
                "created_at": detail.get("created_at", _shown(int(row["created_at"] or 0))),
                "updated_at": _updated(row, detail, edits_by_row.get(str(row["id"]), ())),
                "used_count": detail.get("used_count", 0)
                + (0 if row_use is None else row_use.times),
            }
        )
    # By fields of the export itself, so that a store which imported it exports the same order.
    memories.sort(key=lambda memory: (parse(memory["created_at"]), memory["id"]))
    return {"version": 1, "memories": memories, "exported_at": _shown(now), "count": len(memories)}


def _own_notes(row: Row) -> Mapping[str, Any]:
    """Return what engram's tools stored in `detail` of a row; empty for rows of other tools."""
    detail = read_detail(row["detail"])
    return detail if detail.get("via") == VIA else {}


def _id(row: Row, detail: Mapping[str, Any]) -> str:
    """Return the id by which an import finds the row again."""
    row_id, stored_id = str(row["id"]), detail.get("id")
    return stored_id if isinstance(stored_id, str) and row_id_of(stored_id) == row_id else row_id


def _shown(instant: int) -> str:
    """Format an instant as engram writes it."""
    return show(instant).replace("+00:00", "Z")


def _content(row: Row) -> dict[str, Any]:
    """Build the exported content of a row; a plain fact's text becomes the result."""
    experience = experience_of(row) or Experience("", "", str(row["fact_text"]))
    return {
        "memory_type": text_of(row["category"]) or "context",
        "context": experience.context,
        "action": experience.action,
        "result": experience.result,
        "tags": _form_tags(row),
        "project": project_of(row["space"]),
    }


def _form_tags(row: Row) -> str | list[str] | None:
    """Return the tags as a text with commas, or as a list if a tag has a comma."""
    tags_text, tags = shown_tags(row), read_tags(row["tags"])
    return tags_text if tags_of(tags_text) == tuple(tags) else tags


def _text_edits(edits: Sequence[Row]) -> dict[str, list[Row]]:
    edits_by_row: dict[str, list[Row]] = {}
    for edit in edits:
        edits_by_row.setdefault(str(edit["row_id"]), []).append(edit)
    return edits_by_row


def _updated(row: Row, detail: Mapping[str, Any], edits: Sequence[Row]) -> str:
    """Return when the text got its present words, in engram's format."""
    text_value = cell_value(FACT, row, "fact_text")
    edited_at = max(
        (int(edit["created_at"] or 0) for edit in edits if edit["value"] == text_value),
        default=None,
    )
    if edited_at is not None:
        return _shown(edited_at)
    stored_time: str = detail.get("updated_at", _shown(int(row["created_at"] or 0)))
    return stored_time


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of an export in engram's format, already validated."""

    id: str
    memory_type: str
    context: str
    action: str
    result: str
    score: float
    tags: tuple[str, ...]
    project: str | None
    created_at: str
    updated_at: str
    used_count: int

    @property
    def parts(self) -> Experience:
        """The context, action and result of the memory."""
        return Experience(self.context, self.action, self.result)

    @property
    def row_ids(self) -> tuple[str, str, str]:
        """Ids for the memory's row; an import uses the first that no other memory has."""
        space = space_of(self.project) or ""
        id_parts = (VIA, self.id, space)
        return (
            row_id_of(self.id),
            derived_id(FACT.prefix, None, *id_parts),
            derived_id(FACT.prefix, None, *id_parts, content_hash(self.parts.structure)),
        )

    def row(self, row_id: str, origin: Origin, now: int) -> Row:
        """Build the row of the memory: a plain fact if it has neither context nor action."""
        is_plain = not self.context and not self.action
        text = self.result if is_plain else self.parts.text
        new_fact = NewFact(text, self.memory_type, happened_at=parse(self.created_at))
        detail: dict[str, Any] = {
            "via": VIA,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
        if row_id != self.id:
            detail["id"] = self.id
        if self.used_count:
            detail["used_count"] = self.used_count
        columns: Row = {
            "structure": None if is_plain else self.parts.structure,
            "tags": canonical(list(self.tags)) if self.tags else None,
            "space": space_of(self.project),
            "detail": canonical(detail),
        }
        return fact_row(row_id, new_fact, origin, now) | columns


def bring_in(
    repo: Repository,
    branch: Branch,
    memories: Sequence[Memory],
    origin: Origin,
    report: ReportProgress,
) -> tuple[int, int]:
    """Import memories; memories that the branch has, or that were removed from it, are skipped.

    Returns:
        The number of memories added, and the number skipped.
    """
    added_count = 0
    ids_and_memories = list(_with_row_ids(memories).items())
    for batch_start in range(0, len(ids_and_memories), UNIT):
        memory_by_row_id = dict(ids_and_memories[batch_start : batch_start + UNIT])
        with repo.store.changing(find_open_again(repo, branch).name) as work:
            row_by_id = {
                row_id: memory.row(row_id, origin, work.now)
                for row_id, memory in memory_by_row_id.items()
            }
            present_row_by_id = work.get(FACT, list(row_by_id))
            new_rows = [row for row_id, row in row_by_id.items() if row_id not in present_row_by_id]
            edits_by_row = edits_of(work, [str(row["id"]) for row in new_rows])
            new_rows = [
                row for row in new_rows if not was_removed(edits_by_row.get(str(row["id"]), ()))
            ]
            if new_rows:
                work.add(FACT, new_rows)
                new_ids, row_count = {str(row["id"]) for row in new_rows}, len(new_rows)
                score_by_id = {
                    row_id: memory.score
                    for row_id, memory in memory_by_row_id.items()
                    if memory.score > 0
                }
                # Before the commit: a later run skips rows that the branch has.
                repo.ledger.put(
                    *(
                        rating_of(row_id, _RATED_BY, None, score, work.now).on(branch.id)
                        for row_id, score in score_by_id.items()
                        if row_id in new_ids
                    )
                )
                commit_line = f"import {row_count} {'row' if row_count == 1 else 'rows'}"
                work.commit(Message("import", commit_line))
        repo.point("import.after_unit")
        added_count += len(new_rows)
        report(batch_start + len(memory_by_row_id), len(ids_and_memories))
    return added_count, len(memories) - added_count


def _with_row_ids(memories: Sequence[Memory]) -> dict[str, Memory]:
    """Choose a row id for each memory of a file; equal memories get one.

    Earlier versions of day1 exported memories of several namespaces with the same id.
    """
    memory_by_row_id: dict[str, Memory] = {}
    for memory in memories:
        for row_id in memory.row_ids:
            earlier_memory = memory_by_row_id.setdefault(row_id, memory)
            if _is_same(earlier_memory, memory):
                break
    return memory_by_row_id


def _is_same(one: Memory, other: Memory) -> bool:
    """Whether two memories of a file have equal ids, projects and texts."""
    return (one.id, space_of(one.project), one.parts) == (
        other.id,
        space_of(other.project),
        other.parts,
    )
