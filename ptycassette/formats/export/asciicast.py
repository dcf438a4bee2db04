"""Export asciicast files (versions 1 to 3), ttyrecs and typescripts.

Source: the published format descriptions of asciicast. Version 1 is one JSON document of output
and intervals. Version 2 stamps events with seconds since the start, version 3 with the interval
since the event before; version 3 can also record the exit status. All contain text, not bytes: a
UTF-8 character that is split over two chunks goes with the second, and invalid UTF-8 becomes
U+FFFD. (The cassette stays the exact record.)
"""

from __future__ import annotations

import codecs
import shlex
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from ptycassette.formats.export.registry import ExportFormat, ExportSource, Kind
from ptycassette.model.records import (
    Event,
    FinalRecord,
    InputRecord,
    Manifest,
    ServiceEventRecord,
    painted_bytes,
)
from ptycassette.model.visible_text import visible_json

# Facts of an imported recording for which a cassette has no field.


_SHELL = ("sh", "-c")


def kept_of(manifest: Manifest) -> Mapping[str, Any]:
    """The kept header of an imported asciicast; empty for other cassettes."""
    imported = (manifest.optional or {}).get("imported")
    kept = imported.get("kept") if isinstance(imported, dict) else None
    return kept if isinstance(kept, dict) else {}


def command_line(argv: Sequence[str]) -> str:
    """A shell command line that runs ``argv``; for ``sh -c LINE``, as in imports, it is ``LINE``.

    ``shlex.split`` gives the words again.
    """
    if tuple(argv[:2]) == _SHELL and len(argv) == len(_SHELL) + 1:
        return argv[2]
    return shlex.join(argv)


def marker_label(payload: Any) -> str | None:
    """The label of a service event that is an asciicast marker; None for other events."""
    if isinstance(payload, dict) and payload.get("type") == "marker":
        label = payload.get("label")
        return label if isinstance(label, str) else None
    return None


def recording_v1(source: ExportSource, *, title: str | None = None) -> Iterator[bytes]:
    """The output of a recording as asciicast v1."""
    yield _line(_header(source.manifest, 1, title, None)).rstrip()[:-1] + b',"stdout":[\n'
    last_us, comma = 0, b""
    for t_us, code, data in _entries(source.events(), 1):
        if code == "o":
            yield comma + _line([(t_us - last_us) / 1_000_000, data])
            last_us, comma = t_us, b","
    yield b'],"duration":%s}\n' % _line(last_us / 1_000_000).rstrip()


def recording_v2(
    source: ExportSource,
    *,
    title: str | None = None,
    idle_limit: float | None = None,
    with_input: bool = False,
) -> Iterator[bytes]:
    """A recording as asciicast v2; the header has ``idle_limit`` or the recording's own."""
    return asciicast(
        source.manifest,
        source.events(),
        title=title,
        idle_limit_s=idle_limit,
        with_input=with_input,
    )


def recording_v3(
    source: ExportSource,
    *,
    title: str | None = None,
    idle_limit: float | None = None,
    with_input: bool = False,
) -> Iterator[bytes]:
    """A recording as asciicast v3; the header has ``idle_limit`` or the recording's own."""
    return asciicast(
        source.manifest,
        source.events(),
        version=3,
        title=title,
        idle_limit_s=idle_limit,
        with_input=with_input,
    )


def asciicast(
    manifest: Manifest,
    events: Iterable[Event],
    *,
    version: Literal[2, 3] = 2,
    title: str | None = None,
    idle_limit_s: float | None = None,
    with_input: bool = False,
) -> Iterator[bytes]:
    """The lines of the file, each with its newline, one at a time; memory stays flat.

    Args:
        manifest: the cassette's manifest, for the header.
        events: in the order of ``seq``; frames are skipped, and so are service events that are not
            markers.
        version: of the format; ``recording_v1`` writes version 1.
        title: the title; the recording's own when None.
        idle_limit_s: the limit in the header; the recording's own when None.
        with_input: add the input, which players do not show; left out by default, as in asciinema.
    """
    yield _line(_header(manifest, version, title, idle_limit_s))
    last_us = 0
    for t_us, code, data in _entries(events, version, with_input=with_input):
        # Whole microseconds, so that intervals add up to the recorded times.
        stamp_us = t_us if version == 2 else t_us - last_us
        last_us = t_us
        yield _line([stamp_us / 1_000_000, code, data])


def _header(
    manifest: Manifest, version: int, title: str | None, idle_limit_s: float | None
) -> dict[str, Any]:
    terminal, command = manifest.terminal, manifest.command
    size = {"cols": terminal.initial_cols, "rows": terminal.initial_rows}
    kept = kept_of(manifest)
    found: dict[str, Any] = {"version": version}
    if version < 3:
        found |= {"width": size["cols"], "height": size["rows"]}
        if terminal.term:
            found["env"] = {"TERM": terminal.term}
    else:
        found["term"] = size | ({"type": terminal.term} if terminal.term else {})
    _take_kept(found, kept, version)
    stamp = _timestamp(manifest.provenance.recorded_at)
    if stamp is not None and version > 1:
        found["timestamp"] = stamp
    idle_limit_s = manifest.idle_limit_s if idle_limit_s is None else idle_limit_s
    if idle_limit_s is not None and version > 1:
        found["idle_time_limit"] = idle_limit_s
    if command.argv:
        found["command"] = command_line(command.argv)
    title = title or (manifest.optional or {}).get("title")
    if title:
        found["title"] = title
    return found


def _take_kept(found: dict[str, Any], kept: Mapping[str, Any], version: int) -> None:
    """Restore the header fields of an imported asciicast that this version supports."""
    if isinstance(env := kept.get("env"), dict):
        found["env"] = env | found.get("env", {})
    if version == 1:
        return
    for name in ("idle_time_limit", *(("tags",) if version == 3 else ())):
        if name in kept:
            found[name] = kept[name]
    if "theme" in kept:
        (found["term"] if version == 3 else found)["theme"] = kept["theme"]


def _timestamp(recorded_at: str) -> int | None:
    """Seconds since the epoch; None if the manifest has no RFC 3339 time."""
    try:
        return int(datetime.fromisoformat(recorded_at).timestamp())
    except (ValueError, OverflowError):
        return None


def _entries(
    events: Iterable[Event], version: int, *, with_input: bool = False
) -> Iterator[tuple[int, str, str]]:
    """The events for which the format has a code: ``(t_us, code, data)``."""
    decoders = {code: codecs.getincrementaldecoder("utf-8")("replace") for code in ("o", "i")}
    last_us = 0
    for event in events:
        last_us = event.t_us
        match event.record:
            case InputRecord(kind="resize", size=size) if size is not None:
                yield event.t_us, "r", str(size)
            case InputRecord(kind="input", source=source):
                # Answers of the terminal were not typed.
                if with_input and source != "terminal":
                    yield from _text(event, "i", decoders)
            case ServiceEventRecord(payload=payload) if (
                label := marker_label(payload)
            ) is not None:
                yield event.t_us, "m", label
            case FinalRecord(exit=ended):
                yield from _tail(event.t_us, decoders)
                if version == 3 and ended is not None and ended.exited:
                    yield event.t_us, "x", str(ended.code)
                return
            case _ if event.kind == "output":
                yield from _text(event, "o", decoders)
    yield from _tail(last_us, decoders)


def _text(
    event: Event, code: str, decoders: Mapping[str, codecs.IncrementalDecoder]
) -> Iterator[tuple[int, str, str]]:
    text = decoders[code].decode(painted_bytes(event))
    if text:
        yield event.t_us, code, text


def _tail(
    t_us: int, decoders: Mapping[str, codecs.IncrementalDecoder]
) -> Iterator[tuple[int, str, str]]:
    """The rest of a character that was never completed."""
    for code, decoder in decoders.items():
        text = decoder.decode(b"", final=True)
        if text:
            yield t_us, code, text


def _line(value: object) -> bytes:
    return visible_json(msgspec.json.encode(value)) + b"\n"


# Cassettes as ttyrec, and as a typescript with its timing, as script(1) of util-linux writes them.


_HEAD = struct.Struct("<III")
_SECOND_US = 1_000_000
_UINT32 = 1 << 32
_STAMP = "%Y-%m-%d %H:%M:%S+00:00"
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


def recording_ttyrec(source: ExportSource) -> Iterator[bytes]:
    """The output of a recording as ttyrec."""
    began_us = (_began(source.manifest) - _FIRST) // timedelta(microseconds=1)
    for event in source.events():
        if event.kind == "output" and (data := painted_bytes(event)):
            seconds, micros = divmod(began_us + event.t_us, _SECOND_US)
            yield _HEAD.pack(seconds % _UINT32, micros, len(data)) + data


def recording_typescript(source: ExportSource, *, with_input: bool = False) -> Iterator[bytes]:
    """The typescript of a recording; with input it belongs to a timing file with input."""
    began = _began(source.manifest)
    said = {name: value for name, value in _facts(source.manifest) if '"' not in value}
    attributes = " ".join(
        f'{name}="{said[name]}"' for name in ("COMMAND", "TERM", "COLUMNS", "LINES") if name in said
    )
    yield f"Script started on {began.strftime(_STAMP)} [{attributes}]\n".encode()
    end_us, status = 0, ""
    for event in source.events():
        end_us = event.t_us
        match event.record:
            case FinalRecord(exit=ended) if ended is not None and ended.exited:
                status = f' [COMMAND_EXIT_CODE="{ended.code}"]'
            case _ if event.kind == "output":
                yield painted_bytes(event)
            case _ if _typed(event, with_input=with_input):
                yield event.data
    done = began + timedelta(microseconds=end_us)
    yield f"\nScript done on {done.strftime(_STAMP)}{status}\n".encode()


def recording_timing(source: ExportSource, *, with_input: bool = False) -> Iterator[bytes]:
    """The timing file of a typescript, in the advanced form of util-linux 2.35 and later."""
    yield _entry("H", 0, f"START_TIME {_began(source.manifest).strftime(_STAMP)}")
    for name, value in _facts(source.manifest):
        yield _entry("H", 0, f"{name} {value}")
    if with_input:
        yield _entry("H", 0, "OUTPUT_LOG typescript") + _entry("H", 0, "INPUT_LOG typescript")
    last_us = 0
    for event in source.events():
        entry = _what(event, with_input=with_input)
        if entry is not None:
            yield _entry(entry[0], event.t_us - last_us, entry[1])
            last_us = event.t_us
        elif isinstance(event.record, FinalRecord):
            yield _entry("H", 0, f"DURATION {event.t_us / _SECOND_US:.6f}")
            if (ended := event.record.exit) is not None and ended.exited:
                yield _entry("H", 0, f"EXIT_CODE {ended.code}")


def _what(event: Event, *, with_input: bool) -> tuple[str, str] | None:
    """The kind and the value of the entry for an event; None if it has no entry."""
    match event.record:
        case InputRecord(kind="resize", size=size) if size is not None:
            return "S", f"SIGWINCH ROWS={size.rows} COLS={size.cols}"
        case InputRecord(kind="signal", signal=str() as signal):
            return "S", f"SIG{signal.upper()}"
        case _ if event.kind == "output":
            return "O", str(len(painted_bytes(event)))
        case _ if _typed(event, with_input=with_input):
            return "I", str(len(event.data))
        case _:
            return None


def _typed(event: Event, *, with_input: bool) -> bool:
    record = event.record
    return (
        with_input
        and isinstance(record, InputRecord)
        and record.kind == "input"
        and record.source != "terminal"
    )


def _entry(kind: str, interval_us: int, value: str) -> bytes:
    seconds, micros = divmod(interval_us, _SECOND_US)
    return f"{kind} {seconds}.{micros:06} {value}\n".encode()


def _facts(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """The facts about the session in both files; a command of several lines is left out."""
    command = command_line(manifest.command.argv or ())
    if command and command.isprintable():
        yield "COMMAND", command
    if manifest.terminal.term and manifest.terminal.term.isprintable():
        yield "TERM", manifest.terminal.term
    yield "COLUMNS", str(manifest.terminal.initial_cols)
    yield "LINES", str(manifest.terminal.initial_rows)


def _began(manifest: Manifest) -> datetime:
    """The time of the recording; 1970 if the manifest has no RFC 3339 time."""
    try:
        return datetime.fromisoformat(manifest.provenance.recorded_at).astimezone(UTC)
    except (ValueError, OverflowError):
        return _FIRST


# The parts of a recording that another recording format cannot contain.


def left_out(source: ExportSource, chosen: ExportFormat, *, with_input: bool) -> dict[str, int]:
    """How many events and other items of each kind the format leaves out.

    Args:
        source: the recording.
        chosen: the format.
        with_input: whether its input is written, if the format supports that. Answers of the
            terminal never are: they were not typed.
    """
    if chosen.holds is None:
        return chosen.left_out(source)
    found: Counter[str] = Counter()
    for event in source.events():
        kind = _kind(event)
        if kind is not None and (kind not in chosen.holds or (kind == "input" and not with_input)):
            found[kind] += 1
    return dict(found)


def _kind(event: Event) -> Kind | None:
    match event.record:
        case InputRecord(kind=kind, source=source):
            return None if source == "terminal" else kind
        case ServiceEventRecord(payload=payload):
            return "service-event" if marker_label(payload) is None else "marker"
        case FinalRecord(exit=ended):
            return None if ended is None else "exit"
        case _:
            return None
