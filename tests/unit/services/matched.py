"""Memories of a space, and a small embedder, for the tests of their search."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from day1.errors import EmbedderUnavailable
from day1.model.contexts.keyed import memory_id
from day1.services.contexts.memories import NewMemory, upsert
from tests.unit.services.conftest import ADA, Bench

SPACE = "project:metal"
OURS = {"left": (1.0, 0.0), "right": (0.0, 1.0), "up": (0.6, 0.8)}


class Two:
    """An embedder of two dimensions that knows three words; each word is a passage."""

    name, dimension, stride = "two", 2, 1

    def __init__(self, *, works: bool = True) -> None:
        self.works = works

    def passages(self, text: str) -> list[str]:
        return text.split()

    def embed(self, texts: Sequence[str]) -> Any:
        if not self.works:
            raise EmbedderUnavailable("no model")
        return np.array([OURS[text] for text in texts], np.float32)


def memory(bench: Bench, name: str, vector: Sequence[float] | None = None, **more: Any) -> str:
    bench.now += 1
    item = NewMemory(name, name, more.pop("metadata", None), vector, **more)
    upsert(bench.repo, bench.branch(), SPACE, [item], ADA)
    return memory_id(SPACE, name)
