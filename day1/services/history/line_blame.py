"""The writer of each line of a text: the version of the row that brought the line."""

from collections import Counter
from collections.abc import Iterator, Sequence

from day1.errors import InvalidRequest
from day1.model.merge.file_lines import text_of_file
from day1.model.merge.line_diff import MOST_LINES, equal_runs, lines_of
from day1.model.rows.kind import Kind, Row
from day1.services.history.tracing import Version


def line_versions(kind: Kind, versions: Sequence[Version]) -> list[Version]:
    """Return, for each line of a row's newest text, the version that brought the line.

    The versions of a row come from several branches, and are ordered by time alone. So a line is
    followed back through all earlier versions that have it at its place.

    Args:
        kind: the kind of the row.
        versions: all versions of the row, newest first.

    Raises:
        InvalidRequest: a version has too many lines.
    """
    texts = [(version, _lines(kind, version.row)) for version in versions if version.row]
    if not texts:
        return []
    newest, lines = texts[0]
    brought_by = [newest for _ in lines]
    holders = {0: [(number, number) for number in range(len(lines))]}
    """Lines by the place of the version that has them: each as its place in the newest text, and
    in the text of that version."""
    for place, (version, earlier_lines) in enumerate(texts[1:], start=1):
        moved_lines: list[tuple[int, int]] = []
        for holder, held in list(holders.items()):
            number_before = dict(_same(earlier_lines, texts[holder][1]))
            moved_lines += [(own, number_before[at]) for own, at in held if at in number_before]
            holders[holder] = [pair for pair in held if pair[1] not in number_before]
        holders = {holder: held for holder, held in holders.items() if held}
        if moved_lines:
            holders[place] = moved_lines
            for own, _ in moved_lines:
                brought_by[own] = version
    return brought_by


def _lines(kind: Kind, row: Row) -> list[str]:
    file_text = text_of_file(row)
    column = kind.text
    text = str(row[column] or "") if file_text is None and column else file_text or ""
    line_count = text.count("\n")
    if line_count > MOST_LINES:
        raise InvalidRequest(
            f"A version of this text has {line_count:,} lines, and at most {MOST_LINES:,} are told "
            "apart: ask without `lines`.",
            limit=MOST_LINES,
        )
    return lines_of(text)


def _same(earlier: list[str], later: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines that two texts share: their numbers in the later and the earlier one."""
    runs = equal_runs(earlier, later)
    if runs is not None:
        for run in runs:
            yield from ((run.text + line, run.base + line) for line in range(run.size))
        return
    # Texts that differ in most lines: those that each has once.
    counts = Counter(earlier), Counter(later)
    number_by_line = {line: number for number, line in enumerate(earlier)}
    for number, line in enumerate(later):
        if all(count[line] == 1 for count in counts):
            yield number, number_by_line[line]
