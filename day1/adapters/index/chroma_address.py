"""The address of a Chroma server; a separate module, since `chroma_server` imports numpy."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from day1.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class ChromaAddress:
    """The address of a Chroma server, its token, and the name of the store there."""

    url: str
    token: str
    store: Callable[[], str]
    """The function that returns this store's name on the server; called when first needed."""

    def __post_init__(self) -> None:
        """Refuse a URL that is not the address of a server.

        Raises:
            InvalidRequest: the URL has no host, another scheme, or a path.
        """
        url_parts = urlsplit(self.url)
        try:
            is_complete = url_parts.hostname and (url_parts.port or 1)
        except ValueError:  # the port is not a number
            is_complete = None
        if (
            not is_complete
            or url_parts.scheme not in {"http", "https"}
            or url_parts.path.strip("/")
        ):
            raise InvalidRequest("DAY1_INDEX__CHROMA_URL must be like http://chroma.example:8000.")

    @property
    def place(self) -> tuple[str, int, bool]:
        """The host, the port, and whether to use TLS."""
        url_parts = urlsplit(self.url)
        is_https = url_parts.scheme == "https"
        return str(url_parts.hostname), url_parts.port or (443 if is_https else 80), is_https
