"""Connect to a memory from Python: `day1.connect`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from day1.errors import Day1Error, InvalidRequest, NotAStore
from day1.git_folders import STORE
from day1.home import is_store
from day1.interfaces.python.calls import Calls, Who, require_text, unfit
from day1.interfaces.python.memory import Memory
from day1.interfaces.python.options import Connection
from day1.model.branches.branch import MAIN
from day1.model.rows.origin import named

if TYPE_CHECKING:
    from day1.call.operation import Effect
    from day1.interfaces.open_store import OpenStore
    from day1.interfaces.python.asynchronous.memory import AsyncMemory
    from day1.settings import Settings

Target = str | Path | None
"""Where a memory is: None for the nearest store, a folder, a database's URL, a server's address."""

_WEB: Final = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of `connect`, but for the target."""

    branch: str | None
    agent: str | None
    space: str | None
    token: str | None
    more: Connection

    @property
    def create(self) -> bool | None:
        """Whether to make a missing store; None: `_creates` decides by the target."""
        return self.more.get("create")


def connect(
    target: Target = None,
    *,
    branch: str | None = None,
    agent: str | None = None,
    space: str | None = None,
    token: str | None = None,
    **more: Unpack[Connection],
) -> Memory:
    """Connect to a memory: one on this machine, in a database, or behind a server.

    Args:
        target: a folder, the URL of a database (`mysql+pymysql://…`), or the address of
            `day1 serve` (`http://…`). None: the nearest store, as the command line finds it.
        branch: the branch of the memory; default: DAY1_BRANCH, else `main`.
        agent: the agent that writes; default: DAY1_AGENT_ID, else none.
        space: the space of calls that name none; default: DAY1_SPACE, else all, and new memories
            have none.
        token: the token for a server.
        **more: see `Connection`.

    Returns:
        The memory. Close it, or use it in a `with` block; what is not closed loses nothing.

    Raises:
        NotAStore: there is no store, and none is to be made there.
        InvalidRequest: an argument or a setting does not fit.
        StoreOfAnother: the nearest store is another user's.
        StoreUnavailable: the database or the server does not answer.
        Unauthorized: the server wants a token, or another one.
    """
    _refuse_unknown(more)
    calls, caller = _connected(target, _Asked(branch, agent, space, token, more))
    return Memory(calls, caller)


async def aconnect(
    target: Target = None,
    *,
    branch: str | None = None,
    agent: str | None = None,
    space: str | None = None,
    token: str | None = None,
    **more: Unpack[Connection],
) -> AsyncMemory:
    """Connect to a memory for asyncio: as `connect`, and every call is awaited.

    Args:
        target: see `connect`.
        branch: see `connect`.
        agent: see `connect`.
        space: see `connect`.
        token: see `connect`.
        **more: see `Connection`.

    Returns:
        The memory; tasks of several event loops may share it.

    Raises:
        NotAStore: there is no store, and none is to be made there.
        InvalidRequest: an argument or a setting does not fit.
        StoreOfAnother: the nearest store is another user's.
        StoreUnavailable: the database or the server does not answer.
        Unauthorized: the server wants a token, or another one.
    """
    from day1.interfaces.python.asynchronous.calls import AsyncCalls, finished, new_pool
    from day1.interfaces.python.asynchronous.memory import AsyncMemory

    _refuse_unknown(more)
    connect_arguments = _Asked(branch, agent, space, token, more)
    connected: list[tuple[Calls, Who]] = []
    pool = new_pool()
    try:
        await finished(pool, lambda: connected.append(_connected(target, connect_arguments)))
    except BaseException:
        for calls, _ in connected:  # it was cancelled when it had connected
            calls.close()
        pool.shutdown(wait=False)
        raise
    ((calls, caller),) = connected
    return AsyncMemory(AsyncCalls(calls, pool), caller)


def _refuse_unknown(more: Mapping[str, Any]) -> None:
    unknown_names = sorted(set(more) - set(Connection.__annotations__))
    if unknown_names:
        known_names = ", ".join(("branch", "agent", "space", "token", *Connection.__annotations__))
        raise InvalidRequest(
            f"day1.connect has no argument {', '.join(unknown_names)}; known are: {known_names}.",
            problems=[{"argument": name, "problem": "unknown argument"} for name in unknown_names],
        )


def _connected(target: Target, asked: _Asked) -> tuple[Calls, Who]:
    _refuse_unusable(target)
    if isinstance(target, str) and target.strip().lower().startswith(_WEB):
        return _behind(target.strip(), asked)
    if asked.token is not None:
        raise InvalidRequest(
            "`token` is for the address of a server, such as http://127.0.0.1:8420: leave it out."
        )
    settings = _settings(target, asked.more.get("settings"))
    caller = _who(asked, settings)
    return _opened(settings, create=_creates(target, create=asked.create)), caller


def _refuse_unusable(target: object) -> None:
    """Refuse a target that can be neither an address nor the path of a folder.

    Raises:
        InvalidRequest: it is of another type, or has a character that neither has.
    """
    if target is None:
        return
    if not isinstance(target, str | os.PathLike):
        raise unfit(
            "target", f"must be a text or a pathlib.Path, and is of type {type(target).__name__}"
        )
    text = os.fspath(target)
    require_text("target", text)
    if "\0" in text:
        raise unfit("target", "must not contain NUL characters")


def _behind(address: str, asked: _Asked) -> tuple[Calls, Who]:
    """Connect to a server, which has settings of its own.

    Raises:
        InvalidRequest: an argument is about a store that this process would open.
    """
    from day1.interfaces.python.remote import RemoteCalls

    local_arguments = [name for name in ("create", "settings") if asked.more.get(name) is not None]
    if local_arguments:
        raise InvalidRequest(
            f"`{local_arguments[0]}` is for a store that this process opens, and a server has "
            "opened its own: leave it out.",
        )
    caller = _who(asked, _settings(None, None))
    return RemoteCalls(address, asked.token, caller), caller


def _who(asked: _Asked, settings: Settings) -> Who:
    return Who(
        asked.branch or settings.branch or MAIN,
        _name("agent", asked.agent) or settings.agent_id,
        _name("session", asked.more.get("session")) or settings.session_id,
        settings.task_id,
        asked.space or settings.space,
    )


def _name(argument: str, value: object) -> str | None:
    """Return a name of the caller after checking it; None if the caller gave no name."""
    if value is None:
        return None
    require_text(argument, value)
    return named(value, argument)


def _settings(target: Target, overrides: Mapping[str, Any] | None) -> Settings:
    """Return the settings of the environment, under those of the caller and the target.

    Raises:
        InvalidRequest: a setting is unknown or not valid.
    """
    from pydantic import ValidationError

    from day1.settings import Settings, settings_at

    untyped_overrides: object = overrides  # callers without a type checker may give anything
    if untyped_overrides is not None and not isinstance(untyped_overrides, Mapping):
        type_name = type(untyped_overrides).__name__
        raise unfit("settings", f"must be a mapping by name, and is of type {type_name}")
    unknown_names = sorted(map(str, set(overrides or ()) - set(Settings.model_fields)))
    if unknown_names:
        raise InvalidRequest(
            f"There is no setting {', '.join(unknown_names)}; there are: "
            f"{', '.join(Settings.model_fields)}.",
            problems=[
                {"argument": f"settings.{name}", "problem": "unknown"} for name in unknown_names
            ],
        )
    try:
        settings = Settings(**dict(overrides or {}))
    except ValidationError as exc:
        from day1.call.problems import invalid_settings

        raise invalid_settings(exc) from exc
    return settings if target is None else settings_at(settings, _place(target))


def _place(target: str | Path) -> str:
    """Return the store that a folder means: its own `.day1`, if it has one, else itself.

    Raises:
        InvalidRequest: the path is too long, or begins with the name of an unknown user.
        StoreUnavailable: the folder may not be read.
    """
    if "://" in str(target):
        return str(target)
    try:
        folder = Path(target).expanduser()
    except RuntimeError:
        user_folder = Path(target).parts[0]
        raise unfit(
            "target", f"begins with {user_folder!r}, a user without a home: name the folder in full"
        ) from None
    store_inside = folder / STORE
    try:
        return str(store_inside if is_store(store_inside) and not is_store(folder) else folder)
    except OSError as exc:
        raise _unreadable(exc, folder) from exc


def _unreadable(error: OSError, folder: Path) -> Day1Error:
    """Build the error for a folder that the system does not let this process read."""
    from day1.adapters.failures import of_system

    return of_system(error, folder, writing=False)


def _creates(target: Target, *, create: bool | None) -> bool:
    """Whether a missing store is made.

    Raises:
        NotAStore: the folder has other files, so it was hardly meant.
        StoreUnavailable: the folder may not be read.
    """
    if create is not None:
        return create
    if target is None or "://" in str(target):
        return target is not None
    folder = Path(_place(target))
    try:
        if is_store(folder) or not folder.is_dir() or not any(folder.iterdir()):
            return True
    except OSError as exc:
        raise _unreadable(exc, folder) from exc
    raise NotAStore(
        f"{folder.absolute()} has other files and no store: name a new folder, such as "
        f"{folder.absolute() / STORE}, or give create=True to make the store there.",
        store=str(folder.absolute()),
    )


def _opened(settings: Settings, *, create: bool) -> Calls:
    from day1.app.open import open_store
    from day1.interfaces.python.local import LocalCalls

    store = open_store(settings, create=create)
    background_work = _Background(store)
    return LocalCalls(store, background_work.called, background_work.close)


class _Background:
    """The work on a memory between calls: begun by the first write, ended with the handle."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._called: Callable[[], None] | None = None
        self._stop: Callable[[], object] = bool

    def called(self, effect: Effect) -> None:
        """Note a call, for which the work pauses; the first call that writes starts the worker."""
        if self._called is not None:
            self._called()
        elif effect.value != "read" and not self._store.read_only:
            self._begin()

    def _begin(self) -> None:
        from day1.app.background import background_worker

        with self._guard:
            if self._called is None and self._store.settings.index.background:
                worker = background_worker(self._store)
                self._called, self._stop = worker.called, worker.stop
                worker.start()

    def close(self) -> None:
        """End the work, and close the store."""
        self._stop()
        self._store.close()
