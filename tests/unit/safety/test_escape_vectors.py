"""Every escape vector against everything that turns a recording into text, split at every byte."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptycassette.cli._present import bug_lines, error_lines, json_text
from ptycassette.errors import (
    CassetteError,
    DivergenceError,
    RecordError,
    UsageError,
    WaitTimeoutError,
)
from ptycassette.formats.export.html import screen_html
from ptycassette.formats.export.text import TextStream
from ptycassette.model.ports import Emulator
from ptycassette.model.screen import Screen, Size
from ptycassette.model.visible_text import visible, visible_bytes
from ptycassette.replaying.divergence import (
    Divergence,
    DivergenceSide,
    Nearest,
    divergence_error,
    divergence_lines,
)
from ptycassette.replaying.paint import ansi_lines, clipped, paint, with_status
from ptycassette.replaying.standin.comparison import StandinReport, report_lines
from ptycassette.terminal.emulator import default_emulator

VECTORS: dict[str, bytes] = runpy.run_path(str(Path(__file__).with_name("escape_vectors.py")))[
    "VECTORS"
]
SIZE = Size(rows=4, cols=30)

PAINT = re.compile(r"(?:\x1b\[(?:0[\d;]*m|2J|H|K|\d+;\d+H|\d+G|\?25[hl])|[^\x00-\x1f\x7f-\x9f])*")
HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
ALLOWED_TAGS = re.compile(
    r"</?(?:html|head|meta|title|style|body|pre|span)(?: [a-z-]+=\"[^\"<>]*\")*>"
)


def is_paint(data: bytes) -> bool:
    """Whether nothing but paint is in what would be written to a terminal."""
    text = data.decode("utf-8")
    return PAINT.fullmatch(text) is not None and HIDDEN.search(text) is None


def is_plain(text: str) -> bool:
    """Whether text holds nothing that acts or hides but newlines."""
    return re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) is None and not HIDDEN.search(text)


def splits(data: bytes) -> Iterator[tuple[bytes, ...]]:
    """Whole, byte by byte, and in two at every place (of long ones, at two hundred)."""
    yield (data,)
    yield tuple(data[at : at + 1] for at in range(len(data)))
    for at in range(1, len(data), max(1, len(data) // 200)):
        yield (data[:at], data[at:])


def screens(vector: bytes) -> Iterator[tuple[Emulator, Screen]]:
    """The screens after it, for every split, with text before and behind."""
    for parts in splits(b"before " + vector + b" after"):
        emulator = default_emulator(SIZE)
        for part in parts:
            emulator.feed(part)
        yield emulator, emulator.snapshot()


def test_there_are_at_least_140() -> None:
    """And each holds something."""
    assert len(VECTORS) >= 140
    assert all(VECTORS.values())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", VECTORS)
def test_play_paints_and_does_nothing_else(name: str) -> None:
    """From an empty terminal and from the screen before, with status and clipped; in any split."""
    before: Screen | None = None
    painted = set()
    for _, screen in screens(VECTORS[name]):
        view = with_status(clipped(screen, Size(rows=3, cols=20)), "status")
        whole = paint(None, screen)
        for data in (whole, paint(before, screen), paint(None, view)):
            assert is_paint(data), data
        assert is_paint("".join(ansi_lines(screen)).encode())
        painted.add(whole)
        before = screen

    assert len(painted) == 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", VECTORS)
def test_text_holds_nothing_that_acts(name: str) -> None:
    """``play`` into a pipe."""
    for parts in splits(b"before " + VECTORS[name] + b" after"):
        stream = TextStream()
        text = "".join([*(stream.feed(part) for part in parts), stream.finish()])
        assert is_plain(text), ascii(text)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", VECTORS)
def test_a_page_has_only_the_tags_that_we_wrote(name: str) -> None:
    """Text and title are text: no element, attribute, address or script of the recording."""
    vector = VECTORS[name]
    _, screen = next(screens(vector))
    for title in (screen.title, vector.decode("utf-8", "replace")):
        page = screen_html(screen, title=title)
        rest = ALLOWED_TAGS.sub("", page.removeprefix("<!DOCTYPE html>\n"))
        assert "<" not in rest
        assert is_plain(page)
        assert "://" not in "".join(ALLOWED_TAGS.findall(page))


def test_what_is_made_visible_is_printable() -> None:
    """As bytes, as text of any decoding, and cut in the middle."""
    for name, vector in VECTORS.items():
        for text in (vector.decode("utf-8", "surrogateescape"), vector.decode("latin-1")):
            shown = visible(text)
            assert is_plain(shown), name
            assert "\n" not in shown, name
        assert is_plain(visible_bytes(vector)), name
        assert all(" " <= char <= "~" for char in json_text({"x": vector.decode("latin-1")})), name


def report_of(vector: bytes) -> list[str]:
    """The lines of errors, divergences and reports that hold it wherever they can."""
    text = vector.decode("utf-8", "surrogateescape")
    said = DivergenceSide(text, vector)
    divergence = Divergence(
        kind="input-changed",
        message=text,
        seq=1,
        t_ms=1,
        exchange=1,
        expected=said,
        got=said,
        screen=(text, text),
        nearest=Nearest(exchange=1, seq=1, t_ms=1, text=text, similarity=0.5),
        hint=text,
    )
    errors: list[CassetteError] = [
        RecordError(text, where=text, hint=text),
        UsageError(f"{text}\n{text}"),
        WaitTimeoutError(text, screen=(text,), where=text, hint=text),
        divergence_error(divergence, where=text),
    ]
    report = StandinReport(
        result="failed",
        cassette=text,
        argv=(text,),
        divergences=(divergence,),
        killed_by=text,
        notes=(text,),
        error=text,
    )
    lines = [line for error in errors for line in error_lines(error)]
    lines += list(divergence_lines(divergence)) + list(report_lines(report))
    return [*lines, *bug_lines(ValueError(text))]


def test_errors_and_reports_show_it_escaped() -> None:
    """Whatever field of an error, a divergence or a report it stands in."""
    wrong = [
        (name, ascii(line))
        for name, vector in VECTORS.items()
        for line in report_of(vector)
        if not is_plain(line) or "\n" in line
    ]

    assert wrong == []


def test_a_raised_error_shows_no_screen_that_acts() -> None:
    """``str`` of errors that hold a screen ends up in test reports."""
    error = WaitTimeoutError("late", screen=("\u202eabc\x1b[2J",))
    other = divergence_error(
        Divergence(
            kind="timing", message="\x1b[2J", seq=1, t_ms=1, screen=("\x9b2J",), hint="\x1bc"
        )
    )

    assert isinstance(other, DivergenceError)
    assert is_plain(str(other))
    assert is_plain(str(error))
