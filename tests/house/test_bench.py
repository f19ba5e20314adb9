"""`scripts/bench` measures what it says, with either form of the model."""

import os
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.mark.parametrize("named", ["DAY1_EMBEDDER__MODEL_DIR", "DAY1_TEST_SAFETENSORS_DIR"])
def test_an_import_is_measured_until_it_is_indexed(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D3: with the packaged weights, which an install brings, the row was skipped."""
    if not os.environ.get(named):
        pytest.skip(f"{named} names no model folder")
    model = Path(os.environ[named])
    for name in [name for name in os.environ if name.startswith("DAY1_")]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(SCRIPTS)
    from benchmarks import importing
    from benchmarks.bench import Bench, Sizes

    durable, indexed = importing.rows(Bench(tmp_path, Sizes(middle=20), "real", model))
    assert durable.name == "import of 20 facts until durable"
    assert indexed.name == "import of 20 facts until indexed"
    assert indexed.value, indexed.note
