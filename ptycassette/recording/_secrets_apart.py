"""Makes the digests by which a replay recognises the recorded secrets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ptycassette.model import InputRecord, ScrubReport
from ptycassette.typed import TypedSecret

if TYPE_CHECKING:
    from ptycassette.timeline import InputDigest


def input_was_scrubbed(report: ScrubReport) -> bool:
    """Whether anything was masked in the input."""
    channels = report.channels
    return channels is not msgspec.UNSET and bool(channels.get("input"))


def typed_digests(
    cassette_id: str,
    raw: Iterable[InputRecord],
    shown: Iterable[InputRecord],
    *,
    typed: Sequence[TypedSecret],
) -> list[InputDigest]:
    """The digests of the secrets in a session's input.

    Args:
        cassette_id: of the manifest.
        raw: the input as it was typed, but masked where it was typed without echo.
        shown: the same records as they are published.
        typed: input at prompts for secrets; it gets no digests, because people choose such secrets.
    """
    from ptycassette.timeline import (  # noqa: PLC0415 - loads slowly; few recordings need it
        input_digests,
        iter_entries,
    )

    pairs = zip(iter_entries(raw), iter_entries(shown), strict=False)
    return input_digests(cassette_id, pairs, apart_from=[secret.text for secret in typed])
