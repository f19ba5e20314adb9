"""Caches without a lock: what stays in them."""

from day1.services.repository.repository import keep_newest


def test_the_newest_values_stay() -> None:
    cache: dict[str, int] = {}
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        keep_newest(cache, key, value, 2)
    assert cache == {"a": 3, "c": 4}
    assert [*cache] == ["a", "c"], "oldest first"
    keep_newest(cache, "c", 5, 1)
    assert cache == {"c": 5}
