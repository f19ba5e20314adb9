"""What a merge held of an imported row is decided here before an import changes the row again."""

from day1.adapters.sources.markdown import MarkdownSource


def test_a_row_that_was_removed_elsewhere_and_held_is_left(memory, tmp_path):
    def take(text):
        (tmp_path / "notes.md").write_text(f"# Deploys\n\n{text}\n")
        return memory.take(MarkdownSource([tmp_path], tmp_path))

    take("On Tuesdays.")
    (fact,) = memory.facts()
    memory.fork("side", "main")
    memory.remove("side", fact["id"])
    assert take("On Mondays.").changed == 1
    assert memory.merge("side", "main").rejected == 1
    (left,) = take("On Sundays.").left
    assert (left.id, left.why) == (fact["id"], "held")
    assert [fact["fact_text"] for fact in memory.facts()] == ["Deploys: On Mondays."]
    memory.decide("main", fact["id"], "*", "dismissed")
    assert take("On Sundays.").changed == 1
