"""What is shown of a recording: text and paint. Nothing raw reaches a terminal, page or message."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from fuzz.plain import is_page, is_paint, is_plain
from ptycassette.cli._present import json_text
from ptycassette.errors import CassetteError
from ptycassette.formats.export.html import screen_html
from ptycassette.formats.export.svg import still_svg
from ptycassette.formats.export.text import TextStream
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import printable, visible, visible_bytes
from ptycassette.replaying.divergence import (
    Divergence,
    DivergenceSide,
    divergence_error,
    divergence_lines,
)
from ptycassette.replaying.paint import ansi_lines, clipped, paint, with_status
from ptycassette.terminal.emulator import default_emulator

_SIZE = Size(rows=4, cols=24)
_SVG = "{http://www.w3.org/2000/svg}"
_NAMES = "svg style rect g defs use text tspan title path line symbol"
_ELEMENTS = {f"{_SVG}{name}" for name in _NAMES.split()}


def check(data: bytes) -> None:
    """Show it in every way."""
    text = data.decode("utf-8", "surrogateescape")
    _check_screen(data)
    _check_stream(data)
    for shown in (visible(text), printable(text), visible_bytes(data), visible(text, limit=3)):
        assert is_plain(shown), "a message acts"
        assert "\n" not in shown, "a message goes on in another line"
    assert is_plain(str(CassetteError(text, where=text, hint=text))), "an error acts"
    assert json_text({text: [text]}).isascii()
    found = Divergence(
        kind="input-changed", message=text, seq=1, t_ms=0, expected=DivergenceSide(text, data),
        got=DivergenceSide(text, data), screen=(text,), hint=text,
    )  # fmt: skip
    assert all(is_plain(line) for line in divergence_lines(found)), "a divergence acts"
    assert is_plain(str(divergence_error(found, where=text))), "a divergence acts"


def _check_screen(data: bytes) -> None:
    emulator = default_emulator(_SIZE)
    emulator.feed(data[: len(data) // 2])
    before = emulator.snapshot()
    emulator.feed(data[len(data) // 2 :])
    screen = emulator.snapshot()
    view = with_status(clipped(screen, Size(rows=3, cols=9)), screen.title)
    for painted in (paint(None, screen), paint(before, screen), paint(None, view)):
        assert is_paint(painted), "play writes what is no paint"
    assert is_paint("".join(ansi_lines(screen)).encode()), "lines hold what is no paint"
    assert is_page(screen_html(screen, title=screen.title)), "a page holds what is not ours"
    for element in ET.fromstring(still_svg(screen)).iter():
        assert element.tag in _ELEMENTS, f"a picture holds {element.tag}"


def _check_stream(data: bytes) -> None:
    stream = TextStream()
    middle = len(data) // 2
    text = stream.feed(data[:middle]) + stream.feed(data[middle:]) + stream.finish()
    assert is_plain(text), "text acts"
