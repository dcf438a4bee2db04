"""The untimed records of a cassette: quota, discovery, scrub report."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import msgspec

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Cursor, Size, StyleRun


class QuotaRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``quota.json``: the harness's report of its usage windows."""

    source: str
    status: str
    captured_at: str | None = None
    freshness_window: str | None = None
    staleness_behavior: str | None = None
    account_class: str | None = None
    windows: tuple[dict[str, Any], ...] | None = None
    metadata: dict[str, Any] | None = None


class DiscoveryRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``discovery.json``: models and reasoning levels that the harness offers."""

    source: str
    status: str
    models: tuple[str, ...] | None = None
    reasoning_levels: tuple[str, ...] | None = None
    captured_at: str | None = None
    freshness_window: str | None = None
    staleness_behavior: str | None = None
    metadata: dict[str, Any] | None = None


SCRUB_STATUSES = ("clean", "redacted", "unscrubbed")
"""All that a scrub report may say."""


class ScrubReport(msgspec.Struct, frozen=True, kw_only=True):
    """``scrub-report.json``: what the scrubber did; never a secret.

    ``status`` is ``clean`` (a scrub ran and found nothing), ``redacted`` (it
    replaced something) or ``unscrubbed`` (none ran, on explicit demand).
    """

    status: str
    rules: tuple[str, ...] | None = ()
    hit_counts: dict[str, int] | None = msgspec.field(default_factory=dict)
    env_allowlist: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    intentionally_preserved: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    channels: dict[str, dict[str, int]] | msgspec.UnsetType = msgspec.UNSET


# The timed records of a cassette, exactly as the format writes them, and the event around them.


# In a class body the field ``bytes`` hides the builtin, and msgspec resolves annotations there.
_Bytes = bytes

OutputStream = Literal["stdout", "stderr", "stdin"]
"""Which stream of the program an output record is about, where that is not its terminal."""

EventKind = Literal["input", "output", "frame", "service-event", "final"]


class InputRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``input.jsonl``: bytes typed, a resize, or a signal sent.

    ``source`` is who sent it: ``user``, ``driver``, or ``terminal`` for an answer to
    a terminal query. ``masked``: the bytes are not what was typed (a password prompt).
    ``eof``: after the bytes comes the end of a stdin that is not a terminal.
    """

    seq: int
    t_ms: int
    kind: Literal["input", "resize", "signal"]
    bytes: _Bytes | None = None
    key: str | None = None
    size: Size | None = None
    signal: str | None = None
    t_us: int | None = None
    source: str | None = None
    paste: bool = False
    masked: bool = False
    eof: bool = False


class OutputRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``output.jsonl``: ``length`` bytes of ``output.raw`` from ``offset``.

    ``stream`` is where the program wrote them, if not to its terminal. ``eof``: the program closed
    this stream and went on; it can close ``stdin``, too.
    """

    seq: int
    t_ms: int
    offset: int
    length: int
    sha256: str | None = None
    t_us: int | None = None
    stream: OutputStream | None = None
    eof: bool = False


class FrameRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``frames.jsonl``: a rendered screen and the bytes that led to it.

    ``raw_start``/``raw_end`` is the stretch of ``output.raw`` since the frame
    before; ``parser_offset`` is how far the parser had consumed it (less than
    ``raw_end`` while an escape sequence or a character is incomplete).
    """

    seq: int
    t_ms: int
    size: Size
    text: tuple[str, ...]
    cells: Any = None
    cursor: Cursor
    title: str = ""
    raw_start: int
    raw_end: int
    parser_offset: int
    t_us: int | None = None
    styles: tuple[tuple[StyleRun, ...], ...] | None = None
    alt_screen: bool = False
    hash: str | None = None


EVENTS_VARIABLE = "PTYCASSETTE_EVENTS"
"""Set for the recorded program: a path that takes service events, one JSON line each."""


class ServiceEventRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``service-events.jsonl``: any JSON payload."""

    seq: int
    t_ms: int
    payload: Any
    t_us: int | None = None


class ExitStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the program ended. ``code`` is -1 after a signal, as the reference writes it."""

    code: int = msgspec.field(name="Code")
    signal: str = msgspec.field(name="Signal", default="")
    exited: bool = msgspec.field(name="Exited")
    signaled: bool = msgspec.field(name="Signaled")
    err: None = msgspec.field(name="Err", default=None)


class FinalRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``final.json``: the last event of a cassette."""

    seq: int
    t_ms: int
    exit: ExitStatus | None = None
    duration_ms: int
    metadata: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    routing_actual: str | None = None
    session_log_path: str | None = None
    final_text: str | None = None
    t_us: int | None = None


TimedRecord = InputRecord | OutputRecord | FrameRecord | ServiceEventRecord | FinalRecord


def moment_us(record: TimedRecord) -> int:
    """The time of a record in microseconds since the start, as exactly as the cassette has it."""
    return record.t_ms * 1000 if record.t_us is None else record.t_us


class Event(msgspec.Struct, frozen=True):
    """One event of a cassette in the order of ``seq``.

    ``t_us`` is the moment in microseconds since the start (``t_ms * 1000``
    where the cassette has no better). ``data`` holds the output bytes of an
    output event, the input bytes of an input event, and is empty otherwise.
    """

    seq: int
    t_us: int
    kind: EventKind
    record: TimedRecord
    data: bytes = b""


# ``manifest.json``: the page that pins a cassette. Written last, read first.


_NUMBER = re.compile(r"\d+(\.\d+)+[\w.+-]*")


class ContentDigest(msgspec.Struct, frozen=True):
    """SHA-256 of ``output.raw``, 64 lower-case hexadecimal digits."""

    sha256: str


class Harness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The recorded CLI as a product."""

    name: str
    binary_path_digest_sha256: str | None = None
    binary_version: str | None = None
    capability: dict[str, Any] | None = None
    account_class: str | None = None
    captured_at: str | None = None
    freshness_window: str | None = None


def same_version(one: str | None, other: str | None) -> bool:
    """Whether two texts name one version: ``codex-cli 0.169.0`` is what a program prints.

    Its package calls the same version ``0.169.0``.
    """
    if one == other or one is None or other is None:
        return one == other
    found = [match[0] if (match := _NUMBER.search(text)) else None for text in (one, other)]
    return found[0] is not None and found[0] == found[1] and found[0] in {one, other}


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The started command. Of environment variables, only the *names* are ever kept."""

    argv: tuple[str, ...] | None = None
    workdir_policy: str
    env_allowlist: tuple[str, ...] | None = None
    timeout_ms: int | None = None
    permission_mode: str | None = None


class EmulatorId(msgspec.Struct, frozen=True):
    """Which emulator made the frames. The version changes whenever results may."""

    name: str
    version: str


class Terminal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The terminal that the program saw at its start."""

    initial_rows: int
    initial_cols: int
    locale: str | None = None
    term: str | None = None
    pty_mode: dict[str, Any] | None = None
    emulator: EmulatorId


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How time was taken. ``resolution_ms`` is above 0."""

    resolution_ms: int
    clock_policy: str
    replay_default: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where and when it was recorded, and by what. ``recorded_at`` is RFC 3339, UTC."""

    git_sha: str | None = None
    contract_version: str | None = None
    os: str
    arch: str
    recorded_at: str
    recorder_version: str


_LONGEST_IDLE_S = 10**9


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole manifest of version 1."""

    version: int
    id: str
    content_digest: ContentDigest
    harness: Harness
    command: Command
    terminal: Terminal
    timing: Timing
    provenance: Provenance
    required_features: tuple[str, ...] | None = None
    optional: dict[str, Any] | None = None

    @property
    def idle_limit_s(self) -> float | None:
        """Players shorten longer pauses to this many seconds, unless they are given another limit.

        It is ``optional.idle_limit_ms`` (``rec --idle-limit``), or what the header of an imported
        asciicast has. None to play pauses as recorded, also if the value is not a length of time.
        """
        optional = self.optional or {}
        found = optional.get("idle_limit_ms")
        if isinstance(found, int) and not isinstance(found, bool):
            return found / 1000 if 0 <= found <= _LONGEST_IDLE_S * 1000 else None
        imported = optional.get("imported")
        kept = imported.get("kept") if isinstance(imported, dict) else None
        found = kept.get("idle_time_limit") if isinstance(kept, dict) else None
        if isinstance(found, int | float) and not isinstance(found, bool):
            return float(found) if 0 <= found <= _LONGEST_IDLE_S else None
        return None


# What the standard streams of a recorded program were: ``optional.streams`` of a manifest.


STREAMS_KEY = "streams"

StreamKind = Literal["terminal", "pipe", "socket", "file", "null", "device"]


class StreamKinds(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The kind of each stream.

    Attributes:
        stdin, stdout, stderr: the kind of each stream. ``null`` is ``/dev/null``; output
            to it, or to another ``device``, is not recorded.
        merged: stderr is the same open stream as stdout. Output to either is recorded as
            ``stdout``.
        stdin_offset: if stdin is a file, how many bytes of it the program consumed.
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
    """The kinds of the streams of a recorded program; ``terminal`` if a cassette has none.

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


# What happens while recording, before it is scrubbed, numbered and rendered.


class SessionMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The head of a journal: all that the finaliser needs besides the events.

    ``environment`` holds every variable of the child, values included; it is
    known to the scrubber and never written to a cassette. ``home`` and ``cwd``
    are the real paths, for the scrubber; ``user_home`` is the home of the user
    who records, if the program has another one. ``holder`` names the recorder's process on a file
    system without locks, to check whether it is alive.
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
    secret. A journal, which is private, has the real bytes; code that shows or publishes them uses
    ``hidden()``.
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
    """A service event of the tape. A recorder's journal has none: they are made when saving.

    Attributes:
        entry: the number of the question, from 1.
        moment: the kind of event.
        head: the fields of the entry besides bodies (see ``TapeEntry``), scrubbed like a payload.
        dropped: texts that are kept nowhere, such as headers with credentials. Their secrets are
            removed everywhere else.
        secrets: the secrets in the head of a question, once it is scrubbed.
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


# JSON that strangers wrote, and text of the system that must fit into JSON.


NOT_JSON = (ValueError, RecursionError)
"""What decoders of JSON and MessagePack raise: errors of msgspec and of UTF-8 are ``ValueError``,
and nesting without end is a ``RecursionError``, also in fields that nobody reads."""

_BASE = 0x10FE00  # plus a byte from 0x80
_STORED = "\U0010fe80-\U0010feff"
_UNSTORABLE = lazy_pattern(f"[\ud800-\udfff{_STORED}]")
_SPELLED = lazy_pattern(f"[{_STORED}]+")
_SPELLED_UTF8 = (b"\xf4\x8f\xba", b"\xf4\x8f\xbb")

_HALVES = re.compile(
    rb"""
    \\(?:
        u[dD][89abAB][0-9a-fA-F]{2} \\u[dD][c-fC-F][0-9a-fA-F]{2}  # a pair
        | (u[dD][89a-fA-F][0-9a-fA-F]{2})                          # a half
        | [^u]                                                     # any other escape
    )
    | (\xed[\xa0-\xbf][\x80-\xbf])                                 # a half in bytes
    """,
    re.VERBOSE | re.DOTALL,
)
_ANY_HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


def without_halves(data: bytes) -> tuple[bytes, int]:
    """JSON in which each half of a character is U+FFFD, and how many there were.

    The length stays the same, so that the places of errors do, too.
    """
    if _ANY_HALF.search(data) is None:
        return data, 0
    found = 0

    def whole(match: re.Match[bytes]) -> bytes:
        nonlocal found
        if match[1] is None and match[2] is None:
            return match[0]
        found += 1
        return b"\\ufffd" if match[1] is not None else b"\xef\xbf\xbd"

    return _HALVES.sub(whole, data), found


def foreign_json(data: bytes | str, kind: Any = Any) -> Any:
    """A JSON value as ``kind``; a half of a character in it becomes U+FFFD.

    Raises:
        ValueError, RecursionError: it is not JSON, or of another kind (``NOT_JSON``).
    """
    try:
        return msgspec.json.decode(data, type=resolved(kind))
    except ValueError:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        whole, found = without_halves(raw)
        if not found:
            raise
        return msgspec.json.decode(whole, type=resolved(kind))


def decoded_json(data: bytes | str) -> Any:
    """A JSON value; None if the text is not JSON."""
    try:
        return foreign_json(data)
    except NOT_JSON:
        return None


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; empty if ``value`` is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def storable_text(text: str) -> str:
    """Text of the system as JSON and our files hold it: valid Unicode, nothing lost.

    Args:
        text: bytes of the system as Python's ``os.fsdecode`` gives them.
    """
    if text.isascii() or not _UNSTORABLE.search(text):
        return text
    with suppress(UnicodeEncodeError):  # half of a pair that represents no byte
        # Where Python decodes as ASCII, bytes that are UTF-8 come as surrogates, too.
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return _UNSTORABLE.sub(
        lambda found: "".join(chr(_BASE + byte) for byte in _bytes_of(found.group())), text
    )


def _bytes_of(char: str) -> bytes:
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return char.encode("utf-8", errors)


def native_text(text: str) -> str:
    """The inverse of ``storable_text``: text that the system encodes to the same bytes again."""
    if text.isascii():
        return text
    return _SPELLED.sub(
        lambda found: bytes(ord(char) - _BASE for char in found.group()).decode(
            "utf-8", "surrogateescape"
        ),
        text,
    )


def storable(value: Any) -> Any:
    """A JSON value in which each text is as ``storable_text`` makes it."""
    return _each_text(value, storable_text)


def native(value: Any) -> Any:
    """A JSON value in which each text is as ``native_text`` makes it."""
    return _each_text(value, native_text)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {
                _each_text(name, change): _each_text(one, change) for name, one in value.items()
            }
        case list() | tuple():
            return [_each_text(one, change) for one in value]
        case _:
            return value


def as_msgpack(value: Any) -> bytes:
    """A struct or builtins as MessagePack, with each text as ``storable_text`` makes it."""
    try:
        body = msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        body = b""
    if body and not any(mark in body for mark in _SPELLED_UTF8):
        return body  # nearly always
    return msgspec.msgpack.encode(storable(msgspec.to_builtins(value, builtin_types=(bytes,))))


def from_msgpack(body: bytes, type_: Any) -> Any:
    """The inverse of ``as_msgpack``: the value as ``type_``.

    Raises:
        msgspec.MsgspecError: it is not MessagePack, or another type.
    """
    if not any(mark in body for mark in _SPELLED_UTF8):
        return msgspec.msgpack.decode(body, type=resolved(type_))
    return msgspec.convert(native(msgspec.msgpack.decode(body)), resolved(type_))
