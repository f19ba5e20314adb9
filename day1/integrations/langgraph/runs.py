"""The branches of the runs of a graph, and of the tasks of a step that run side by side."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar, Token
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.store.base import BaseStore

import day1
from day1 import errors

_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""Ids of threads that can be a part of a branch's name."""
_DESCRIBED: Final = "Task of LangGraph: "
"""How the description of a task's branch begins; the path of the task follows, as JSON."""
_NONE: Final[Mapping[BaseStore, str]] = MappingProxyType({})
_BRANCH_BY_STORE: ContextVar[Mapping[BaseStore, str]] = ContextVar("parallel", default=_NONE)
"""The branch of the task that runs in this context, by the store that it asked for one."""
S = TypeVar("S", bound=BaseStore)


def per_thread() -> str:
    """Return the branch name of the calling LangGraph thread: `thread/ID`, or `main` without one.

    Give it as `branch`: each thread of a graph then has its own branch. An id that is no name of a
    branch, or differs from another by case alone, is written as its hash.
    """
    thread_id = _run().get("thread_id")
    return "main" if thread_id is None else f"thread/{_plain(thread_id)}"


class Parallel(Generic[S]):
    """A block of a node whose reads and writes of a store are on a branch of the calling task.

    `with` and `async with` take it. The branch is made from that of the store when the block
    begins; a task that LangGraph repeats finds the branch of its first attempt.
    """

    def __init__(self, store: S, create: Callable[..., object]) -> None:
        """Make nothing yet.

        Args:
            store: the store.
            create: makes a branch named `branch_name` from the one that the store is on.
        """
        self._store, self._create = store, create
        self._token: Token[Mapping[BaseStore, str]] | None = None

    def __enter__(self) -> S:
        """Return the store, which is on the branch of the task until the block ends.

        Raises:
            InvalidRequest: the caller is no node of a run with a `thread_id`.
        """
        return self._entered(self._made())

    async def __aenter__(self) -> S:
        """Return the store, which is on the branch of the task until the block ends."""
        return self._entered(await asyncio.to_thread(self._made))

    def __exit__(self, *_: object) -> None:
        """Give the store its branch back."""
        if self._token is not None:
            _BRANCH_BY_STORE.reset(self._token)

    async def __aexit__(self, *_: object) -> None:
        """Give the store its branch back."""
        self.__exit__()

    def _made(self) -> str:
        """Make the branch of the calling task if it is missing; return its name."""
        run = _run()
        if not run.get("thread_id") or not run.get("checkpoint_ns"):
            raise errors.InvalidRequest(
                "Only a node of a run with a thread_id has a task: elsewhere use the store that "
                "on(NAME) returns."
            )
        task_path = str(run["checkpoint_ns"])
        name = f"{_prefix(run)}{_hashed(task_path)}"
        with suppress(errors.BranchExists):
            self._create(branch_name=name, description=f"{_DESCRIBED}{json.dumps(task_path)}")
        return name

    def _entered(self, name: str) -> S:
        self._token = _BRANCH_BY_STORE.set({**_BRANCH_BY_STORE.get(), self._store: name})
        return self._store


def task_branch(store: BaseStore) -> str | None:
    """Return the branch of the task that runs in this context, if it asked the store for one."""
    return _BRANCH_BY_STORE.get().get(store)


def merge_tasks(branch: day1.Branch) -> list[day1.Merge]:
    """Merge into a branch those that tasks of the calling node's graph made from it; drop them.

    The tasks are those of the graph itself and of the graphs below it. Tasks of other graphs of the
    thread may still run.

    Args:
        branch: the branch; it is that of the store.

    Returns:
        A merge for each of them, oldest branch first.
    """
    run = _run()
    prefix, graph = _prefix(run), str(run.get("checkpoint_ns") or "").split("|")[:-1]
    merges = []
    for each in branch.branches():
        if (
            each.branch_name.startswith(prefix)
            and each.parent == branch.name
            and not each.closed
            and _is_below(graph, _task_path(each.branch_name, each.description))
        ):
            task = branch.branch(each.branch_name)
            merges.append(task.merge(branch.name))
            task.drop()
    return merges


def _task_path(name: str, description: str) -> list[str] | None:
    """Return the path of a branch's task: the nodes from the outermost graph down to the task.

    The result is None if the description has no path, as in earlier versions.
    """
    if not description.startswith(_DESCRIBED):
        return None
    with suppress(ValueError):
        task_path = json.loads(description.removeprefix(_DESCRIBED))
        if isinstance(task_path, str) and name.endswith(f"/{_hashed(task_path)}"):
            return task_path.split("|")
    return None


def _is_below(graph: Sequence[str], task_path: Sequence[str] | None) -> bool:
    """Whether a task may be one of a graph, or of a graph below it.

    Args:
        graph: the nodes from the outermost graph to the graph, each as `NODE:TASK`; a graph that
            keeps its state between runs has no `:TASK`. A number follows the node that calls a
            graph again.
        task_path: the nodes to the task in the same form; None if they are not known.
    """
    if task_path is None or not graph:
        return True
    return (
        len(task_path) > len(graph)
        and not task_path[len(graph)].isdigit()
        and all(
            own == other or own == other.partition(":")[0] or other == own.partition(":")[0]
            for own, other in zip(graph, task_path, strict=False)
        )
    )


def _run() -> dict[str, Any]:
    config = var_child_runnable_config.get() or {}
    return config.get("configurable", {})


def _prefix(run: Mapping[str, Any]) -> str:
    """Return the prefix that the branch names of a thread's tasks share."""
    return f"parallel/{_plain(run.get('thread_id'))}/"


def _hashed(task_path: str) -> str:
    """Return the last part of the branch name of a task."""
    return sha256(task_path.encode()).hexdigest()[:24]


def _plain(thread_id: object) -> str:
    is_plain = _PLAIN.fullmatch(str(thread_id)) is not None
    return str(thread_id) if is_plain else sha256(str(thread_id).encode()).hexdigest()[:32]
