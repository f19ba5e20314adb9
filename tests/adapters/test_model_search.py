"""Where an installed model is found."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from day1.adapters.embedders import install as installing
from day1.adapters.embedders.install import find
from day1.adapters.embedders.model_folder import EXPORT_BYTES_AT_LEAST

pytestmark = pytest.mark.usefixtures("no_network")


def a_model_at_a_glance(folder: Path) -> Path:
    folder.mkdir()
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.onnx").touch()
    os.truncate(folder / "model.onnx", EXPORT_BYTES_AT_LEAST)
    return folder


def test_the_first_folder_that_holds_a_model_is_found(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert find(None, [first, second]) is None
    a_model_at_a_glance(second)
    assert find(None, [first, second]) == second
    a_model_at_a_glance(first)
    assert find(None, [first, second]) == first
    os.truncate(first / "model.onnx", 1000)  # a download that was interrupted
    assert find(None, [first, second]) == second


def test_a_folder_named_in_the_settings_is_not_passed_over(tmp_path: Path) -> None:
    model = a_model_at_a_glance(tmp_path / "model")
    assert find(tmp_path / "wrong", [model]) == tmp_path / "wrong"
    assert find(model, []) == model


def test_the_downloads_do_not_run_what_lies_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chromadb.py").write_text("raise SystemExit('the wrong chromadb')")
    monkeypatch.chdir(tmp_path)
    program = (
        "import importlib.util as u; print(u.find_spec('chromadb').origin); raise SystemExit(1)"
    )
    with pytest.raises(installing._Failed) as caught:
        installing._fetch(tmp_path, ["-c", program], connected="x")
    assert str(tmp_path) not in str(caught.value)
    assert sys.prefix in str(caught.value)
