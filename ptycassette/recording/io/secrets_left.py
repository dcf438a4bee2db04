"""Checks whether secrets are left in a cassette."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ptycassette.cassette import TAPE_KEY
from ptycassette.cassette.io import Cassette, open_cassette
from ptycassette.model import moment_us
from ptycassette.recording.io._cassette_session import cassette_session
from ptycassette.scrub import SessionScrubber
from ptycassette.timeline import SECRET_DIGESTS_KEY


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
            findings.insert(0, "the cassette says that it was recorded without scrubbing")
        _check_texts(cassette, scrubber)
        return (*findings, *dict.fromkeys(scrubber.left))


def _check_texts(cassette: Cassette, scrubber: SessionScrubber) -> None:
    """Search the texts of a cassette that are in no event: names, manifest, frames."""
    manifest = msgspec.to_builtins(cassette.manifest)
    for digest in ("content_digest", "id"):
        manifest.pop(digest, None)
    manifest["harness"].pop("binary_path_digest_sha256", None)
    for digests in ("artifacts", SECRET_DIGESTS_KEY, TAPE_KEY):
        (manifest.get("optional") or {}).pop(digests, None)
    scrubber.check({"manifest": manifest, "path": cassette.path.name})
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
