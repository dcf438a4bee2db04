"""What git did to the bytes of a recording is undone exactly, or nothing is said to be restored."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.cassette.io.repair import conflict_line, undone, undone_output
from ptycassette.model.records import OutputRecord
from tests.examples import examples

CHANGES = {
    "commit with text": lambda data: data.replace(b"\r\n", b"\n"),
    "checkout with eol=crlf": lambda data: re.sub(rb"(?<!\r)\n", b"\r\n", data),
    "both": lambda data: re.sub(rb"(?<!\r)\n", b"\r\n", data.replace(b"\r\n", b"\n")),
}
words = st.sampled_from([b"\n", b"\r\n", b"\r\r\n", b"\r", b"a", b"bc", b"\x1b[K", b"\xff", b""])
outputs = st.lists(st.lists(words, max_size=8).map(b"".join), max_size=6)


def records_of(pieces: list[bytes], *, pinned: bool = True) -> list[OutputRecord]:
    """The records of chunks that are ``pieces``."""
    made, offset = [], 0
    for seq, piece in enumerate(pieces, 1):
        digest = sha256(piece).hexdigest() if pinned else None
        made.append(OutputRecord(seq=seq, t_ms=0, offset=offset, length=len(piece), sha256=digest))
        offset += len(piece)
    return made


@pytest.mark.parametrize("change", CHANGES)
@examples(400)
@given(pieces=outputs)
def test_what_git_does_to_line_ends_of_output_is_undone(change: str, pieces: list[bytes]) -> None:
    """Also where some lines ended in LF and others in CR LF, and a chunk ended between the two."""
    whole = b"".join(pieces)
    damaged = CHANGES[change](whole)
    found = undone_output(
        damaged, records_of(pieces), sha256_hex=sha256(whole).hexdigest(), effort=1_000_000
    )

    if damaged == whole:
        assert found is None
    else:
        assert found is not None
        assert found[0] == whole


@examples(200)
@given(pieces=outputs, now=st.binary(max_size=40), pinned=st.booleans())
def test_bytes_without_the_pinned_digest_are_never_called_restored(
    pieces: list[bytes], now: bytes, pinned: bool
) -> None:
    """Whatever is there now."""
    whole = b"".join(pieces)
    digest = sha256(whole).hexdigest()
    records = records_of(pieces, pinned=pinned)
    found = undone_output(now, records, sha256_hex=digest, effort=1_000)

    assert found is None or found[0] == whole


LINE = b'{"seq":1,"payload":"$Id$ \xc3\xa9"}\n'
TEXT_CHANGES = {
    "CR LF": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "UTF-16BE without a mark": lambda data: data.decode().encode("utf-16-be"),
    "UTF-16LE and CR LF": lambda data: data.replace(b"\n", b"\r\n").decode().encode("utf-16-le"),
    "ident": lambda data: data.replace(b"$Id$", b"$Id: " + b"0a" * 20 + b" $"),
    "no last newline": lambda data: data[:-1],
    "one more newline": lambda data: data + b"\n",
    "CR LF and no last newline": lambda data: data.replace(b"\n", b"\r\n")[:-2],
}


@pytest.mark.parametrize("known", [True, False], ids=["length known", "length not known"])
@pytest.mark.parametrize("change", TEXT_CHANGES)
def test_what_tools_do_to_lines_is_undone(change: str, known: bool) -> None:
    """Line ends, encodings, expansions and the newline at the end, together too."""
    whole = LINE * 3
    damaged = TEXT_CHANGES[change](whole)
    found = undone(damaged, size=len(whole) if known else None, fits=lambda data: data == whole)

    assert found is not None
    assert found[0] == whole


@examples(200)
@given(
    lines=st.lists(
        st.sampled_from([b"<<<<<<< a", b"=======", b">>>>>>> b", b"text", b"======= "]), max_size=12
    )
)
def test_a_conflict_in_output_has_all_three_markers_in_order(lines: list[bytes]) -> None:
    """A program may print any of them alone; the line of the first is the place."""
    wanted = [b"<<<<<<< a", b"=======", b">>>>>>> b"]
    rest, first = list(wanted), None
    for number, line in enumerate(lines, 1):
        if rest and line == rest[0]:
            first = first or number
            rest.pop(0)

    assert conflict_line(b"\n".join(lines), is_json=False) == (None if rest else first)


def test_markers_without_an_end_are_searched_once() -> None:
    """Not again from each of them: a hostile file has a million."""
    assert conflict_line(b"<<<<<<< a\n" * 1_000_000, is_json=False) is None
