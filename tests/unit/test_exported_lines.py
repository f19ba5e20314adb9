"""Lines of an export: which are rows, branches or an end, and what is refused at which line."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from day1.errors import ImportBroken
from day1.model.files.export import (
    NEWEST_VERSION,
    BranchLine,
    RowLine,
    branch_line,
    check_version,
    end_line,
    header_line,
    json_line,
    json_object,
    parsed,
    parsed_row,
    row_line,
    version_columns,
    version_of,
)
from day1.model.rows.kind import EDIT, FACT, MESSAGE, RELATION, Kind, Row
from day1.model.values.ids import content_hash
from day1.model.values.instant import FIRST, LAST, LAST_LEARNED

HEAD, END = header_line(1), end_line(2)
BRANCH = BranchLine("work/a", "main", "Words", "Why", "ada", 7, ("x", "y"), True, False)
FAR = 2**53


def row(kind: Kind, number: int = 1, **cells: Any) -> Row:
    """A row that an export may hold, with a value in every required column."""
    text = f"text {number} 北京"
    texts = {} if kind.text is None else {kind.text: text, "content_hash": content_hash(text)}
    needed = {
        name: {"time": number, "real": 0.5}.get(column.type, (*column.among, name)[0])
        for name, column in kind.column.items()
        if column.required or column.among
    }
    given = {**needed, **texts, "id": f"{kind.prefix}_{number:026}", **cells}
    return {name: given.get(name) for name in kind.columns}


def changed(kind: Kind = FACT, /, **cells: Any) -> bytes:
    """The line of a row in which some columns have other values; with `...` they are missing."""
    cells_by_name = {**json.loads(row_line(kind, row(kind))), **cells}
    return json.dumps({k: v for k, v in cells_by_name.items() if v is not ...}).encode()


def refusal(lines: list[bytes]) -> int:
    with pytest.raises(ImportBroken) as caught:
        list(parsed(lines))
    return int(str(caught.value.details["line"]))


def test_the_lines_of_a_file_come_back_in_their_order() -> None:
    rows = [RowLine(FACT, row(FACT, 1)), RowLine(MESSAGE, row(MESSAGE, 2))]
    lines = [HEAD, branch_line(BRANCH), *(row_line(one.kind, one.row) for one in rows), END]
    assert list(parsed(lines)) == [BRANCH, *rows]
    assert list(parsed([HEAD, end_line(0)])) == []


def test_lines_are_canonical_json() -> None:
    assert HEAD == b'{"format":"day1-export","version":1}\n'
    assert header_line(2, with_secrets=True).endswith(b'"secrets":true,"version":2}\n')
    assert END == b'{"end":{"rows":2}}\n'
    assert json_line({"b": "é", "a": 1}) == '{"a":1,"b":"é"}\n'.encode()
    line = json.loads(row_line(FACT, row(FACT, space="project:mill")))
    assert (line["kind"], line["space"], line["category"]) == ("facts", "project:mill", None)
    assert "valid_until" not in line, "a column of a later version is written only with a value"


ROW = row_line(FACT, row(FACT))


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ([], 1),
        ([ROW, END], 1),
        ([header_line(NEWEST_VERSION + 1), end_line(0)], 1),
        ([HEAD.replace(b"export", b"bundle"), end_line(0)], 1),
        ([HEAD], 2),
        ([HEAD, ROW], 3),
        ([HEAD, ROW, END], 3),
        ([HEAD, END], 2),
        ([HEAD, ROW, ROW, ROW, END], 5),
        ([HEAD, end_line(0), end_line(0)], 3),
        ([HEAD, end_line(0), ROW], 3),
        ([HEAD, branch_line(BRANCH), branch_line(BRANCH), END], 4),
        ([HEAD, ROW, ROW, END, b"\n"], 5),
        ([HEAD, HEAD, END], 2),
        ([HEAD, b"[]\n"], 2),
        ([HEAD, b'"kind"\n'], 2),
        ([HEAD, b"\xff\n"], 2),
        ([HEAD, b"[" * 100_000], 2),
        ([HEAD, ROW[:-9], END], 2),
        ([HEAD, b'{"end":{"rows":"0"}}'], 2),
        ([HEAD, b'{"end":0}'], 2),
        ([HEAD, b'{"kind":7}'], 2),
        ([HEAD, b'{"branch":[]}'], 2),
    ],
)
def test_a_file_that_is_not_whole_is_refused_at_its_line(lines: list[bytes], number: int) -> None:
    assert refusal(lines) == number


def test_what_comes_before_a_broken_line_is_given() -> None:
    lines = parsed([HEAD, ROW, ROW[:9]])
    assert next(lines) == RowLine(FACT, row(FACT))
    with pytest.raises(ImportBroken, match=r"^Line 3 of the import file"):
        next(lines)


@pytest.mark.parametrize("line", [b"{", b"", b"null", b"[{}]", b"\xff"])
def test_a_line_that_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_object(line)
    assert json_object(b'{"a":1}\n') == {"a": 1}


@pytest.mark.parametrize("version", [0, -1, NEWEST_VERSION + 1, None, "1", True, 1.0])
def test_only_known_versions_are_read(version: Any) -> None:
    for known in range(1, NEWEST_VERSION + 1):
        check_version(known, "file")
    with pytest.raises(ImportBroken, match=f"^Line 1 of the file says version {version}") as caught:
        check_version(version, "file")
    assert caught.value.details["line"] == 1


@pytest.mark.parametrize(
    ("kind", "cells", "version"),
    [
        (FACT, {}, 1),
        (FACT, {"space": "project:mill"}, 2),
        (FACT, {"valid_until": 5}, 2),
        (RELATION, {"valid_until": 5}, 2),
        (RELATION, {"properties": "{}"}, 1),
        (FACT, {"happened_at": FAR - 1}, 1),
        (FACT, {"happened_at": FAR}, 2),
        (FACT, {"happened_at": 1 - FAR}, 1),
        (FACT, {"happened_at": -FAR}, 2),
        (MESSAGE, {"happened_at": FAR}, 2),
        (EDIT, {"reason": "words"}, 1),
    ],
)
def test_a_row_needs_the_version_of_its_youngest_value(
    kind: Kind, cells: dict[str, Any], version: int
) -> None:
    whole = row(kind, **cells)
    assert version_of(kind, whole) == version
    assert version_of(kind, {name: whole[name] for name in version_columns(kind)}) == version


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (FACT, {"id": f"fact_{'a' * 59}"}),
        (FACT, {"id": "fact_A-z_9"}),
        (FACT, {"created_at": 0}),
        (FACT, {"created_at": LAST_LEARNED}),
        (FACT, {"happened_at": FIRST}),
        (FACT, {"happened_at": LAST}),
        (FACT, {"expires_at": None}),
        (FACT, {"confidence": 0.0}),
        (FACT, {"category": ""}),
        (FACT, {"source": "merge", "status": "archived", "verification": "invalidated"}),
        (FACT, {"space": ...}),
        (MESSAGE, {"role": "tool", "thinking": "é"}),
    ],
)
def test_a_row_may_have_any_value_of_its_columns_type(kind: Kind, cells: dict[str, Any]) -> None:
    cells_by_name = {name: None if cell is ... else cell for name, cell in cells.items()}
    assert parsed_row(changed(kind, **cells)) == RowLine(kind, row(kind, 1, **cells_by_name))


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (FACT, {"kind": "secrets"}),
        (FACT, {"kind": ...}),
        (FACT, {"kind": "messages"}),
        (FACT, {"category": ...}),
        (FACT, {"other": 1}),
        (FACT, {"id": None}),
        (FACT, {"id": "fact_"}),
        (FACT, {"id": "fact"}),
        (FACT, {"id": "obs_1"}),
        (FACT, {"id": "fact_one two"}),
        (FACT, {"id": "fact_1\n"}),
        (FACT, {"id": "fact_\u202e1"}),
        (FACT, {"id": f"fact_{'a' * 60}"}),
        (FACT, {"created_at": None}),
        (FACT, {"created_at": -1}),
        (FACT, {"created_at": LAST_LEARNED + 1}),
        (FACT, {"created_at": True}),
        (FACT, {"created_at": 1.0}),
        (FACT, {"happened_at": FIRST - 1}),
        (FACT, {"happened_at": LAST + 1}),
        (FACT, {"happened_at": "today"}),
        (FACT, {"happened_at": False}),
        (FACT, {"confidence": None}),
        (FACT, {"confidence": 1}),
        (FACT, {"confidence": float("nan")}),
        (FACT, {"confidence": float("inf")}),
        (FACT, {"category": 7}),
        (FACT, {"category": ["a"]}),
        (FACT, {"category": "a\0b"}),
        (FACT, {"category": "\ud800"}),
        (FACT, {"status": "gone"}),
        (FACT, {"status": None}),
        (FACT, {"source": None}),
        (FACT, {"fact_text": "Other words"}),
        (FACT, {"fact_text": None}),
        (FACT, {"content_hash": "0"}),
        (MESSAGE, {"conversation_id": None}),
        (RELATION, {"source_entity": None}),
    ],
)
def test_a_row_with_a_column_that_does_not_fit_is_refused(
    kind: Kind, cells: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed_row(changed(kind, **cells))
    assert refusal([HEAD, changed(kind, **cells), END]) == 2


def test_a_time_that_does_not_fit_is_refused_with_the_years_that_do() -> None:
    with pytest.raises(ValueError, match=r"happened_at .*years 1 to 9999"):
        parsed_row(changed(happened_at=LAST + 1))
    with pytest.raises(ValueError, match=r"^the value of column category is not of its type$"):
        parsed_row(changed(category=7))


def note(**fields: Any) -> bytes:
    fields_by_name = {**json.loads(branch_line(BRANCH))["branch"], **fields}
    document = {"branch": {k: v for k, v in fields_by_name.items() if v is not ...}}
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "fields",
    [
        *({name: None} for name in ("parent", "description", "purpose", "owner", "ttl_days")),
        {"tags": []},
        {"archived": False, "closed": True},
    ],
)
def test_the_notes_of_a_branch_may_be_empty(fields: dict[str, Any]) -> None:
    (branch,) = parsed([HEAD, note(**fields), end_line(0)])
    shown = json.loads(branch_line(branch))["branch"]  # type: ignore[arg-type]  # not a row
    assert shown == {**json.loads(note())["branch"], **fields}


TEXTS = ("parent", "description", "purpose", "owner")


@pytest.mark.parametrize(
    "fields",
    [
        *({name: ...} for name in BranchLine.__slots__),
        *({name: wrong} for name in TEXTS for wrong in (7, "a\0b", "\ud800")),
        {"name": "no name"},
        {"name": 7},
        {"name": None},
        *({"ttl_days": wrong} for wrong in ("7", True, 0, -1, 36_501, 2**70)),
        {"tags": None},
        {"tags": ["x", 7]},
        {"tags": ["x", "a\0"]},
        {"archived": 1},
        {"closed": None},
        {"other": 1},
    ],
)
def test_a_branch_with_a_note_that_does_not_fit_is_refused(fields: dict[str, Any]) -> None:
    assert refusal([HEAD, note(**fields), end_line(0)]) == 2


@pytest.mark.parametrize("change", [bytes.upper, bytes.swapcase, lambda line: line[::-1]])
def test_a_header_of_another_form_is_refused(change: Callable[[bytes], bytes]) -> None:
    assert refusal([change(HEAD), end_line(0)]) == 1
