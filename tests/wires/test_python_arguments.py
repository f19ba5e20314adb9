"""Arguments of `day1.connect` and of handles that cannot be right: each is refused by its name."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import day1
from day1 import errors
from tests.wires.http_server import HttpServer
from tests.wires.python_places import QUIET

NOBODY = "http://127.0.0.1:1"
"""An address where no server is: what is refused there was not sent."""
NAMES = ("branch", "agent", "session", "space")


@pytest.mark.parametrize("argument", NAMES)
@pytest.mark.parametrize("name", ["a\nb", " a", "a ", "a\n", "x" * 256, "\u200b", "a\0"], ids=repr)
def test_a_name_that_no_header_can_carry_is_refused_before_it_is_sent(
    argument: str, name: str
) -> None:
    with pytest.raises(errors.InvalidRequest, match=rf"^{argument} must"):
        day1.connect(NOBODY, **{argument: name})  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize("argument", NAMES)
@pytest.mark.parametrize("name", [5, b"a", ("a", "b"), "\ud800"], ids=repr)
@pytest.mark.parametrize("place", ["folder", "http"])
def test_a_name_is_a_text(tmp_path: Path, place: str, argument: str, name: Any) -> None:
    target = NOBODY if place == "http" else tmp_path / "store"
    with pytest.raises(errors.InvalidRequest, match=rf"^{argument} must") as refused:
        day1.connect(target, **{argument: name})
    assert refused.value.details["problems"][0]["argument"] == argument  # type: ignore[index, call-overload]  # its form
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("token", ["", " \n", "é", "\ud800", "a\0b", "a\nb", b"x", 5], ids=repr)
def test_what_can_be_no_token_is_refused_before_it_is_sent(token: Any) -> None:
    with pytest.raises(errors.InvalidRequest, match=r"^token must"):
        day1.connect(NOBODY, token=token)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1"),
        ("HTTP_PROXY", "ftp://ada:hunter2@127.0.0.1:1"),
        ("HTTP_PROXY", "http://ada:hunter2@127.0.0.1:port"),
        ("NO_PROXY", "[::"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv(variable, value)
    with pytest.raises(errors.InvalidRequest, match=variable) as refused:
        day1.connect("http://memory.example")
    assert "hunter2" not in str(refused.value)


def test_white_space_around_a_token_and_an_address_is_left_out(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        secret = server.token("file")
        upper_address = server.address.replace("http", "HTTP")
        with day1.connect(f" {upper_address}\n", token=f" {secret}\n") as memory:
            assert memory.place == server.address
            memory.add("Let in.")
            trial = memory.branch("trial ")
            with pytest.raises(errors.InvalidRequest, match=r"^branch must"):
                trial.add("Not sent.")


@pytest.mark.parametrize(
    "address",
    [
        "http://",
        f"{NOBODY}a",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:-1",
        "http://[::1",
        "http://ex ample",
        "http://a..b",
        f"http://{'a' * 300}.com",
        "http://xn--a",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="not the address of a server"):
        day1.connect(address)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (5, "^target must be a text"),
        (b"store", "^target must be a text"),
        ("~nouser-of-day1/store", "'~nouser-of-day1', a user without a home"),
        ("x" * 5_000, "too long"),
        ("x/" * 5_000, "too long"),
        ("a\0b", "^target must not contain NUL"),
        ("\ud800x", "^target must not contain half a character"),
        (os.fsdecode(b"\xff"), "^target must not contain half a character"),
    ],
    ids=["number", "bytes", "user", "long-name", "long-path", "nul", "surrogate", "undecoded"],
)
def test_what_can_be_no_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: Any, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.InvalidRequest, match=says):
        day1.connect(target, settings=QUIET)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("settings", [{1: 2}, {"colour": 1, 2: 3}, "colour", 5, [1]], ids=repr)
def test_settings_are_a_mapping_by_name(tmp_path: Path, settings: Any) -> None:
    with pytest.raises(errors.InvalidRequest, match="setting"):
        day1.connect(tmp_path / "store", settings=settings)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda memory: memory.as_of(None), errors.InvalidRequest, "^when must"),
        (lambda memory: memory.as_of(5).rows(), errors.InvalidRequest, "at: "),
        (lambda memory: memory.call(None), errors.UnknownTool, "docs/tools"),
        (lambda memory: memory.call([]), errors.UnknownTool, "docs/tools"),
        (lambda memory: memory.protect(5), errors.InvalidRequest, "requires: "),
        (lambda memory: memory.protect("review"), errors.InvalidRequest, "requires: "),
        (lambda memory: memory.protect([], tiers=5), errors.InvalidRequest, "tiers: "),
        (lambda memory: memory.branch("\ud800"), errors.InvalidRequest, "^branch must"),
        (lambda memory: memory.branch(None), errors.InvalidRequest, "^branch must"),
        (lambda memory: memory.branch(5), errors.InvalidRequest, "^branch must"),
    ],
)  # fmt: skip
def test_arguments_of_a_handle_that_cannot_be_right_are_refused(
    tmp_path: Path, call: Callable[[Any], object], error: type[errors.Day1Error], says: str
) -> None:
    with (
        day1.connect(tmp_path / "store", settings=QUIET) as memory,
        pytest.raises(error, match=says),
    ):
        call(memory)
