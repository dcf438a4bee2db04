"""Undo content encodings piece by piece, in bounded memory.

Bodies are stored unpacked, because a secret in packed bytes could not be seen. For the same reason
the rest of a body that cannot be unpacked is dropped; ``problem`` gives the reason. The encodings
are those of RFC 9110 8.4.1, zstd (RFC 8878) and br (RFC 7932).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol

from ptycassette.errors import CassetteError

PIECE_BYTES = 1 << 20
"""Most bytes that come at once."""

MOST_TIMES = 100
"""The most bytes that one packed byte may expand to. Texts reach 5 to 40, even repetitive ones."""

ALWAYS_UNPACKED_BYTES = 8 << 20
"""This much is unpacked at any ratio: small bodies of blanks are not bombs."""

_BROTLI_BYTES = 16

_PLAIN = frozenset({"", "identity"})


class _Decoder(Protocol):
    """Undoes one encoding. ``decode`` raises the exceptions in ``_WRONG``."""

    def decode(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def complete(self) -> bool: ...


class Unpacker:
    """Undoes the encodings of one body, the last one first.

    Attributes:
        problem: why the rest of the body is left out; None if nothing was left out.
        is_bomb: whether the reason is that it unpacks to too much.
    """

    def __init__(
        self, decoders: Sequence[_Decoder], names: str, problem: str | None = None
    ) -> None:
        self._decoders = tuple(decoders)
        self._names = names
        self._length = 0
        self._packed = 0
        self.is_bomb = False
        self.problem = problem

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of at most 1 MiB, none of them empty."""
        if self.problem is not None:
            return
        self._packed += len(data)
        most = max(ALWAYS_UNPACKED_BYTES, MOST_TIMES * self._packed)
        try:
            for piece in self._through(self._decoders, data):
                if self._decoders and self._length + len(piece) > most:
                    self.is_bomb = True
                    self.problem = (
                        f"{self._packed} bytes of {self._names} unpack to more than {most};"
                        f" only the first {self._length} are kept"
                    )
                    return
                self._length += len(piece)
                yield piece
        except _wrong() as exc:
            self.problem = f"{self._names} is damaged after {self._length} bytes: {exc}"

    def end(self) -> None:
        """Note that nothing follows."""
        if self.problem is None and not all(one.complete for one in self._decoders):
            self.problem = f"{self._names} breaks off after {self._length} bytes"

    def _through(self, decoders: Sequence[_Decoder], data: bytes) -> Iterator[bytes]:
        if not decoders:
            yield from _pieces(data)
            return
        for piece in decoders[0].decode(data):
            yield from self._through(decoders[1:], piece)


def unpacker_for(encoding: str) -> Unpacker:
    """The unpacker for a value of the ``Content-Encoding`` header.

    Raises:
        CassetteError: the library for this encoding is not installed.
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name not in _PLAIN]
    unknown = [name for name in names if name not in _DECODERS]
    if unknown:
        return Unpacker((), encoding, f"its encoding {unknown[0]!r} is not known")
    return Unpacker([_DECODERS[name]() for name in reversed(names)], ", ".join(names))


def unpacked_body(data: bytes, encoding: str) -> bytes:
    """Unpack a whole body; a damaged body is unpacked up to the damage."""
    unpacker = unpacker_for(encoding)
    return b"".join(unpacker.feed(data))


class _Zlib:
    """gzip, and deflate with or without the zlib header that some senders omit."""

    def __init__(self, wbits: int | None) -> None:
        self._wbits = wbits
        self._decoder: Any = None

    def decode(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._decoder is None:
                wbits = self._wbits or (15 if data[0] & 0x0F == 8 else -15)
                self._decoder = zlib.decompressobj(wbits)
            piece = self._decoder.decompress(data, PIECE_BYTES)
            data = self._decoder.unconsumed_tail
            if piece:
                yield piece
            while not data and not self._decoder.eof and len(piece) == PIECE_BYTES:
                piece = self._decoder.decompress(b"", PIECE_BYTES)
                if piece:
                    yield piece
            if self._decoder.eof:  # another member may follow (RFC 1952 2.2)
                data, self._decoder = self._decoder.unused_data, None

    @property
    def complete(self) -> bool:
        return self._decoder is None


class _Zstd:
    """zstd, with the interface of the standard library of Python 3.14."""

    def __init__(self) -> None:
        self._module = _zstd_module()
        self._decoder: Any = None

    def decode(self, data: bytes) -> Iterator[bytes]:
        while data or (self._decoder is not None and not self._decoder.needs_input):
            if self._decoder is None:
                self._decoder = self._module.ZstdDecompressor()
            piece = self._decoder.decompress(data, PIECE_BYTES)
            data = b""
            if piece:
                yield piece
            if self._decoder.eof:  # another frame may follow (RFC 8878 3.1)
                data, self._decoder = self._decoder.unused_data, None

    @property
    def complete(self) -> bool:
        return self._decoder is None


class _Brotli:
    """br. One step may exceed the limit by the size of its window."""

    def __init__(self) -> None:
        try:
            self._decoder = import_module("brotli").Decompressor()
        except ImportError as exc:
            raise _not_installed("br") from exc
        self._begun = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        self._begun = True
        try:
            piece = self._decoder.process(data, output_buffer_limit=PIECE_BYTES)
        except (
            TypeError
        ):  # before 1.2: a block of 16 MiB takes some bytes, so few are given at once
            for at in range(0, len(data), _BROTLI_BYTES):
                yield from _pieces(self._decoder.process(data[at : at + _BROTLI_BYTES]))
            return
        while piece:  # can_accept_more_data does not count the output that it still holds
            yield from _pieces(piece)
            piece = self._decoder.process(b"", output_buffer_limit=PIECE_BYTES)

    @property
    def complete(self) -> bool:
        return not self._begun or bool(self._decoder.is_finished())


def _pieces(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), PIECE_BYTES):
        yield data[at : at + PIECE_BYTES]


def _zstd_module() -> Any:
    """The module of Python 3.14, or its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            return import_module(name)
    raise _not_installed("zstd")


def _not_installed(encoding: str) -> CassetteError:
    return CassetteError(
        f"the tape holds a body packed with {encoding}, and nothing is installed that unpacks it",
        hint="pip install 'ptycassette[tape]'",
    )


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: _Zlib(31),
    "x-gzip": lambda: _Zlib(31),
    "deflate": lambda: _Zlib(None),
    "zstd": _Zstd,
    "br": _Brotli,
}


def _wrong() -> tuple[type[Exception], ...]:
    """The exceptions that the installed decoders raise for damaged data."""
    found: list[type[Exception]] = [zlib.error]
    with suppress(CassetteError):
        found.append(_zstd_module().ZstdError)
    with suppress(ImportError):
        found.append(import_module("brotli").error)
    return tuple(found)
