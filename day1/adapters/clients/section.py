"""A marked section in a text file; what stands outside of the marks is never touched."""

from __future__ import annotations

from typing import Final

from day1.adapters.clients.documents import NotUnderstood, newline_of

BEGIN: Final = "<!-- BEGIN day1 (written by `day1 setup`; changes in here are lost) -->"
END: Final = "<!-- END day1 -->"
_BEGINS: Final = b"<!-- BEGIN day1"


def found(data: bytes) -> bytes | None:
    """Return the section with its marks; None if the file has none.

    Raises:
        NotUnderstood: the marks are not one pair, or the file is no text.
    """
    if b"\0" in data:
        raise NotUnderstood(f"it is not UTF-8 text (byte {data.index(0)} is zero)")
    begin_count, end_count = data.count(_BEGINS), data.count(END.encode())
    if not begin_count and not end_count:
        return None
    section_start, section_end = data.find(_BEGINS), data.find(END.encode())
    if (begin_count, end_count) != (1, 1) or section_end < section_start:
        raise NotUnderstood("the marks of day1's section are not one pair: repair them by hand")
    return data[section_start : section_end + len(END)]


def put(data: bytes, body: str) -> bytes:
    """Return the text with the section: in its place if it is there, else at the end."""
    newline = newline_of(data).encode()
    new_section = f"{BEGIN}\n{body.strip()}\n{END}".encode().replace(b"\n", newline)
    old_section = found(data)
    if old_section is not None:
        return data.replace(old_section, new_section)
    if not data:
        return new_section + newline
    if data.endswith((b"\n", b"\r")):
        return data + newline + new_section + newline
    return data + newline + newline + new_section  # no newline at the end, as it was


def take_out(data: bytes) -> bytes:
    """Return the text without the section and without the lines that `put` added around it."""
    section = found(data)
    if section is None:
        return data
    newline = newline_of(data).encode()
    text_before, _, text_after = data.partition(section)
    if not text_after and text_before.endswith(newline * 2):
        return text_before.removesuffix(newline * 2)
    return text_before.removesuffix(newline) + text_after.removeprefix(newline)
