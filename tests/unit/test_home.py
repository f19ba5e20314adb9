"""What one address of a remote is, however it is written."""

import pytest

from day1.home import address


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/team/app.git",
        "https://someone:secret@Example.org/team/app/",
        "ssh://git@example.org:22/team/app.git",
        "git@example.org:team/app.git",
        "example.org:/team/app\n",
    ],
)
def test_all_ways_to_write_an_address_are_one(url: str) -> None:
    assert address(url) == "example.org/team/app"


@pytest.mark.parametrize(
    ("url", "found"), [("", None), ("/srv/app.git", "/srv/app"), ("../app", "../app")]
)
def test_a_path_stays_a_path(url: str, found: str | None) -> None:
    assert address(url) == found
