"""Save primes as files in the store's folder: fulfils `ports.primes.Primes`."""

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
        """Set the store's folder; with `read_only` nothing is ever written."""
        self._folder = folder
        self._read_only = read_only
        self._gone: dict[tuple[str, str | None], KeptPrime] = {}
        """Primes that this process removed and has not written again, by key."""

    @override
    def stamp(self) -> Stamp:
        return prime_file.stamp_of(self._folder)

    @override
    def kept(self, branch: str, space: str | None) -> KeptPrime | None:
        saved_prime = prime_file.read(self._folder, branch, space)
        return self._gone.get((branch, space)) if saved_prime is None else _kept(saved_prime)

    @override
    def told(self, session: str) -> ToldPrime | None:
        told_values = prime_file.told(self._folder, session)
        return None if told_values is None else ToldPrime(*told_values)

    @override
    def every(self) -> list[KeptPrime]:
        primes = [_kept(saved_prime) for saved_prime in prime_file.kept(self._folder)]
        saved_keys = {(prime.branch, prime.space) for prime in primes}
        return primes + [
            replace(prime, at="") for key, prime in self._gone.items() if key not in saved_keys
        ]

    def damaged(self) -> list[str]:
        """List the files that should hold primes and do not parse as one."""
        return prime_file.damaged(self._folder)

    @override
    def forgotten(self) -> int:
        return prime_file.times_forgotten(self._folder)

    @override
    def keep(self, prime: Prime, stamp: Stamp, forgotten: int) -> bool:
        document = {
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
            "ends": [list(pair) for pair in prime.ends],
        }
        is_written = self._try(prime_file.write, document) is not False
        if is_written:
            self._gone.pop((prime.branch, prime.space), None)
        return is_written

    @override
    def restamp(self, kept: KeptPrime, stamp: Stamp) -> None:
        saved_prime = prime_file.read(self._folder, kept.branch, kept.space)
        if saved_prime is not None and saved_prime.at == kept.at:
            self._try(prime_file.restamp, saved_prime, list(stamp))

    @override
    def drop(self, branch: str, space: str | None) -> None:
        self._gone.pop((branch, space), None)
        self._try(prime_file.drop, branch, space)

    @override
    def forget(self) -> None:
        primes = prime_file.kept(self._folder)
        self._gone |= {(prime.branch, prime.space): _kept(prime) for prime in primes}
        self._try(prime_file.forget)

    def _try(self, write: Callable[..., object], *arguments: object) -> object:
        """Call a function that writes; log that the folder is missing, full or read-only."""
        if self._read_only:
            return None
        try:
            return write(self._folder, *arguments)
        except OSError as exc:
            log.warning("the prime cannot be kept: %s", type(exc).__name__)
            return None


def _kept(prime: prime_file.Prime) -> KeptPrime:
    return KeptPrime(prime.branch, prime.space, prime.at, prime.pinned, prime.evergreen)


@contextmanager
def closing_stamp(folder: Path) -> Iterator[Callable[[], None]]:
    """Keep primes valid when the store is closed in the block, which changes the engine's stamp.

    It yields the function to call just before the store is closed.
    """
    stamps_before_close: list[list[int]] = []
    yield lambda: stamps_before_close.append(prime_file.stamp_of(folder))
    new_stamp = prime_file.stamp_of(folder)
    for saved_prime in (
        prime_file.kept(folder)
        if stamps_before_close and stamps_before_close[0] != new_stamp
        else ()
    ):
        if saved_prime.stamp == stamps_before_close[0]:
            with suppress(OSError):
                prime_file.restamp(folder, saved_prime, new_stamp)
