"""Freed memory, given back to the system."""

import ctypes
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


def test_another_c_library_keeps_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not process_memory.give_back()


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4_096
