"""A service that keeps files under their content ids, such as an IPFS node."""

from typing import Protocol


class PinningFailed(Exception):
    """The service did not say that it keeps the file; the text says why, without any address."""


class Pinning(Protocol):
    """A service that keeps files; safe to share between threads."""

    def pin(self, name: str, content: bytes) -> str:
        """Hand over a file; returns the id that the service gives it.

        Raises:
            PinningFailed: there is no answer, or it names no id.
        """
