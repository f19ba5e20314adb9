"""What the environment means."""

import os
from pathlib import Path

import pytest

from day1.settings import Settings

WITH_DEFAULTS = (
    *("DAY1_HOME", "DAY1_BRANCH", "DAY1_LOG_LEVEL", "DAY1_STORE__URL", "DAY1_STORE__WAIT_S"),
    *("DAY1_INDEX__CHROMA_URL", "DAY1_EMBEDDER__KIND", "DAY1_HTTP__NAMES", "DAY1_HTTP__PORT"),
)


def test_a_variable_that_is_set_to_nothing_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """E7: `DAY1_STORE__URL=`, as a file of settings leaves it, means a folder."""
    for name in [name for name in os.environ if name.startswith("DAY1_")]:
        monkeypatch.delenv(name)
    defaults = Settings()
    for name in WITH_DEFAULTS:
        monkeypatch.setenv(name, "")
    assert Settings() == defaults
    monkeypatch.setenv("DAY1_HOME", "/srv/memory")
    assert Settings().home == Path("/srv/memory")
