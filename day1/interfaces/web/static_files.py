"""The style, the script and the icon of the pages, which browsers keep."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

FOLDER: Final = Path(__file__).parent / "static"
PATH: Final = "/review/static"
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


@cache
def _tag(name: str) -> str:
    """A hash of the content of a file."""
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:16]


def address(name: str) -> str:
    """Where a file is; its address changes with its content."""
    return f"{PATH}/{name}?v={_tag(name)}"


class PageFiles(StaticFiles):
    """Files that browsers keep as long as their address names the content."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """One file, or 304 for a browser that has it."""
        tag = _tag(Path(full_path).name)
        named = scope["query_string"] == f"v={tag}".encode()
        headers = {"ETag": f'"{tag}"', "Cache-Control": _FOR_GOOD if named else "no-cache"}
        response = FileResponse(full_path, status_code, headers, stat_result=stat_result)
        if self.is_not_modified(response.headers, Headers(scope=scope)):
            return NotModifiedResponse(response.headers)
        return response
