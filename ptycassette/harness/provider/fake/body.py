"""The body of a request, decompressed and decoded within limits.

A request may be hostile: a web page can make a browser send to 127.0.0.1. A body that is larger,
denser or deeper than any agent's is refused in the form of the API, before it costs much memory
or time.
"""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

from ptycassette.errors import LimitError
from ptycassette.harness.provider.wire.neutral import WireError
from ptycassette.model.limits import check_density

MAX_BODY_BYTES = 16 << 20
"""Of a body, unpacked, and of a WebSocket message. Agents send a tenth of it."""
MAX_VALUES = 100_000
MAX_DEPTH = 64
_RAW_DEFLATE, _ANY_HEADER = -zlib.MAX_WBITS, zlib.MAX_WBITS | 32


class Body(msgspec.Struct, frozen=True):
    """A body: its form for the log, and why it is not acceptable JSON; None if it is."""

    shown: Any
    wrong: WireError | None = None

    @property
    def json(self) -> Any:
        """The decoded body.

        Raises:
            WireError: it is not JSON, or too large.
        """
        if self.wrong is not None:
            raise self.wrong
        return self.shown


def read_body(data: bytes) -> Body:
    """Decode a body."""
    try:
        check_density(data, MAX_VALUES, "body")
        value = msgspec.json.decode(data)
    except LimitError as many:
        wrong = WireError(f"the body is too large: {many.message}", status=413)
    except ValueError as no_json:
        wrong = WireError(f"the body is not JSON: {no_json}")
    except RecursionError:
        wrong = _too_deep()
    else:
        if not _is_deep(value):
            return Body(value)
        wrong = _too_deep()
    return Body(data.decode("utf-8", "replace"), wrong)


def too_large() -> WireError:
    """The refusal of a body that is too long."""
    return WireError(f"the body is too large: more than {MAX_BODY_BYTES} bytes", status=413)


def unpacked(data: bytes, encoding: str) -> bytes:
    """A body without its ``Content-Encoding``.

    Raises:
        WireError: another encoding than gzip and deflate, damaged, or too much.
    """
    match encoding.strip().lower():
        case "" | "identity":
            body, whole = data, True
        case "gzip" | "x-gzip" | "deflate" as kind:
            # Many send deflate without the header that RFC 9110 asks for.
            raw = kind == "deflate" and data[:1] and data[0] & 15 != zlib.DEFLATED
            engine = zlib.decompressobj(_RAW_DEFLATE if raw else _ANY_HEADER)
            try:
                body = engine.decompress(data, MAX_BODY_BYTES + 1)
            except zlib.error as damaged:
                raise WireError(f"the body is not {kind}: {damaged}") from damaged
            whole = engine.eof
        case other:
            raise WireError(f"Content-Encoding {other!r}: send gzip, deflate or none", status=415)
    if len(body) > MAX_BODY_BYTES:
        raise too_large()
    if not whole:
        raise WireError("the compressed body is cut short")
    return body


def _is_deep(value: Any) -> bool:
    """Whether lists and objects nest deeper than what is accepted."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        within = (item.values() if isinstance(item, dict) else item for item in level)
        level = [one for items in within for one in items if isinstance(one, dict | list)]
        if not level:
            return False
    return True


def _too_deep() -> WireError:
    return WireError(f"the body nests deeper than {MAX_DEPTH} levels")
