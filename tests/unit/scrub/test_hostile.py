"""Input that is nothing but things to find: what is done for it grows as it does, no faster."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

import pytest

from ptycassette.model.records import Output, SessionMeta
from ptycassette.scrub.decode.decoder import EncodedSearch
from ptycassette.scrub.session import default_scrubber
from ptycassette.scrub.views.structured import Blocks
from ptycassette.scrub.views.view import printed_views
from ptycassette.testing import scrub_chunks

LETTERS = "qP7xR2mK9vT4nB8sL3wZ"


def lines(count: int) -> bytes:
    """Assignments of values that are all different."""
    return b"".join(b"token=%s%04dZ\r\n" % (LETTERS[:6].encode(), n) for n in range(count))


def test_a_name_ends_the_value_before_it() -> None:
    """Rows that look like one token are read as one; the names of the next ones stay."""
    scrubbed = b"".join(scrub_chunks([lines(60)], rows=24, cols=80))

    assert scrubbed == b"token=xxxxxxxxxxx\r\n" * 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        lambda value: f'"token":"{value}",'.encode(),
        lambda value: f"token={value} ".encode().hex().encode(),
        lambda value: f"token%3D%{ord(value[0]):02x}{value[1:]}\r\n".encode(),
    ],
)
def test_letters_alone_pass_where_rows_cut_them(
    meta: SessionMeta, line: Callable[[str], bytes]
) -> None:
    """What the scrubber takes for a name, verification does too; and nothing is masked twice."""
    chance = random.Random(5)
    values = ("".join(chance.choices(string.ascii_letters, k=12)) for _ in range(500))
    events = [Output(0, b"".join(map(line, values)))]
    after = list(default_scrubber().events(meta, lambda: iter(events)))

    assert default_scrubber().verify(meta, lambda: iter(after)) == ()
    assert list(default_scrubber().events(meta, lambda: iter(after))) == after


def test_the_name_of_the_next_value_is_not_learnt_with_the_one_before() -> None:
    """Quoted-printable takes =82 for a byte, and glues what stands around it: there alone."""
    values = ["Z9vhj9", "82mV83", "3DqT5e", "kT4bR9", "Lw8cV2"]
    page = "".join(f"password={value}\r\n" for value in values).encode()
    (after,) = scrub_chunks([page], rows=24, cols=80)

    assert after.endswith(b"password=xxxxxx\r\n" * 3)


def test_a_block_of_output_ends_with_a_whole_word() -> None:
    """No part of a value is learnt; and the blocks end where those of the screen do."""
    text = Blocks(printed_views)
    data = lines(12_000)
    printed = [view.text for view in text.feed(data)][::2]
    rest = next(view.text for view in text.rest())

    assert all(part.endswith("Z\n") for part in printed)
    assert len(printed) == len(data) // (1 << 16)
    assert len(rest) < (1 << 16)


def test_a_long_run_of_digits_is_not_read_again_for_each_value_in_it() -> None:
    """What is read of it stays within a few times its length."""
    sought = EncodedSearch()
    value = "\xfc\xe9\xf1\xdf\xf8\xe5\xe6"
    sought.add(value)
    text = base64.b64encode((value + "abcde").encode("latin-1") * 4000).decode()
    read = [decoded.text for decoded in sought.views(text)]

    assert sum(part.count(value) for part in read) >= 4000
    assert sum(map(len, read)) < 6 * len(text)


def test_a_decoded_text_may_be_empty() -> None:
    """Of marks alone nothing is left without what has no cell."""
    shown = b"\xcc\x80\xcc\xa0\x1b[@\xcc\x80"

    assert scrub_chunks([shown], rows=24, cols=80) == [shown]
