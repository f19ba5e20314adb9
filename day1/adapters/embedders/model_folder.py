"""The files of all-MiniLM-L6-v2 in a folder, and the check that they are that model.

Two forms: the packaged weights (`model.safetensors`) or the published export (`model.onnx`), each
with `tokenizer.json`. Hashes are not a formality: onnxruntime loads weights with a damaged stretch
in the middle without any error, and then answers with wrong vectors.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Literal

from day1.errors import EmbedderUnavailable

Weights = Literal["int8", "float32"]
"""The number format in which the model computes, whichever file holds its weights."""

SAFETENSORS, EXPORT, TOKENIZER = "model.safetensors", "model.onnx", "tokenizer.json"
SAFETENSORS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
SAFETENSORS_BYTES = 90_868_376
EXPORT_BYTES_AT_LEAST = 90_000_000  # float32; less is cut short or quantised, so another space

NEXT_STEP = (
    "run `day1 model install`, or let DAY1_EMBEDDER__MODEL_DIR name a folder that holds "
    f"{TOKENIZER} and {SAFETENSORS} or {EXPORT}; until then search is by keywords"
)
_CHECKED = ".day1-checked"  # what the last good hash was taken of: hash, size, time of change
FILES = {SAFETENSORS, EXPORT, TOKENIZER, _CHECKED}  # all that day1 itself puts into such a folder


def lacking(folder: Path) -> str | None:
    """Say what a folder lacks to be a model; None if nothing.

    This looks at names and sizes only. That is enough to choose a folder, but not to trust it.
    """
    if not (folder / TOKENIZER).is_file():
        return f"there is no {TOKENIZER}"
    if (folder / SAFETENSORS).is_file():
        file_size = (folder / SAFETENSORS).stat().st_size
        return None if file_size == SAFETENSORS_BYTES else f"{SAFETENSORS} has {file_size} bytes"
    if (folder / EXPORT).is_file():
        file_size = (folder / EXPORT).stat().st_size
        return (
            None if file_size >= EXPORT_BYTES_AT_LEAST else f"{EXPORT} has only {file_size} bytes"
        )
    return f"there is neither {SAFETENSORS} nor {EXPORT}"


def checked_weights(folder: Path) -> str:
    """Check the folder's files and return the name of its weights file.

    A good hash of the weights is remembered beside them where the folder may be written.

    Raises:
        EmbedderUnavailable: a file is missing, cannot be read, or is not the published one.
    """
    reason = lacking(folder)
    try:
        if reason is None and _sha256(folder / TOKENIZER) != TOKENIZER_SHA256:
            reason = f"{TOKENIZER} is not the published file"
        weights_name = SAFETENSORS if (folder / SAFETENSORS).is_file() else EXPORT
        if reason is None and weights_name == SAFETENSORS and not _is_published(folder):
            reason = f"{SAFETENSORS} is not the published file"
    except OSError as error:
        raise unusable(folder, error.strerror or "it cannot be read") from error
    if reason is not None:
        raise unusable(folder, reason)
    return weights_name


def unusable(folder: Path, reason: str) -> EmbedderUnavailable:
    """Build the error that says why a folder cannot be used, and what to do."""
    return EmbedderUnavailable(
        f"The model folder cannot be used: {reason}. To go on: {NEXT_STEP}.", folder=str(folder)
    )


def _is_published(folder: Path) -> bool:
    """Whether the safetensors file has the pinned hash (0.3 s, or nothing if remembered)."""
    file_status = (folder / SAFETENSORS).stat()
    stamp = f"{SAFETENSORS_SHA256} {file_status.st_size} {file_status.st_mtime_ns}".encode()
    stamp_file = folder / _CHECKED
    with suppress(OSError):
        if stamp_file.read_bytes() == stamp:
            return True
    if _sha256(folder / SAFETENSORS) != SAFETENSORS_SHA256:
        return False
    with suppress(OSError):
        stamp_file.write_bytes(stamp)
    return True


def _sha256(file: Path) -> str:
    with file.open("rb") as opened_file:
        return hashlib.file_digest(opened_file, "sha256").hexdigest()
