"""Unpacks the fixtures."""

import tarfile
from pathlib import Path


def unpack(archive: Path, to: Path) -> None:
    """Unpack a fixture; Python before 3.11.4 knows no filters, and needs none for files of ours."""
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(to)
