"""Lines, tables and progress: colours and tables on a terminal, plain text in a pipe.

Stored texts are untrusted: everything that is printed passes `visible`, so that no stored
text can move the cursor, hide itself or speak to the terminal.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TextIO

import click

from day1.errors import OutputFailed
from day1.interfaces.cli.codes import READER_LEFT
from day1.model.values.callbacks import ReportProgress
from day1.model.values.showing import UNSEEN, short_commit, short_id

Part = str | tuple[str, str]
"""A part of a line: text, or text with the name of a style."""


_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
    "struck": {"fg": "red", "strikethrough": True},
    "changed": {"fg": "yellow"},
    "commit": {"fg": "yellow"},
    "branch": {"fg": "cyan", "bold": True},
    "bold": {"bold": True},
    "dim": {"dim": True},
    "error": {"fg": "red", "bold": True},
    "warn": {"fg": "yellow", "bold": True},
    "ok": {"fg": "green"},
}
WHOLE_ID: Final = re.compile(r"\b[a-z]+_[0-9A-HJKMNP-TV-Z]{26}\b")


def visible(text: str) -> str:
    """Escape the characters that would control a terminal."""
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def json_text(document: object, indent: int | None = None) -> str:
    """Format a document as JSON without characters that would control a terminal."""
    return escaped(json.dumps(document, ensure_ascii=False, indent=indent))


def escaped(text: str) -> str:
    """Escape every invisible or terminal-controlling character of a JSON text."""
    return UNSEEN.sub(lambda letter: json.dumps(letter[0])[1:-1], text)


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces."""
    return " ".join(text.split())


def short(row_id: str) -> str:
    """Return a short id, which people read and type: its kind and its last letters."""
    kind_prefix, separator, _ = row_id.partition("_")
    return f"{kind_prefix}_{short_id(row_id)}" if separator else row_id


def place(written: Mapping[str, Any]) -> Part:
    """Return the prefix `[BRANCH COMMIT] ` of a line about a write."""
    return f"[{written['branch']} {short_commit(written['commit'])}] ", "branch"


def plural(count: int, singular: str, several: str | None = None) -> str:
    """Return a count with its noun: `1 row`, `2 rows`."""
    return f"{count:,} {singular if count == 1 else several or singular + 's'}"


class Screen:
    """The output of a command: the answer goes to stdout, notes about it to stderr."""

    def __init__(self) -> None:
        """Find out whether stdout is a terminal and shows colours."""
        self.terminal = sys.stdout.isatty()
        self._plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.colours = self.terminal and not self._plain

    def line(self, *parts: Part) -> None:
        """Print one line of the answer."""
        self._print(sys.stdout, parts)

    def note(self, *parts: Part) -> None:
        """Print one note about the answer on stderr."""
        self._print(sys.stderr, parts)

    def _print(self, stream: TextIO, parts: Sequence[Part]) -> None:
        shows_colours = stream.isatty() and not self._plain
        put(stream, "".join(self._painted(part, colours=shows_colours) for part in parts) + "\n")

    def _painted(self, part: Part, *, colours: bool) -> str:
        text, style = (part, None) if isinstance(part, str) else part
        text = visible(text)
        return click.style(text, **_STYLES[style]) if colours and style else text

    def json(self, document: object) -> None:
        """Print one JSON document."""
        put(sys.stdout, json_text(document, 2 if self.terminal else None) + "\n")

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
        """Print rows: a table on a terminal, one line each with tabs in a pipe."""
        if not self.terminal:
            for row in rows:
                cell_texts = (cell if isinstance(cell, str) else cell[0] for cell in row)
                self.line("\t".join(one_line(cell_text) for cell_text in cell_texts))
        elif rows:
            self._rich_table(headings, rows)

    def _rich_table(self, headings: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="dim")
        for column_index, heading in enumerate(headings):
            is_last = column_index == len(headings) - 1
            table.add_column(
                visible(heading), no_wrap=not is_last, overflow="fold" if is_last else "ellipsis"
            )
        for row in rows:
            table.add_row(*(Text.from_ansi(self._painted(cell, colours=True)) for cell in row))
        Console(file=sys.stdout, no_color=self._plain, highlight=False).print(table)

    @contextmanager
    def progress(self, what: str) -> Iterator[ReportProgress]:
        """Show progress on stderr: a bar on a terminal, else a line for each report."""
        if not sys.stderr.isatty():
            yield lambda done, total: self.note(f"{what}: {_of(done, total)}")
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        bar_columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = Console(stderr=True, no_color=self._plain)
        with Progress(
            *bar_columns, TimeRemainingColumn(), console=console, transient=True
        ) as progress_bar:
            task_id = progress_bar.add_task(visible(what), total=None)
            yield lambda done, total: progress_bar.update(task_id, completed=done, total=total)


def _of(done: int, total: int | None) -> str:
    return f"{done:,}" if total is None else f"{done:,} of {total:,}"


def put(stream: TextIO, text: str) -> None:
    """Write to a stream; when its reader is gone, end the process silently.

    Raises:
        OutputFailed: stdout cannot be written. What stderr cannot take is left out.
    """
    try:
        stream.write(text)
    except BrokenPipeError:
        leave()
    except OSError as exc:
        if stream is sys.stdout:
            raise output_failed(exc) from exc
        be_quiet(stream)


def output_failed(exc: OSError) -> OutputFailed:
    """Build the error for an answer that stdout did not take, and discard what is left of it."""
    be_quiet()
    return OutputFailed(
        f"The answer could not be written ({exc.strerror}). What the command did is done: see it "
        "with `day1 status` and `day1 log`."
    )


def leave() -> None:
    """End the process silently, because the reader is gone."""
    be_quiet()
    raise click.exceptions.Exit(READER_LEFT)


def be_quiet(stream: TextIO | None = None) -> None:
    """Discard what Python would still write to a stream at exit; by default to stdout."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, (stream or sys.stdout).fileno())
    os.close(null_device)
