"""The probes `/health` (the process lives), `/ready` (the store can be used) and `/metrics`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from anyio import CapacityLimiter, fail_after, to_thread
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
    values,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from typing_extensions import override

from day1.errors import Day1Error, Forbidden, Json, StoreUnavailable
from day1.interfaces.http.callers import access_of
from day1.interfaces.http.failures import failure
from day1.interfaces.mcp.http import Streams
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.services.access.authentication import without_place
from day1.version import __version__

PUBLIC: Final = ("/health", "/ready")
"""Paths of probes that need no token."""
_READY_S: Final = 5.0
"""Seconds after which `/ready` reports that the store does not answer."""
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram of request times, in seconds."""
_PATHS: Final = ("mcp", "sse", "api", "review", "events", "health", "ready", "metrics", "static")
"""First parts of paths that are counted by name; all others count as `pages`."""


class Metrics:
    """Counts and times of requests, in the text format that Prometheus reads."""

    def __init__(self, shared: Path | None = None) -> None:
        """Begin at zero, with a registry that no other app shares.

        Args:
            shared: the folder in which `share_counts` lets all workers of a server count.
        """
        disable_created_metrics()  # type: ignore[no-untyped-call]  # of the library
        self._shared = shared
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "day1_http_requests_total",
            "Requests answered.",
            ["part", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "day1_http_request_seconds",
            "Seconds that requests took.",
            ["part"],
            registry=self._registry,
            buckets=_BOUNDS,
        )

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request under the first part of its path."""
        first_part = path.removeprefix("/").partition("/")[0]
        known_part = first_part if first_part in _PATHS else "pages"
        self._requests.labels(known_part, status).inc()
        self._seconds.labels(known_part).observe(seconds)

    def text(self, store_bytes: int, branches: int) -> bytes:
        """Write all counts, and the store's branches and size (without a size of 0)."""
        counts = self._registry
        if self._shared is not None:
            counts = CollectorRegistry()
            MultiProcessCollector(counts, str(self._shared))  # type: ignore[no-untyped-call]  # of the library
        now = CollectorRegistry()
        now.register(_Present(store_bytes, branches))
        return generate_latest(counts) + generate_latest(now)


@dataclass(frozen=True, slots=True)
class _Present(Collector):
    """The figures of the store at this moment, which no worker counts."""

    store_bytes: int
    branches: int

    @override
    def collect(self) -> Iterator[Metric]:
        if self.store_bytes:
            yield GaugeMetricFamily("day1_store_bytes", "Size of the store.", self.store_bytes)
        yield GaugeMetricFamily("day1_branches", "Branches of the store.", self.branches)


def share_counts(folder: Path, worker: int) -> None:
    """Let this process count in files of a folder, which go on counting after it.

    To be called before `Metrics` is made. A worker that takes the place of another one has its
    number, so it goes on with its counts.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)  # the library reads it for each count
    values.ValueClass = values.MultiProcessValue(lambda: worker)  # type: ignore[no-untyped-call]  # of the library


def routes(store: OpenStore, metrics: Metrics, mcp: Streams) -> list[BaseRoute]:
    """Build the routes of the three probes; `/metrics` needs a token where tokens are on."""
    probe_limiter = CapacityLimiter(1)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def ready(_: Request) -> Response:
        if not mcp.served:
            return failure(StoreUnavailable("MCP is not served any more: restart this server."))
        try:
            # A thread of its own: the threads of calls may all be waiting for the store.
            with fail_after(_READY_S):
                read_state = partial(_ready, store)
                ready_state = await to_thread.run_sync(
                    read_state, abandon_on_cancel=True, limiter=probe_limiter
                )
            return JSONResponse(ready_state)
        except TimeoutError:
            return failure(StoreUnavailable(f"The store did not answer within {_READY_S:g} s."))
        except Day1Error as exc:
            response = failure(without_place(exc))
            response.status_code = 503
            return response

    async def counted(request: Request) -> Response:
        if access_of(request).branches:
            return failure(Forbidden("/metrics counts every branch: use a token without limits."))
        store_bytes = await to_thread.run_sync(store.repo.store.size)
        branches = await to_thread.run_sync(store.repo.history.branches)
        metrics_text = metrics.text(store_bytes, len(branches))
        return Response(metrics_text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return [
        Route("/health", health, methods=["GET"]),
        Route("/ready", ready, methods=["GET"]),
        Route("/metrics", counted, methods=["GET"]),
    ]


def _ready(store: OpenStore) -> dict[str, Json]:
    """Read the store and the ledger once; list what prevents writing, and the failing chores."""
    store.repo.ledger.branch(MAIN)
    with store.repo.store.reading(Ref(branch=MAIN)):
        pass
    problems = [without_place(error).body()["error"] for error in store.obstacles()]
    access_word = "read" if problems or store.read_only else "write"
    ready_state: dict[str, Json] = {"status": "ready", "access": access_word}
    chores: dict[str, Json] = dict(store.failing_chores())
    problem_lists: dict[str, Json] = {"wrong": problems, "chores": chores}
    return ready_state | {
        list_name: problems_of_list
        for list_name, problems_of_list in problem_lists.items()
        if problems_of_list
    }
