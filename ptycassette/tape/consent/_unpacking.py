"""Bodies without their content encoding, in bounded memory."""

from __future__ import annotations

import importlib
import zlib
from typing import Any, Protocol

__all__ = ["UnpackedStream", "unpacked_body"]

_ANY_HEADER = zlib.MAX_WBITS | 32
_MOST = 64 << 20


class _Engine(Protocol):
    def __call__(self, data: bytes, /) -> bytes: ...


class UnpackedStream:
    """Unpacks what comes piece by piece. What it cannot unpack gives nothing.

    Args:
        packing: the content encoding; of several, or of one that is not known, nothing is read.
    """

    def __init__(self, packing: str) -> None:
        self._engine = _engine(packing.strip().lower())
        self.failed = self._engine is None

    def feed(self, data: bytes) -> bytes:
        """The unpacked piece."""
        if self._engine is None:
            return b""
        try:
            return self._engine(data)
        except Exception:  # noqa: BLE001 - each library has its own, and all mean damage
            self._engine, self.failed = None, True
            return b""


def unpacked_body(data: bytes, packing: str) -> bytes | None:
    """A whole body; None where it cannot be unpacked, or is far too large."""
    stream = UnpackedStream(packing)
    found = stream.feed(data)
    return None if stream.failed or len(found) > _MOST else found


def _engine(packing: str) -> _Engine | None:
    match packing:
        case "" | "identity":
            return bytes
        case "gzip" | "x-gzip" | "deflate":
            inflate = zlib.decompressobj(_ANY_HEADER)
            return lambda data: inflate.decompress(data, _MOST)
        case "br":
            brotli: Any = importlib.import_module("brotli")
            decoder = brotli.Decompressor()
            return lambda data: bytes(decoder.process(data))
        case "zstd":
            zstd: Any = _zstd()
            unpacker = zstd.ZstdDecompressor()
            return lambda data: b"" if unpacker.eof else bytes(unpacker.decompress(data))
        case _:
            return None


def _zstd() -> Any:
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return importlib.import_module("backports.zstd")
