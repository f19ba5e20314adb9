"""Texts in files as memory: each file is one fact, whose long text is kept in parts."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from typing_extensions import override

from day1.adapters.sources.counting import CountingSource
from day1.adapters.sources.files import text_of
from day1.errors import NotFound
from day1.foreign_files import broken, is_text, shown
from day1.model.values.ids import derived_id
from day1.ports.source import PASSAGE, Draft, FactDraft


class TextSource(CountingSource):
    """`ports.source.Source` over files of UTF-8 text."""

    name = "text"

    def __init__(self, paths: Sequence[Path], root: Path) -> None:
        """Set the files to read; a fact's id comes from its file's path relative to `root`.

        Raises:
            NotFound: a file does not exist.
            ImportBroken: it is no ordinary file.
        """
        super().__init__()
        self._root = root.resolve()
        for path in paths:
            if not path.exists():
                raise NotFound(f"There is no {shown(path)}.", path=shown(path))
            if not path.is_file():
                raise broken(path, 1, "it is not an ordinary file")
            if not is_text(path):
                raise broken(path, 1, "its name is not UTF-8: rename it")
        self._files = list(dict.fromkeys(path.resolve() for path in paths))

    @override
    def total(self) -> int:
        return len(self._files)

    @override
    def items(self) -> Iterator[list[Draft]]:
        self._left_out.clear()
        for file in self._files:
            text = text_of(file)
            if not text.strip():
                self.leave_out("empty files", file)
                yield []
                continue
            key_path = file.relative_to(self._root) if file.is_relative_to(self._root) else file
            fact_id = derived_id("fact", None, self.name, key_path.as_posix())
            yield [FactDraft(fact_id, text, category=PASSAGE)]
