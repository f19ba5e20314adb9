"""The history that Dolt and DoltLite share; each changes refs by its own statements."""

from abc import abstractmethod

from typing_extensions import override

from day1.adapters.versioned.history import SqlHistory
from day1.model.rows.change import CommitId


class DoltFamilyHistory(SqlHistory):
    """A history in which tags are refs of the engine."""

    _tag: str
    """The statement that tags a commit."""
    _untag: str
    """The statement that deletes a tag."""

    @abstractmethod
    def _change_ref(self, statement: str, values: tuple[str, ...]) -> None:
        """Run a statement that makes, moves or deletes a ref."""

    @override
    def tag(self, name: str, commit: CommitId) -> None:
        if not self._is_tag(name):
            self._change_ref(self._tag, (name, commit))

    @override
    def untag(self, name: str) -> None:
        if self._is_tag(name):
            self._change_ref(self._untag, (name,))

    def _is_tag(self, name: str) -> bool:
        with self._connections.fresh() as connection:
            return name in self._dialect.tags(connection)
