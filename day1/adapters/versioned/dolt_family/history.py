"""The history that Dolt and DoltLite share; each changes refs by its own statements."""

from abc import abstractmethod

from typing_extensions import override

from day1.adapters.versioned.history import SqlHistory
from day1.model.rows.change import CommitId


class DoltFamilyHistory(SqlHistory):
    """A history in which tags are refs of the engine."""

    _tag: str
    """The statement that tags a commit."""

    @abstractmethod
    def _change_ref(self, statement: str, values: tuple[str, ...]) -> None:
        """Run a statement that makes, moves or deletes a ref."""

    @override
    def tag(self, name: str, commit: CommitId) -> None:
        with self._connections.fresh() as connection:
            if name in self._dialect.tags(connection):
                return
        self._change_ref(self._tag, (name, commit))
