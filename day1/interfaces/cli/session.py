"""One run of one command: its settings, its open store, its caller and its output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import click

from day1.errors import Refused
from day1.interfaces.cli.moments import moment
from day1.interfaces.cli.render import Screen
from day1.interfaces.cli.wording import command_of
from day1.model.values.instant import NEVER

if TYPE_CHECKING:
    from day1.call.context import Context
    from day1.interfaces.cli.application import Application
    from day1.interfaces.open_store import OpenStore
    from day1.model.branches.branch import Branch
    from day1.model.rows.origin import Origin
    from day1.services.prime.renewing import PrimeRenewer
    from day1.services.repository.repository import Repository
    from day1.settings import Settings

Watch = tuple[Callable[[int, int | None], None], Callable[[], bool]]

HEAD = "cli"
"""The ledger's key of the command line's HEAD; on a server the machine's id follows it."""


class Session:
    """The settings, store and output of one command; the store is opened when first needed."""

    def __init__(self, find_application: Callable[[], Application], *, as_json: bool) -> None:
        """Keep the options of the run; open no store yet."""
        self.as_json = as_json
        self._find_application = find_application
        self.screen = Screen()
        self._store: OpenStore | None = None
        self._renewer: PrimeRenewer | None = None

    @property
    def asks(self) -> bool:
        """Whether a person can be asked: input and output are a terminal."""
        return self.screen.terminal and sys.stdin.isatty() and not self.as_json

    @cached_property
    def app(self) -> Application:
        """The composition root, which opens stores and finds adapters."""
        return self._find_application()

    @cached_property
    def settings(self) -> Settings:
        """The settings of the environment, read once.

        Raises:
            InvalidRequest: a setting is not valid; the message names all such settings.
        """
        from pydantic import ValidationError

        from day1.call.problems import invalid_settings
        from day1.logs import to_stderr
        from day1.settings import Settings

        try:
            settings = Settings()
        except ValidationError as exc:
            raise invalid_settings(exc) from exc
        to_stderr(settings.log_level)
        return settings

    def now(self) -> int:
        """Return the time: microseconds since 1970 UTC."""
        return self.app.now()

    def store(self, *, create: bool = False) -> OpenStore:
        """Open the store of this folder once; with `create`, make one where there is none.

        Raises:
            NotAStore: there is none.
        """
        if self._store is None:
            self._store = self.app.stores.open_store(self.settings, create=create)
            self._renewer = self.app.stores.prime_renewer(self._store)
            self._renewer.begin()
        return self._store

    def repo(self) -> Repository:
        """Open the store, and return its repository."""
        return self.store().repo

    def context(self, *, create: bool = False) -> Context:
        """Make the context of an operation that a person calls."""
        from day1.interfaces.heads import LedgerHead, spaced
        from day1.services.access.caller import Caller

        store = self.store(create=create)
        settings = self.settings
        return store.context(
            Caller(
                settings.agent_id,
                settings.session_id,
                settings.task_id,
                source="user",
                space=spaced(settings.space),
                head=LedgerHead(store.repo, f"{HEAD}/{store.node}" if store.node else HEAD),
            )
        )

    def origin(self, agent_id: str | None) -> Origin:
        """Say who writes rows that no operation writes: as `--agent` says, else the settings.

        Raises:
            InvalidRequest: no agent can have this name.
        """
        from pydantic import ValidationError

        from day1.call.fields import WriteRequest
        from day1.call.problems import invalid
        from day1.services.access.calls import origin_of

        try:
            request = WriteRequest(agent_id=agent_id)
        except ValidationError as exc:
            raise invalid("The arguments", WriteRequest, exc) from exc
        return origin_of(self.context(), request)

    def branch(self, name: str | None = None) -> str:
        """Return the name of the branch `name`; default: the command line's current branch."""
        return self.find(name).name

    def find(self, name: str | None = None) -> Branch:
        """Find the branch `name` in the ledger; default: the command line's current branch."""
        from day1.services.access.calls import branch_of

        return branch_of(self.context(), name)

    def whole_id(self, text: str, branch: str) -> str:
        """Complete the id of a memory on a branch from its last letters.

        Raises:
            NotFound: no memory of the branch has it.
            InvalidRequest: several memories have it.
        """
        return self.whole_ids([text], branch)[0]

    def whole_ids(self, texts: Iterable[str], branch: str) -> list[str]:
        """Complete the ids of memories as `whole_id` does; each id is returned once."""
        from day1.model.rows.change import Ref
        from day1.services.branches.resolving import row_ids

        with self.repo().store.reading(Ref(branch=branch)) as reading:
            return row_ids(reading, texts)

    def memory_text(self, text: str | None) -> str:
        """Return a memory's text: the argument, stdin for `-`, or what an editor leaves."""
        if text == "-":
            return sys.stdin.read().strip()
        if text is not None:
            return text
        if not self.asks:
            raise click.UsageError("Missing argument 'TEXT' (`-` reads it from stdin).")
        edited_text = click.edit("")
        if not edited_text or not edited_text.strip():
            raise Refused(
                "The editor's text is empty, so no memory was added: write a text and save it."
            )
        return edited_text.strip()

    def create_branch(
        self, name: str, start: str | None, description: str | None, at: str | None = None
    ) -> dict[str, Any]:
        """Create a branch from `start`, else from the current one; return the tool's answer.

        With `at` it begins as `start` was at that time.
        """
        return self.call(
            "memory_branch_create",
            branch_name=name,
            parent_branch=start or self.branch(),
            at=at,
            description=description,
        )

    def call(
        self, tool: str, *, create: bool = False, watch: Watch | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """Call an operation; arguments that are None are left out.

        `watch` is two functions: one reports the progress, the other says whether to stop.
        """
        from day1.toolsets.finding import tool_of

        non_null_arguments = {name: value for name, value in arguments.items() if value is not None}
        context = self.context(create=create)
        if not self.as_json:
            context = replace(context, say=command_of)
        if watch is not None:
            context = replace(context, progress=watch[0], stopped=watch[1])
        answer: dict[str, Any] = tool_of(tool).call(context, non_null_arguments)
        return answer

    def moment(self, text: str | None, *, end: bool = False) -> str | None:
        """Parse a time that a person typed into the form that operations take."""
        if text is None or text == NEVER:
            return text
        return moment(text, self.now(), end=end)

    def answer(self, document: Mapping[str, Any], *fields: str) -> bool:
        """Print the answer as JSON if `--json` was given; return whether it was printed.

        With `fields`, only these fields of the answer are printed.
        """
        if self.as_json:
            self.screen.json({field: document[field] for field in fields or document})
        return self.as_json

    def notes(self, answer: Mapping[str, Any]) -> None:
        """Print the notes of an operation's answer on stderr."""
        branch_state = answer.get("read") or answer.get("written") or {}
        for note in branch_state.get("notes", ()):
            self.screen.note(("note: ", "dim"), str(note))

    def close(self) -> None:
        """Renew the primes if rows were written, and close the store."""
        if self._store is not None:
            if self._renewer is not None and not self._store.read_only:
                self._renewer.renew()
            self._store.close()


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Give a command its session as the first argument, and the option `--json`."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    return as_json(with_session(run))


def with_session(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command its session as the first argument."""

    @wraps(command)
    def run(*, as_json: bool = False, **options: Any) -> None:
        find_application = click.get_current_context().obj
        session = Session(find_application, as_json=as_json)
        try:
            command(session, **options)
        finally:
            session.close()

    return run
