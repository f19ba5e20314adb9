"""The content id of a file: CIDv1, raw bytes, SHA-256, base32 in small letters (`bafkrei…`)."""

import hashlib
import re
from base64 import b32encode
from collections.abc import Iterable
from typing import Final

_VERSION_1, _RAW, _SHA2_256, _DIGEST_BYTES = 0x01, 0x55, 0x12, 32
_HEAD: Final = bytes((_VERSION_1, _RAW, _SHA2_256, _DIGEST_BYTES))
_BASE32: Final = "b"
_FORM: Final = re.compile(r"[A-Za-z0-9]{32,128}")


def cid_of(parts: Iterable[bytes]) -> str:
    """Compute the content id of a file that is given in parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return _BASE32 + b32encode(_HEAD + digest.digest()).decode().rstrip("=").lower()


def looks_like_cid(text: object) -> bool:
    """Whether a value from outside has the form of a content id: 32 to 128 letters and digits."""
    return isinstance(text, str) and _FORM.fullmatch(text) is not None
