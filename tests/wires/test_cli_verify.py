"""`day1 verify`: one fact, those of a branch, and the gate before a merge."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.fakes.chat_server import MODEL, ChatServer, judgement
from tests.forkserver import python
from tests.wires.command_line import CommandLine

CLAIM = "The payment gateway of Acme times out after 30 seconds."
AGREES = "In staging the Acme payment gateway timed out after 30 seconds."


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer().serving() as server:
        yield server


def test_one_fact_is_judged_by_a_part_of_its_id(cli: CommandLine) -> None:
    fact = cli.add(CLAIM, "--agent", "ada")
    cli.add(AGREES, "--agent", "bo")
    shown = cli("verify", fact[-6:], "--agent", "cy").out.splitlines()
    assert shown[0].endswith("verified by rules")
    assert [line.split()[0] for line in shown[1:]] == ["accuracy", "relevance", "specificity"]
    answer = cli.json("verify", fact)
    assert (answer["verdict"], answer["judge"]) == ("verified", "rules")
    assert cli.json("show", fact)["verification"] == "verified"
    assert "verify fact" in cli("log").out


def test_a_branch_is_judged_and_its_gate_opens(cli: CommandLine) -> None:
    cli("branch", "work")
    for agent, text in (("ada", CLAIM), ("bo", AGREES)):
        cli.add(text, "--agent", agent, "-b", "work")
    shut = cli("verify", "--gate", "-b", "work", code=1)
    assert "may not be merged: 0 verified, 0 invalidated, 2 unverified" in shut.out
    told = cli("verify", "-b", "work")
    assert "2 facts judged by rules: 2 verified, 0 invalidated, 0 unverified" in told.out
    assert "Verifying: 2 of 2" in told.err
    assert "may be merged" in cli("verify", "--gate", "-b", "work").out
    assert cli.json("verify", "--gate", "-b", "work", "--into", "main")["can_merge"] is True
    assert cli.json("verify", "-b", "work")["total_processed"] == 0
    assert cli.json("verify", "-b", "work", "--all", "-n", "1")["total_processed"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--into", "main"),
        ("--context", "why"),
        ("fact_1", "--gate"),
        ("fact_1", "--all"),
        ("--gate", "-n", "3"),
        ("-n", "501"),
    ],
)
def test_options_that_would_be_passed_over_are_refused(
    cli: CommandLine, arguments: tuple[str, ...]
) -> None:
    cli("verify", *arguments, code=2)


def test_an_interrupt_keeps_what_is_judged(cli: CommandLine, model: ChatServer) -> None:
    for number in range(20):
        cli.add(f"Acme has {number} doors.")
    env = {"DAY1_CHAT__URL": model.url, "DAY1_CHAT__MODEL": MODEL}
    command = [*python(), "-m", "day1", "verify", "--json"]
    running = subprocess.Popen(
        command, cwd=cli.folder, env={**cli.env, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )  # fmt: skip

    def answer(asked: dict[str, object]) -> tuple[int, dict[str, str], bytes]:
        if len(model.asked) == 5:
            os.kill(running.pid, signal.SIGINT)
        return judgement(asked, 0.9)

    model.answer = answer
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b'"stopped": true' in out
    counted = cli.json("search", "Acme doors", "-n", "50")["result"]
    verified = sum(hit["verification"] == "verified" for hit in counted)
    assert 5 <= verified < 20
