"""Typed text in a line whose cursor is moved: what stands there, and where its keys are."""

from __future__ import annotations

import pytest

from ptycassette.keys.reader import edited_text
from ptycassette.scrub.match import canonical
from ptycassette.scrub.views.view import TypedView
from ptycassette.testing import scrub_chunks


def text_of(raw: str) -> str | None:
    """What stood in the line, and None where the cursor made no difference."""
    view = edited_text(raw)
    return None if view is None else view.text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("cret\x01se\x05!\r", "secret!\n"),
        ("cret\x1b[Hse\x1b[F!\rnext", "secret!\nnext"),
        ("cret\x1bOHse\x1bOF!", "secret!"),
        ("cret\x1b[1~se\x1b[4~!\x1b[5~", "secret!"),
        ("cret\x1b[7~se\x1b[8~!", "secret!"),
        ("cret\x1b[97;5use\x1b[101;5u!", "secret!"),
        ("secet\x1b[D\x1b[Dr", "secret"),
        ("secet\x1b[D\x1b[1;1:3D\x1b[Dr", "secret"),
        ("secet\x02\x02\x02\x06r", "secret"),
        ("seet\x1b[D\x1b[D\x1bOC\x1bODcr", "secret"),
        ("\x1b[D\x01b\x1b[D\x1b[Da\x1b[C\x1b[Cc", "abc"),
        ("two three\x1bb\x1bbone \x1bf\x1bf four", "one two three four"),
        ("two three\x1b[1;5D\x1b[1;3Done \x1b[1;5C\x1b[1;5C four", "one two three four"),
        ("b..\x1bba", "ab.."),
        ("." + "b" * 256 + "\x1bba", ".a" + "b" * 256),
        (canonical("\u00e4\u5b57z\x02\x02\x02\u00fc\x06y"), canonical("\u00fc\u00e4y\u5b57z")),
        (canonical("\u00e4x\u5b57z\x1bba "), canonical("a \u00e4x\u5b57z")),
        ("cret\x15se\x19!", "secret!"),
        ("cret\x1b[117;5use\x1b[121;5u!\r\x19", "secret!\ncret"),
        ("secret\x02\x02\x02\x0b\x01\x19\x05\x19", "retsecret"),
        ("one two three\x17\x17\rsay \x19", "one \nsay two three"),
    ],
)
def test_text_stands_where_the_cursor_was(raw: str, text: str) -> None:
    """Line editors' control and meta keys, and the keypads of xterm in both their modes."""
    assert text_of(raw) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("seXcret\x01\x06\x06\x1b[3~\r", "seXcret\nsecret\n"),
        ("seXcret\x01\x06\x06\x04", "seXcret\nsecret"),
        ("seXcret\x1b[D\x1b[D\x1b[D\x1b[D\x7f", "seXcret\nsecret"),
        ("cret\x01se\x05\x15ls\r", "secret\nls\n"),
        ("cret\x01se\x0b\r", "secret\nse\n"),
        ("b c\x01a  \x17d", "a  b c\ndb c"),
        ("b\x01    \x17", "    b\nb"),
        ("a b\x01\x1bd", "a b\n b"),
        ("a b\x01\x1b[3;5~", "a b\n b"),
        ("one a-b\x1b[D\x1b\x7f", "one a-b\none b"),
        ("cret\x01se\x7f\x7f", "secret\ncret"),
        ("ab\x01\x15\x05\x0b\x04c", None),
        ("seX\x7fcret\r", None),
        ("\x1b[Dab\x1b[Z\x1b[2~", None),
        ("plain", None),
        (canonical("a\u00e4b\x02\x7f"), canonical("a\u00e4b\nab")),
        ("\x19plain", None),
        ("one two\x01\x1bd\x1bd \x19\x02\x02\x02\x02\x1b\x7f", "one two\n one two\n  two"),
    ],
)
def test_a_line_that_loses_something_is_kept_as_it_was(raw: str, text: str | None) -> None:
    """Where the cursor had been moved; elsewhere other readings have it."""
    assert text_of(raw) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "raw",
    [
        "a" * 3000 + "\x01" + "b\x7f" * 10_000,  # removing and typing in turns
        "a" * 3000 + "\x15" + "\x19\x15\x15" * 2000,  # Ctrl-y may be held down
    ],
    ids=["copies of lines", "what comes back"],
)
def test_readings_are_bounded(raw: str) -> None:
    """They are no longer than a few hundred thousand characters."""
    text = text_of(raw)

    assert text is not None
    assert len(text) < 300_000


TOKEN = "np" + "m_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
VALUE = "kCbekANd0f0RpzKC" + "hfUEP88vXCa3ImWY"
IN_KEYS: list[tuple[tuple[str, ...], list[str]]] = [
    # Known values, and keys: secret ones and others in turn. The second half was removed and put
    # back behind the first; it was typed first; the last letter of a cursor key could be the next.
    ((), [TOKEN[17:], "\x15echo ", TOKEN[:17], "\x19\r"]),
    ((), [TOKEN[17:], "\x01echo ", TOKEN[:17], "\r"]),
    *((known, ["", "export X_TOKEN=", VALUE[:16], "\x1b[D\x1b[C", VALUE[16:], "\r"])
      for known in ((), (VALUE,))),
]  # fmt: skip


@pytest.mark.parametrize(("known", "keys"), IN_KEYS)
def test_a_value_is_masked_in_the_keys_that_typed_it(
    known: tuple[str, ...], keys: list[str]
) -> None:
    """And no other key changes."""
    masked = "".join(key if at % 2 else "x" * len(key) for at, key in enumerate(keys))
    typed = "".join(keys).encode()

    assert scrub_chunks([typed], rows=24, cols=80, known=known, channel="input") == [
        masked.encode()
    ]


def test_an_endless_line_is_cut() -> None:
    """What comes behind some thousand characters is a line of its own."""
    view = edited_text("a" * 5000 + "\x01b")

    assert view is not None
    assert view.text.index("b") == 4096


def test_a_match_that_begins_between_lines_has_the_offset_of_the_first_key() -> None:
    """A line end that nobody typed has no bytes."""
    typed = edited_text("b\x01a\x7fc", base=7)
    assert typed is not None
    view = TypedView(typed)

    assert view.text == "ab\ncb"
    assert view.offset(2, 4) == 11
    assert view.offset(2, 3) is None
