"""The style, the script and the mark of the pages, as the package has them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    tag: str
    media: str


@cache
def _files() -> dict[str, _File]:
    """All of them by name, read once."""
    return {
        file.name: _File(
            content := file.read_bytes(),
            hashlib.sha256(content).hexdigest()[:16],
            _TYPES[file.suffix],
        )
        for file in (Path(__file__).parent / "static").iterdir()
        if file.suffix in _TYPES
    }


def address(name: str) -> str:
    """Where a file is; another address whenever its content is another."""
    return f"/review/static/{name}?v={_files()[name].tag}"


async def serve_file(request: Request) -> Response:
    """One file, kept by browsers as long as its address names this content."""
    file = _files().get(request.path_params["name"])
    if file is None:
        return Response("There is no such file.\n", 404, media_type="text/plain")
    named = request.query_params.get("v") == file.tag
    headers = {"ETag": f'"{file.tag}"', "Cache-Control": _FOR_GOOD if named else "no-cache"}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media)
