"""SHA-256, in the spelling of the format: 64 lower-case hexadecimal digits."""

from __future__ import annotations

import hashlib
import re

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


def sha256_hex(data: bytes | memoryview) -> str:
    """The digest of ``data``."""
    return hashlib.sha256(data).hexdigest()


def is_sha256(text: str) -> bool:
    """Whether ``text`` is spelled as a digest is."""
    return _SHA256.match(text) is not None
