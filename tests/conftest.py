"""Servers that tests may ask for, and what a run of the tests says at its end."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import documented_users, engine, servers

# How long an example takes says more of what else the machine does than of day1.
settings.register_profile("day1", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("day1")

_UNIT = Path(__file__).parent / "unit"
_WEEKLY = "once a week: scripts/weekly runs it"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        choices=engine.ENGINES,
        help="what keeps the stores of tests over the wires; see tests/engine.py",
    )


@pytest.hookimpl(wrapper=True)  # around pytest-xdist, which reads the groups
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Leave out what runs once a week; run tests that share a module's fixture in one process.

    Else each of the processes would make the fixture, which is often a server. Unit tests come last:
    they are quick, so that all processes end at the same time.
    """
    items.sort(key=lambda item: _UNIT in item.path.parents)
    skipped = pytest.mark.skip(reason=_WEEKLY)
    for item in items:
        if item.get_closest_marker("weekly") and "DAY1_TEST_WEEKLY" not in os.environ:
            item.add_marker(skipped)
        if _shares_a_fixture(item) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    yield
    if getattr(config.option, "loadgroup", False):
        _append_groups(items)


def _append_groups(items: list[pytest.Item]) -> None:
    """Append the group of a test to its id, by which pytest-xdist distributes tests.

    pytest-xdist 3.8 writes the id to `_nodeid`, and pytest reads it from `_id` since 9.2. Without
    this no test is grouped, and nothing says so: pytest-dev/pytest-xdist#1386.
    """
    for item in items:
        groups = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
        suffix = "@" + "_".join(groups)
        if groups and not item.nodeid.endswith(suffix):
            item._id = type(item._id).parse(item.nodeid + suffix)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempt modules and collected tests from the looks for garbage: they stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _shares_a_fixture(item: pytest.Item) -> bool:
    definitions = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(found[-1].scope == "module" for found in definitions.values())


def pytest_configure(config: pytest.Config) -> None:
    """Also of processes that pytest-xdist starts: they have the same options."""
    if config.getoption("--engine"):
        os.environ[engine.VARIABLE] = config.getoption("--engine")


@pytest.fixture(scope="session")
def dolt_url() -> str:
    """A Dolt server; skipped where there is none."""
    return servers.dolt_url()


@pytest.fixture(scope="session")
def matrixone_url() -> str:
    """A MatrixOne server; skipped where there is none."""
    return servers.matrixone_url()


@pytest.fixture(scope="session")
def chroma_url() -> str:
    """A Chroma server: it comes with its package."""
    return servers.chroma_url()


@pytest.fixture
def dolt_database(dolt_url: str) -> Iterator[str]:
    """The URL of a store on a Dolt server that is not there yet; it is dropped afterwards."""
    with servers.database(dolt_url) as url:
        yield url


@pytest.fixture
def matrixone_database(matrixone_url: str) -> Iterator[str]:
    """The URL of a store on a MatrixOne server that is not there yet."""
    with servers.database(matrixone_url) as url:
        yield url


@pytest.fixture
def documented_dolt(dolt_database: str) -> Iterator[str]:
    """The same as the user of docs/servers.md has it, whose rights are the least: it is empty."""
    with documented_users.user(dolt_database, documented_users.DOLT) as url:
        yield url


@pytest.fixture
def documented_matrixone(matrixone_database: str) -> Iterator[str]:
    """The same on a MatrixOne server."""
    with documented_users.user(matrixone_database, documented_users.MATRIXONE) as url:
        yield url


@pytest.fixture
def own_dolt(tmp_path: Path) -> Iterator[servers.DoltServer]:
    """A Dolt server that the test may kill."""
    if not servers.has_dolt():
        servers.skip("no `dolt` program on the PATH that a test could kill")
    (tmp_path / "dolt").mkdir()
    server = servers.DoltServer(tmp_path / "dolt")
    server.up()
    yield server
    server.stop()


@pytest.fixture
def own_chroma(tmp_path: Path) -> Iterator[servers.ChromaServer]:
    """A Chroma server that the test may kill."""
    (tmp_path / "chroma-server").mkdir()
    server = servers.ChromaServer(tmp_path / "chroma-server")
    server.up()
    yield server
    server.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the closing lines say once why many tests were skipped, not once for each."""
    report = yield
    if report.skipped and call.excinfo is not None:
        reason = str(getattr(call.excinfo.value, "msg", ""))
        if reason in servers.REASONS or reason == _WEEKLY:
            report.longrepr = (__file__, 0, f"Skipped: {reason}")
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded as `summary`, also of tests that ran in another process."""
    reports = [r for rs in terminalreporter.stats.values() for r in rs if hasattr(r, "when")]
    for report in reports:
        for name, text in report.user_properties if report.when == "call" else ():
            if name == "summary":
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {text}")
