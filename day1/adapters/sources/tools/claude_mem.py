"""What claude-mem noted of sessions: its database, or the JSON that it exports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.files import json_of
from day1.adapters.sources.sqlite_file import opened
from day1.adapters.sources.tools.tool import ToolSource, instant_of, text_at, texts_at
from day1.errors import Json
from day1.foreign_files import broken
from day1.ports.source import Draft, Machine

_MILLISECOND = 1_000
_NEEDED = ("id", "project", "type", "created_at_epoch")
_WANTED = (
    "title",
    "subtitle",
    "text",
    "narrative",
    "facts",
    "files_modified",
    "merged_into_project",
)
_SUMMARY_NEEDED = ("id", "project", "created_at_epoch")
_SESSION = ("memory_session_id", "sdk_session_id")
"""The column of a session's id: its present name, and that of older versions."""
_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_TYPES = frozenset(("discovery", "decision"))
"""Types of claude-mem's observations that day1 has too; the others become insights."""

Row = Mapping[str, Json]


class ClaudeMem(ToolSource):
    """`ToolSource` over a database or an export."""

    name = "claude-mem"

    @classmethod
    @override
    def found(cls, machine: Machine) -> list[Path]:
        file = machine.place("CLAUDE_MEM_DATA_DIR", ".claude-mem") / "claude-mem.db"
        return [file] if file.is_file() else []

    @override
    def read(self, path: Path) -> Iterator[list[Draft]]:
        if path.suffix == ".json":
            yield from self._export(path)
            return
        with opened(path) as database:
            for row in self.readable(
                database.rows("observations", _NEEDED, (*_WANTED, *_SESSION)), "id"
            ):
                yield self._observation(row)
            if database.has("session_summaries"):
                moved_columns = ("merged_into_project",)
                summary_rows = database.rows(
                    "session_summaries", _SUMMARY_NEEDED, (*_PARTS, *moved_columns, *_SESSION)
                )
                for row in self.readable(summary_rows, "id"):
                    yield self._summary(row)
            if database.has("user_prompts"):
                prompt_count = sum(1 for _ in database.rows("user_prompts", ("id",)))
                self._leave_prompts(prompt_count)

    def _export(self, path: Path) -> Iterator[list[Draft]]:
        export = json_of(self.text(path), path)
        if not isinstance(export, dict) or not isinstance(export.get("observations"), list):
            raise broken(path, 1, "it is not an export of claude-mem")
        for list_name, read_row in (
            ("observations", self._observation),
            ("summaries", self._summary),
        ):
            rows = export.get(list_name) or []
            if not isinstance(rows, list):
                raise broken(path, 1, f"its {list_name} are not a list")
            for row_number, row in enumerate(rows):
                if isinstance(row, dict):
                    yield read_row(row)
                else:
                    self.leave_out("entries that are no objects", f"{list_name} {row_number}")
        prompt_list = export.get("prompts")
        self._leave_prompts(len(prompt_list) if isinstance(prompt_list, list) else 0)

    def _leave_prompts(self, count: int) -> None:
        if count:
            self.leave_out("prompts of people", f"{count:,} prompts")

    def _observation(self, row: Row) -> list[Draft]:
        if not self._is_wanted(row):
            return []
        row_key, happened_at = _key(row), instant_of(row.get("created_at_epoch"), _MILLISECOND)
        observation_type, title = text_at(row, "type"), text_at(row, "title")
        drafts: list[Draft] = []
        for fact_number, text in enumerate(self._list(row, "facts")):
            fact_text = f"{title}: {text}" if title else text
            drafts.append(
                self.fact(
                    (*row_key, "fact", str(fact_number)),
                    fact_text,
                    observation_type or None,
                    happened_at,
                )
            )
        narrative = text_at(row, "narrative") or text_at(row, "text")
        file_names = self._list(row, "files_modified")
        if narrative != text_at(row, "text") != "":
            self.leave_out("texts of observations that have a narrative", f"id {row.get('id')}")
        if not narrative and (file_names or text_at(row, "subtitle") or (title and not drafts)):
            reason = "titles and files of observations without a narrative"
            self.leave_out(reason, f"id {row.get('id')}")
        if observation_type and not drafts and not (narrative and observation_type in _TYPES):
            self.leave_out("types of observations without facts", f"id {row.get('id')}")
        if narrative:
            parts = (title, text_at(row, "subtitle"), narrative)
            paragraphs = [part for part in parts if part]
            paragraphs += [f"Files: {', '.join(file_names)}"] if file_names else []
            observation_type = observation_type if observation_type in _TYPES else "insight"
            drafts.append(
                self.observation(
                    (*row_key, "narrative"), "\n\n".join(paragraphs), happened_at, observation_type
                )
            )
        return drafts

    def _summary(self, row: Row) -> list[Draft]:
        if not self._is_wanted(row):
            return []
        paragraphs = [
            f"{column.replace('_', ' ').capitalize()}: {text_at(row, column)}"
            for column in _PARTS
            if text_at(row, column)
        ]
        happened_at = instant_of(row.get("created_at_epoch"), _MILLISECOND)
        return (
            [self.observation((*_key(row), "summary"), "\n\n".join(paragraphs), happened_at)]
            if paragraphs
            else []
        )

    def _is_wanted(self, row: Row) -> bool:
        project_name = text_at(row, "merged_into_project") or text_at(row, "project")
        project_names = {folder.name for folder in self._machine.projects}
        if project_names and project_name and Path(project_name).name not in project_names:
            self.leave_out("notes of other projects", f"id {row.get('id')}")
        elif row.get("type") == "sensitive" and not self._machine.sensitive:
            self.leave_out("sensitive notes (--sensitive)", f"id {row.get('id')}")
        else:
            return True
        return False

    def _list(self, row: Row, key: str) -> Sequence[str]:
        """Return a list of texts, which the database keeps as JSON."""
        value = row.get(key)
        if isinstance(value, str):
            try:
                value = json.loads(value)
                json.dumps(value, ensure_ascii=False).encode()
            except (ValueError, RecursionError):
                self.leave_out(f"lists that are no JSON ({key})", f"id {row.get('id')}")
                return []
        entries = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(entry, str) for entry in entries):
            self.leave_out(f"entries that are no text ({key})", f"id {row.get('id')}")
        return texts_at({key: entries}, key)


def _key(row: Row) -> tuple[str, ...]:
    """Return the values that tell a row from others of this and of other machines."""
    session_id = next((text_at(row, column) for column in _SESSION if row.get(column)), "")
    return (session_id, str(row.get("created_at_epoch")), str(row.get("id")))
