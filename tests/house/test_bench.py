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

    sizes = Sizes(small=40, middle=20, repeats=1)
    durable, indexed, *by_weights = importing.rows(Bench(tmp_path, sizes, "real", model))
    assert durable.name == "import of 20 facts until durable"
    assert indexed.name == "import of 20 facts until indexed"
    assert indexed.value, indexed.note
    # Integers are quicker where a processor multiplies them at once: a row of the bench, no test.
    assert [bool(row.ratio) for row in by_weights] == [True, True]


def test_work_on_deep_branches_is_compared_with_that_on_shallow_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("DAY1_")]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(SCRIPTS)
    from benchmarks import depth
    from benchmarks.bench import Bench, Sizes

    monkeypatch.setattr(depth, "_ROUNDS", 1)
    found = list(depth.rows(Bench(tmp_path, Sizes(middle=20, depths=(1, 3)), "fake", None)))
    assert [row.name.removesuffix(" at depth 3 / at depth 1") for row in found] == [
        "branch switch",
        "first search",
        "search",
        "read of the newest 50",
        "write",
        "branch create",
        "diff with its parent",
        "merge into its parent",
    ]
    assert all(row.value and row.limit == depth.LIMIT for row in found)
