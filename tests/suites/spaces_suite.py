"""Rows of a space and of all spaces below it are found by their names, letter by letter."""

import pytest

from tests.suites.memory import Memory

SPACES = (
    None,
    "app:users",
    "app:users/ann",
    "app:users/ann/notes",
    "app:users/anna",
    "app:users/漢字",
    "app:users/ann%2fb",
    "app:users/🐦",
    "app:users0",
    "app:users2",
    "app:users-x",
    "app:users.x/y",
    "app:user",
    "app:users /x",
    "app:users/_",
    "app:usersß",
)


class SpacesSuite:
    @pytest.mark.parametrize("asked", ["app:users", "app:users/ann", "app:user", "app:nobody"])
    def test_a_space_has_its_rows_and_those_below_and_no_others(
        self, memory: Memory, asked: str
    ) -> None:
        expected = []
        for number, space in enumerate(SPACES):
            row_id = f"fact_{number:02}"
            memory.add_fact("main", row_id, fact_text=f"text {number}", space=space)
            if space == asked or (space or "").startswith(f"{asked}/"):
                expected.append(row_id)
        assert memory.within("main", asked) == expected

    def test_a_row_that_moves_is_found_where_it_is(self, memory: Memory) -> None:
        memory.add_fact("main", "fact_a", fact_text="a", space="app:users/ann")
        memory.fork("side", "main")
        memory.update_fact("side", "fact_a", space="app:teams")
        assert memory.within("main", "app:users") == ["fact_a"]
        assert memory.within("side", "app:users") == []
        assert memory.within("side", "app:teams") == ["fact_a"]
        memory.remove("side", "fact_a")
        assert memory.within("side", "app:teams") == []
