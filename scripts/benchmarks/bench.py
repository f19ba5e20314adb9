"""What all groups of rows share: sizes, the model, and stores that are built once."""

from __future__ import annotations

import hashlib
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from benchmarks import stores
from benchmarks.servers import Server
from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import MAIN
from day1.ports.embedder import Embedder
from day1.services.search.indexing import embed_pending, follow
from day1.settings import EmbedderSettings, Settings, StoreSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
Vectors = Literal["real", "fake"]
Work = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    small: int = 1_000
    middle: int = 10_000
    large: int = 100_000
    calls: int = 500
    warm: int = 50
    writes: int = 20_000
    """Writes by others, before something is measured."""
    repeats: int = 5
    backlog: int = 5_000
    """Facts that wait for their vectors."""
    branches: int = 200
    many_branches: int = 500
    """Of the store whose calls are compared with those in one of fifty."""
    agents: int = 1_000
    """Of a team, each with a branch of its own."""
    seconds: float = 10.0
    """How long five processes write at once."""
    depths: tuple[int, ...] = (1, 10, 100, 1_000)
    """Of branches in chains of forks; the others are compared with the first."""
    many: tuple[int, ...] = (10_000, 100_000)
    """Facts of the stores in which a search is compared; the others with the first."""


QUICK = Sizes(200, 1_000, 4_000, 60, 10, 500, 2, 300, 20, 100, 40, 2.0, (1, 4, 12), (1_000, 4_000))
FULL = replace(Sizes(), many_branches=5_000, many=(10_000, 100_000, 1_000_000))


@dataclass(frozen=True, slots=True)
class Bench:
    """One run."""

    folder: Path
    sizes: Sizes
    vectors: Vectors
    model_dir: Path | None
    server: Server | None = None
    """Has the stores' rows; a store's folder then holds its index only."""

    def store(self, count: int) -> Path:
        """An indexed store of `count` facts on `main`, built when first asked for."""
        folder = self.folder / f"store-{count}-{self.vectors}"
        if not folder.exists():
            started = time.perf_counter()
            new_folder = folder.with_suffix(".new")
            shutil.rmtree(new_folder, ignore_errors=True)
            stores.make(self.settings(new_folder), count, "store")
            self.index(new_folder)
            new_folder.rename(folder)
            print(f"built {folder.name} in {time.perf_counter() - started:.0f} s", flush=True)
        return folder

    def copy(self, count: int, name: str = "copy") -> Path:
        """A copy of such a store that its user may change; the last of that name is gone."""
        copy = self.folder / name
        self.remove(copy)
        shutil.copytree(self.store(count), copy)
        if self.server is not None:  # the same texts, so their vectors are there
            stores.make(self.settings(copy), count, "store")
            self.index(copy)
        return copy

    def remove(self, folder: Path) -> None:
        """Have no store there."""
        shutil.rmtree(folder, ignore_errors=True)
        if self.server is not None:
            self.server.drop(folder)

    def index(self, folder: Path) -> None:
        """Index words and vectors of `main`."""
        store = self.open(folder)
        try:
            branch = store.repo.ledger.branch(MAIN)
            assert branch is not None  # noqa: S101 - a store without main is none
            follow(store.repo.store, store.repo.history, store.search.index, MAIN, branch.id)
            if self.embedder is not None:
                embed_pending(store.search.index, self.embedder, None)
        finally:
            store.close()

    @property
    def embedder(self) -> Embedder | None:
        """What the stores of this run are embedded with."""
        from day1.app.models import embedder  # noqa: PLC0415 - only runs with a model load it

        if self.vectors == "fake":
            return FakeEmbedder()
        return embedder(self.settings(self.folder).embedder) if self.model_dir else None

    def settings(self, folder: Path) -> Settings:
        """The settings with which this run opens a store."""
        model = EmbedderSettings(
            model_dir=self.model_dir, kind="minilm" if self.model_dir else "none"
        )
        url = None if self.server is None else SecretStr(self.server.url(folder))
        store = StoreSettings(url=url, wait_s=60.0)
        return Settings(home=folder, embedder=model, store=store)

    def environment(self, folder: Path) -> dict[str, str]:
        """The same for a process."""
        model = {"DAY1_EMBEDDER__KIND": "none"}
        if self.model_dir is not None:
            model = {"DAY1_EMBEDDER__MODEL_DIR": str(self.model_dir)}
        store = {} if self.server is None else {"DAY1_STORE__URL": self.server.url(folder)}
        return {"DAY1_HOME": str(folder), **model, **store}

    def open(self, folder: Path) -> OpenStore:
        """Open a store as a command does."""
        return open_store(self.settings(folder))

    def open_copy(self, entered: ExitStack, count: int) -> OpenStore:
        """A copy of the store of `count` facts, open until the stack is left."""
        store = self.open(self.copy(count, f"copy-{count}"))
        entered.callback(store.close)
        return store

    def by_turns(
        self,
        *works: Work,
        before: Work | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> list[float]:
        """The median seconds of each, after calls that warm up; what `before` does is not counted.

        Each work gets the number of the call.
        """
        seconds_by_work: list[list[float]] = [[] for _ in works]
        for number in range(self.sizes.warm + self.sizes.calls):
            for times, work in zip(seconds_by_work, works, strict=True):
                if before is not None:
                    before(number)
                started = clock()
                work(number)
                if number >= self.sizes.warm:
                    times.append(clock() - started)
        return [statistics.median(times) for times in seconds_by_work]

    def few_by_turns(self, count: int, *works: Work) -> list[float]:
        """The same of so many calls of each, after one that is not counted."""
        return replace(self, sizes=replace(self.sizes, calls=count, warm=1)).by_turns(*works)


class FakeEmbedder:
    """Random unit vectors under the real embedder's name: right in size and cost, not in sense."""

    name = "minilm-l6-v2-384"
    dimension = 384
    stride = 250

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors that hang on the first text only."""
        import numpy as np  # noqa: PLC0415 - only runs with vectors load it

        seed = int.from_bytes(hashlib.sha256("".join(texts[:1]).encode()).digest()[:8], "big")
        vectors = np.random.default_rng(seed).standard_normal(
            (len(texts), self.dimension), np.float32
        )
        unit_vectors: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit_vectors

    def passages(self, text: str) -> list[str]:
        """Every text of these runs is short."""
        return [text]
