"""Server-sent events, as the APIs frame their streams.

Source: the WHATWG HTML standard, "Server-sent events": fields on lines of their
own, an empty line at the end. Line ends are LF; Google's are CRLF.
"""

from __future__ import annotations

from typing import Any

import msgspec


def framed(value: Any, *, name: str = "", line_end: bytes = b"\n") -> bytes:
    """One event whose data is ``value`` as JSON; named, where the API names its events."""
    head = b"event: %s%s" % (name.encode(), line_end) if name else b""
    return b"%sdata: %s%s" % (head, msgspec.json.encode(value), 2 * line_end)
