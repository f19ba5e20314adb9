"""What a caller is told of a server's errors: what to do, and never the driver's words."""

import socket
import threading

import pytest
from pymysql import err
from sqlalchemy.exc import DBAPIError

from day1.adapters.mysql.failures import server_number, translated
from day1.adapters.mysql.url import connect, engine_of, parse
from day1.errors import Day1Error, InvalidRequest, StoreUnavailable
from day1.home import locate
from day1.settings import Settings, settings_at

NOTED = "what somebody wrote"
SAID = [
    (err.OperationalError(1213, "serialization failure: this transaction conflicts"), "store_busy"),
    (err.OperationalError(1205, "Lock wait timeout exceeded"), "store_busy"),
    (err.OperationalError(20701, "deadlock detected"), "store_busy"),
    (err.OperationalError(20628, "txn need retry in rc mode"), "store_busy"),
    (err.OperationalError(20631, "txn need retry in rc mode, def changed"), "store_busy"),
    (err.IntegrityError(1062, f"duplicate primary key given: [{NOTED}]"), "conflict"),
    (err.OperationalError(1049, "database not found: day1"), "not_a_store"),
    (err.OperationalError(1049, "database not found: day1/task/x"), "unknown_branch"),
    (err.OperationalError(1105, "branch not found: task/x"), "unknown_branch"),
    (err.OperationalError(1045, "Access denied for user 'day1'"), "refused"),
    (err.OperationalError(1044, "Access denied for user 'day1' to database"), "refused"),
    (err.OperationalError(1142, "INSERT command denied to user"), "store_read_only"),
    (err.OperationalError(1105, "command denied to user 'day1'@'%'"), "store_read_only"),
    (err.OperationalError(1105, "Database day1/x is read-only."), "store_read_only"),
    (
        err.OperationalError(20101, "internal error: do not have privilege to execute the …"),
        "store_read_only",
    ),
    (err.OperationalError(2003, "Can't connect to MySQL server"), "store_unavailable"),
    (
        err.OperationalError(
            2003,
            "Can't connect to MySQL server on 'db' ([SSL: CERTIFICATE_VERIFY_FAILED] …)",
        ),
        "refused",
    ),
    (err.OperationalError(1105, "Access denied for user 'day1' to database 'x'"), "refused"),
    (err.OperationalError(2006, "MySQL server has gone away"), "store_unavailable"),
    (err.OperationalError(2013, "Lost connection to MySQL server"), "store_unavailable"),
    (err.InterfaceError(0, ""), "store_unavailable"),
    (err.InternalError("Packet sequence number wrong - got 1 expected 2"), "store_unavailable"),
    (
        err.OperationalError(1105, "Committing this transaction resulted in a working set with …"),
        "store_busy",
    ),
    (
        err.OperationalError(1105, "optimistic lock failed on database Root update"),
        "store_busy",
    ),
    (
        err.OperationalError(1105, "error: local changes would be stomped by merge:\n\tbooks\n"),
        "conflict",
    ),
    (err.OperationalError(1105, "error: the table(s) books are in conflict"), "conflict"),
    (err.DataError(1406, f"Data too long for column: {NOTED}"), "invalid_request"),
    (err.OperationalError(1105, f"string '{NOTED}' is too large for column"), "invalid_request"),
    # A text is no reason to think that a branch is gone.
    (err.OperationalError(1105, "string 'branch not found: x' is too large"), "invalid_request"),
    (err.OperationalError(1105, "write /data/x: no space left on device"), "store_full"),
    (err.OperationalError(1105, f"something new about {NOTED}"), "store_unavailable"),
]


def by_sqlalchemy(error: Exception) -> Exception:
    return DBAPIError.instance(f"INSERT {NOTED}", None, error, err.Error)


@pytest.mark.parametrize(("error", "code"), SAID, ids=[str(e.args[0])[:20] for e, _ in SAID])
@pytest.mark.parametrize("given", [by_sqlalchemy, lambda error: error], ids=["sqlalchemy", "raw"])
def test_each_error_of_a_server_has_a_code_and_says_what_to_do(error, code, given):
    with pytest.raises(Day1Error) as caught, translated("the ledger"):
        raise given(error)
    assert caught.value.code == code
    body = str(caught.value.body())
    assert NOTED not in body
    assert "INSERT" not in body
    assert caught.value.retryable == (code in {"store_busy", "store_unavailable", "store_full"})


@pytest.mark.parametrize("number", [1040, 2002, 2003])
def test_who_was_never_connected_is_not_told_that_something_may_be_stored(number):
    """F9: nothing was sent, and the message did not name the server."""
    with pytest.raises(StoreUnavailable) as caught, translated("db.example.org:3306/day1"):
        raise err.OperationalError(number, "Can't connect to MySQL server")
    assert "db.example.org:3306/day1" in str(caught.value)
    assert "may be stored" not in str(caught.value)
    lost = pytest.raises(StoreUnavailable, match=r"db\.example\.org.*may be stored already")
    with lost, translated("db.example.org:3306/day1"):
        raise err.OperationalError(2013, "Lost connection to MySQL server during query")


@pytest.mark.parametrize(
    "greeting",
    [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\5\0\0\0\x0aabcd", b""],
    ids=["ssh", "http", "cut off", "nothing"],
)
def test_what_greets_as_another_server_was_not_connected_to(greeting):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet():
            client, _ = listener.accept()
            with client:
                client.sendall(greeting)

        greeter = threading.Thread(target=greet)
        greeter.start()
        place = parse(f"mysql://day1:secret@127.0.0.1:{listener.getsockname()[1]}/day1")
        engine = connect(place)
        with pytest.raises(StoreUnavailable, match=r"cannot be connected to.*host and port"):
            engine_of(engine, place.name)
        greeter.join()
    engine.dispose()


@pytest.mark.parametrize("name", ["mysql", "information_schema", "Mysql", "mo_catalog", "system"])
def test_a_database_that_is_the_servers_own_is_refused(name):
    """F9: `day1 init` went to work on a server's own database."""
    with pytest.raises(InvalidRequest, match="the server's own"):
        parse(f"mysql+pymysql://day1:secret@db.example.org/{name}")


def test_a_number_that_begins_like_another_is_another():
    with pytest.raises(Day1Error) as caught, translated("the ledger"):
        raise by_sqlalchemy(err.OperationalError(20030, "unknown"))
    assert caught.value.details["engine_code"] == "20030"
    assert "server does not answer" not in str(caught.value)


def test_errors_that_are_no_servers_pass_as_they_are():
    assert server_number(ValueError("2013")) is None
    with pytest.raises(ValueError, match="2013"), translated("the ledger"):
        raise ValueError(2013)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("ssl=true", "takes no option 'ssl'"),
        ("charset=latin1", "takes no option 'charset'"),
        ("ssl_ca=/nowhere.pem", "a file of ssl_ca"),
        (f"ssl_ca={__file__}", "a file of ssl_ca"),
    ],
)
def test_an_option_that_would_not_be_heeded_is_refused(options, said):
    with pytest.raises(InvalidRequest, match=said):
        parse(f"mysql+pymysql://day1:secret@db.example.org/day1?{options}")


def test_options_of_tls_reach_the_driver():
    place = parse("mysql+pymysql://day1:secret@db.example.org/day1?ssl_check_hostname=false")
    assert dict(place.url.query) == {"ssl_check_hostname": "false"}
    assert place.name == "db.example.org:3306/day1"


def test_a_password_with_an_at_sign_is_not_taken_for_a_host():
    """Its end stood in messages, before the host."""
    with pytest.raises(InvalidRequest, match="%40") as caught:
        parse("mysql+pymysql://day1:se@cret@db.example.org/day1")
    assert "cret" not in f"{caught.value} {caught.value.details}"


@pytest.mark.parametrize("port", ["0", "65536", "99999999", "x", "-1"])
def test_a_port_that_no_server_has_is_refused(port: str) -> None:
    url = f"mysql+pymysql://day1:secret@db.example.org:{port}/day1"
    with pytest.raises(InvalidRequest, match="must have the form") as refused:
        parse(url)
    assert "secret" not in str(refused.value)
    home = locate(settings_at(Settings(home=None), url))
    assert home.rule == "server"
