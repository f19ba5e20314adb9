"""day1's image, built for the tests, and the images of servers: there, or why not.

`TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX` is put before the name of every image that would be pulled,
as testcontainers does: `scripts/containers` builds what stands in for them under one.
"""

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = ROOT / "docker" / "Dockerfile"
PREFIX = os.environ.get("TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX", "")
_NO_INDEX = re.compile(r"(?:connection broken|Failed to establish|NameResolution)", re.IGNORECASE)
_HOST = re.compile(r"host='([^']+)'")


def docker(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Ask the engine, by its command."""
    return subprocess.run(
        ["docker", *arguments], input=stdin, capture_output=True, text=True, check=False
    )


def said_by(*arguments: str) -> str:
    """What a command that must succeed says."""
    done = docker(*arguments)
    assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


def need_engine() -> None:
    """Skip the test where no container engine answers."""
    if shutil.which("docker") is None:
        pytest.skip("there is no docker")
    asked = docker("info")
    if asked.returncode:
        pytest.skip(f"no container engine answers: {_last_line(asked.stderr)}")


def need(image: str) -> str:
    """The name that an image has here; the test is skipped where it can't be fetched."""
    name = PREFIX + image
    if docker("image", "inspect", name).returncode:
        pulled = docker("pull", "-q", name)
        if pulled.returncode:
            pytest.skip(f"the image {name} can't be fetched: {_last_line(pulled.stderr)}")
    return name


@contextmanager
def built(*options: str) -> Iterator[str]:
    """day1's image, removed with what the builder kept for it; skipped where it can't be built."""
    need_engine()
    found = re.search(r"^ARG PYTHON=(\S+)", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    base, name, kept = need(found[1]), f"day1-test:{secrets.token_hex(4)}", _kept()
    try:
        given = ["--build-arg", f"PYTHON={base}", "-f", str(DOCKERFILE), "-t", name]
        done = docker("build", "--progress", "plain", *given, *options, str(ROOT))
        if done.returncode:
            why = without_index(done.stdout + done.stderr)
            if why:
                pytest.skip(why)
            pytest.fail(f"the image can't be built: {done.stderr[-3000:]}")
        yield name
    finally:
        docker("image", "rm", "-f", name)
        _forget(_kept() - kept)


def without_index(said: str) -> str | None:
    """Whether a build failed because no package index was reached, and which one."""
    if not _NO_INDEX.search(said):
        return None
    host = _HOST.search(said)
    return f"the builder reaches no package index: {host[1] if host else 'none answers'}"


def _kept() -> set[str]:
    """What the builder keeps of builds."""
    done = docker("system", "df", "-v", "--format", "{{json .BuildCache}}")
    return {one["ID"] for one in json.loads(done.stdout)} if done.returncode == 0 else set()


def _forget(ids: set[str]) -> None:
    """Remove them, those first that no other is made of."""
    while ids:
        for one in ids:
            docker("builder", "prune", "-a", "-f", "--filter", f"id={one}")
        left = ids & _kept()
        if left == ids:
            return
        ids = left


def _last_line(said: str) -> str:
    return (said.strip().splitlines() or ["it says nothing"])[-1]
