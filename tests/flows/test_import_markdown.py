"""`day1 import markdown`: notes become facts, section by section."""

import pytest

from day1.adapters.sources.front_matter import FrontMatter
from day1.adapters.sources.markdown import MarkdownSource, sections
from day1.errors import ImportBroken, InvalidRequest, NotFound
from day1.model.rows.origin import Origin
from day1.services.branches.lookup import find
from day1.services.exchange import importing
from day1.services.rows import editing
from tests.flows.imported_memory import Stopped

NOTES = """---
title: Not a note
---
Before any heading.

# Project #

We deploy on Tuesdays.

Deploying
---------
- build
- push

```sh
# not a heading

make
```

### Rollback
Run `make undo`.

# Empty

## C#
Use records.
"""


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "AGENTS.md").write_text(NOTES)
    return folder


def source(folder):
    return MarkdownSource([folder], folder)


def texts(memory):
    return {fact["fact_text"] for fact in memory.facts()}


def test_each_section_becomes_a_fact_under_its_headings(memory, notes):
    assert memory.take(source(notes)).added == 5
    assert texts(memory) == {
        "AGENTS: Before any heading.",
        "Project: We deploy on Tuesdays.",
        "Project > Deploying: - build\n- push\n\n```sh\n# not a heading\n\nmake\n```",
        "Project > Deploying > Rollback: Run `make undo`.",
        "Empty > C#: Use records.",
    }
    (fact, *_) = memory.facts()
    assert (fact["category"], fact["source"], fact["happened_at"]) == ("note", "import", None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\n===\nb", [((), ""), (("a",), "b")]),
        ("two\nlines\n---\nb", [((), ""), (("two lines",), "b")]),
        ("- item\n---\nb", [((), "- item\n---\nb")]),
        ("- item\nlazy\n---\nb", [((), "- item\nlazy\n---\nb")]),
        ("> quote\n---\nb", [((), "> quote\n---\nb")]),
        ("| a | b |\n---\nb", [((), "| a | b |\n---\nb")]),
        ("    code\n---\nb", [((), "    code\n---\nb")]),
        ("a\n\n---\n\nb", [((), "a\n\n---\n\nb")]),
        ("---\nno key\n---\nb", [((), "---"), (("no key",), "b")]),
        ("+++\na = 1\n+++\nb", [((), "b")]),
        ("---\na: 1\n", [((), "---\na: 1")]),
        ("#no\n #### yes ##\nb", [((), "#no"), (("yes",), "b")]),
        ("    # code\nb", [((), "    # code\nb")]),
        ("~~~\n# a\n```\n# b\n~~~\n# c", [((), "~~~\n# a\n```\n# b\n~~~"), (("c",), "")]),
        ("````\n```\n# a\n````", [((), "````\n```\n# a\n````")]),
        ("``` `\n# a", [((), "``` `"), (("a",), "")]),
        ("# a\r\nb\r\n", [((), ""), (("a",), "b")]),
        ("## a\n# b\n### c", [((), ""), (("a",), ""), (("b",), ""), (("b", "c"), "")]),
        ("", [((), "")]),
    ],
)
def test_headings_are_what_markdown_calls_so(text, found):
    body = FrontMatter(text).body
    assert [(s.headings, "\n\n".join(s.pieces())) for s in sections(body)] == found


def test_a_long_section_is_cut_between_paragraphs(memory, notes):
    paragraphs = [f"{letter * 700}." for letter in "abcd"]
    long_word = "".join(map(str, range(1_500)))
    body = "\n\n".join([*paragraphs, long_word, "\n".join(n * 900 for n in "12345")])
    (notes / "AGENTS.md").write_text(f"# Long\n\n{body}\n")
    memory.take(source(notes))
    pieces = [text.removeprefix("Long: ") for text in texts(memory)]
    assert max(map(len, pieces)) <= 2_000
    assert f"{paragraphs[0]}\n\n{paragraphs[1]}" in pieces
    squeezed = "".join(sorted("".join(pieces).replace("\n", "")))
    assert squeezed == "".join(sorted(body.replace("\n", "")))


def test_a_second_run_adds_nothing_and_a_changed_note_is_a_change(memory, notes):
    assert memory.take(source(notes)).added == 5
    assert memory.take(source(notes)).unchanged == 5
    fact = next(f for f in memory.facts() if "Tuesdays" in str(f["fact_text"]))
    memory.judge("main", fact["id"], "verified", "{}")
    (notes / "AGENTS.md").write_text(NOTES.replace("Tuesdays", "Mondays"))
    imported = memory.take(source(notes))
    assert (imported.added, imported.changed, imported.left) == (0, 1, [])
    after = next(f for f in memory.facts() if f["id"] == fact["id"])
    assert after["fact_text"] == "Project: We deploy on Mondays."
    assert (after["verification"], after["scores"]) == ("unverified", None)
    cells = {edit["cell"] for edit in memory.edits() if edit["agent_id"] == "import"}
    assert cells == {"fact_text", "verification"}
    (notes / "AGENTS.md").write_text(NOTES)
    assert memory.take(source(notes)).changed == 1
    assert "Project: We deploy on Tuesdays." in texts(memory)


def test_what_was_edited_or_removed_here_is_left_and_listed(memory, notes):
    memory.take(source(notes))
    ids = {str(f["fact_text"]).split(":")[0]: f["id"] for f in memory.facts()}
    memory.update_fact("main", ids["Project"], fact_text="We deploy on Fridays.")
    memory.supersede("main", ids["AGENTS"], "fact_new", "Something else.")
    memory.remove("main", ids["Empty > C#"])
    changed = (
        NOTES.replace("Before", "After").replace("Tuesdays", "Mondays").replace("records", "x")
    )
    (notes / "AGENTS.md").write_text(changed)
    imported = memory.take(source(notes))
    assert (imported.added, imported.changed) == (0, 0)
    assert {(left.id, left.why) for left in imported.left} == {
        (ids["Project"], "edited"),
        (ids["AGENTS"], "edited"),
        (ids["Empty > C#"], "removed"),
    }
    assert "We deploy on Fridays." in texts(memory)
    assert not any("C#" in text for text in texts(memory))


def test_a_removal_that_was_taken_back_counts_no_more(memory, notes):
    memory.take(source(notes))
    at = memory.clock()
    memory.clock.tick()
    fact = next(f for f in memory.facts() if "Tuesdays" in str(f["fact_text"]))
    at = memory.update_fact("main", fact["id"], confidence=0.5).at
    memory.remove("main", fact["id"])
    memory.restore_row("main", fact["id"], at)
    (notes / "AGENTS.md").write_text(NOTES.replace("Tuesdays", "Mondays"))
    assert memory.take(source(notes)).changed == 1


def test_a_text_that_was_restored_here_is_left(memory, notes):
    memory.take(source(notes))
    fact = next(f for f in memory.facts() if "Tuesdays" in str(f["fact_text"]))
    at = memory.clock() + 1_000_000
    memory.clock.tick(2_000_000)
    (notes / "AGENTS.md").write_text(NOTES.replace("Tuesdays", "Mondays"))
    memory.take(source(notes))
    memory.restore_row("main", fact["id"], at)
    imported = memory.take(source(notes))
    assert [(left.id, left.why) for left in imported.left] == [(fact["id"], "edited")]
    assert "Project: We deploy on Tuesdays." in texts(memory)


def test_a_cell_that_a_merge_held_is_left_until_it_is_decided(memory, notes):
    memory.take(source(notes))
    fact = next(f for f in memory.facts() if "Tuesdays" in str(f["fact_text"]))
    memory.fork("side", "main")
    memory.update_fact("side", fact["id"], fact_text="On Fridays.")
    (notes / "AGENTS.md").write_text(NOTES.replace("Tuesdays", "Mondays"))
    memory.take(source(notes))
    assert memory.merge("side", "main").rejected == 1
    (notes / "AGENTS.md").write_text(NOTES.replace("Tuesdays", "Sundays"))
    (left,) = memory.take(source(notes)).left
    assert left.id == fact["id"]
    assert "Project: We deploy on Mondays." in texts(memory)


def test_a_stopped_import_goes_on(memory, notes, monkeypatch):
    monkeypatch.setattr(importing, "UNIT_ROWS", 2)
    with pytest.raises(Stopped):
        memory.take(source(notes), stop_after=1)
    assert len(memory.facts()) == 2
    assert memory.take(source(notes)).added == 3


def test_folders_give_their_notes_and_no_other_files(memory, tmp_path):
    folder = tmp_path / "project"
    for name in ("b.md", "a/c.markdown", ".cursor/rules/d.mdc", ".cursorrules"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"In {name}.")
    for name in ("node_modules/x/README.md", ".git/y.md", "code.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("No note.")
    (folder / "CLAUDE.md").symlink_to("b.md")
    (folder / "gone.md").symlink_to("nowhere.md")
    memory.take(MarkdownSource([folder, folder / "b.md"], folder))
    assert {text.split(": ")[1] for text in texts(memory)} == {
        "In b.md.",
        "In a/c.markdown.",
        "In .cursor/rules/d.mdc.",
        "In .cursorrules.",
    }
    assert memory.reports[-1] == (4, 4)


def test_links_that_lead_out_of_a_folder_are_left_out(memory, notes, tmp_path):
    """C2: a folder that came from elsewhere brings in no files of one's own."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("The key of the safe is 4711.")
    (notes / "innocent.md").symlink_to(outside / "secret.txt")
    (notes / "deeper").mkdir()
    (notes / "deeper" / "up.md").symlink_to("../../outside/secret.txt")
    (notes / "inside.md").symlink_to("AGENTS.md")
    done = memory.take(source(notes))
    assert not any("4711" in text for text in texts(memory))
    links = [notes / "innocent.md", notes / "deeper" / "up.md"]
    assert done.left_out["links that lead out of the folder"] == [*map(str, links)]
    # Whoever names the link wants what it leads to.
    assert memory.take(MarkdownSource([notes / "innocent.md"], notes)).added == 1


def test_ids_hang_on_the_place_in_the_folder_not_on_the_folder(memory, notes, tmp_path):
    memory.take(source(notes))
    moved = notes.rename(tmp_path / "moved")
    assert memory.take(source(moved)).added == 0
    (moved / "other").mkdir()
    (moved / "other" / "AGENTS.md").write_text(NOTES)
    assert memory.take(source(moved)).added == 5


def test_what_cannot_be_imported_is_said(memory, notes, tmp_path):
    with pytest.raises(NotFound):
        source(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidRequest, match="no Markdown file"):
        source(tmp_path / "empty")
    (notes / "B.md").write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(ImportBroken, match="UTF-8") as failed:
        memory.take(source(notes))
    assert (failed.value.details["added"], failed.value.details["line"]) == (5, 1)
    assert len(memory.facts()) == 5


def test_a_note_of_another_branch_is_not_touched(memory, notes):
    memory.fork("side", "main")
    memory.take(source(notes), "side")
    assert memory.facts() == []
    assert len(memory.facts("side")) == 5


def test_what_no_engine_keeps_is_taken_out(memory, notes):
    (notes / "AGENTS.md").write_text("# A\na\0b\n")
    memory.take(source(notes))
    assert texts(memory) == {"A: ab"}


def test_a_row_written_here_with_the_same_text_is_another_row(memory, notes):
    (notes / "AGENTS.md").write_text("# A\nb\n")
    memory.add_fact("main", "fact_own", fact_text="A: b")
    assert memory.take(source(notes)).added == 1
    assert {fact["agent_id"] for fact in memory.facts()} == {"one", "ada"}
    main = find(memory.repo, "main")
    editing.remove(memory.repo, main, editing.Removal(["fact_own"]), Origin("ada"))
    assert len(memory.facts()) == 1
