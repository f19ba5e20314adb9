"""A pinning service over HTTP: it takes a file as a form, and answers its content id as JSON.

`/api/v0/add` of an IPFS node and the uploads of pinning services have this form; they differ in
the name of the field with the id.
"""

from __future__ import annotations

import hashlib
import logging
from typing import Any, Final

from typing_extensions import override

from day1.adapters.http_json import Bounds, EndpointFailed, JsonEndpoint
from day1.model.files.cid import looks_like_cid
from day1.ports.pinning import Pinning, PinningFailed

log = logging.getLogger(__name__)

_ANSWER_BYTES: Final = 64 * 1024
_ID_FIELDS: Final = ("Hash", "IpfsHash", "cid")
_INNER: Final = ("data", "value", "pin")
"""Fields of an answer that may hold an object with the id."""


class HttpPinning(Pinning):
    """A service that keeps files under their content ids, such as IPFS, asked over HTTP.

    Threads may share it.
    """

    def __init__(self, url: str, *, key: str = "", timeout_s: float = 60.0) -> None:
        """Set the address that takes a file.

        Raises:
            InvalidRequest: the address is not http or https.
        """
        bounds = Bounds(timeout_s, 1, _ANSWER_BYTES)
        self._endpoint = JsonEndpoint(url, "", key=key, bounds=bounds)

    @override
    def pin(self, name: str, content: bytes) -> str:
        boundary = hashlib.sha256(content).hexdigest()
        part_header = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        request_body = part_header.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        try:
            answer = self._endpoint.send(request_body, f"multipart/form-data; boundary={boundary}")
        except EndpointFailed as error:
            # Of an error only its class is told: an address may hold a key.
            log.warning("an archive was not pinned: the service gave no usable answer")
            raise PinningFailed("it gave no usable answer") from error
        content_id = _id_in(answer)
        if content_id is None:
            raise PinningFailed("its answer names no id")
        return content_id


def _id_in(answer: Any) -> str | None:
    """Find the content id in an answer; None if it names none."""
    whole_answer = answer if isinstance(answer, dict) else {}
    objects = [whole_answer, *(whole_answer.get(inner_name) for inner_name in _INNER)]
    candidate_ids = [
        inner_answer.get(field)
        for inner_answer in objects
        if isinstance(inner_answer, dict)
        for field in _ID_FIELDS
    ]
    return next(
        (candidate_id for candidate_id in candidate_ids if looks_like_cid(candidate_id)), None
    )
