"""Copies of a store as its tests make them, and whether a copy is the same memory."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from day1.app.open import open_copy_target, open_with_mask
from day1.interfaces.open_store import OpenStore
from day1.model.redaction.mask import CLEAR
from day1.services.exchange.store_copy import CopiedStore, copy_store, unchanged
from day1.services.repository.repository import Repository
from day1.settings import EmbedderSettings, Settings, settings_at
from tests.flows.random_store import (
    differences,
    ids_between,
    opened_at,
    without_index,
)
from tests.forkserver import python

ROOT = Path(__file__).parents[2]


def copy(source: Path | str, target: Path | str, *more: str, **env: str) -> dict[str, Any]:
    """What `day1 copy` says."""
    done = run(source, target, *more, **env)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def content(done: dict[str, Any]) -> list[Any]:
    """What is on each branch."""
    names = ("branch_name", "rows", "pending", "sha256")
    return [[branch[name] for name in names] for branch in done["branches"]]


def run(
    source: Path | str, target: Path | str, *more: str, **env: str
) -> subprocess.CompletedProcess[str]:
    process = started(source, target, *more, **env)
    out, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def started(source: Path | str, target: Path | str, *more: str, **env: str) -> Any:
    return subprocess.Popen(
        [*python(), "-m", "day1", "copy", str(source), str(target), "--json", *more],
        cwd=ROOT,
        env={**os.environ, "DAY1_EMBEDDER__KIND": "none", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def ends(source: Path, target: Path) -> Iterator[tuple[OpenStore, Repository, Repository]]:
    """A store, and what is copied and made of it, as `day1 copy` opens them."""
    settings = Settings(embedder=EmbedderSettings(kind="none"))
    with ExitStack() as opened:
        opened_store = opened.enter_context(opened_at(source))
        seen = opened.enter_context(open_with_mask(opened_store, CLEAR))
        made = opened.enter_context(open_copy_target(settings_at(settings, str(target)), seen))
        yield opened_store, seen, made


def copied_while(
    source: Path, target: Path, point: str, action: Callable[[OpenStore], None]
) -> CopiedStore:
    """Copy, and let others do something once, at a named point."""
    with ends(source, target) as (opened_store, seen, made):
        left = [action]

        def at(name: str) -> None:
            if name == f"copy.{point}" and left:
                left.pop()(opened_store)

        return copy_store(seen, replace(made, point=at), unchanged, lambda done, total: None)


def same(source: Path | str, target: Path | str, count: int = 10) -> None:
    """A copy answers as the store does, with indexes that know the same texts."""
    for where in (source, target):
        without_index(where)
    with opened_at(source) as one, opened_at(target) as other:
        assert differences(one, other, ids_between(one, other), count) == []
