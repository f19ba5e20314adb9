"""Static files of the pages (style, scripts, icon), which browsers cache."""

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
"""The folder of the static files."""
PATH: Final = "/review/static"
"""The path under which static files are served."""
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
"""Value of Cache-Control for a file whose address names its content."""


@cache
def _tag(name: str) -> str:
    """Return a hash of a file's content."""
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:16]


def address(name: str) -> str:
    """Return the address of a static file; it changes with the file's content."""
    return f"{PATH}/{name}?v={_tag(name)}"


class PageFiles(StaticFiles):
    """A route for static files; browsers cache them if the address names the content."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Answer with a file, or with 304 if the browser has it."""
        content_hash = _tag(Path(full_path).name)
        is_versioned = scope["query_string"] == f"v={content_hash}".encode()
        headers = {
            "ETag": f'"{content_hash}"',
            "Cache-Control": _FOR_GOOD if is_versioned else "no-cache",
        }
        response = FileResponse(full_path, status_code, headers, stat_result=stat_result)
        if self.is_not_modified(response.headers, Headers(scope=scope)):
            return NotModifiedResponse(response.headers)
        return response
