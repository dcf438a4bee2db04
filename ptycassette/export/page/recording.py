"""A recording as a page that plays, and that can be read where no script runs.

The head says what was recorded; below it are the player, the list of what was typed and happened,
the still screens, and the scrub report. ``recording_section`` is all that for pages of more
recordings.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, cast, runtime_checkable

import msgspec

from ptycassette.errors import UsageError
from ptycassette.export._colors import DARK, LIGHT, Theme
from ptycassette.export.page.beside import (
    facts_html,
    listing_html,
    recording_facts,
    scrub_facts,
    turn_name,
)
from ptycassette.export.page.divergences import reported_items
from ptycassette.export.page.film import Film, Shot, film_object, filmed
from ptycassette.export.page.item import Item
from ptycassette.export.page.items import ListedTurn, Listing, listing
from ptycassette.export.page.models import ExchangeSource
from ptycassette.export.page.rows import row_html, row_pieces
from ptycassette.export.page.shell import document, line, part, text
from ptycassette.export.page.streams import stream_texts, streams_html
from ptycassette.export.page.styles import SCREEN_CSS, StyleClasses, theme_css
from ptycassette.export.registry import ExportSource
from ptycassette.keys.quantities import clock_text
from ptycassette.model.events import FinalRecord
from ptycassette.model.manifest import Manifest
from ptycassette.model.records import ScrubReport
from ptycassette.model.streams import streams_of

MOST_STILLS = 100
"""Of more turns, so many have a still screen: every other one, every third, and the last."""
_IDLE_S = 2.0


@runtime_checkable
class _Recording(Protocol):
    """What a page needs of an open cassette."""

    final: FinalRecord
    scrub_report: ScrubReport

    @property
    def output_size(self) -> int: ...

    @property
    def has_tape(self) -> bool: ...

    def tape(self) -> Iterable[ExchangeSource]: ...


class _Whole(ExportSource, _Recording, Protocol):
    """A whole cassette."""


def played_page(
    source: ExportSource,
    *,
    title: str | None = None,
    idle_limit: float | None = None,
    theme: Theme = DARK,
    report: Sequence[dict[str, Any]] = (),
) -> Iterator[bytes]:
    """A recording as a page; see ``recording_page`` of ``ptycassette.export.html``."""
    classes = StyleClasses()
    name = title or shlex.join(source.manifest.command.argv or ()) or source.manifest.harness.name
    others = reported_items(report, source.manifest.id) if report else []
    body = list(recording_section(source, classes, name=name, idle_limit=idle_limit, others=others))
    yield from page_of(body, classes, title=name, theme=theme)


def page_of(
    body: Iterable[str], classes: StyleClasses, *, title: str, theme: Theme = DARK
) -> Iterator[bytes]:
    """The page around sections of recordings, in pieces, UTF-8."""
    style = (
        part("page.css"),
        part("player.css"),
        theme_css(":root", theme),
        theme_css(".light", LIGHT),
        theme_css(".dark", DARK),
        f"@media print{{{theme_css(':root,.dark,.light', LIGHT)}}}",
        SCREEN_CSS,
        classes.css(),
    )
    for piece in document(body, title=title, style=style, script=part("player.js")):
        yield piece.encode("utf-8", "replace")


def recording_section(
    source: ExportSource,
    classes: StyleClasses,
    *,
    name: str,
    anchor: str = "s",
    idle_limit: float | None = None,
    others: Sequence[Item] = (),
) -> Iterator[str]:
    """The elements of one recording.

    Args:
        source: the recording.
        classes: collects those of its styles.
        name: its heading; none when empty.
        anchor: begins the ids of its elements.
        idle_limit: pauses are played no longer than this, in seconds; 2 when None.
        others: more items of the list.

    Raises:
        UsageError: ``source`` is not a whole cassette.
    """
    source = _whole(source)
    manifest, final = source.manifest, source.final
    found = listing(source.events(), source.tape() if source.has_tape else (), others)
    heading = f"<h1>{text(name)}</h1>" if name else ""
    yield (
        f'<section class="recording" data-end="{final.duration_ms}" '
        f'data-idle="{round((_IDLE_S if idle_limit is None else idle_limit) * 1000)}">'
        f'<header>{heading}<p class="dull">{text(_summary(manifest, source))}</p></header>'
    )
    still_of = stills_of(len(found.turns))
    if streams_of(manifest).with_terminal:
        film = filmed(source)
        yield part("player.html")
        yield from _stills(film, found, anchor, still_of, classes)
        yield _film_json(film, classes)
    else:
        yield from streams_html(source.events(), found, anchor)
        still_of = {index: index for index in range(len(found.turns))}
    yield '<nav class="beside" aria-label="What happened">'
    yield from listing_html(found, anchor, still_of=still_of)
    yield "</nav>"
    yield '<div class="facts"><details><summary>Recording</summary>'
    yield facts_html(recording_facts(manifest, final))
    yield "</details><details><summary>Scrub report</summary>"
    yield facts_html(scrub_facts(source.scrub_report))
    yield "</details></div></section>"


class ReadTurns(msgspec.Struct, frozen=True):
    """The turns of a recording, and of each the rows of text that were shown at its end."""

    listing: Listing
    shown: list[tuple[str, ...]]
    summary: str


def read_turns(source: ExportSource) -> ReadTurns:
    """What a recording shows, turn by turn, as text.

    Raises:
        UsageError: ``source`` is not a whole cassette.
    """
    whole = _whole(source)
    found = listing(whole.events(), whole.tape() if whole.has_tape else ())
    shown: list[tuple[str, ...]] = [()] * len(found.turns)
    if streams_of(whole.manifest).with_terminal:
        film = filmed(whole)
        rows = film.rows
        for index, shot in enumerate(shots_at_ends(film, found.turns)):
            shown[index] = tuple(rows[number][0] for number in shot.rows)
    else:
        for turn, stream, text_ in stream_texts(whole.events(), found):
            if text_.strip():
                shown[turn] += (f"{stream}:", *text_.rstrip().split("\n"))
    return ReadTurns(found, shown, _summary(whole.manifest, whole))


def _whole(source: ExportSource) -> _Whole:
    if not isinstance(source, _Recording):
        raise UsageError("it is made of a whole cassette", where=str(source.path))
    return cast("_Whole", source)


def _summary(manifest: Manifest, source: _Recording) -> str:
    harness, terminal = manifest.harness, manifest.terminal
    words = (
        " ".join(filter(None, (harness.name, harness.binary_version))),
        manifest.provenance.recorded_at[:10],
        f"{source.final.duration_ms / 1000:.1f} s",
        f"{terminal.initial_cols} x {terminal.initial_rows}",
        f"scrubbed: {source.scrub_report.status}",
    )
    return ", ".join(filter(None, words))


def stills_of(turns: int) -> dict[int, int]:
    """For each turn the turn whose still screen is shown: its own, or the next one that has one."""
    step = -(-turns // MOST_STILLS) or 1
    return {index: turns - 1 - (turns - 1 - index) // step * step for index in range(turns)}


def shots_at_ends(film: Film, turns: Sequence[ListedTurn]) -> Iterator[Shot]:
    """The frame at the end of each turn; nothing where there is no frame."""
    at = 0
    for following in (*turns[1:], None):
        if following is None:
            at = len(film.shots) - 1
        while at + 1 < len(film.shots) and film.shots[at + 1].t_us <= getattr(following, "t_us", 0):
            at += 1
        if film.shots:
            yield film.shots[at]


def _stills(
    film: Film, found: Listing, anchor: str, still_of: dict[int, int], classes: StyleClasses
) -> Iterator[str]:
    """The screens at the ends of turns."""
    rows = film.rows
    html: dict[int, str] = {}
    yield '<details class="stills" open><summary>Screens</summary>'
    for index, shot in enumerate(shots_at_ends(film, found.turns)):
        if still_of[index] != index:
            continue
        turn = found.turns[index]
        for number in shot.rows:
            if number not in html:
                html[number] = row_html(row_pieces(*rows[number], classes))
        shown = "\n".join(html[number] for number in shot.rows).rstrip("\n")
        caption = f"{turn_name(turn)}, {clock_text(shot.t_us, decimals=2)} s"
        yield (
            f'<figure id="{anchor}{index}"><figcaption>{caption} '
            f"<code>{line(turn.typed or '', limit=200) if not turn.masked else ''}</code>"
            f'</figcaption><pre class="screen {classes.columns(shot.size.cols)}">{shown}</pre>'
            "</figure>"
        )
    yield "</details>"


def _film_json(film: Film, classes: StyleClasses) -> str:
    """The film as data: JSON that holds no markup, so that nothing in it can end the element."""
    data = msgspec.json.encode(film_object(film, classes)).decode()
    for char in "<>&":
        data = data.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" class="film">{data}</script>'
