"""Where the models lie that a machine has for the tests."""

import os
from pathlib import Path

import pytest


def folder_named_by(variable: str) -> Path:
    """The folder that a variable names; the test is skipped where there is none."""
    named = os.environ.get(variable)
    if not named or not Path(named).is_dir():
        pytest.skip(f"{variable} names no model folder")
    return Path(named)
