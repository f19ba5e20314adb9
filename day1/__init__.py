"""day1: git for agent memory.

`day1.connect` opens a memory. The names below are loaded when they are first used: to import day1
loads nothing else.
"""

from day1.version import __version__

TYPE_CHECKING = False  # as typing has it: that module would be most of the time of this import
if TYPE_CHECKING:
    from day1 import errors, types
    from day1.app.library import aconnect, connect
    from day1.errors import Day1Error
    from day1.interfaces.python.asynchronous.batching import AsyncBatch
    from day1.interfaces.python.asynchronous.branch import AsyncBranch
    from day1.interfaces.python.asynchronous.memory import AsyncMemory
    from day1.interfaces.python.asynchronous.merging import AsyncHeld, AsyncMerge, AsyncPreview
    from day1.interfaces.python.asynchronous.past import AsyncPast
    from day1.interfaces.python.asynchronous.reviewing import AsyncReview
    from day1.interfaces.python.batching import Batch
    from day1.interfaces.python.branch import Branch
    from day1.interfaces.python.memory import Memory
    from day1.interfaces.python.merging import Held, Merge, Preview
    from day1.interfaces.python.past import Past
    from day1.interfaces.python.results import Results
    from day1.interfaces.python.reviewing import Review

__all__ = [
    "AsyncBatch",
    "AsyncBranch",
    "AsyncHeld",
    "AsyncMemory",
    "AsyncMerge",
    "AsyncPast",
    "AsyncPreview",
    "AsyncReview",
    "Batch",
    "Branch",
    "Day1Error",
    "Held",
    "Memory",
    "Merge",
    "Past",
    "Preview",
    "Results",
    "Review",
    "__version__",
    "aconnect",
    "connect",
    "errors",
    "types",
]

_PYTHON = "day1.interfaces.python"
_HOMES = {
    "aconnect": "day1.app.library",
    "connect": "day1.app.library",
    "Day1Error": "day1.errors",
    "Batch": f"{_PYTHON}.batching",
    "Branch": f"{_PYTHON}.branch",
    "Held": f"{_PYTHON}.merging",
    "Memory": f"{_PYTHON}.memory",
    "Merge": f"{_PYTHON}.merging",
    "Past": f"{_PYTHON}.past",
    "Preview": f"{_PYTHON}.merging",
    "Results": f"{_PYTHON}.results",
    "Review": f"{_PYTHON}.reviewing",
    "AsyncBatch": f"{_PYTHON}.asynchronous.batching",
    "AsyncBranch": f"{_PYTHON}.asynchronous.branch",
    "AsyncHeld": f"{_PYTHON}.asynchronous.merging",
    "AsyncMemory": f"{_PYTHON}.asynchronous.memory",
    "AsyncMerge": f"{_PYTHON}.asynchronous.merging",
    "AsyncPast": f"{_PYTHON}.asynchronous.past",
    "AsyncPreview": f"{_PYTHON}.asynchronous.merging",
    "AsyncReview": f"{_PYTHON}.asynchronous.reviewing",
}
"""The module of each name."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first used."""
    from importlib import import_module

    if name in {"errors", "types"}:
        return import_module(f"day1.{name}")
    module_name = _HOMES.get(name)
    if module_name is None:
        raise AttributeError(f"module 'day1' has no attribute {name!r}")
    public_object: object = getattr(import_module(module_name), name)
    globals()[name] = public_object
    return public_object


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*globals(), *__all__])
