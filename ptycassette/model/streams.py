"""What the standard streams of a recorded program were: ``optional.streams`` of a manifest."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ptycassette.model.events import Event, OutputRecord
from ptycassette.model.manifest import Manifest
from ptycassette.model.resolved_types import resolved

STREAMS_KEY = "streams"

StreamKind = Literal["terminal", "pipe", "socket", "file", "null", "device"]


class StreamKinds(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The kind of each stream.

    Attributes:
        stdin, stdout, stderr: what the program found there. ``null`` is ``/dev/null``; output
            to it, or to another ``device``, is not recorded.
        merged: stderr is the same open stream as stdout. What was written to either is recorded
            as ``stdout``.
        stdin_offset: of a stdin that is a file: how many bytes of it the program consumed.
    """

    stdin: StreamKind = "terminal"
    stdout: StreamKind = "terminal"
    stderr: StreamKind = "terminal"
    merged: bool = False
    stdin_offset: int | None = None

    @property
    def with_terminal(self) -> bool:
        """Whether one of them is a terminal."""
        return "terminal" in {self.stdin, self.stdout, self.stderr}

    @property
    def all_painted(self) -> bool:
        """Whether stdout and stderr are the terminal."""
        return self.stdout == self.stderr == "terminal"

    @property
    def only_terminal(self) -> bool:
        """Whether all of them are."""
        return {self.stdin, self.stdout, self.stderr} == {"terminal"}

    def written(self) -> dict[str, Any]:
        """As the manifest writes it."""
        kinds = {"stdin": self.stdin, "stdout": self.stdout, "stderr": self.stderr}
        return {**kinds, **msgspec.to_builtins(self)}


def streams_of(manifest: Manifest) -> StreamKinds:
    """What the streams of a recorded program were; all a terminal where a cassette does not say.

    A value that this version does not know counts as not given.
    """
    value = (manifest.optional or {}).get(STREAMS_KEY)
    try:
        return StreamKinds() if value is None else msgspec.convert(value, resolved(StreamKinds))
    except msgspec.ValidationError:
        return StreamKinds()


def painted_bytes(event: Event) -> bytes:
    """Output bytes as a terminal gets them: CR LF for LF if they went to a pipe or file.

    A PTY translates line feeds itself (termios(3), ONLCR); a pipe does not.
    """
    record = event.record
    if isinstance(record, OutputRecord) and record.stream is not None:
        return painted_lines(event.data)
    return event.data


def painted_lines(data: bytes) -> bytes:
    """Output that went to a pipe or a file, as a terminal gets it."""
    return data.replace(b"\n", b"\r\n")
