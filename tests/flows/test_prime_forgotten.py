"""What nobody is to read any more leaves the kept primes, whatever is made of them meanwhile."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from day1.app.background import prime_renewer
from day1.formats import prime_file
from day1.interfaces.open_store import OpenStore
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.branches.retiring import retire
from day1.services.prime import gathering, renewing
from tests.flows.opened_store import call, fill, mounted, remember
from tests.flows.opened_store import store as store  # noqa: PLC0414 - a fixture


def files(store: OpenStore) -> str:
    """What all files of primes hold."""
    folder = store.folder / prime_file.FOLDER
    return " ".join(path.read_text() for path in folder.iterdir()) if folder.exists() else ""


def test_a_prime_that_was_read_before_a_redaction_is_read_again(
    store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, read, gather = remember(store, "My password is plover."), [], gathering.prime_of

    def overtaken(*given: Any) -> Any:
        made = gather(*given)
        read.append(made.text)
        if len(read) == 1:
            call(store, "memory_redact", id=row, confirm=row)
        return made

    monkeypatch.setattr(renewing, "prime_of", overtaken)
    prime_renewer(store).renew()
    assert ["plover" in text for text in read] == [True, False]
    assert '"branch": "main"' in files(store)
    assert "plover" not in files(store)


def count(store: Path) -> None:
    """Somebody forgets, and has looked for files before there was one."""
    with (store / prime_file.FORGOTTEN).open("ab") as file:
        file.write(b".")


@pytest.mark.parametrize("forgets", [prime_file.forget, count])
@pytest.mark.parametrize("late", [False, True])
def test_a_prime_that_somebody_forgets_while_it_is_written_is_not_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    forgets: Callable[[Path], None],
    *,
    late: bool,
) -> None:
    replace = Path.replace

    def overtaken(path: Path, target: Path) -> Path:
        if late:
            replace(path, target)
        forgets(tmp_path)
        return target if late else replace(path, target)

    monkeypatch.setattr(Path, "replace", overtaken)
    said = {"branch": "main", "at": "c", "text": "plover", "forgotten": 0}
    assert not prime_file.write(tmp_path, said)
    assert list((tmp_path / prime_file.FOLDER).iterdir()) == []


def test_a_prime_of_a_process_that_was_killed_while_it_was_overtaken_is_not_read(
    tmp_path: Path,
) -> None:
    said = {"branch": "main", "at": "c", "text": "plover", "forgotten": 0}
    assert prime_file.write(tmp_path, said)
    assert prime_file.read(tmp_path, "main")
    count(tmp_path)
    assert prime_file.read(tmp_path, "main") is None
    assert prime_file.kept(tmp_path) == []


class KilledError(Exception):
    """The process ends here."""


@pytest.mark.parametrize(
    ("tool", "given", "goes"),
    [
        ("memory_update_fact", {"expires_at": "2100-01-01"}, True),
        ("memory_update_fact", {"sensitivity": "secret"}, True),
        ("memory_retract_fact", {"reason": "it is wrong"}, True),
        ("memory_update_fact", {"category": "birds"}, False),
    ],
)
def test_what_takes_a_fact_away_removes_the_primes_before_it_is_committed(
    store: OpenStore, tool: str, given: dict[str, Any], *, goes: bool
) -> None:
    """So a process that is killed right after the commit leaves none that tells of it."""
    row = remember(store, "My password is plover.")
    prime_renewer(store).renew()
    assert "plover" in files(store)

    def kill(point: str) -> None:
        if point == "change.after_commit":
            raise KilledError

    store.repo.store.point = kill  # type: ignore[attr-defined]  # of every engine
    with pytest.raises(KilledError):
        call(store, tool, fact_id=row, **given)
    assert ("plover" in files(store)) != goes


def test_what_a_merge_takes_away_is_forgotten_too(store: OpenStore) -> None:
    row = remember(store, "My password is plover.")
    call(store, "memory_branch_create", branch_name="side")
    prime_renewer(store).renew()
    call(store, "memory_update_fact", fact_id=row, expires_at="2100-01-01", branch="side")
    prime_renewer(store).renew()
    assert "plover" in files(store)
    call(store, "memory_branch_merge", source_branch="side", target_branch="main", strategy="auto")
    assert "plover" not in files(store)


@pytest.mark.parametrize("how", ["delete", "retire"])
def test_a_branch_that_goes_leaves_no_prime(store: OpenStore, how: str) -> None:
    call(store, "memory_branch_create", branch_name="side")
    remember(store, "My password is plover.", branch="side")
    prime_renewer(store).renew(["side"])
    assert "plover" in files(store)
    side, now = find(store.repo, "side"), store.repo.clock()
    if how == "delete":
        delete(store.repo, side, "main", now)
    else:
        retire(store.repo, side, now)
    assert "plover" not in files(store)


def test_a_fact_that_ends_is_told_until_then(store: OpenStore) -> None:
    remember(store, "The port is 80.")
    remember(store, "The freeze is on.", valid_until="2100-01-01")
    prime_renewer(store).renew()
    found = prime_file.read(store.folder, "main")
    assert found
    ((line, end),) = found.ends
    assert "The freeze is on." in found.text.split("\n")[line]
    assert prime_file.told_at(found, end - 1) == found
    told = prime_file.told_at(found, end).text
    assert "The freeze" not in told
    assert "The port is 80." in told


def test_a_full_disk_keeps_no_prime_that_is_forgotten(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs") as disk:
        assert prime_file.write(disk, {"branch": "main", "at": "c", "text": "plover"})
        fill(disk, 0)
        with suppress(OSError):
            prime_file.forget(disk)
        assert list((disk / prime_file.FOLDER).iterdir()) == []


def test_what_another_machine_redacts_leaves_the_primes_of_this_one(
    store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not every ledger on a server says that it changed, and the rows did not."""
    monkeypatch.setattr(store.repo.ledger, "stamp", lambda: None)
    row, renewer = remember(store, "My password is plover."), prime_renewer(store)
    renewer.renew()
    path = prime_file.path_of(store.folder, "main")
    before = path.read_bytes()
    call(store, "memory_redact", id=row, confirm=row)
    path.write_bytes(before)
    (store.folder / prime_file.FORGOTTEN).unlink()
    renewer.renew()
    assert '"branch": "main"' in files(store)
    assert "plover" not in files(store)


def test_who_forgets_makes_all_of_them_anew(store: OpenStore) -> None:
    """Also those of branches on which nobody works now."""
    row = remember(store, "My password is plover.")
    remember(store, "Run the checks.", category="pinned")
    call(store, "memory_branch_create", branch_name="side")
    renewer = prime_renewer(store)
    renewer.renew(["side"])
    call(store, "memory_redact", id=row, confirm=row)
    assert files(store) == ""
    renewer.renew()
    for branch in ("main", "side"):
        found = prime_file.read(store.folder, branch)
        assert found
        assert ("plover" in found.text, "Run the checks." in found.text) == (False, True)
