"""Markers and notes, stored beside the cassette in ``NAME.notes.json``, never inside it.

The file has the id and digest of the cassette, so that its notes are not shown on another
recording of the same name.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec

from ptycassette import Cassette, CassetteError
from ptycassette.errors import NotFoundError
from ptycassette.viewing import printable, read_plain

_MAX_BYTES = 16 << 20


class Note(msgspec.Struct, frozen=True, order=True):
    """A marker at a moment, with a note that may be empty."""

    t_us: int
    seq: int
    text: str = ""


class _File(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    cassette_id: str
    output_sha256: str
    notes: tuple[Note, ...]


def sidecar(path: Path) -> Path:
    """The path of a cassette's notes."""
    whole = path.absolute()
    return whole.with_name(f"{whole.name}.notes.json")


class Annotations:
    """The notes of one cassette, in order of time.

    Args:
        cassette: whose notes.

    Raises:
        CassetteError: the file of notes is invalid, or belongs to another
            recording.
    """

    def __init__(self, cassette: Cassette) -> None:
        self.path = sidecar(cassette.path)
        self._id = cassette.manifest.id
        self._sha256 = cassette.manifest.content_digest.sha256
        self.notes: tuple[Note, ...] = self._read()

    @property
    def kept_where(self) -> str:
        """Where notes are stored, for the user."""
        return f"kept in {printable(self.path.name, limit=80)}, not in the cassette"

    def _read(self) -> tuple[Note, ...]:
        try:
            data = read_plain(self.path, max_bytes=_MAX_BYTES)
            found = msgspec.json.decode(data, type=_File)
        except NotFoundError:
            return ()
        except CassetteError as exc:
            raise self._wrong(exc.message) from exc
        except (ValueError, RecursionError) as exc:
            raise self._wrong(str(exc)) from exc
        if (found.version, found.cassette_id) != (1, self._id):
            raise self._wrong("they belong to another recording")
        return tuple(sorted(found.notes))

    def _wrong(self, why: str) -> CassetteError:
        return CassetteError(
            f"the notes cannot be used: {why}",
            where=str(self.path),
            hint="move the file away to start with new notes",
        )

    def add(self, note: Note) -> None:
        """Add a note and write the file."""
        self._write(tuple(sorted((*self.notes, note))))

    def remove(self, note: Note) -> None:
        """Remove a note and write the file."""
        self._write(tuple(kept for kept in self.notes if kept != note))

    def _write(self, notes: tuple[Note, ...]) -> None:
        data = msgspec.json.format(
            msgspec.json.encode(
                _File(
                    version=1,
                    cassette_id=self._id,
                    output_sha256=self._sha256,
                    notes=notes,
                )
            )
        )
        try:
            fd, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(data + b"\n")
                os.replace(name, self.path)  # noqa: PTH105 - a name made by mkstemp
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as exc:
            raise CassetteError(
                f"the note could not be written: {exc.strerror}",
                where=str(self.path),
                hint="copy the cassette to a folder that you may write to",
            ) from exc
        self.notes = notes


class LiveNotes:
    """Notes on a recording in progress, in memory only, because watching writes nothing."""

    kept_where = "kept until you leave: watching writes nothing"

    def __init__(self) -> None:
        self.notes: tuple[Note, ...] = ()

    def add(self, note: Note) -> None:
        """Add a note."""
        self.notes = tuple(sorted((*self.notes, note)))

    def remove(self, note: Note) -> None:
        """Remove a note."""
        self.notes = tuple(kept for kept in self.notes if kept != note)
