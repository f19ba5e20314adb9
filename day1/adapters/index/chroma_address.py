"""The address of a Chroma server. It has a module of its own, since its user imports numpy."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from day1.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class ChromaAddress:
    """A server, and which store asks it."""

    url: str
    token: str
    store: Callable[[], str]
    """What keeps stores apart on one server; asked for when it is first needed."""

    def __post_init__(self) -> None:
        """Refuse what is no server's address.

        Raises:
            InvalidRequest: it has no host, another scheme, or a path.
        """
        parts = urlsplit(self.url)
        try:
            fits = parts.hostname and (parts.port or 1)
        except ValueError:  # the port is no number
            fits = None
        if not fits or parts.scheme not in {"http", "https"} or parts.path.strip("/"):
            raise InvalidRequest("DAY1_INDEX__CHROMA_URL is to be like http://chroma.example:8000.")

    @property
    def place(self) -> tuple[str, int, bool]:
        """Host, port, and whether over TLS."""
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        return str(parts.hostname), parts.port or (443 if secure else 80), secure
