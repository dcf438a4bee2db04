"""What is written over a channel: bytes that say something, and no others."""

from __future__ import annotations

import pytest

from ptycassette.scrub.placeholders import Patches


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        (b"ab\rcd", b"xx\nxx", b"xx\rxx"),
        (b"ab-cd", b"xx\nxx", b"xx-xx"),
        (b"a\x1b[c", b"xxxx", b"x\x1bxx"),
        (b"a\x7fc\x00", b"xxxx", b"x\x7fx\x00"),
        ("a\u00e9".encode(), "x\u00b7".encode(), "x\u00b7".encode()),
    ],
)
def test_no_control_changes_and_none_is_written(before: bytes, patch: bytes, after: bytes) -> None:
    """A view shows the end of a line where another byte, or none of its kind, stands."""
    patches = Patches()
    patches.cover([(7, patch)])

    assert patches.apply(before, 7) == after
    assert (
        b"".join(patches.apply(before[at : at + 1], 7 + at) for at in range(len(before))) == after
    )
