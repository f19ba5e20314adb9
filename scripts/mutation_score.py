#!/usr/bin/env python3
"""Try a drawn sample of mutmut's mutants, and fail when the unit tests notice too few of them.

Usage: scripts/mutmut [--sample N] [--seed TEXT] [PATTERN ...]

All mutants take hours, so each week draws others: the seed is the week. A mutant that no unit test
runs counts as one that survived. `mutmut show NAME` prints a mutant, `mutmut browse` shows all that
were tried. `scripts/mutants` has the faults that no operator makes, and those that only tests of
whole processes can see.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = ROOT / "mutants"
SAMPLE = 250
"""As many as take some minutes; the score of so many is right to five points."""
LEAST_PERCENT = 85
"""A little below what samples reach, so that a fall is told. It may only rise."""
LIMIT_S = 3_600
NO_MUTANT = "no.mutant.has.this.name"
"""mutmut makes all mutants, measures the tests, and ends when it finds none of this name."""
SURVIVED, UNTESTED = {0}, {5, 33}
"""Exit codes of mutmut: the tests passed; no test runs the function."""
UNKNOWN = {None, 2, 34, 35}
"""Exit codes of mutmut: not tried, interrupted, skipped, or ended in a way it does not know."""


def exit_codes() -> dict[str, int | None]:
    """The mutants that mutmut made, and how the tests of each ended."""
    codes: dict[str, int | None] = {}
    for file in MUTANTS.rglob("*.meta"):
        codes |= json.loads(file.read_text(encoding="utf-8"))["exit_code_by_key"]
    return codes


def drawn(names: Iterable[str], patterns: Sequence[str], size: int, seed: str) -> list[str]:
    """The mutants to try: of those that a pattern means, or of all."""
    chosen_names = sorted(
        name
        for name in names
        if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    )
    return random.Random(seed).sample(chosen_names, min(size, len(chosen_names)))  # noqa: S311 - no secret


def verdict(code: int | None) -> str:
    """What became of a mutant; tests that never ended noticed it."""
    if code in UNKNOWN:
        return "unknown"
    if code in UNTESTED:
        return "untested"
    return "survived" if code in SURVIVED else "killed"


def package(name: str) -> str:
    """The package of a mutant, such as `day1.services.merges`."""
    return ".".join(name.split(".")[:3])


def report(names: Sequence[str], codes: dict[str, int | None]) -> float:
    """Print the mutants that survived, and the score of each package; give the whole score."""
    verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name in sorted(names):
        outcome = verdict(codes.get(name))
        verdicts[package(name)][outcome] += 1
        if outcome != "killed":
            print(f"{outcome:8}  {name}")
    for part, counts in sorted(verdicts.items()):
        print(f"{part}: {counts['killed']} of {counts.total()} killed")
    total = sum(verdicts.values(), Counter[str]())
    percent = 100 * total["killed"] / len(names)
    print(f"{len(names)} mutants: {dict(total)}; {percent:.0f} % killed")
    return percent


def mutmut(*names: str) -> int:
    """Run mutmut on mutants; its exit code. Without one to try it ends with a traceback."""
    command = [sys.executable, "-m", "mutmut", "run", *names]
    devnull = subprocess.DEVNULL
    errors = devnull if names == (NO_MUTANT,) else None
    completed = subprocess.run(
        command, cwd=ROOT, stdout=devnull, stderr=errors, check=False, timeout=LIMIT_S
    )
    return completed.returncode


def main() -> int:
    """Draw, try and report; 1 if too few mutants were killed."""
    year, week, _ = datetime.now(UTC).isocalendar()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="of names; default: all")
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help="at most so many")
    parser.add_argument("--seed", default=f"{year}-{week}", help="default: the week")
    options = parser.parse_args()
    mutmut(NO_MUTANT)
    codes = exit_codes()
    names = drawn(codes, options.patterns, options.sample, options.seed)
    if not names:
        print("mutmut made no mutant that is meant: `mutmut run` says why.")
        return 2
    print(f"{len(names)} of {len(codes)} mutants, drawn by the seed {options.seed!r}", flush=True)
    if mutmut(*names):
        print("mutmut failed: `mutmut run` says why.")
        return 2
    return int(report(names, exit_codes()) < LEAST_PERCENT)


if __name__ == "__main__":
    raise SystemExit(main())
