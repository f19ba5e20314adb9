"""What Dolt and DoltLite say of names: only the name of nothing is not found."""

import sqlite3
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy.exc import DBAPIError

from day1.adapters.versioned.dolt.dialect import DoltDialect
from day1.adapters.versioned.doltlite.dialect import DoltLiteDialect
from day1.errors import NotFound

DIALECTS = (DoltDialect("day1"), DoltLiteDialect())


def failing(*said: object) -> Any:
    """A connection whose every statement fails as a driver says."""
    cursor = Mock(execute=Mock(side_effect=sqlite3.OperationalError(*said)))
    connection = Mock()
    connection.connection.driver_connection.cursor.return_value = cursor
    connection.dialect.loaded_dbapi = sqlite3
    connection.dialect.is_disconnect.return_value = False
    return connection


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "said", [("dolt_hashof: invalid ref spec",), (1105, "invalid ancestor spec")]
)
def test_the_name_of_nothing_is_not_found(dialect, said):
    with pytest.raises(NotFound, match="'nowhere'"):
        dialect.resolve(failing(*said), "nowhere")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "said", [("disk I/O error",), ("database is locked",), (1040, "Too many connections")]
)
def test_another_failure_says_nothing_of_a_name(dialect, said):
    """B6: any error of the driver was `not_found`, and so a busy store lost its branches."""
    with pytest.raises(DBAPIError):
        dialect.resolve(failing(*said), "main")
