"""Failed sign-ins: whose they are counted as, and which proxies are believed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from day1.errors import TooManyRequests
from day1.interfaces.counting import LocalCounters
from day1.interfaces.web.signing import Tries
from day1.settings import HttpSettings
from tests.waiting import until
from tests.wires.http_server import HttpServer
from tests.wires.scriptless_browser import Browser

HERE, THERE = "203.0.113.7", "203.0.113.8"


class Signer:
    """Who tries to sign in, from addresses that a proxy or a liar names."""

    def __init__(self, browser: Browser, server: HttpServer) -> None:
        self._browser, self._server = browser, server
        self._form = browser.get("/review").form("/review/login")

    def tries(self, token: str, forwarded: str | None = None) -> int:
        """Try once; answers the status."""
        headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
        data = {**self._form.fields, "token": token}
        return self._browser.http.post(self._form.action, data=data, headers=headers).status_code

    def noted(self, address: str) -> int:
        """How often the log says that a sign-in from an address failed."""
        log = self._server.log.read_text(encoding="utf-8")
        return log.count(f"a sign-in from {address} failed")

    def notes(self, address: str, times: int) -> None:
        """Wait for the log: it is read from the server while the server answers."""
        until(lambda: self.noted(address) >= times, f"{times} failures from {address}")
        assert self.noted(address) == times


@contextmanager
def signing(folder: Path, **settings: Any) -> Iterator[Signer]:
    with HttpServer(folder / "store", **settings) as server, Browser(server) as browser:
        server.token("only")
        yield Signer(browser, server)


def test_wrong_tokens_of_one_do_not_stop_anothers_first_mistype(tmp_path: Path) -> None:
    """C4: failures are counted by the beginning of the token and the address, not by address."""
    with signing(tmp_path) as signer:
        assert [signer.tries(f"day1_guess{n}") for n in range(6)] == [401] * 5 + [429]
        assert signer.tries("day1_Mistyped-by-another") == 401


def test_nobody_is_believed_where_no_proxy_is_named(tmp_path: Path) -> None:
    """C4: an address that a client makes up is ignored."""
    with signing(tmp_path, FORWARDED_ALLOW_IPS="*") as signer:
        tried = [signer.tries("day1_guess", f"203.0.113.{n}") for n in range(6)]
        assert tried == [401] * 5 + [429]
        signer.notes("127.0.0.1", 5)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signer]:
    folder = tmp_path_factory.mktemp("proxied")
    with signing(folder, DAY1_HTTP__TRUSTED_PROXIES='["127.0.0.0/8", "::1"]') as signer:
        yield signer


def test_a_proxy_that_is_named_says_who_asks(proxied: Signer) -> None:
    """C4: behind a trusted proxy each address has a count of its own, and none can be made up."""
    # What the client says of itself comes first; the proxy adds whom it talks to.
    tried = [proxied.tries("day1_guess", f"198.51.100.{n}, {HERE}") for n in range(6)]
    assert tried == [401] * 5 + [429]
    proxied.notes(HERE, 5)
    assert proxied.tries("day1_guess", THERE) == 401


@pytest.mark.parametrize(
    ("named", "token"),
    [
        ("", "day1_empty"),
        ("somebody", "day1_name"),
        ("\x1b[2J", "day1_escape"),
        (f"fe80::1%{'x' * 9_000}", "day1_zone"),
        ("1" * 9_000, "day1_number"),
    ],
)
def test_a_proxy_that_names_no_address_does_no_harm(
    proxied: Signer, named: str, token: str
) -> None:
    """C4: what is no address is neither remembered nor logged."""
    known = {"": "127.0.0.1"}.get(named, "fe80::1" if "%" in named else "unknown")
    before = proxied.noted(known)
    assert [proxied.tries(token, named) for _ in range(6)] == [401] * 5 + [429]
    proxied.notes(known, before + 5)


def test_a_proxy_of_another_address_is_not_believed(tmp_path: Path) -> None:
    """C4: naming a proxy lets nobody else say who asks."""
    with signing(tmp_path, DAY1_HTTP__TRUSTED_PROXIES='["192.0.2.1"]') as signer:
        tried = [signer.tries("day1_guess", f"203.0.113.{n}") for n in range(6)]
        assert tried == [401] * 5 + [429]


def test_failures_take_bounded_room() -> None:
    """C4: however many tokens are made up, few are remembered, and of each only its beginning."""
    counters = LocalCounters()
    tries = Tries(counters)
    for number in range(3_000):
        tries.failed(HERE, f"{number:06}" * 1_000)
    assert len(counters._numbers) == 1_000
    assert {len(key.removeprefix(f"{HERE} ")) for key in counters._numbers} == {8}
    for _ in range(5):
        tries.failed(HERE, "day1_guess")
    with pytest.raises(TooManyRequests):
        tries.failed(HERE, "day1_guess")


@pytest.mark.parametrize("proxy", ["*", "localhost", "127.0.0.1/64", "10.0.0.1/8", ""])
def test_a_proxy_is_an_address_or_a_network(proxy: str) -> None:
    """C4: a misprint is refused at the start, rather than trusted or passed over."""
    with pytest.raises(ValidationError):
        HttpSettings.model_validate({"trusted_proxies": [proxy]})
