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
    versions_with_lines = [
        (version, _lines(kind, version.row)) for version in versions if version.row
    ]
    if not versions_with_lines:
        return []
    newest_version, newest_lines = versions_with_lines[0]
    version_of_line = [newest_version for _ in newest_lines]
    line_pairs_by_version = {
        0: [(line_index, line_index) for line_index in range(len(newest_lines))]
    }
    """Lines by the place of the version that has them: each as its place in the newest text, and
    in the text of that version."""
    for version_index, (version, earlier_lines) in enumerate(versions_with_lines[1:], start=1):
        moved_lines: list[tuple[int, int]] = []
        for later_index, line_pairs in list(line_pairs_by_version.items()):
            earlier_index_by_later = dict(_same(earlier_lines, versions_with_lines[later_index][1]))
            moved_lines += [
                (newest_line_index, earlier_index_by_later[later_line_index])
                for newest_line_index, later_line_index in line_pairs
                if later_line_index in earlier_index_by_later
            ]
            line_pairs_by_version[later_index] = [
                line_pair for line_pair in line_pairs if line_pair[1] not in earlier_index_by_later
            ]
        line_pairs_by_version = {
            later_index: line_pairs
            for later_index, line_pairs in line_pairs_by_version.items()
            if line_pairs
        }
        if moved_lines:
            line_pairs_by_version[version_index] = moved_lines
            for newest_line_index, _ in moved_lines:
                version_of_line[newest_line_index] = version
    return version_of_line


def _lines(kind: Kind, row: Row) -> list[str]:
    file_text = text_of_file(row)
    text_column = kind.text
    text = str(row[text_column] or "") if file_text is None and text_column else file_text or ""
    line_count = text.count("\n")
    if line_count > MOST_LINES:
        raise InvalidRequest(
            f"A version of this text has {line_count:,} lines, and day1 compares at most "
            f"{MOST_LINES:,}: ask without `lines`.",
            limit=MOST_LINES,
        )
    return lines_of(text)


def _same(earlier: list[str], later: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines that two texts share: their numbers in the later and the earlier one."""
    equal_line_runs = equal_runs(earlier, later)
    if equal_line_runs is not None:
        for run in equal_line_runs:
            yield from ((run.text + offset, run.base + offset) for offset in range(run.size))
        return
    # Texts that differ in most lines: those that each has once.
    line_counters = Counter(earlier), Counter(later)
    index_by_line = {line: line_index for line_index, line in enumerate(earlier)}
    for line_index, line in enumerate(later):
        if all(line_counter[line] == 1 for line_counter in line_counters):
            yield line_index, index_by_line[line]
