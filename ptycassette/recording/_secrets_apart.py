"""Makes the digests by which a replay recognises the recorded secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ptycassette.model.events import InputRecord
from ptycassette.model.records import ScrubReport
from ptycassette.typed._secrets import TypedSecret

if TYPE_CHECKING:
    from ptycassette.timeline.match_secrets import InputDigest


def input_was_scrubbed(report: ScrubReport) -> bool:
    """Whether anything was masked in the input."""
    channels = report.channels
    return channels is not msgspec.UNSET and bool(channels.get("input"))


def typed_digests(
    cassette_id: str,
    raw: Iterable[InputRecord],
    shown: Callable[[], Iterable[InputRecord]],
    real: Iterable[InputRecord],
    *,
    typed: Sequence[TypedSecret],
) -> list[InputDigest]:
    """The digests of the secrets in a session's input.

    Args:
        cassette_id: of the manifest.
        raw: the input as it was typed, but masked where it was typed without echo.
        shown: gives the same records as they are published.
        real: the same records as they were typed, also where they are masked.
        typed: input at prompts for secrets. No other line that contains it gets a digest, because
            people choose such secrets.
    """
    from ptycassette.timeline.match_entries import iter_entries  # noqa: PLC0415
    from ptycassette.timeline.match_secrets import input_digests, masked_digests  # noqa: PLC0415

    pairs = zip(iter_entries(raw), iter_entries(shown()), strict=False)
    found = input_digests(cassette_id, pairs, apart_from=[secret.text for secret in typed])
    masked = [entry for entry in iter_entries(shown()) if entry.masked]
    return found + masked_digests(cassette_id, masked, real, but=found)
