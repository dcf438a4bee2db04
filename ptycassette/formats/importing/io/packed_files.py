"""Read files compressed with gzip, bzip2, xz or zstd, detected by their first bytes."""

from __future__ import annotations

import bz2
import lzma
import zlib
from pathlib import Path

from ptycassette.errors import LimitError, UnreadableError
from ptycassette.system.files.whole_file import read_plain
from ptycassette.tape.unpacking import unpacker_for

MAX_FILE_BYTES = 256 << 20
ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"


def is_packed(begin: bytes) -> bool:
    """Whether a file with these first bytes is compressed."""
    return begin.startswith((_GZIP, _BZIP2, _XZ, _ZSTD))


def read_unpacked(path: Path) -> bytes:
    """The bytes of a file, decompressed.

    Raises:
        NotFoundError, UnreadableError, UnsafeFileError: it cannot be read, or is damaged.
        LimitError: it is larger than 256 MiB, packed or not.
        CassetteError: the library that unpacks zstd is not installed.
    """
    data = read_plain(path, max_bytes=MAX_FILE_BYTES)
    try:
        if data.startswith(_GZIP):
            return _http_unpacked(data, "gzip", path)
        if data.startswith(_ZSTD):
            return _http_unpacked(data, "zstd", path)
        if data.startswith(_BZIP2):
            return _bounded(bz2.BZ2Decompressor, data, path)
        if data.startswith(_XZ):
            return _bounded(lzma.LZMADecompressor, data, path)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as exc:
        raise _damaged(path, str(exc)) from exc
    return data


def name_without(path: Path) -> str:
    """The name of a file without the suffix of its compression."""
    return path.stem if path.suffix.lower() in ENDINGS else path.name


def _http_unpacked(data: bytes, encoding: str, path: Path) -> bytes:
    unpacker = unpacker_for(encoding)
    pieces, length = [], 0
    for piece in unpacker.feed(data):
        length += len(piece)
        _check_length(length, path)
        pieces.append(piece)
    unpacker.end()
    if unpacker.problem is not None:
        raise _damaged(path, unpacker.problem)
    return b"".join(pieces)


def _bounded(
    decompressor: type[bz2.BZ2Decompressor | lzma.LZMADecompressor], data: bytes, path: Path
) -> bytes:
    """Decompress all streams of a file, one after the other, as the usual tools do."""
    made = b""
    while data.strip(b"\0"):
        one = decompressor()
        made += one.decompress(data, MAX_FILE_BYTES + 1 - len(made))
        _check_length(len(made), path)
        if not one.eof:
            raise EOFError("the compressed data breaks off")
        data = one.unused_data
    return made


def _check_length(length: int, path: Path) -> None:
    if length > MAX_FILE_BYTES:
        raise LimitError(
            f"unpacked it is larger than {MAX_FILE_BYTES} bytes",
            where=str(path),
            hint="give a smaller file",
        )


def _damaged(path: Path, why: str) -> UnreadableError:
    return UnreadableError(
        f"the compressed file is damaged: {why}",
        where=str(path),
        hint="unpack it yourself, and import what can be saved",
    )
