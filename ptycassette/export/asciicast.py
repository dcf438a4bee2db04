"""Cassettes as asciicast files, versions 1 to 3, for asciinema and everything that reads it.

Source: the published format descriptions of asciicast. Version 1 is one JSON document of output
and intervals. Version 2 stamps events with seconds since the start, version 3 with the interval
since the event before, and it can say how the program ended. All hold text, not bytes: a UTF-8
character that is split over two chunks goes with the second, and invalid UTF-8 becomes U+FFFD.
(The cassette stays the exact record.)
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from ptycassette.export._imported import command_line, kept_of, marker_label
from ptycassette.export.registry import ExportSource
from ptycassette.model.events import Event, FinalRecord, InputRecord, ServiceEventRecord
from ptycassette.model.manifest import Manifest
from ptycassette.model.streams import painted_bytes
from ptycassette.model.visible_text import visible_json


class AsciicastOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the file.

    ``with_input`` adds the input, which players do not show. It is left out by default, as
    in asciinema; version 1 holds none. ``version`` is 1, 2 or 3.
    """

    version: Literal[1, 2, 3] = 2
    title: str | None = None
    idle_limit_s: float | None = None
    with_input: bool = False


def recording_v1(source: ExportSource, *, title: str | None = None) -> Iterator[bytes]:
    """A recording as asciicast v1: its output alone."""
    options = AsciicastOptions(version=1, title=title)
    yield _line(_header(source.manifest, options)).rstrip()[:-1] + b',"stdout":[\n'
    last_us, comma = 0, b""
    for t_us, code, data in _entries(source.events(), options):
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
    """A recording as asciicast v2; ``idle_limit`` (seconds) goes into the header."""
    options = AsciicastOptions(title=title, idle_limit_s=idle_limit, with_input=with_input)
    return asciicast(source.manifest, source.events(), options=options)


def recording_v3(
    source: ExportSource,
    *,
    title: str | None = None,
    idle_limit: float | None = None,
    with_input: bool = False,
) -> Iterator[bytes]:
    """A recording as asciicast v3; ``idle_limit`` (seconds) goes into the header."""
    options = AsciicastOptions(
        version=3, title=title, idle_limit_s=idle_limit, with_input=with_input
    )
    return asciicast(source.manifest, source.events(), options=options)


def asciicast(
    manifest: Manifest, events: Iterable[Event], *, options: AsciicastOptions | None = None
) -> Iterator[bytes]:
    """The lines of the file, each with its newline, as they come; memory stays flat.

    Args:
        manifest: of the cassette, for the header.
        events: in the order of ``seq``; frames, and service events but markers, are passed over.
        options: version (2 or 3), title and what to leave out.
    """
    opts = options or AsciicastOptions()
    yield _line(_header(manifest, opts))
    last_us = 0
    for t_us, code, data in _entries(events, opts):
        # Whole microseconds, so that intervals add up to the recorded times.
        stamp_us = t_us if opts.version == 2 else t_us - last_us
        last_us = t_us
        yield _line([stamp_us / 1_000_000, code, data])


def _header(manifest: Manifest, opts: AsciicastOptions) -> dict[str, Any]:
    terminal, command = manifest.terminal, manifest.command
    size = {"cols": terminal.initial_cols, "rows": terminal.initial_rows}
    kept = kept_of(manifest)
    found: dict[str, Any] = {"version": opts.version}
    if opts.version < 3:
        found |= {"width": size["cols"], "height": size["rows"]}
        if terminal.term:
            found["env"] = {"TERM": terminal.term}
    else:
        found["term"] = size | ({"type": terminal.term} if terminal.term else {})
    _take_kept(found, kept, opts.version)
    stamp = _timestamp(manifest.provenance.recorded_at)
    if stamp is not None and opts.version > 1:
        found["timestamp"] = stamp
    if opts.idle_limit_s is not None:
        found["idle_time_limit"] = opts.idle_limit_s
    if command.argv:
        found["command"] = command_line(command.argv)
    title = opts.title or (manifest.optional or {}).get("title")
    if title:
        found["title"] = title
    return found


def _take_kept(found: dict[str, Any], kept: Mapping[str, Any], version: int) -> None:
    """Put back what the header of an imported asciicast said, where this version holds it."""
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
    """Seconds since the epoch; None where the manifest has no RFC 3339 time."""
    try:
        return int(datetime.fromisoformat(recorded_at).timestamp())
    except (ValueError, OverflowError):
        return None


def _entries(events: Iterable[Event], opts: AsciicastOptions) -> Iterator[tuple[int, str, str]]:
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
                if opts.with_input and source != "terminal":
                    yield from _text(event, "i", decoders)
            case ServiceEventRecord(payload=payload) if (
                label := marker_label(payload)
            ) is not None:
                yield event.t_us, "m", label
            case FinalRecord(exit=ended):
                yield from _tail(event.t_us, decoders)
                if opts.version == 3 and ended is not None and ended.exited:
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
