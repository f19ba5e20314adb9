"""`DAY1_NOTIFY`: a command is run once for each thing that begins to wait, whatever it does."""

import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from day1.adapters.flock import WriteLock
from day1.adapters.sent_notices import FILE, LOCK, SentNotices
from day1.app import noticing
from day1.app.noticing import News, Noticing
from day1.interfaces.open_store import OpenStore
from day1.services.upkeep.chores import IsStopped
from tests.flows.opened_store import call, make, no_file_beyond, opened
from tests.flows.test_waiting import clash, opened_review
from tests.waiting import until

RECORD = 'printf "%s\\n" "$DAY1_WAITING" "$DAY1_WAITING_REVIEWS" "$DAY1_WAITING_HELD" \
"$DAY1_WAITING_NEW" "$DAY1_WAITING_REVIEWS_IDS" "$DAY1_WAITING_HELD_IDS" "$DAY1_WAITING_NEW_IDS" \
>> "$0"; echo . >> "$0"'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenStore]:
    monkeypatch.setattr(noticing, "_PAUSE_S", 0.01)
    make(tmp_path / "store")
    with opened(tmp_path / "store") as store:
        yield store


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where `recorder` writes."""
    return tmp_path / "runs"


def recorder(runs: Path) -> list[str]:
    return ["sh", "-c", RECORD, str(runs)]


def told(runs: Path) -> list[list[str]]:
    """What each run of the recorder was told."""
    text = runs.read_text() if runs.exists() else ""
    return [run.split("\n")[:-1] for run in text.split(".\n")[:-1]]


def watch(store: OpenStore, command: list[str], seen: Callable[[], bool], looks: int = 0) -> None:
    """Let a process look until something is so, and then so many times more."""
    notices = Noticing(store.repo, SentNotices(store.folder), command)
    asked = notices.look
    counted, busy = [0], [0]

    def look(stopped: IsStopped) -> News | None:
        counted[0] += 1
        busy[0] += 1
        try:
            return asked(stopped)
        finally:
            busy[0] -= 1

    notices.look = look
    notices.start()
    try:
        until(seen, "what is looked for")
        enough = counted[0] + looks
        until(lambda: counted[0] >= enough, "more looks")
    finally:
        notices.stop()
    until(lambda: not busy[0], "the look that was under way to end")


def test_each_thing_is_told_once_with_counts_and_ids(store: OpenStore, runs: Path) -> None:
    held, review = clash(store, "side", "main"), opened_review(store, "side")
    first = ["2", "1", "1", "2", review, held, f"{review} {held}"]
    watch(store, recorder(runs), lambda: told(runs) == [first], looks=3)
    watch(store, recorder(runs), lambda: True, looks=3)
    assert told(runs) == [first], "a process that begins later does not tell again"
    other = opened_review(store, "main", "side")
    second = ["3", "2", "1", "1", f"{other} {review}", held, other]
    watch(store, recorder(runs), lambda: len(told(runs)) > 1, looks=3)
    assert told(runs) == [first, second]


def test_while_another_process_tells_this_one_does_not(store: OpenStore, runs: Path) -> None:
    opened_review(store, "side")
    with WriteLock(store.folder / LOCK, 0).held():
        watch(store, recorder(runs), lambda: True, looks=3)
        assert told(runs) == []
    watch(store, recorder(runs), lambda: len(told(runs)) == 1)


def test_a_file_that_cannot_be_read_is_written_anew(store: OpenStore, runs: Path) -> None:
    opened_review(store, "side")
    for broken in ("{", "[]", '{"told": 1}'):
        (store.folder / FILE).write_text(broken)
        runs.unlink(missing_ok=True)
        watch(store, recorder(runs), lambda: len(told(runs)) == 1, looks=3)
    assert (store.folder / FILE).stat().st_mode & 0o777 == 0o600


@contextmanager
def complaints(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    said: list[str] = []
    with caplog.at_level(logging.DEBUG):
        yield said
    said += [record.getMessage() for record in caplog.records]


FAILING = {
    "absent": (["day1-no-such-command", "secret"], "cannot be started: FileNotFoundError"),
    "fails": (["sh", "-c", "exit 3"], "exit code 3"),
    "no program": ([os.devnull], "cannot be started: PermissionError"),
}


@pytest.mark.parametrize("how", FAILING)
def test_a_command_that_fails_is_complained_of_once(
    store: OpenStore, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    command, says = FAILING[how]
    with complaints(caplog) as said:
        opened_review(store, "side")
        notices = Noticing(store.repo, SentNotices(store.folder), command)
        for target in ("four", "five"):
            notices.run(lambda: False)
            _branch(store, target)
            opened_review(store, "side", target)
    (line,) = [line for line in said if "DAY1_NOTIFY" in line]
    assert says in line
    assert "secret" not in line


def _branch(store: OpenStore, name: str) -> None:
    call(store, "memory_branch_create", branch_name=name)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


HANGS = 'echo $$ > "$0"; sleep 1000 & echo $! >> "$0"; yes | head -c 99999; wait'


def test_a_command_that_hangs_and_floods_is_killed_with_what_it_started(
    store: OpenStore,
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(noticing, "_LIMIT_S", 1.0)
    opened_review(store, "side")
    hangs = ["sh", "-c", HANGS, str(runs)]
    with complaints(caplog) as said:
        watch(store, hangs, lambda: any("killed" in r.getMessage() for r in caplog.records))
    assert any("took longer than 1 s" in line for line in said)
    assert capfd.readouterr().out == ""
    started = [int(pid) for pid in runs.read_text().split()]
    assert len(started) == 2
    until(lambda: all(map(_gone, started)), "the command is gone")


def test_a_server_that_leaves_ends_the_command(store: OpenStore, runs: Path) -> None:
    opened_review(store, "side")
    watch(store, ["sh", "-c", HANGS, str(runs)], lambda: _lines(runs) == 2)
    started = [int(pid) for pid in runs.read_text().split()]
    until(lambda: all(map(_gone, started)), "the command is gone")


def test_what_a_command_leaves_in_the_background_is_let_alone(
    store: OpenStore, runs: Path, tmp_path: Path
) -> None:
    opened_review(store, "side")
    done = tmp_path / "done"
    leaves = f'(sleep 0.3; echo done > {shlex.quote(str(done))}) & echo > "$0"'
    watch(store, ["sh", "-c", leaves, str(runs)], runs.exists, looks=3)
    until(done.exists, "what it left is done")


def test_where_it_cannot_be_kept_nobody_is_told(
    store: OpenStore, runs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """To tell again and again would be worse."""
    opened_review(store, "side")
    with complaints(caplog) as said, no_file_beyond(10):
        watch(store, recorder(runs), lambda: True, looks=4)
    assert told(runs) == []
    assert len([line for line in said if "cannot be recorded as sent: store_full" in line]) == 1
    watch(store, recorder(runs), lambda: len(told(runs)) == 1)


def test_the_command_reads_nothing(store: OpenStore, runs: Path) -> None:
    opened_review(store, "side")
    script = f"import sys; open({str(runs)!r}, 'w').write(repr(sys.stdin.read()))"
    watch(store, [sys.executable, "-c", script], lambda: _lines(runs) == 1)
    assert runs.read_text() == "''"


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_look_that_outlasts_its_server_tells_nothing_and_keeps_nothing(
    store: OpenStore, runs: Path
) -> None:
    opened_review(store, "side")
    notices = Noticing(store.repo, SentNotices(store.folder), recorder(runs))
    notices.run(lambda: True)
    assert told(runs) == []
    watch(store, recorder(runs), lambda: len(told(runs)) == 1)
