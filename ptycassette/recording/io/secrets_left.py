"""Checks whether secrets are left in a cassette."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.model.events import moment_us
from ptycassette.model.json_values import decoded_json
from ptycassette.recording.io._cassette_session import cassette_session
from ptycassette.scrub.session import SessionScrubber
from ptycassette.scrub.views._structured import strings_of
from ptycassette.system.files.directory_handle import links_followed
from ptycassette.system.files.plain_file import read_plain

_EVENT_FIELDS = {
    "input.jsonl": {"bytes"},
    "output.jsonl": set[str](),
    "frames.jsonl": {"text", "title", "cells"},
    "service-events.jsonl": {"payload"},
    "tape.jsonl": set[str](),
}
"""The files of records, and the fields that are searched as events or as frames."""

_DOCUMENTS = {"final.json", "scrub-report.json", "quota.json", "discovery.json"}
_DIGESTS = {
    *("sha256", "hash", "digest", "key", "fingerprint", "rules_digest", "manifest_sha256"),
    "binary_path_digest_sha256",
}
_SHA256 = re.compile("[0-9a-f]{64}")
_MOST_BYTES = 256 << 20


def find_secrets_left(
    path: Path,
    scrubber: SessionScrubber,
    *,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The secrets left in a cassette: channel, time and rule, never the value."""
    with open_cassette(path, allow_unscrubbed=True) as cassette:
        meta, source = cassette_session(cassette, environment=environment)
        findings = list(scrubber.verify(meta, source))
        if cassette.scrub_report.status == "unscrubbed":
            findings.insert(0, "the cassette was recorded without scrubbing")
        _check_texts(cassette, scrubber)
        return (*findings, *dict.fromkeys(scrubber.left))


def _check_texts(cassette: Cassette, scrubber: SessionScrubber) -> None:
    """Search what is in no event: names, documents, frames, unknown fields, unknown files.

    Every byte of a cassette is searched here or as an event; ``verify`` refuses what belongs to no
    record.
    """
    scrubber.check({"manifest": _without_digests(cassette.document), "path": cassette.path.name})
    searched: set[str] = set()
    for path in sorted(cassette.path.iterdir()):
        scrubber.check(path.name, channel="files")
        if path.is_symlink():
            target = os.fsdecode(path.readlink())
            scrubber.check(target, channel=f"{path.name}: the target of the link")
            known = path.name in _EVENT_FIELDS.keys() | _DOCUMENTS  # the reader has followed these
            if not path.is_file() or not (known or links_followed()):  # such as an editor's lock
                continue
        match path.name:
            case "manifest.json" | "output.raw" | "tape-bodies.bin":
                pass
            case name if name in _EVENT_FIELDS:
                for number, line in enumerate(_lines(path), start=1):
                    fields = _without_digests(decoded_json(line))
                    if isinstance(fields, dict):
                        fields = {k: v for k, v in fields.items() if k not in _EVENT_FIELDS[name]}
                    new = {text for _, text in strings_of(fields)} - searched
                    searched |= new
                    scrubber.check(sorted(new), channel=f"{name} line {number}")
            case name if name in _DOCUMENTS:
                document = decoded_json(read_plain(path, max_bytes=_MOST_BYTES))
                scrubber.check(_without_digests(document), channel=name)
            case name:
                text = read_plain(path, max_bytes=_MOST_BYTES).decode("utf-8", "replace")
                scrubber.check(text, channel=name)
    _check_frames(cassette, scrubber)


def _check_frames(cassette: Cassette, scrubber: SessionScrubber) -> None:
    seen: set[tuple[str, ...]] = set()
    for frame in cassette.frames():
        if frame.text in seen:
            continue
        seen.add(frame.text)
        t_us = moment_us(frame)
        texts = [frame.title, frame.cells]
        if scrubber.rows(frame.text) != frame.text:
            texts.append("\n".join(frame.text))
        scrubber.check(texts, channel="frames", t_us=t_us)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _without_digests(value: Any) -> Any:
    """A document without members that are SHA-256 digests by their name and their shape."""
    if isinstance(value, dict):
        return {
            name: _without_digests(one)
            for name, one in value.items()
            if not (name in _DIGESTS and isinstance(one, str) and _SHA256.fullmatch(one))
        }
    if isinstance(value, list):
        return [_without_digests(one) for one in value]
    return value
