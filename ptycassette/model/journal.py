"""What happens while recording, before it is scrubbed, numbered and rendered.

These events are the input of the finaliser and of the scrubber. They carry
``t_us``, whole microseconds since the start of the session, never going back.
An output event holds the bytes of one read.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ptycassette.model.events import ExitStatus, OutputStream
from ptycassette.model.geometry import Size
from ptycassette.model.manifest import Harness
from ptycassette.model.records import DiscoveryRecord, QuotaRecord
from ptycassette.model.streams import StreamKinds


class SessionMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The head of a journal: all that the finaliser needs besides the events.

    ``environment`` holds every variable of the child, values included; it is
    known to the scrubber and never written to a cassette. ``home`` and ``cwd``
    are the real paths, for the scrubber; ``user_home`` is the home of the user
    who records, where the program has another one. ``holder`` names the recorder's process where
    the file system has no lock that would tell whether it is alive.
    """

    id: str
    argv: tuple[str, ...]
    size: Size
    recorded_at: str
    harness: Harness
    workdir_policy: str = "inherited"
    env_allowlist: tuple[str, ...] = ()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    home: str = ""
    user_home: str = ""
    cwd: str = ""
    term: str = "xterm-256color"
    locale: str | None = None
    timeout_ms: int | None = None
    permission_mode: str | None = None
    pty_mode: dict[str, Any] | None = None
    streams: StreamKinds | None = None
    git_sha: str | None = None
    os: str = ""
    arch: str = ""
    recorder_version: str = ""
    resolution_ms: int = 1
    title: str | None = None
    target: str = ""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    holder: str = ""


class Output(msgspec.Struct, frozen=True, omit_defaults=True, tag="output"):
    """Bytes that the program wrote, one read. See ``OutputRecord`` for ``stream`` and ``eof``."""

    t_us: int
    data: bytes
    stream: OutputStream | None = None
    eof: bool = False


class Typed(msgspec.Struct, frozen=True, omit_defaults=True, tag="input"):
    """Bytes sent to the program. See ``InputRecord`` for the fields.

    ``masked``: they were typed at a prompt that does not echo, or the sender declared them
    secret. A journal, which is private, has the real bytes; whoever shows or publishes them
    takes ``hidden()``.
    """

    t_us: int
    data: bytes
    source: str = "user"
    key: str | None = None
    paste: bool = False
    masked: bool = False
    eof: bool = False

    def hidden(self) -> Typed:
        """This event as others may see it: masked bytes are asterisks, up to line ends."""
        if not self.masked:
            return self
        data = bytes(byte if byte in b"\r\n" else 0x2A for byte in self.data)
        key = self.key if data == self.data else None
        return msgspec.structs.replace(self, data=data, key=key)


class Resized(msgspec.Struct, frozen=True, tag="resize"):
    """The terminal got another size."""

    t_us: int
    size: Size


class Signalled(msgspec.Struct, frozen=True, tag="signal"):
    """A signal was sent to the program; ``signal`` is its lower-case short name (``int``)."""

    t_us: int
    signal: str


class Noted(msgspec.Struct, frozen=True, tag="service-event"):
    """A service event: any JSON value."""

    t_us: int
    payload: Any


class Probed(msgspec.Struct, frozen=True, omit_defaults=True, tag="probe"):
    """A quota or discovery record; the last of each kind counts."""

    t_us: int
    quota: QuotaRecord | None = None
    discovery: DiscoveryRecord | None = None


class Finished(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="final"):
    """The end of the session. ``failure`` is set when the run must not become a cassette.

    ``binary_version`` is what the program reported when it was asked beside the session,
    ``version_missing`` why it reported none, ``other_program`` that its answer is not that of the
    CLI whose name it has. ``stdin_offset`` is how many bytes the program
    consumed of a file that was its stdin.
    """

    t_us: int
    exit: ExitStatus | None = None
    metadata: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    routing_actual: str | None = None
    session_log_path: str | None = None
    final_text: str | None = None
    failure: str | None = None
    binary_version: str | None = None
    version_missing: str | None = None
    other_program: bool = False
    stdin_offset: int | None = None


class Begun(msgspec.Struct, frozen=True, omit_defaults=True, tag="tape"):
    """The program starts: the moment from which ``t_us`` counts.

    ``clock_us`` is the monotonic clock at this moment; the times of the proxy that records model
    traffic count from another one. ``wall`` is the same moment as RFC 3339 has it. The tag is that
    of journals in which only recordings with a tape have this event; those have no ``wall``.
    """

    t_us: int
    clock_us: int
    wall: str = ""


class HeadSecret(msgspec.Struct, frozen=True):
    """A secret in the head of a question, behind a placeholder.

    Attributes:
        where: ``target``, or the name of a header: the first one of this name.
        offset: of the placeholder, in bytes of UTF-8 of the text that is kept.
        length: of the placeholder.
        value: what it replaces.
    """

    where: str
    offset: int
    length: int
    value: bytes


class TapeMoment(Noted, frozen=True, omit_defaults=True, kw_only=True, tag="tape-moment"):
    """A service event of the tape. None is in a recorder's journal: they are made when saving.

    Attributes:
        entry: the number of the question, from 1.
        moment: what happened to it.
        head: what the entry says of it besides bodies (see ``TapeEntry``), scrubbed like a payload.
        dropped: texts that are kept nowhere, such as headers with credentials. What is secret in
            them is removed everywhere else.
        secrets: of the head of a question, once it is scrubbed.
    """

    entry: int
    moment: Literal["question", "answer", "end"]
    head: dict[str, Any]
    dropped: tuple[str, ...] = ()
    secrets: tuple[HeadSecret, ...] = ()


class Traffic(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="traffic"):
    """A piece of the body of a question or an answer, unpacked. None is in a recorder's journal.

    Attributes:
        entry: as in ``TapeMoment``.
        side: which body.
        data: at most 1 MiB; as many bytes after scrubbing.
        form: of a message: ``text`` or ``binary``.
        continues: it belongs to the chunk that came before it.
        last: nothing follows in this body.
        unscrubbed: ``data`` as it was before, once it is scrubbed.
    """

    t_us: int
    entry: int
    side: Literal["question", "answer"]
    data: bytes = b""
    form: Literal["", "text", "binary"] = ""
    continues: bool = False
    last: bool = False
    unscrubbed: bytes | None = None


JournalEvent = Output | Typed | Resized | Signalled | Noted | Probed | Finished | Begun | Traffic
