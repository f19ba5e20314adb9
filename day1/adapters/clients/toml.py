"""TOML: a new table is added at the end; tomlkit changes what is there and keeps the rest."""

from __future__ import annotations

from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from day1.adapters.clients.documents import Keys, NotUnderstood, at, newline_of, with_value, without

BLANK: Final = b""
_BOM: Final = b"\xef\xbb\xbf"


def value_of(data: bytes) -> dict[str, Any]:
    """The document as values."""
    return _parsed(data).unwrap()


def put(data: bytes, keys: Keys, value: Any) -> bytes:
    """The document with a value at a path of keys."""
    document = _parsed(data)
    before = document.unwrap()
    there = at(before, keys)
    if there == value:
        return data
    if there is None and isinstance(value, dict):
        edited = _with_block(data, _block(data, keys, value))
    else:
        item: Any = document
        for key in keys[:-1]:
            item = item[key]
        item[keys[-1]] = _item(value)
        edited = _written(data, document)
    return _checked(edited, with_value(before, keys, value))


def take_out(data: bytes, keys: Keys) -> bytes:
    """The document without what is at a path of keys."""
    document = _parsed(data)
    before = document.unwrap()
    value = at(before, keys)
    if value is None:
        return data
    wanted = without(before, keys)
    edited = _without_block(data, _block(data, keys, value))
    if edited is None:
        item: Any = document
        for key in keys[:-1]:
            item = item[key]
        del item[keys[-1]]
        edited = _written(data, document)
    if keys[0] not in value_of(edited):  # its last table is gone, and was in no table of its own
        wanted = without(wanted, keys[:1])
    return _checked(edited, wanted)


def _block(data: bytes, keys: Keys, value: Any) -> bytes:
    return shown(keys, value).replace("\n", newline_of(data)).encode()


def _with_block(data: bytes, block: bytes) -> bytes:
    """The text with a table at its end, which ends in a newline if the text does."""
    line = newline_of(data).encode()
    if not data.removeprefix(_BOM):
        return data + block
    if data.endswith(b"\n"):
        return data + line + block
    return data + line * 2 + block.removesuffix(line)


def _without_block(data: bytes, block: bytes) -> bytes | None:
    """The text before a table was added; None if it is not there as it was added."""
    line = newline_of(data).encode()
    open_ended = line * 2 + block.removesuffix(line)
    if data.endswith(open_ended):
        return data.removesuffix(open_ended)
    if data.removeprefix(_BOM).startswith(block):
        return data.replace(block, b"", 1)
    if data.count(line + block) == 1:
        return data.replace(line + block, b"")
    return None


def shown(keys: Keys, value: Any) -> str:
    """What a person would add to a document."""
    table = tomlkit.table()
    for key, inner in value.items():
        table[key] = _item(inner)
    return f"[{'.'.join(map(str, keys))}]\n{table.as_string()}"


def _item(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inline = tomlkit.inline_table()
    inline.update(value)
    return inline


def _parsed(data: bytes) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(data.removeprefix(_BOM).decode("utf-8"))
    except (TOMLKitError, ValueError, RecursionError) as exc:
        raise NotUnderstood(f"it is no TOML ({exc})") from exc


def _written(data: bytes, document: tomlkit.TOMLDocument) -> bytes:
    start = _BOM if data.startswith(_BOM) else b""
    return start + tomlkit.dumps(document).encode()


def _checked(data: bytes, wanted: dict[str, Any]) -> bytes:
    if value_of(data) != wanted:
        raise NotUnderstood("its form is too unusual to be edited safely")
    return data
