"""What a run of the tests says at its end."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded as `summary`, also of tests that ran in another process."""
    reports = [r for rs in terminalreporter.stats.values() for r in rs if hasattr(r, "when")]
    for report in reports:
        for name, text in report.user_properties if report.when == "call" else ():
            if name == "summary":
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {text}")
