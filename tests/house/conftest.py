"""What tests of the house share."""

from collections.abc import Iterator

import pytest

from tests import images


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    """day1's image; skipped where no engine is, or nothing to build it from."""
    with images.built() as name:
        yield name
