"""What the environment means."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from day1.app.open import weights
from day1.model.search.ranking import Weights
from day1.settings import SearchSettings, Settings

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


def test_the_weights_of_the_order_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DAY1_")]:
        monkeypatch.delenv(name)
    assert replace(weights(Settings().search), keyword=0.3) == Weights()
    names = set(Weights.__dataclass_fields__) - {"vector", "keyword"}
    assert names <= set(SearchSettings.model_fields)
    monkeypatch.setenv("DAY1_SEARCH__WORDS_BOOST", "0.5")
    monkeypatch.setenv("DAY1_SEARCH__NEIGHBOUR_SHARES", "[0.7]")
    monkeypatch.setenv("DAY1_SEARCH__VECTOR_WEIGHT", "0.25")
    changed = Weights(vector=0.25, keyword=0.75, words_boost=0.5, neighbour_shares=(0.7,))
    assert weights(Settings().search) == changed
