"""Bytes of the system stay what they are: in JSON, in journals, in cassettes, in messages."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ptycassette import open_cassette, record
from ptycassette.cli._present import json_text
from ptycassette.model.records import (
    Harness,
    SessionMeta,
    native,
    native_text,
    storable,
    storable_text,
)
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import visible
from ptycassette.recording.io.journal_file import JournalDecoder, JournalEncoder
from ptycassette.testing import ManualClock, ScriptedPty, scrub_chunks
from tests.examples import examples

# What a word, a path or the value of a variable may hold: anything but NUL.
ONE = st.one_of(
    st.binary(max_size=12),
    st.text(max_size=8).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.text(st.characters(min_codepoint=0x10FE70, max_codepoint=0x10FF10), max_size=4).map(
        str.encode
    ),
    st.lists(st.sampled_from([b"\xe9", b"\xed\xa0\x80", b"\xf4\x8f\xba\x80", b"/", b"\\"])).map(
        b"".join
    ),
)
BYTES = ONE.map(lambda data: data.replace(b"\0", b"\1"))
NAMES = BYTES.map(lambda data: data.replace(b"/", b"_").replace(b"\n", b"_") + b"x")


@given(BYTES)
@example(bytes(range(1, 256)))
def test_json_gives_back_the_same_bytes(data: bytes) -> None:
    """For any bytes, the stored text is valid, has one spelling, and stands for them alone."""
    stored = storable_text(os.fsdecode(data))

    assert os.fsencode(native_text(stored)) == data
    assert json.loads(stored_json := msgspec.json.encode(stored)) == stored
    assert os.fsencode(native_text(msgspec.json.decode(stored_json))) == data
    assert storable_text(native_text(stored)) == stored


@given(st.text(st.characters(max_codepoint=0x10FE7F, exclude_categories=["Cs"])))
def test_other_text_is_stored_as_it_is(text: str) -> None:
    """So cassettes that exist mean what they meant."""
    assert storable_text(text) == text == native_text(text)


@given(BYTES)
def test_text_that_was_decoded_as_ascii_is_stored_alike(data: bytes) -> None:
    """As Python does it in the C locale without UTF-8 mode: there is one spelling."""
    assert storable_text(data.decode("ascii", "surrogateescape")) == storable_text(
        data.decode("utf-8", "surrogateescape")
    )


@given(st.recursive(BYTES.map(os.fsdecode), st.lists, max_leaves=4), BYTES.map(os.fsdecode))
def test_values_are_stored_text_by_text(value: Any, key: str) -> None:
    """Keys, too."""
    whole = {key: value}
    assert native(storable(whole)) == whole
    msgspec.json.encode(storable(whole))


@given(st.lists(BYTES.map(os.fsdecode), min_size=6, max_size=6), st.integers(1, 40))
def test_a_journal_gives_back_the_head(words: list[str], block: int) -> None:
    """decode(encode(x)) = x, for the texts that come from the system."""
    meta = SessionMeta(
        id="i",
        argv=tuple(words[:2]),
        size=Size(1, 1),
        recorded_at="r",
        harness=Harness(name=words[2]),
        environment={words[3]: words[4]},
        cwd=words[5],
        options={"meta": {"words": words}},
    )
    data, decoder = JournalEncoder(1).begin(meta), JournalDecoder()
    for at in range(0, len(data), block):
        list(decoder.feed(data[at : at + block]))
    assert decoder.meta == meta


@given(BYTES)
def test_what_is_printed_is_utf8(data: bytes) -> None:
    """Messages escape such bytes; `--json` holds the text that cassettes hold."""
    text = os.fsdecode(data)

    visible(text).encode()
    visible(storable_text(text)).encode()
    printed = json.loads(json_text({"path": text, "emoji": "\U0001f600"}))
    msgspec.json.encode(printed)
    if storable_text(native_text(text)) == storable_text(text):  # else it looks like stored text
        assert os.fsencode(native_text(printed["path"])) == data


@pytest.mark.parametrize("stored", [False, True])
def test_a_byte_that_is_no_text_is_shown_as_its_number(stored: bool) -> None:
    """However it came here."""
    text = os.fsdecode(b"caf\xe9")
    assert visible(storable_text(text) if stored else text) == "caf\\xe9"


@examples(30)
@given(NAMES, st.lists(BYTES, max_size=3), BYTES, BYTES)
def test_a_recording_holds_the_same_bytes(
    name: bytes, words: list[bytes], value: bytes, title: bytes
) -> None:
    """Name, arguments, variables, folder and title: any bytes are recorded and read back."""
    with TemporaryDirectory() as folder:
        target = os.path.join(os.fsencode(folder), name[:60] + b".cassette")  # noqa: PTH118
        argv = [os.fsdecode(word) for word in (b"prog" + name, *words)]
        clock = ManualClock()
        with record(
            argv,
            os.fsdecode(target),
            pty=ScriptedPty(clock).say("hello").exits(0),
            clock=clock,
            sleeper=clock,
            env={os.fsdecode(b"LC_" + name.replace(b"=", b"_")): os.fsdecode(value)},
            title=os.fsdecode(title),
            meta={"k": os.fsdecode(title)},
            scrub=False,
            state_dir=Path(os.fsdecode(os.path.join(os.fsencode(folder), b"s" + name[:60]))),  # noqa: PTH118
        ) as session:
            session.wait_exit()
        for path in Path(os.fsdecode(target)).glob("*.json*"):
            path.read_bytes().decode()  # UTF-8
        with open_cassette(os.fsdecode(target), allow_unscrubbed=True) as cassette:
            stored = cassette.manifest
        assert [native_text(word) for word in stored.command.argv or ()] == argv
        assert native_text((stored.optional or {})["title"]) == os.fsdecode(title)


@given(st.binary(min_size=10, max_size=24), st.integers(1, 30))
@example("éèàùçéèàùçéè".encode("latin-1"), 3)
def test_no_byte_of_a_secret_survives(tail: bytes, block: int) -> None:
    """A secret that is not UTF-8 is masked whole, however the output is cut."""
    stray = bytes(0x80 | byte for byte in tail)
    secret = b"q7" + stray.translate(None, bytes(range(0x80, 0xC2))) + b"\xe9Zk"
    if len(secret) < 12:
        secret += b"\xe9" * 8
    data = b"begin " + secret + b" end\r\n"
    masked = b"".join(
        scrub_chunks(
            [data[at : at + block] for at in range(0, len(data), block)],
            rows=24,
            cols=80,
            known=[os.fsdecode(secret)],
        )
    )

    assert len(masked) == len(data)
    assert masked.startswith(b"begin ")
    assert masked.endswith(b" end\r\n")
    left = masked[6:-6]
    assert not set(left) - {ord("x"), 0xFF, 0xE8, 0x80, 0xF1} - set(b"\xc3\xa9\xc2\xb7\xd7"), left


def test_json_of_a_listing_is_read_by_strict_parsers(tmp_path: Path) -> None:
    """`jq` and Go refuse or lose lone surrogates; none is printed."""
    from tests.commands import COMMAND  # noqa: PLC0415 - the other tests start nothing

    (tmp_path / os.fsdecode(b"d\xe9")).mkdir()
    ran = subprocess.run(
        [COMMAND, "verify", "--json", os.fsdecode(b"d\xe9")],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=120,
    )
    msgspec.json.decode(ran.stdout)
    assert os.fsencode(native_text(json.loads(ran.stdout)["cassettes"][0]["path"])) == b"d\xe9"
