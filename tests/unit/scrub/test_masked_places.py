"""Where a text was masked is found by comparing."""

from __future__ import annotations

from ptycassette.scrub.mask import masked_places


def test_stretches_are_found_across_pages() -> None:
    """A byte that a mask left as it was does not cut a secret in two."""
    raw = b"a" * 4000 + b"secxet-no" + b"b" * 5000 + b"key"
    masked = b"a" * 4000 + b"xxxxxxxxx" + b"b" * 5000 + b"***"

    assert masked_places(raw, masked) == ((4000, 9), (9009, 3))
    assert masked_places(raw, raw) == ()
