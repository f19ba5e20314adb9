"""Count what readers of foreign files leave out, with its reason and place."""

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override

from day1.foreign_files import shown
from day1.ports.source import Source


class CountingSource(Source):
    """A source that counts what it leaves out."""

    def __init__(self) -> None:
        """Begin with nothing left out."""
        self._left_out: dict[str, list[str]] = {}

    @property
    @override
    def left_out(self) -> Mapping[str, Sequence[str]]:
        return self._left_out

    def leave_out(self, why: str, place: object) -> None:
        """Record that something is not imported: why, and where it is."""
        self._left_out.setdefault(why, []).append(shown(place))

    def leave_out_headings(self, headings: Iterable[tuple[int, str]], place: object) -> None:
        """Record the headings, by line and title, whose title is in no row."""
        for line_number, _ in headings:
            self.leave_out(
                "headings without a text of their own", f"{shown(place)}, line {line_number}"
            )

    def leave_out_lines(self, count: int, place: object) -> None:
        """Record lines of front matter that become no part of a row."""
        if count:
            line_count_text = f"{count} line" if count == 1 else f"{count} lines"
            self.leave_out("other keys of front matter", f"{shown(place)}, {line_count_text}")
