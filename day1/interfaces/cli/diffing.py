"""Draw changes: `+` marks a new row, `~` a changed one, word by word, `-` a removed one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.render import WHOLE_ID, Part, Screen, one_line, plural, short
from day1.model.merge.word_diff import changed_words
from day1.model.rows.kind import BY_NAME, BY_TABLE
from day1.model.values.instant import show
from day1.model.values.showing import short_commit

if TYPE_CHECKING:
    from day1.model.rows.change import Changes, Commit, Ref
    from day1.services.repository.repository import Repository

Document = Mapping[str, Any]

MARKS = {"new": ("+ ", "added"), "changed": ("~ ", "changed"), "removed": ("- ", "removed")}
"""The mark and style of a row in a plan, by the effect of the merge on it."""


def change_documents(
    repo: Repository, ref: Ref, changes: Changes
) -> dict[str, list[dict[str, Any]]]:
    """Return changed memories in the form of `day1 diff`: added, changed, removed."""
    from day1.model.rows.kind import MEMORIES
    from day1.services.rows.deriving import shown_changes
    from day1.toolsets.shared.shown import changed, shown

    documents: dict[str, list[dict[str, Any]]] = {"added": [], "changed": [], "removed": []}
    shown_by_table = shown_changes(repo, [ref], changes)
    for kind in MEMORIES:
        for change in shown_by_table.get(kind.table, ()):
            row = change.after if change.before is None else change.before
            if change.how == "changed":
                documents["changed"].append(changed(kind, change))
            elif row is not None:
                documents[change.how].append(shown(kind, row))
    return documents


def draw_changes(screen: Screen, documents: Mapping[str, Iterable[Document]]) -> None:
    """Draw added, changed and removed memories in the form of `change_documents`."""
    for row in documents["added"]:
        screen.line(("+ ", "added"), (short(row["id"]), "commit"), (f" {text_of(row)}", "added"))
    for row in documents["changed"]:
        screen.line(("~ ", "changed"), (short(row["id"]), "commit"))
        for column, new_value in row["after"].items():
            old_value = row["before"][column]
            screen.line(f"    {column}: ", *words(screen, old_value, new_value))
    for row in documents["removed"]:
        row_line = f" {text_of(row)}"
        screen.line(("- ", "removed"), (short(row["id"]), "commit"), (row_line, "removed"))


def text_of(row: Document) -> str:
    """Return a memory's text on one line, with a fact's category before it."""
    text_by_column = {column: "" if cell is None else cell for column, cell in row.items()}
    text = BY_NAME[row["type"]].line.format_map(text_by_column)
    category_label = f"[{row['category']}] " if row.get("category") else ""
    return one_line(category_label + text)


def summary(commit: Commit) -> str:
    """Return a commit's message on one line, with counts by kind and short ids."""
    count_by_table = commit.meta.get("counts")
    if commit.op == "add" and isinstance(count_by_table, Mapping):
        kind_counts = ", ".join(
            plural(int(str(count)), kind.name, table)
            for table, count in count_by_table.items()
            if (kind := BY_TABLE.get(table)) is not None
        )
        return f"add {kind_counts}"
    return one_line(WHOLE_ID.sub(lambda match: short(match[0]), commit.line))


def draw_commit(screen: Screen, commit: Commit) -> None:
    """Draw the parents of a merge, the author, the time and the message of a commit."""
    if len(commit.parents) > 1:
        screen.line("Merge:  " + " ".join(short_commit(parent) for parent in commit.parents))
    screen.line(f"Author: {commit.author}")
    screen.line(f"Date:   {brief(show(commit.ts))}")
    screen.line()
    screen.line(f"    {summary(commit)}")


def words(screen: Screen, before: object, after: object) -> list[Part]:
    """Join two values to one text, with removed and added words in colour or marked as by git."""
    old_text, new_text = ("" if value is None else str(value) for value in (before, after))
    changed_parts: Sequence[tuple[str, str]] = changed_words(old_text, new_text)
    if screen.colours:
        style_by_change = {"same": "", "removed": "struck", "added": "added"}
        return [(one_spaced(text), style_by_change[change]) for change, text in changed_parts]
    mark_by_change = {"removed": "[-{}-]", "added": "{{+{}+}}", "same": "{}"}
    return [mark_by_change[change].format(one_spaced(text)) for change, text in changed_parts]


def one_spaced(text: str) -> str:
    """Return a text on one line, with single spaces; spaces at its ends stay."""
    return text.replace("\n", " ⏎ ")
