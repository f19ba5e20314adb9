"""Ctrl-C in the middle of calls, as in a notebook that goes on afterwards, leaves no lock behind."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy.engine.base import RootTransaction

import day1

INTERRUPTS = 150
PROGRAM = """
import random, signal, sys
import day1

chance = random.Random(int(sys.argv[2]))
memory = day1.connect(sys.argv[1], settings={"embedder": {"kind": "none"}, "store": {"wait_s": 3}})

def write(number):
    if number % 3 == 0:
        memory.add(f"Fact {number}.")
    elif number % 3 == 1:
        memory.set(f"key {number % 7}", {"n": number})
    else:
        with memory.batch() as batch:
            batch.add(f"Fact {number} of a batch.")

def interrupt(*_):
    raise KeyboardInterrupt

for number in range(3):
    write(number)  # what they import is not to be interrupted
signal.signal(signal.SIGALRM, interrupt)
interrupts = number = 0
while interrupts < int(sys.argv[3]):
    number += 1
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0005, 0.03))
            write(number)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
    except day1.Day1Error as error:
        print(f"{error.code} without an interrupt", flush=True)
for number in range(3):
    write(number)  # the same handle works
print("done", flush=True)
sys.stdin.read()
"""


def test_after_interrupts_this_process_and_others_write(tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(store), str(os.getpid()), str(INTERRUPTS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Python names the interrupts that it could not raise
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "done\n"
            with day1.connect(store, settings={"embedder": {"kind": "none"}}) as memory:
                assert memory.add("Another process writes.").id
                assert memory.set("key", {"n": 1}).added == 1
        finally:
            process.kill()


def test_an_interrupt_while_a_transaction_ends_is_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = RootTransaction._do_close

    def interrupt(transaction: RootTransaction) -> None:
        if threading.current_thread() is not threading.main_thread():
            return end(transaction)
        monkeypatch.setattr(RootTransaction, "_do_close", end)
        raise KeyboardInterrupt

    with day1.connect(tmp_path / "store", settings={"embedder": {"kind": "none"}}) as memory:
        memory.set("key", {"n": 1})
        monkeypatch.setattr(RootTransaction, "_do_close", interrupt)
        with pytest.raises(KeyboardInterrupt):
            memory.set("key", {"n": 2})
        assert RootTransaction._do_close is end
        assert memory.set("key", {"n": 3}).changed == 1
