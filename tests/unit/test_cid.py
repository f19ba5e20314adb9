"""Content ids: known ones, and those that another computation gives."""

import hashlib

import pytest

from day1.model.files.cid import cid_of, looks_like_cid

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


def independent(content: bytes) -> str:
    """CIDv1 (raw, sha2-256) by integer arithmetic: base32 with the bits filled up at the end."""
    raw = bytes.fromhex("01551220") + hashlib.sha256(content).digest()
    bits = "".join(f"{byte:08b}" for byte in raw)
    bits += "0" * (-len(bits) % 5)
    return "b" + "".join(_ALPHABET[int(bits[n : n + 5], 2)] for n in range(0, len(bits), 5))


@pytest.mark.parametrize(
    ("content", "cid"),
    [
        # Published vectors: the empty block, and `hello world` with and without a line end.
        (b"", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"),
        (b"hello world", "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"),
        (b"hello world\n", "bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4"),
    ],
)
def test_known_ids(content: bytes, cid: str) -> None:
    assert cid_of([content]) == cid == independent(content)


def test_the_parts_do_not_matter() -> None:
    content = bytes(range(256)) * 5_000
    parts = [content[n : n + 999] for n in range(0, len(content), 999)]
    assert cid_of(parts) == independent(content)
    assert cid_of([]) == cid_of([b"", b""]) == independent(b"")


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", True),
        ("QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG", True),
        ("a" * 31, False),
        ("a" * 32, True),
        ("a" * 128, True),
        ("a" * 129, False),
        ("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedz detojuzjevtenxquvyku", False),
        ("a" * 40 + "\n", False),
        (None, False),
        (7, False),
    ],
)
def test_what_looks_like_an_id(value: object, fits: bool) -> None:
    assert looks_like_cid(value) is fits
