"""Lines of hooks that cannot be taken in: kept apart, and never too many."""

from pathlib import Path

import pytest

from day1.adapters.spool import FolderSpool
from day1.app.stores import place_of
from day1.services.health.doctor import check
from tests.engine import needs_files
from tests.flows.opened_store import make, opened, refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with an empty spool."""
    needs_files()
    make(tmp_path / "store")
    (tmp_path / "store" / "spool").mkdir()
    return tmp_path / "store"


def aside(folder: Path) -> list[bytes]:
    """What is put aside, the oldest first."""
    paths = sorted((folder / "spool" / "aside").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    return [path.read_bytes() for path in paths]


def test_what_is_put_aside_is_bounded_and_the_oldest_go(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("day1.adapters.spool.MOST_ASIDE", 10 * 4096)
    spooled = FolderSpool(folder)
    lines = [b"%03d" % number for number in range(25)]
    for line in lines:
        spooled.put_aside(line)
    beside = folder / "spool" / "aside" / "a person's note"
    beside.write_text("mine")
    spooled.put_aside(b"x" * 8 * 4096)
    assert (spooled.aside(), spooled.gone()) == (3, 23)
    assert {b"023", b"024", b"x" * 8 * 4096, b"mine"} == set(aside(folder))
    with opened(folder) as store:
        findings = {f.name: f for f in check(store.repo, store.search, place_of(store))}
        assert findings["hooks"].level == "warn"
        assert "3 of the lines" in str(findings["hooks"].text)
        assert "23 older ones were removed" in str(findings["hooks"].text)


def test_a_line_larger_than_the_bound_is_kept_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("day1.adapters.spool.MOST_ASIDE", 4096)
    spooled = FolderSpool(folder)
    for letter in (b"a", b"b"):
        spooled.put_aside(letter * 9_000)
    assert aside(folder) == [b"b" * 9_000]
    (folder / "spool" / "aside.gone").write_bytes(b"nonsense")
    assert spooled.gone() == 0


def test_a_link_in_the_place_of_what_is_put_aside_leads_nowhere(
    folder: Path, tmp_path: Path
) -> None:
    others = tmp_path / "others"
    others.mkdir()
    (others / ("0" * 16)).write_bytes(b"theirs")
    (folder / "spool" / "aside").symlink_to(others)
    refused(lambda: FolderSpool(folder).put_aside(b"x"), "store_unavailable")
    assert [path.read_bytes() for path in others.iterdir()] == [b"theirs"]
