"""A person learns that something waits: `day1 status`, a resource with updates, a command."""

import queue
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import settled, until
from tests.wires.cli_conflict import experiment
from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import WAIT_S, Session
from tests.wires.raw_pipe import RawPipe
from tests.wires.test_mcp_resources import ask, listed, listen, read

REVIEWS = "day1://reviews"
RECORD = "sh -c 'echo $DAY1_WAITING: $DAY1_WAITING_NEW_IDS >> \"$0\"; yes | head -c 99999' {}"
"""It says once what it was told, and floods what it is given to write to."""
HANG = "sh -c 'echo $$ >> \"$0\"; yes | head -c 99999; sleep 1000' {}"

# The command line


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return experiment(tmp_path)


def test_status_says_what_waits_and_its_exit_code_does_if_asked(cli: CommandLine) -> None:
    nothing = {"count": 0, "reviews": [], "held": []}
    assert cli.json("status", "--exit-code")["waiting"] == nothing
    assert "review" not in cli("status", "--exit-code").out
    review = cli.json("review", "open", "experiment")["id"]
    assert '1 open review (use "day1 review" to list)' in cli("status", code=0).out
    assert "1 open review" in cli("status", "--exit-code", code=4).out
    waits = cli.json("status", "--exit-code", code=4)["waiting"]
    assert waits == {"count": 1, "reviews": [review], "held": []}
    cli("review", "merge", "experiment", code=3)
    (held,) = cli.json("held")["items"]
    waits = cli.json("status", "--exit-code", code=4)["waiting"]
    assert waits == {"count": 1, "reviews": [], "held": [held["id"]]}
    assert "1 held item (use" in cli("status").out
    cli("switch", "experiment")
    assert '1 held item on main (use "day1 held -b main" to see)' in cli("status").out
    cli("held", "dismiss", held["id"], "-b", "main")
    cli("status", "--exit-code", code=0)


def test_the_exit_code_is_in_the_help(cli: CommandLine) -> None:
    assert re.search(r"^ *4 +something waits", cli("--help").out, re.MULTILINE)
    assert "--exit-code" in cli("status", "--help").out


@pytest.mark.parametrize("command", ["'", " ", "''x'"])
def test_a_command_that_is_none_is_refused(cli: CommandLine, command: str) -> None:
    cli.env["DAY1_NOTIFY"] = command
    assert "DAY1_NOTIFY" in cli("status", code=1).err


# The resource


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("notice") / "store") as served:
        yield served


def work(agent: Session, name: str) -> str:
    """A branch with something to review."""
    agent.ok("memory_branch_create", branch_name=name)
    agent.ok("memory_write_fact", fact_text=f"News on {name}.", branch=name)
    return name


def test_the_resource_has_what_waits_and_the_reviews(server: HttpServer) -> None:
    with HttpSession(server) as agent:
        assert REVIEWS in listed(agent)
        review = agent.ok("review_open", source_branch=work(agent, "read"))["id"]
        found = read(agent, REVIEWS)
        assert found["waiting"]["reviews"] == [review]
        assert [one["id"] for one in found["result"]] == [review]
        assert "1 new" in found["result"][0]["summary"]


def sessions(server: HttpServer, folder: Path, mode: str) -> list[Callable[[], Session]]:
    return [
        lambda: HttpSession(server, mode=mode),
        lambda: Session(folder / "store", mode=mode),
    ]


def test_a_client_of_2026_is_told_when_a_review_opens_and_closes(
    server: HttpServer, tmp_path: Path
) -> None:
    for made in sessions(server, tmp_path, "auto"):
        with made() as agent:
            source = work(agent, "new")
            heard: queue.Queue[str] = queue.Queue()
            task = agent._portal.start_task_soon(listen, agent, REVIEWS, heard)
            assert heard.get(timeout=WAIT_S) == "listening"
            review = agent.ok("review_open", source_branch=source)["id"]
            assert heard.get(timeout=WAIT_S) == REVIEWS
            agent.ok("review_close", review_id=review)
            assert heard.get(timeout=WAIT_S) == REVIEWS
            task.cancel()


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_client_of_2025_is_told_when_something_is_held(
    server: HttpServer, tmp_path: Path
) -> None:
    for made in sessions(server, tmp_path, "legacy"):
        heard: queue.Queue[str] = queue.Queue()
        session = made()
        session.told = taking(heard)
        with session as agent:
            fact = agent.ok("memory_write_fact", fact_text="It is so.")["id"]
            agent.ok("memory_branch_create", branch_name="doubt")
            for branch in ("doubt", "main"):
                said = {"fact_id": fact, "fact_text": f"It is as {branch} says."}
                agent.ok("memory_update_fact", **said, branch=branch)
            ask(agent, "subscribe_resource", REVIEWS)
            merge = {"source_branch": "doubt", "target_branch": "main", "strategy": "auto"}
            assert agent.ok("memory_branch_merge", **merge)["rejected_count"] == 1
            assert heard.get(timeout=WAIT_S) == REVIEWS
            ask(agent, "unsubscribe_resource", REVIEWS)


def taking(heard: queue.Queue[str]) -> Any:
    async def take(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.put(message.params.uri)

    return take


def test_who_does_not_see_a_branch_is_not_told_of_its_review(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as served:
        admin = served.token("admin")
        limited = served.token("limited", "write", admin, branches=["mine", "mine/*"])
        with HttpSession(served, token=admin) as lead, HttpSession(served, token=limited) as bob:
            for name in ("mine", "mine/work", "theirs"):
                work(lead, name)
            heard: queue.Queue[str] = queue.Queue()
            task = bob._portal.start_task_soon(listen, bob, REVIEWS, heard)
            assert heard.get(timeout=WAIT_S) == "listening"
            lead.ok("review_open", source_branch="theirs")
            lead.ok("review_open", source_branch="mine/work")
            assert settled(heard.qsize, 2.0) == 0, "the target is none that it sees"
            own = lead.ok("review_open", source_branch="mine/work", target_branch="mine")["id"]
            assert heard.get(timeout=WAIT_S) == REVIEWS
            assert read(bob, REVIEWS)["waiting"] == {"count": 1, "reviews": [own], "held": []}
            task.cancel()


# The command


def test_servers_run_the_command_once_for_each_thing(tmp_path: Path) -> None:
    """Of two servers on one store one tells; a third that begins later tells of nothing old."""
    runs = tmp_path / "runs"
    tells = RECORD.format(runs)
    with (
        Session(tmp_path / "store", DAY1_NOTIFY=tells) as one,
        Session(tmp_path / "store", DAY1_NOTIFY=tells) as other,
        HttpServer(tmp_path / "store", DAY1_NOTIFY=tells),
    ):
        first = one.ok("review_open", source_branch=work(one, "first"))["id"]
        until(runs.exists, "the command is run")
        assert other.found("memory_search", query="News", branch="first"), (
            "nobody waits for the command"
        )
        assert settled(runs.read_text, 5.0) == f"1: {first}\n"
    with HttpServer(tmp_path / "store", DAY1_NOTIFY=tells) as served:
        second = served.ok("review_open", source_branch="main", target_branch="first")["id"]
        until(lambda: runs.read_text().count("\n") == 2, "the command is run")
        assert settled(runs.read_text, 5.0).splitlines()[1:] == [f"2: {second}"]


def test_what_the_command_prints_is_not_on_the_wire(tmp_path: Path) -> None:
    """Nor does a server that is killed by its client's signal leave the command behind."""
    runs = tmp_path / "runs"
    with RawPipe(tmp_path / "store", DAY1_NOTIFY=HANG.format(runs)) as pipe:
        for name, given in (
            ("memory_branch_create", '{"branch_name": "b"}'),
            ("review_open", '{"source_branch": "b"}'),
        ):
            pipe.ask("tools/call", f'{{"name": "{name}", "arguments": {given}}}')
        until(runs.exists, "the command is run")
        answer = pipe.ask("tools/list", "{}")
        assert "tools" in answer["result"]
        assert "y\n" not in pipe.said
        pipe.process.terminate()
        assert pipe.process.wait(WAIT_S) == 128 + 15
    until(lambda: not running(str(runs)), "the command is gone")


def running(argument: str) -> list[str]:
    """The processes of this machine that were given an argument."""
    lines = (_command(folder) for folder in Path("/proc").glob("[0-9]*"))
    return [line for line in lines if argument in line.split("\0") and line.startswith("sh\0")]


def _command(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_text()
    except OSError:
        return ""


def test_a_command_that_does_not_exist_is_said_once_and_stops_nothing(tmp_path: Path) -> None:
    with Session(tmp_path / "store", DAY1_NOTIFY="no-such-program --token hush") as agent:
        for name in ("a", "b"):
            agent.ok("review_open", source_branch=work(agent, name))
            until(lambda: "DAY1_NOTIFY" in agent.log.read_text(), "it is said")
            settled(agent.log.read_text, 3.0)
    said = agent.log.read_text()
    assert said.count("DAY1_NOTIFY") == 1
    assert "hush" not in said
