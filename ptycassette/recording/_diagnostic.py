"""``diagnostic.json``: why a run did not become a cassette. Readers refuse a directory with it."""

from __future__ import annotations

import msgspec

from ptycassette.model.ports import Scrubber
from ptycassette.model.records import SessionMeta, storable_text

DIAGNOSTIC_VERSION = 1


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a run did not become a cassette. Scrubbed like everything else.

    Attributes:
        reason: the reason as a sentence.
        stage: ``spawn`` (it could not be started), ``run`` (a timeout), ``driver`` (the code that
            drove it failed), ``final`` (the recording ends early), ``output`` (it failed without
            output), ``scrub`` (a secret would have been left; no streams are kept).
        findings: what the scrub verification found: channel, moment and rule, never a value.
    """

    version: int
    reason: str
    stage: str
    id: str
    argv: tuple[str, ...]
    recorded_at: str
    recorder_version: str
    findings: tuple[str, ...] = ()


def diagnostic_of(
    meta: SessionMeta,
    scrubber: Scrubber,
    *,
    reason: str,
    stage: str,
    findings: tuple[str, ...] = (),
) -> Diagnostic:
    """The diagnostic of a session whose events ``scrubber`` has processed already."""
    return Diagnostic(
        version=DIAGNOSTIC_VERSION,
        reason=storable_text(scrubber.text(reason, channel="diagnostic")),
        stage=stage,
        id=meta.id,
        argv=tuple(storable_text(scrubber.text(word, channel="argv")) for word in meta.argv),
        recorded_at=meta.recorded_at,
        recorder_version=meta.recorder_version,
        findings=tuple(map(storable_text, findings)),
    )
