"""Each unit test begins with empty caches of the model, so that it sees a fault in what they hold.

`scripts/mutmut` tries mutants in a process in which other tests ran already.
"""

import sys
from typing import Any

_CACHED: list[Any] = []


def pytest_collection_finish() -> None:
    """Find the cached functions of all modules that the tests imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith("day1.model.")]
    found = (value for module in modules for value in vars(module).values())
    _CACHED[:] = {id(value): value for value in found if hasattr(value, "cache_clear")}.values()


def pytest_runtest_setup() -> None:
    """Empty the caches."""
    for cached in _CACHED:
        cached.cache_clear()
