"""Tables on each server compare texts by their bytes, in the words that it knows."""

from types import SimpleNamespace

import pytest
from sqlalchemy.schema import CreateTable

from day1.adapters.mysql import url
from day1.adapters.rows.tables import versioned

pytest.importorskip("pymysql", reason="the extra `servers` is not installed")


@pytest.mark.parametrize(
    ("version", "collation"),
    [("8.0.33", "utf8mb4_0900_bin"), ("8.0.30-MatrixOne-v4.2.0", "utf8mb4_bin")],
)
def test_a_table_has_the_collation_of_bytes_that_its_server_knows(
    version: str, collation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MatrixOne refuses `utf8mb4_0900_bin` after 4.2; in Dolt, as in MySQL, the other one pads."""
    engine = url.connect(url.parse("mysql+pymysql://ann:x@nowhere:3306/day1"))
    connection = SimpleNamespace(get_server_info=lambda: version)
    monkeypatch.setattr(engine.dialect, "connect", lambda: connection)
    assert engine.dialect.dispatch.do_connect(engine.dialect, None, (), {}) is None
    for table in versioned.sorted_tables:
        made = str(CreateTable(table).compile(dialect=engine.dialect))
        assert made.endswith(f" COLLATE={collation}")
