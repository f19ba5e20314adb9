"""A measured row, the table of all rows, and the same as JSON."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; a row without a limit is only stated."""

    name: str
    measured: str
    target: str = "stated"
    ratio: float | None = None
    """What the target speaks of: a quotient, or the measured value itself."""
    limit: float | None = None
    at_least: bool = False
    """The target is a lower bound."""
    note: str = ""
    value: float | None = None
    """What is measured, as a number: by it a row is compared with the same one elsewhere."""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none, or nothing was measured."""
        if self.ratio is None or self.limit is None:
            return None
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit


def skipped(name: str, target: str, why: str) -> Row:
    """A row that could not be measured here."""
    return Row(name, "-", target, note=f"skipped: {why}")


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed."""
    sorted_values = sorted(values)
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def milliseconds(seconds: float) -> str:
    """A duration as the table shows it."""
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"


def quotient(name: str, above: float, below: float, limit: float | None, what: str) -> Row:
    """A row about two durations, in seconds; without a limit it is only stated."""
    both_times = f"{milliseconds(above)} / {milliseconds(below)}"
    target = "stated" if limit is None else f"<= {limit:g} x {what}"
    return Row(name, both_times, target, above / below, limit, value=above)


def duration(name: str, seconds: float, limit_s: float, note: str = "") -> Row:
    """A row about one duration against a fixed limit."""
    target = f"<= {limit_s:g} s" if limit_s >= 0.3 else f"<= {limit_s * 1e3:g} ms"
    return Row(name, milliseconds(seconds), target, seconds, limit_s, note=note, value=seconds)


def stated(name: str, values: Sequence[float], note: str = "") -> Row:
    """A row without target: the median of durations in seconds."""
    median = statistics.median(values)
    return Row(name, milliseconds(median), note=note, value=median)


def table(rows: Iterable[Row]) -> str:
    """The rows in Markdown."""
    lines = [
        "| row | measured | target | ratio | met | note |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        met_word = {None: "", True: "yes", False: "**no**"}[row.met]
        lines.append(
            f"| {row.name} | {row.measured} | {row.target} | {ratio} | {met_word} | {row.note} |"
        )
    return "\n".join(lines)


def side_by_side(engine: str, embedded: Sequence[Row], served: Sequence[Row]) -> str:
    """The same rows on two engines, in Markdown."""
    served_by_name = {row.name: row for row in served}
    lines = [f"| row | embedded | {engine} | ratio |", "| --- | --- | --- | --- |"]
    for row in embedded:
        served_row = served_by_name.pop(row.name, None)
        ratio = ""
        if served_row is not None and row.value and served_row.value:
            ratio = f"{served_row.value / row.value:.2g}"
        measured = "-" if served_row is None else served_row.measured
        lines.append(f"| {row.name} | {row.measured} | {measured} | {ratio} |")
    lines += [f"| {row.name} | - | {row.measured} | |" for row in served_by_name.values()]
    return "\n".join(lines)


def write_json(path: Path, rows: Sequence[Row], about: dict[str, object]) -> None:
    """The rows and how they were made, for programs."""
    rows_json = [{**asdict(row), "met": row.met} for row in rows]
    path.write_text(json.dumps({**about, "rows": rows_json}, indent=2) + "\n")
