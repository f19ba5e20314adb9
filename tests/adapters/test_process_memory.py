"""Freed memory, given back to the system."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from day1.adapters import process_memory

BLOCKS, BYTES = 4_000, 8_192


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc can do it")
def test_memory_freed_among_memory_in_use_is_given_back() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    blocks = [libc.malloc(BYTES) for _ in range(BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, BYTES)
    for block in blocks[::2]:
        libc.free(ctypes.c_void_p(block))
    before = resident()
    assert process_memory.give_back()
    assert before - resident() > BLOCKS * BYTES / 8
    for block in blocks[1::2]:
        libc.free(ctypes.c_void_p(block))


ARENAS = """
import ctypes, threading
from day1.adapters.process_memory import few_arenas
print(few_arenas())
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
ends = threading.Barrier(8)
def take():
    libc.malloc(100_000)
    ends.wait(10)
threads = [threading.Thread(target=take) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="only glibc has arenas")
@pytest.mark.parametrize(("given", "arenas"), [({}, 2), ({"MALLOC_ARENA_MAX": "3"}, 3)])
def test_all_threads_share_two_arenas_or_as_many_as_the_environment_says(
    given: dict[str, str], arenas: int
) -> None:
    surroundings = {n: v for n, v in os.environ.items() if n != "MALLOC_ARENA_MAX"}
    told = subprocess.run(
        [sys.executable, "-c", ARENAS], env={**surroundings, **given}, capture_output=True,
        text=True, check=True,
    ).stdout  # fmt: skip
    assert f"{not given}" in told
    assert told.count("<heap nr=") == arenas


def test_another_c_library_keeps_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not process_memory.give_back()
    assert not process_memory.few_arenas()


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4_096
