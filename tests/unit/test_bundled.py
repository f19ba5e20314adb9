"""A bundle's file: what is written is read, and nothing else is taken for it."""

import hashlib
import json

import pytest

from day1.errors import ImportBroken
from day1.model.files.bundle import bundle_lines, counted, digest, read_bundle
from day1.model.files.export import json_line
from day1.model.records.sharing import Bundle
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Kind, Row
from day1.model.values.ids import content_hash
from day1.model.values.instant import LAST_LEARNED


def row(kind: Kind, number: int, **cells: object) -> Row:
    """A row with all columns."""
    text = f"text {number} 北京"
    texts = {} if kind.text is None else {kind.text: text, "content_hash": content_hash(text)}
    origin = {"id": f"{kind.prefix}_{number:026}", "created_at": number, "source": "agent"}
    more = {"status": "active", "verification": "verified", "confidence": 1.0}
    given = {**more, **origin, **texts, **cells}
    return {column: given.get(column) for column in kind.columns}  # type: ignore[misc]  # cells, by column


ROWS = {
    FACT: [row(FACT, 2), row(FACT, 1)],
    CONVERSATION: [row(CONVERSATION, 3, title="Talk")],
    MESSAGE: [row(MESSAGE, 4, conversation_id=f"conv_{3:026}", role="user")],
}


def bundle(rows: dict[Kind, list[Row]]) -> Bundle:
    return Bundle(
        id="bundle_01JD0000000000000000000000",
        name="Drinks, 茶",
        description=None,
        tags=("kitchen",),
        source_branch="main",
        source_commit="c" * 40,
        commit="d" * 40,
        verified_only=True,
        sha256=digest(rows),
        status="active",
        created_by="ada",
        created_at=5,
        **counted(rows),
    )


LINES = list(bundle_lines(bundle(ROWS), ROWS))


def line_of_fault(lines: list[bytes]) -> int:
    with pytest.raises(ImportBroken) as caught:
        read_bundle(lines)
    return int(str(caught.value.details["line"]))


def test_a_bundle_file_is_read_as_it_was_written():
    file, made = read_bundle(LINES), bundle(ROWS)
    for name in ("id", "name", "description", "tags", "source_branch", "source_commit"):
        assert getattr(file, name) == getattr(made, name), name
    assert (file.verified_only, file.sha256, file.created_at) == (True, made.sha256, 5)
    assert {kind: list(rows) for kind, rows in file.rows.items()} == {
        kind: sorted(rows, key=lambda r: str(r["id"])) for kind, rows in ROWS.items()
    }


def test_rows_are_written_in_one_order_whatever_order_they_come_in():
    turned = {kind: rows[::-1] for kind, rows in reversed(ROWS.items())}
    assert list(bundle_lines(bundle(turned), turned)) == LINES
    assert digest(turned) == digest(ROWS)


def test_an_empty_bundle_is_a_line():
    (line,) = bundle_lines(bundle({}), {})
    assert json.loads(line)["counts"] == dict.fromkeys(counted({}), 0)
    assert read_bundle([line]).rows == {}


def test_no_byte_of_a_file_can_be_another_one():
    whole = b"".join(LINES)
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        lines = bytes(flipped).splitlines(keepends=True)
        assert 1 <= line_of_fault(lines) <= len(lines) + 1, place


def test_a_file_that_was_cut_off_is_refused_wherever_it_was():
    whole = b"".join(LINES)
    for length in range(len(whole) - 1):
        line_of_fault(whole[:length].splitlines(keepends=True))


def test_a_line_that_is_missing_double_or_exchanged_is_noticed():
    for number in range(len(LINES)):
        line_of_fault([*LINES[:number], *LINES[number + 1 :]])
        line_of_fault([*LINES[: number + 1], *LINES[number:]])
    other = list(bundle_lines(bundle({FACT: [row(FACT, 9)]}), {FACT: [row(FACT, 9)]}))
    assert line_of_fault([LINES[0], other[1], *LINES[2:]]) > 0


def test_a_later_format_is_refused_with_advice():
    later = LINES[0].replace(b'"version":1', b'"version":9')
    with pytest.raises(
        ImportBroken, match=r"Line 1 of the bundle says version 9, .*install a newer day1"
    ):
        read_bundle([later, *LINES[1:]])


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: value} for name in ("id", "name", "source_branch", "sha256") for value in ("", 7)),
        {"id": "fact_1"},
        {"source_commit": None},
        {"description": 7},
        {"tags": "kitchen"},
        {"tags": ["kitchen", 7]},
        {"tags": None},
        {"only_verified": 1},
        {"created_at": True},
        {"created_at": "5"},
        *({"created_at": value} for value in (-1, LAST_LEARNED + 1, 2**70)),
        {"id": "bundle_../x"},
        *({name: "a\0b"} for name in ("name", "description", "source_branch", "source_commit")),
        {"tags": ["a\0b"]},
        {"counts": [1]},
        {"counts": None},
    ],
)
def test_a_header_that_lacks_what_a_bundle_says_of_itself_is_refused(wrong):
    head = json.loads(LINES[0])
    del head["checksum"]
    header = {**head, **wrong}
    checksum = hashlib.sha256(json_line(header)).hexdigest()
    with pytest.raises(ImportBroken, match=r"^Line 1 .* it lacks fields of a bundle's first line"):
        read_bundle([json_line({**header, "checksum": checksum}), *LINES[1:]])


def test_a_header_of_another_file_is_refused():
    head = json.loads(LINES[0]) | {"format": "day1-export"}
    with pytest.raises(ImportBroken, match="does not begin as a day1 bundle does"):
        read_bundle([json_line(head), *LINES[1:]])
    with pytest.raises(ImportBroken, match=r"^Line 1 .*the file is empty"):
        read_bundle([])
