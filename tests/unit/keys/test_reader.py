"""Reading keys from bytes that come in any pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.keys.names import canonical_key, encode_key
from ptycassette.keys.reader import AnswerExpectation, KeyReader, is_answer, read_keys, typed_keys


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\r", "enter"),
        (b"\n", "enter"),
        (b"\x03", "ctrl-c"),
        (b"\x00", "ctrl-space"),
        (b"\x1c", "ctrl-\\"),
        (b"\x7f", "backspace"),
        (b"\x1b", "escape"),
        (b"\x1b\x7f", "alt-backspace"),
        (b"\x1b[A", "up"),
        (b"\x1bOA", "up"),
        (b"\x1bOM", "enter"),
        (b"\x1bOj", "ss3-j"),
        (b"\x1b[1;5D", "ctrl-left"),
        (b"\x1b[1;8C", "ctrl-alt-shift-right"),
        (b"\x1b[3~", "delete"),
        (b"\x1b[5;2~", "shift-pageup"),
        (b"\x1b[Z", "shift-tab"),
        (b"\x1b[13;2u", "shift-enter"),
        (b"\x1b[27u", "escape"),
        (b"\x1b[99;5u", "ctrl-c"),
        (b"\x1b[57358u", "unicode-57358"),
        (b"\x1b[1114112u", "unicode-1114112"),
        (b"\x1b[27;5;13~", "ctrl-enter"),
        (b"\x1b[99~", "csi-99~"),
        (b"\x1b[<0;3;4M", "csi-<0;3;4M"),
        (b"\x1b[M !!", "csi-M !!"),
    ],
)
def test_a_key_is_named(data: bytes, name: str) -> None:
    """One sequence is one key with the name that people use."""
    (key,) = read_keys(data)

    assert (key.name or key.text) == name
    assert key.raw == data


def test_shifted_letters_of_the_kitty_protocol_are_text() -> None:
    """``CSI 97;2u`` types a capital A."""
    (key,) = read_keys(b"\x1b[97;2u")

    assert (key.kind, key.text) == ("text", "A")


def test_a_paste_is_one_key_with_its_text() -> None:
    """Escape sequences and returns in a paste are text."""
    (key,) = read_keys(b"\x1b[200~a\rb\x1b[A\r\nc\x1b[201~")

    assert (key.kind, key.text) == ("paste", "a\nb\x1b[A\nc")


def test_escape_and_a_letter_are_two_keys() -> None:
    """Alt-i and Escape-then-i have the same bytes, so they are read the same way."""
    assert [key.name or key.text for key in read_keys(b"\x1bi\x1bOx\x1b\x1b[B")] == [
        "escape",
        "i",
        "ss3-x",
        "escape",
        "down",
    ]


def test_a_broken_sequence_is_escape_and_text() -> None:
    """What cannot become a sequence is not swallowed."""
    keys = read_keys(b"\x1b[1\x07")

    assert [key.name or key.text for key in keys] == ["escape", "[", "1", "ctrl-g"]


def test_bytes_that_are_no_utf8_are_kept() -> None:
    """A lone byte is one key, and comes back from its text."""
    keys = read_keys(b"\xff\xe2\x82x\xc3")

    assert b"".join(key.text.encode("utf-8", "surrogateescape") for key in keys) == (
        b"\xff\xe2\x82x\xc3"
    )


def test_an_unfinished_sequence_waits_for_flush() -> None:
    """A lone ESC may be the head of an arrow."""
    reader = KeyReader()

    assert reader.feed(b"\x1b") == []
    assert reader.pending == b"\x1b"
    assert [key.name for key in reader.flush()] == ["escape"]


@pytest.mark.parametrize(
    "head", [b"\x1bO", b"\x1b[M !", b"\x1b]11;rgb:", b"\x1b[200~abc", b"\x1b["]
)
def test_an_unfinished_head_is_made_into_keys_by_flush(head: bytes) -> None:
    """Whatever is pending comes out whole in the end."""
    reader = KeyReader()

    assert reader.feed(head) == []
    assert b"".join(key.raw for key in reader.flush()) == head


def test_an_endless_control_string_does_not_wait_for_ever() -> None:
    """Behind the limit it is taken as it is."""
    reader = KeyReader()

    assert reader.feed(b"\x1b]" + b"x" * 70_000)
    assert reader.pending == b""


@pytest.mark.parametrize(
    "answer",
    [
        b"\x1b[?62;1;4c",
        b"\x1b[>41;354;0c",
        b"\x1b[12;40R",
        b"\x1b[?12;40R",
        b"\x1b[0n",
        b"\x1b[?997;1n",
        b"\x1b[?2026;2$y",
        b"\x1b[?0u",
        b"\x1b[8;24;80t",
        b"\x1b]11;rgb:0000/0000/0000\x1b\\",
        b"\x1b]10;rgb:ffff/ffff/ffff\x07",
        b"\x1bP>|XTerm(370)\x1b\\",
        b"\x1b_Gi=31;OK\x1b\\",
    ],
)
def test_answers_are_recognised(answer: bytes) -> None:
    """Only a terminal sends these."""
    (key,) = read_keys(answer)

    assert key.kind == "answer"


def test_shift_f3_is_a_key_until_the_cursor_was_asked_for() -> None:
    """``CSI 1;2R`` is a key, or a cursor report of the first row: the query decides."""
    expectation = AnswerExpectation()

    assert not is_answer(b"\x1b[1;2R")
    assert not expectation.takes(b"\x1b[1;2R")

    expectation.output(b"hello\x1b[6")
    expectation.output(b"n")

    assert expectation.asked
    assert expectation.takes(b"\x1b[1;2R")
    assert not expectation.takes(b"\x1b[1;2R")


def test_an_unmistakable_report_closes_a_cursor_query() -> None:
    """The key after the answer is a key again."""
    expectation = AnswerExpectation()
    expectation.output(b"\x1b[6n")
    expectation.answered(b"\x1b[12;40R")

    assert not expectation.takes(b"\x1b[1;2R")


@pytest.mark.parametrize("alt", [False, True])
@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"\x1b[1;1:3D\x1b[1;5:3C", ["csi-1;1:3D", "csi-1;5:3C"]),  # keys that were released
        (b"\x1b\x08", ["alt-backspace"]),
        (b"\x1b[1;129D", ["left"]),  # num lock
    ],
)
def test_what_is_no_editing_key_is_not_named_as_one(
    alt: bool, data: bytes, names: list[str]
) -> None:
    """A reader of comparisons and one of a terminal agree."""
    reader = KeyReader(alt=alt)
    assert [key.name for key in reader.feed(data)] == names


def test_a_control_string_ends_where_xterm_ends_it() -> None:
    """BEL ends an OSC only, and another ESC cancels; so typed text after Alt-P is not hidden."""
    assert "".join(text for text, places in typed_keys("\x1bPsecret\x07", base=0) if places) == (
        "secret\x07"
    )
    assert [key.raw for key in read_keys(b"\x1b]0;t\x07x")] == [b"\x1b]0;t\x07", b"x"]
    broken = [key.text or key.name for key in KeyReader(alt=True).feed(b"\x1b]ab\x1b[A")]
    assert broken == ["alt-]", "a", "b", "up"]


@pytest.mark.parametrize(
    "name",
    [
        "up", "home", "end", "pageup", "pagedown", "insert", "delete", "f1", "f5", "f12", "enter",
        "tab", "escape", "backspace", "ctrl-c", "ctrl-space", "ctrl-up", "alt-left", "shift-f5",
        "ctrl-alt-shift-right", "shift-tab", "shift-pageup", "alt-backspace", "alt-b", "alt-]",
    ],
)  # fmt: skip
def test_a_key_has_one_name_whether_it_is_sent_or_read(name: str) -> None:
    """``encode_key`` and ``KeyReader`` are inverse to each other."""
    (key,) = (reader := KeyReader(alt=True)).feed(encode_key(name)) or reader.flush()

    assert canonical_key(key.name) == key.name == name


@given(st.binary(max_size=60), st.data())
def test_splitting_with_alt_changes_no_key(data: bytes, draw: st.DataObject) -> None:
    """Where no pause was, Alt is Alt, however the bytes come."""
    cut = draw.draw(st.integers(0, len(data)))
    whole, pieces = KeyReader(alt=True), KeyReader(alt=True)
    keys = whole.feed(data) + whole.flush()

    assert pieces.feed(data[:cut]) + pieces.feed(data[cut:]) + pieces.flush() == keys
    assert b"".join(key.raw for key in keys) == data


@given(st.text(alphabet=[*"ab-é \r", *"\x7f\x15\x1b[]DP"], max_size=40))
def test_typed_keys_lose_no_byte(text: str) -> None:
    """Each byte is a part of a sequence or has its place."""
    raw = text.encode().decode("latin-1")
    found = list(typed_keys(raw, base=5))

    sizes = [len(places) if places else len(key) for key, places in found]
    assert sum(sizes) == len(raw)
    assert all(raw[at - 5] in {key, "\r"} for key, places in found for at, _ in places)


@given(st.binary(max_size=60), st.data())
def test_splitting_anywhere_changes_no_key(data: bytes, draw: st.DataObject) -> None:
    """Fed whole or in pieces: the same keys."""
    cut = draw.draw(st.integers(0, len(data)))
    whole, pieces = KeyReader(), KeyReader()
    keys = whole.feed(data) + whole.flush()
    again = pieces.feed(data[:cut]) + pieces.feed(data[cut:]) + pieces.flush()

    assert again == keys
    assert b"".join(key.raw for key in keys) == data


ESCAPES = st.lists(
    st.sampled_from(
        [b"\x1b", b"[", b"O", b"200~", b"201~", b"A", b"]", b"\x07", b"\\", b"1;2R", b"M", b"\xe2"]
    ),
    max_size=12,
).map(b"".join)


@given(ESCAPES, st.data())
def test_splitting_sequences_anywhere_changes_no_key(data: bytes, draw: st.DataObject) -> None:
    """The same law where sequences nest and break."""
    cut = draw.draw(st.integers(0, len(data)))
    whole, pieces = KeyReader(), KeyReader()
    keys = whole.feed(data) + whole.flush()
    again = pieces.feed(data[:cut]) + pieces.feed(data[cut:]) + pieces.flush()

    assert again == keys
    assert b"".join(key.raw for key in keys) == data
