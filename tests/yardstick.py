"""How slow this machine is now, for limits on the processor's time."""

import re
import time
from collections.abc import Callable
from typing import Any, Final

_USUAL_S: Final = 0.04
"""Seconds of the processor that the yardstick takes on the machine for which the limits are."""
_TEXT: Final = "as an ai\t" * 40_000
_WORDS: Final = re.compile(r"\w+")


def spent(tried: Callable[[Any], object], text: Any) -> float:
    """The seconds of the processor that a call takes."""
    before = time.process_time()
    tried(text)
    return time.process_time() - before


def slowness() -> float:
    """How many times the usual time this machine needs now, 1 at least."""
    return max(1.0, spent(_WORDS.findall, _TEXT) / _USUAL_S)
