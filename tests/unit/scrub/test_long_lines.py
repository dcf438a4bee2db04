"""Lines wider than the screen, which a program broke at a width of its own."""

from __future__ import annotations

import pytest

from ptycassette.scrub.long_lines import long_lines, torn_seams
from ptycassette.scrub.rows import RowCopy
from ptycassette.testing import scrub_chunks

TOKEN = "gh" + "p_Ik2zwEQHfwcepYyNGfB51YbmwxAscRuzOl8Q"
KEY = "nQvWys81vp7hB1dx8PpD5KHXe3PYiGkPAuNa4uMa"


def cut(text: str, width: int) -> list[str]:
    """Its pieces."""
    return [text[at : at + width] for at in range(0, len(text), width)]


def texts(lines: list[str], cols: int) -> list[str]:
    """What ``long_lines`` reads in lines that are shown on a screen of ``cols`` columns."""
    rows, wrapped = [], []
    for line in lines:
        parts = cut(line, cols) or [""]
        rows += [part.ljust(cols) for part in parts]
        wrapped += [number > 0 for number in range(len(parts))]
    copies = [RowCopy(row, [*range(100 * at, 100 * at + cols)], wrapped=False)
              for at, row in enumerate(rows)]  # fmt: skip
    found = []
    seams = torn_seams([row.rstrip() for row in rows], wrapped)
    for text, segments in long_lines(rows, wrapped, seams, copies.__getitem__):
        for (at, part), (end, _) in zip(segments, [*segments[1:], (len(text), None)], strict=True):
            assert text[at:end].strip() in "".join(rows)
            assert len(part.row.sources()) >= part.end
        found.append(text)
    return found


def test_full_rows_and_short_ones_take_turns() -> None:
    """As no two rows on the screen tell that they belong together, their lines do."""
    assert f"export GITHUB_TOKEN={TOKEN}" in texts(cut(f"export GITHUB_TOKEN={TOKEN}", 32), 19)


def test_rows_that_nobody_wrapped_are_left_to_others() -> None:
    """They are read as they stand on the screen."""
    assert texts(cut(f"export GITHUB_TOKEN={TOKEN}", 32), 40) == []
    assert texts(["words of a line that goes on", "and another"], 12) == []


@pytest.mark.parametrize("width", range(24, 60, 5))
@pytest.mark.parametrize("cols", [16, 19, 22])
@pytest.mark.parametrize("name", ["export GITHUB_TOKEN=", "aws_secret_access_key = "])
def test_a_narrower_terminal_hides_nothing(name: str, width: int, cols: int) -> None:
    """Whatever the two widths are."""
    value = KEY if " = " in name else TOKEN
    told = "\r\n".join([*cut(name + value, width), "ok", ""])

    scrubbed = b"".join(scrub_chunks([told.encode()], rows=24, cols=cols)).decode()

    left = scrubbed.replace("\r\n", "")
    assert left.startswith(name)
    assert not any(value[at : at + 5] in left for at in range(len(value) - 4))


def test_a_digest_below_a_token_is_left_as_it_is() -> None:
    """Though the line above was wrapped, and the digest stands in many lines."""
    told = f"{'word ' * 9}{TOKEN}\r\nfc82334f1bb4 of main\r\n{'another line ' * 6}\r\n"

    (scrubbed,) = scrub_chunks([told.encode()], rows=24, cols=60)

    assert b"fc82334f1bb4 of main" in scrubbed
    assert TOKEN[8:].encode() not in scrubbed
