"""Primes as files in the store's folder: `ports.primes.Primes`."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from day1.formats import prime_file
from day1.model.prime.prime import Prime
from day1.model.values.instant import show
from day1.ports.primes import KeptPrime, Primes, Stamp, ToldPrime

log = logging.getLogger(__name__)


class FilePrimes(Primes):
    """Primes in files, each written whole; threads and processes may share them."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        """Write nothing yet; with `read_only` never."""
        self._folder = folder
        self._read_only = read_only
        self._gone: dict[tuple[str, str | None], KeptPrime] = {}
        """Primes that this process removed and has not written again, by key."""

    @override
    def stamp(self) -> Stamp:
        return prime_file.stamp_of(self._folder)

    @override
    def kept(self, branch: str, space: str | None) -> KeptPrime | None:
        found = prime_file.read(self._folder, branch, space)
        return self._gone.get((branch, space)) if found is None else _kept(found)

    @override
    def told(self, session: str) -> ToldPrime | None:
        found = prime_file.told(self._folder, session)
        return None if found is None else ToldPrime(*found)

    @override
    def every(self) -> list[KeptPrime]:
        primes = [_kept(file) for file in prime_file.kept(self._folder)]
        keys = {(one.branch, one.space) for one in primes}
        return primes + [replace(one, at="") for key, one in self._gone.items() if key not in keys]

    def damaged(self) -> list[str]:
        """List the files that should hold primes and do not parse as one."""
        return prime_file.damaged(self._folder)

    @override
    def forgotten(self) -> int:
        return prime_file.times_forgotten(self._folder)

    @override
    def keep(self, prime: Prime, stamp: Stamp, forgotten: int) -> bool:
        said = {
            "branch": prime.branch,
            "at": prime.at,
            "made_at": show(prime.made_at),
            "chars": len(prime.text),
            "text": prime.text,
            "space": prime.space,
            "stamp": list(stamp),
            "pinned": list(prime.pinned),
            "ageless": list(prime.evergreen),
            "forgotten": forgotten,
            "ends": [list(one) for one in prime.ends],
        }
        kept = self._try(prime_file.write, said) is not False
        if kept:
            self._gone.pop((prime.branch, prime.space), None)
        return kept

    @override
    def restamp(self, kept: KeptPrime, stamp: Stamp) -> None:
        found = prime_file.read(self._folder, kept.branch, kept.space)
        if found is not None and found.at == kept.at:
            self._try(prime_file.restamp, found, list(stamp))

    @override
    def drop(self, branch: str, space: str | None) -> None:
        self._gone.pop((branch, space), None)
        self._try(prime_file.drop, branch, space)

    @override
    def forget(self) -> None:
        found = prime_file.kept(self._folder)
        self._gone |= {(one.branch, one.space): _kept(one) for one in found}
        self._try(prime_file.forget)

    def _try(self, write: Callable[..., object], *given: object) -> object:
        """Run the block, and ignore that the folder is missing, full or read-only."""
        if self._read_only:
            return None
        try:
            return write(self._folder, *given)
        except OSError as exc:
            log.warning("the prime cannot be kept: %s", type(exc).__name__)
            return None


def _kept(found: prime_file.Prime) -> KeptPrime:
    return KeptPrime(found.branch, found.space, found.at, found.pinned, found.evergreen)


@contextmanager
def closing_stamp(folder: Path) -> Iterator[Callable[[], None]]:
    """Keep primes fresh while a store is closed in the block: the engine writes a last mark then.

    It gives what is to be called when that begins.
    """
    before: list[list[int]] = []
    yield lambda: before.append(prime_file.stamp_of(folder))
    after = prime_file.stamp_of(folder)
    for found in prime_file.kept(folder) if before and before[0] != after else ():
        if found.stamp == before[0]:
            with suppress(OSError):
                prime_file.restamp(folder, found, after)
