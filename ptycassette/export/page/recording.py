"""A recording as a page that plays, and that can be read where no script runs.

The head says what was recorded; below it are the player, the list of what was typed and happened,
the still screens, and the scrub report. ``recording_section`` is all that for pages of more
recordings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from ptycassette.errors import UsageError
from ptycassette.export._colors import DARK, LIGHT, Theme
from ptycassette.export.page.beside import (
    facts_html,
    listing_html,
    recording_facts,
    scrub_facts,
    time_text,
    turn_name,
)
from ptycassette.export.page.divergences import reported_items
from ptycassette.export.page.film import Film, film_object, filmed
from ptycassette.export.page.item import Item
from ptycassette.export.page.items import Listing, listing
from ptycassette.export.page.models import RecordedExchange
from ptycassette.export.page.rows import row_html, row_pieces
from ptycassette.export.page.shell import document, line, part, text
from ptycassette.export.page.streams import streams_html
from ptycassette.export.page.styles import SCREEN_CSS, StyleClasses, theme_css
from ptycassette.export.registry import ExportSource
from ptycassette.model import FinalRecord, Manifest, ScrubReport, streams_of

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

    def tape(self) -> Iterable[RecordedExchange]: ...


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
    name = title or " ".join(source.manifest.command.argv or ()) or source.manifest.harness.name
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
    if not isinstance(source, _Recording):
        raise UsageError("a page is made of a whole cassette", where=str(source.path))
    manifest, final = source.manifest, source.final
    found = listing(source.events(), source.tape() if source.has_tape else (), others)
    yield (
        f'<section class="recording" data-end="{final.duration_ms}" '
        f'data-idle="{round((_IDLE_S if idle_limit is None else idle_limit) * 1000)}">'
        f"<header>{f'<h1>{text(name)}</h1>' if name else ''}{_summary(manifest, source)}</header>"
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


def _summary(manifest: Manifest, source: _Recording) -> str:
    harness, terminal = manifest.harness, manifest.terminal
    words = (
        " ".join(filter(None, (harness.name, harness.binary_version))),
        manifest.provenance.recorded_at[:10],
        f"{source.final.duration_ms / 1000:.1f} s",
        f"{terminal.initial_cols} x {terminal.initial_rows}",
        f"scrubbed: {source.scrub_report.status}",
    )
    return f'<p class="dull">{text(", ".join(filter(None, words)))}</p>'


def stills_of(turns: int) -> dict[int, int]:
    """For each turn the turn whose still screen is shown: its own, or the next one that has one."""
    step = -(-turns // MOST_STILLS) or 1
    return {index: turns - 1 - (turns - 1 - index) // step * step for index in range(turns)}


def _stills(
    film: Film, found: Listing, anchor: str, still_of: dict[int, int], classes: StyleClasses
) -> Iterator[str]:
    """The screens at the ends of turns."""
    rows = film.rows
    html: dict[int, str] = {}
    turns = found.turns
    yield '<details class="stills" open><summary>Screens</summary>'
    at = 0
    for index, turn in enumerate(turns):
        if index + 1 < len(turns):
            while at + 1 < len(film.shots) and film.shots[at + 1].t_us <= turns[index + 1].t_us:
                at += 1
        else:
            at = len(film.shots) - 1
        if still_of[index] != index or not film.shots:
            continue
        shot = film.shots[at]
        for number in shot.rows:
            if number not in html:
                html[number] = row_html(row_pieces(*rows[number], classes))
        shown = "\n".join(html[number] for number in shot.rows).rstrip("\n")
        caption = f"{turn_name(turn)}, {time_text(shot.t_us)} s"
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
