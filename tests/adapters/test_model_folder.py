"""The check of the model's files, on small files that stand for the published ones."""

import hashlib
import os

import pytest

from day1.adapters.embedders import model_folder
from day1.adapters.embedders.model_folder import EXPORT, SAFETENSORS, TOKENIZER, checked_weights
from day1.errors import EmbedderUnavailable

WEIGHTS, WORDS = b"the published weights", b"the published tokenizer"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(model_folder, "SAFETENSORS_BYTES", len(WEIGHTS))
    monkeypatch.setattr(model_folder, "EXPORT_BYTES_AT_LEAST", len(WEIGHTS))
    monkeypatch.setattr(model_folder, "SAFETENSORS_SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    monkeypatch.setattr(model_folder, "TOKENIZER_SHA256", hashlib.sha256(WORDS).hexdigest())
    (tmp_path / SAFETENSORS).write_bytes(WEIGHTS)
    (tmp_path / TOKENIZER).write_bytes(WORDS)
    return tmp_path


def refused(folder):
    with pytest.raises(EmbedderUnavailable, match="cannot be used") as caught:
        checked_weights(folder)
    return str(caught.value)


def spoil(file, *, keep_time=False):
    stat = file.stat()
    file.write_bytes(file.read_bytes().swapcase())
    when = stat.st_mtime_ns if keep_time else stat.st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(when, when))


def test_the_published_files_pass_and_the_packaged_weights_come_first(folder):
    (folder / EXPORT).write_bytes(WEIGHTS)
    assert checked_weights(folder) == SAFETENSORS
    (folder / SAFETENSORS).unlink()
    assert checked_weights(folder) == EXPORT


@pytest.mark.parametrize("name", [SAFETENSORS, TOKENIZER])
def test_a_file_of_the_right_size_and_other_content_is_refused(folder, name):
    spoil(folder / name)
    assert f"{name} is not the published file" in refused(folder)


def test_a_file_that_changed_after_it_was_found_good_is_refused(folder):
    assert checked_weights(folder) == SAFETENSORS
    spoil(folder / SAFETENSORS)
    assert f"{SAFETENSORS} is not the published file" in refused(folder)


def test_a_folder_that_may_not_be_written_is_checked_each_time(folder):
    (folder / ".day1-checked").mkdir()  # in the way of the note
    assert checked_weights(folder) == SAFETENSORS
    spoil(folder / SAFETENSORS, keep_time=True)
    assert f"{SAFETENSORS} is not the published file" in refused(folder)
