"""What one address of a remote is, however it is written."""

import pytest

from day1.home import Named, address, locate, server_name


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
    ("url", "found"),
    [
        ("", None),
        ("/srv/app.git", "/srv/app"),
        ("../app", "../app"),
        ("https://[example.org/app", None),
    ],
)
def test_a_path_stays_a_path_and_a_malformed_url_is_none(url: str, found: str | None) -> None:
    assert address(url) == found


@pytest.mark.parametrize("password", ["/", "?", "#", "[", "a/b:c?d#e[f]", "%40"])
def test_a_password_of_any_characters_names_the_same_folder(password: str) -> None:
    url = "mysql+pymysql://day1:{}@Db.example.org:3306/memory?ssl_ca=/etc/a@b.pem"
    home = locate(Named(url=url.format(password)))
    assert home == locate(Named(url="mysql://db.example.org:3306/memory"))
    assert home.rule == "server"


@pytest.mark.parametrize("port", ["none", "99999999"])
def test_a_wrong_port_is_left_to_those_who_connect(port: str) -> None:
    assert locate(Named(url=f"mysql+pymysql://day1:secret@db:{port}/memory")).rule == "server"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("mysql+pymysql://day1:secret@db.example.org:3310/memory", "db.example.org:3310/memory"),
        ("mysql://day1:se/c?r#t[@db/memory?ssl_ca=/etc/ca.pem", "db:3306/memory"),
        ("mysql+pymysql://day1:secret@[::1]:3310/memory", "::1:3310/memory"),
        ("mysql+pymysql://day1:sec@ret@db/memory", None),
        ("mysql+pymysql://day1:secret", None),
        ("day1:secret@db/memory", None),
    ],
)
def test_a_server_is_named_without_any_part_of_the_password(url: str, name: str | None) -> None:
    assert server_name(url) == name
