"""The written memories, embedded once for all tests that only ask them."""

from collections.abc import Iterator

import pytest

from tests.relevance.figures import Measuring, measuring


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measuring]:
    with measuring(tmp_path_factory.mktemp("written")) as made:
        yield made
