"""The table of exports: name, content, options and the functions that make them.

A new export is a module of this package and a row of ``EXPORTS``. ``ptycassette export`` (its
choices, its help, the suffixes of OUT), the viewer's export dialog and the tables of the docs read
this table; an option that no other export has is a row of ``EXPORT_OPTIONS`` in ``options``. The
functions are named, not imported, so that listing the exports loads none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

import msgspec

from ptycassette.errors import UsageError
from ptycassette.formats.export.options import EXPORT_OPTIONS
from ptycassette.model.records import Event, FrameRecord, Manifest
from ptycassette.model.screen import Screen

Made = Literal["recording", "screen"]
"""The source of an export."""


Kind = Literal["output", "input", "resize", "signal", "marker", "service-event", "exit"]
"""The kinds of events that some formats of recordings can contain."""


class ExportSource(Protocol):
    """The part of an open cassette that exports need."""

    @property
    def path(self) -> object:
        """The path of the cassette, for messages."""
        ...

    @property
    def manifest(self) -> Manifest:
        """The manifest of the cassette."""
        ...

    @property
    def output_size(self) -> int:
        """The number of bytes of output."""
        ...

    def frames(self) -> Iterator[FrameRecord]:
        """The stored frames, in order."""
        ...

    def events(self) -> Iterator[Event]:
        """All events, in order."""
        ...


class ExportFormat(msgspec.Struct, frozen=True, kw_only=True):
    """One export.

    ``endings`` are the file suffixes that select it; ``writes`` describes the content, for the
    docs. ``of_recording`` and ``of_screen`` name the functions that make it, as ``module:function``
    in this package: from a whole recording (``ExportSource`` and the ``options`` as keywords, to
    pieces of the file) and from one screen (``Screen``, to the file). One of them may be missing.
    ``holds`` are the kinds of events that a format of recordings can contain; None if it is another
    kind of format. ``losses`` names the function that counts what such another format leaves out.
    ``is_binary``: the file is not text, and not for a terminal. ``of_records``: it is made from the
    recorded events, not from the screens.
    """

    name: str
    endings: tuple[str, ...]
    writes: str
    of_recording: str | None = None
    of_screen: str | None = None
    options: tuple[str, ...] = ()
    holds: frozenset[Kind] | None = None
    is_binary: bool = False
    losses: str | None = None
    of_records: bool = False

    @property
    def row(self) -> str:
        """The row in the table of the docs, as Markdown."""
        endings = ", ".join(f"`{ending}`" for ending in self.endings)
        flags = {one.name: one.flag for one in EXPORT_OPTIONS}
        options = ", ".join(f"`{flags[name]}`" for name in self.options)
        cells = (f"`{self.name}`", endings, self.writes, options)
        return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"

    def recording(self, source: ExportSource, **options: Any) -> Iterable[bytes]:
        """A whole recording in this format, in pieces.

        Raises:
            UsageError: this recording cannot be exported to it.
        """
        parts: Iterable[bytes] = _maker(self.name, self.of_recording)(source, **options)
        return parts

    def left_out(self, source: ExportSource) -> dict[str, int]:
        """Counts of what a format that is not a recording leaves out."""
        if self.losses is None:
            return {}
        found: dict[str, int] = _maker(self.name, self.losses)(source)
        return found

    def screen(self, screen: Screen) -> bytes:
        """One screen in this format: the content of a file."""
        data: bytes = _maker(self.name, self.of_screen)(screen)
        return data


_FILM_OPTIONS = (
    "idle_limit", "theme", "speed", "start", "end", "caption", "font", "font_size",
)  # fmt: skip
_CONVERSATION = "trajectory.from_tape:left_out_of"

EXPORTS = (
    ExportFormat(
        name="svg",
        endings=(".svg",),
        writes="an animated picture; of one screen, a picture",
        of_recording="svg:recording_svg",
        of_screen="svg:still_svg",
        options=("title", "idle_limit", "theme", "still", "speed", "start", "end"),
    ),
    ExportFormat(
        name="png",
        endings=(".png",),
        writes="a picture of the last screen, or that at `--to`; of one screen, a picture",
        of_recording="pictures.io.fonts:recording_png",
        of_screen="pictures.io.fonts:screen_png",
        options=("theme", "end", "caption", "font", "font_size"),
        is_binary=True,
    ),
    *(
        ExportFormat(
            name=name,
            endings=(f".{name}",),
            writes=writes,
            of_recording=f"pictures.io.fonts:recording_{name}",
            options=_FILM_OPTIONS,
            is_binary=True,
        )
        for name, writes in (
            ("gif", "an animated GIF"),
            ("webp", "an animated WebP, without loss"),
            ("apng", "an animated PNG"),
            ("mp4", "a film (H.264), made by ffmpeg"),
            ("webm", "a film (VP9), made by ffmpeg"),
        )
    ),
    ExportFormat(
        name="asciicast",
        endings=(".cast",),
        writes="an asciicast, version 2",
        of_recording="asciicast:recording_v2",
        options=("title", "idle_limit", "with_input"),
        holds=frozenset({"output", "input", "resize", "marker"}),
    ),
    ExportFormat(
        name="asciicast-v3",
        endings=(),
        writes="an asciicast, version 3",
        of_recording="asciicast:recording_v3",
        options=("title", "idle_limit", "with_input"),
        holds=frozenset({"output", "input", "resize", "marker", "exit"}),
    ),
    ExportFormat(
        name="asciicast-v1",
        endings=(),
        writes="an asciicast, version 1",
        of_recording="asciicast:recording_v1",
        options=("title",),
        holds=frozenset({"output"}),
    ),
    ExportFormat(
        name="ttyrec",
        endings=(".ttyrec",),
        writes="a ttyrec",
        of_recording="asciicast:recording_ttyrec",
        holds=frozenset({"output"}),
    ),
    ExportFormat(
        name="typescript",
        endings=(".typescript",),
        writes="a typescript of script(1), to go with its timing",
        of_recording="asciicast:recording_typescript",
        options=("with_input",),
        holds=frozenset({"output", "input", "resize", "signal", "exit"}),
    ),
    ExportFormat(
        name="timing",
        endings=(".timing",),
        writes="the timing of a typescript",
        of_recording="asciicast:recording_timing",
        options=("with_input",),
        holds=frozenset({"output", "input", "resize", "signal", "exit"}),
    ),
    ExportFormat(
        name="text",
        endings=(".txt",),
        writes="the text of the session, as one would copy it; of one screen, its text",
        of_recording="shown_lines:recording_text",
        of_screen="shown_lines:screen_text",
        options=("scrollback", "frames", "all"),
    ),
    ExportFormat(
        name="jsonl",
        endings=(".jsonl",),
        writes="every event as JSON on a line, as `events --json` prints them",
        of_recording="event_lines:recording_json_lines",
        of_records=True,
    ),
    ExportFormat(
        name="markdown",
        endings=(".md",),
        writes="what was typed and, folded, what was shown, for a pull request",
        of_recording="markdown:recording_markdown",
        options=("title", "exchanges"),
    ),
    ExportFormat(
        name="python",
        endings=(".py",),
        writes="a test for pytest, to edit: the inputs, and what to wait for before each",
        of_recording="python_test:recording_test",
        of_records=True,
    ),
    ExportFormat(
        name="har",
        endings=(".har",),
        writes="the model traffic as an HTTP archive, which browsers open",
        of_recording="traffic:har",
        of_records=True,
    ),
    ExportFormat(
        name="vcr",
        endings=(".yaml",),
        writes="the HTTP exchanges of the model traffic as a cassette of vcrpy",
        of_recording="traffic:vcr",
        of_records=True,
    ),
    ExportFormat(
        name="atif",
        endings=(".atif.json", "trajectory.json"),
        writes="the conversation with the model as a trajectory in ATIF, as harbor reads it",
        of_recording="trajectory.from_tape:recording_atif",
        losses=_CONVERSATION,
        of_records=True,
    ),
    ExportFormat(
        name="otel",
        endings=(".otlp.jsonl",),
        writes="the calls of models as GenAI spans and events of OpenTelemetry, in OTLP JSON",
        of_recording="trajectory.otel:recording_otel",
        losses=_CONVERSATION,
        of_records=True,
    ),
    ExportFormat(
        name="inspect",
        endings=(".inspect.json",),
        writes="the conversation with the model as an eval log of Inspect",
        of_recording="trajectory.from_tape:recording_inspect",
        losses=_CONVERSATION,
        of_records=True,
    ),
    ExportFormat(
        name="ansi",
        endings=(".ansi",),
        writes="text with colours, for terminals; of one screen",
        of_screen="shown_lines:screen_ansi",
    ),
    ExportFormat(
        name="html",
        endings=(".html",),
        writes="a page that plays; of one screen, a page",
        of_recording="html:recording_page",
        of_screen="html:screen_page",
        options=("title", "idle_limit", "theme", "still", "report"),
    ),
)


def export_named(name: str) -> ExportFormat:
    """The export with this name.

    Raises:
        KeyError: there is no such export.
    """
    return {one.name: one for one in EXPORTS}[name]


def exports_of(what: Made) -> tuple[ExportFormat, ...]:
    """The exports of a whole recording, or of one screen."""
    return tuple(one for one in EXPORTS if getattr(one, f"of_{what}") is not None)


def export_of_file(name: str, *, of: Made) -> ExportFormat:
    """The export for the suffix of a file's name, in upper or lower case.

    Args:
        name: the file name.
        of: a whole recording, or one screen.

    Raises:
        UsageError: no such export has this suffix.
    """
    endings = {ending: one for one in exports_of(of) for ending in one.endings}
    if matching := [ending for ending in endings if name.lower().endswith(ending)]:
        return endings[max(matching, key=len)]
    *most, last = endings
    raise UsageError(
        "the format is not clear from the ending of the name",
        where=name,
        hint=f"end it in {', '.join(most)} or {last}",
    )


def _maker(name: str, made_by: str | None) -> Any:
    if made_by is None:
        raise UsageError(f"{name} is not made of that", hint="see the table of exports")
    module, _, function = made_by.partition(":")
    try:
        return getattr(importlib.import_module(f"ptycassette.formats.export.{module}"), function)
    except ModuleNotFoundError as missing:
        if missing.name != "PIL":
            raise
        raise UsageError(
            f"{name} needs the package 'Pillow'",
            hint="pip install 'ptycassette[pictures]'; .svg and .html need no extra",
        ) from missing
