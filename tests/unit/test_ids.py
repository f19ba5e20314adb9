import hashlib
import re

import pytest

from day1.model.rows.kind import OBSERVATION, revision
from day1.model.values.ids import content_hash, derived_id, ids_of_request, new_id, short_hash, ulid

MILLISECOND = 1_700_000_000_000


def test_an_id_has_its_kind_its_time_and_26_letters():
    made = new_id("fact", MILLISECOND * 1_000)
    assert re.fullmatch(r"fact_[0-9A-HJKMNP-TV-Z]{26}", made)
    assert made.startswith("fact_" + ulid(MILLISECOND, 0)[:10])
    assert made != new_id("fact", MILLISECOND * 1_000)


def test_ids_are_in_the_order_of_their_times():
    times = [0, 1, 31, 32, MILLISECOND, MILLISECOND + 1, 2**48 - 1]
    ids = [ulid(time, randomness) for time, randomness in zip(times, range(9, 2, -1), strict=True)]
    assert ids == sorted(ids)
    assert ulid(0, 0) == "0" * 26
    assert ulid(2**48 - 1, 2**80 - 1) == "7" + "Z" * 25


def test_a_derived_id_is_the_same_in_every_run_and_hangs_on_all_its_keys():
    one = derived_id("fact", None, "git", "a", "b")
    assert one == derived_id("fact", None, "git", "a", "b") == "fact_0000000000" + one[-16:]
    others = [
        derived_id("fact", None, "git", "ab"),
        derived_id("fact", None, "git", "ab", ""),
        derived_id("fact", None, "gita", "b"),
        derived_id("fact", None, "git", "b", "a"),
        derived_id("fact", MILLISECOND * 1_000, "git", "a", "b"),
        derived_id("obs", None, "git", "a", "b"),
    ]
    assert len({one, *others}) == 7
    assert derived_id("fact", -5, "git", "a", "b") == one  # before 1970 there is no time part


def test_a_request_gives_the_same_ids_each_time_it_is_made():
    """F4: the id of what a call makes is made of its request_id, and of nothing that changes."""

    def made(request_id: str, *whose: str) -> list[str]:
        new = ids_of_request(request_id, *whose)
        return [new(prefix, now) for now, prefix in enumerate(("fact", "fact", "msg"))]

    one = made("r", "ada", "branch_1")
    assert one == made("r", "ada", "branch_1")
    assert all(re.fullmatch(r"[a-z]+_0{10}[0-9A-HJKMNP-TV-Z]{16}", made) for made in one)
    others = [made("r", "ada", "branch_2"), made("r", "bo", "branch_1"), made("R", "ada")]
    assert len({*one, *(i for ids in others for i in ids)}) == 12
    assert len({i[-16:] for i in one}) == 3, "short ids are the last letters"


def test_a_request_id_that_is_a_ulid_gives_ids_its_time():
    """F4: ids in the order of time keep the engine's tree compact."""
    for request_id in (ulid(MILLISECOND, 5), f"req_{ulid(MILLISECOND, 5)}"):
        assert ids_of_request(request_id)("fact", 0).startswith(f"fact_{ulid(MILLISECOND, 0)[:10]}")
    for request_id in (
        ulid(MILLISECOND, 5).lower(),
        f"8{'Z' * 25}",
        "01890a5d-ac96-774b-bcce-b302",
    ):
        assert ids_of_request(request_id)("fact", 0).startswith("fact_0000000000")


def test_hashes_of_parts_split_elsewhere_differ():
    assert short_hash("ab", "c") != short_hash("a", "bc")
    assert content_hash("é") != content_hash("e\u0301")
    assert content_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("length", [0, 1, 65_536, 65_537, 200_000])
def test_a_text_of_any_length_has_the_hash_of_its_bytes(length: int) -> None:
    text = "é" * length
    assert content_hash(text) == hashlib.sha256(text.encode()).hexdigest()


def test_revisions_tell_long_texts_apart() -> None:
    blank = {**dict.fromkeys(OBSERVATION.columns), "id": "obs_a", "summary": "s"}
    structures = [None, "x" * 100_000, "x" * 99_999 + "y", "x" * 65_536, "x" * 65_537]
    revisions = {revision(OBSERVATION, {**blank, "structure": text}) for text in structures}
    assert len(revisions) == len(structures)
