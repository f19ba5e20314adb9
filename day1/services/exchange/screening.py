"""Leaving out texts that look like secrets when a foreign source is imported."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from day1.model.rows.validation import looks_secret
from day1.ports.source import EventDraft, FactDraft, Item, ObservationDraft, Source, ToolMemory


class WithoutSecrets(Source):
    """`Source` that leaves out texts which look like secrets, and lists their ids."""

    def __init__(self, source: Source) -> None:
        """Wrap the source to screen."""
        self._source = source
        self._left_out: dict[str, list[str]] = {}

    @property
    @override
    def name(self) -> str:
        return self._source.name

    @property
    @override
    def left_out(self) -> Mapping[str, Sequence[str]]:
        return {**self._source.left_out, **self._left_out}

    @override
    def total(self) -> int | None:
        return self._source.total()

    @override
    def items(self) -> Iterator[Sequence[Item]]:
        self._left_out.clear()
        for drafts in self._source.items():
            yield [draft for draft in drafts if not self._is_secret(draft)]

    def _is_secret(self, item: Item) -> bool:
        draft = item.fact if isinstance(item, EventDraft) else item
        match draft:
            case FactDraft(text=text) | ObservationDraft(summary=text):
                kind_of_secret = looks_secret(text)
            case _:
                kind_of_secret = None
        if kind_of_secret:
            reason = f"texts that look as if they hold {kind_of_secret}"
            self._left_out.setdefault(reason, []).append(draft.id)
        return kind_of_secret is not None


class MemoryWithoutSecrets(WithoutSecrets, ToolMemory):
    """`ToolMemory` that leaves out texts which look like secrets, and lists their ids."""

    def __init__(self, source: ToolMemory) -> None:
        """Wrap the memory to screen."""
        super().__init__(source)
        self._paths = source.paths

    @property
    @override
    def paths(self) -> Sequence[Path]:
        return self._paths
