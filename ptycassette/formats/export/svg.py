"""Export an animated SVG: one self-contained picture that has no script and loads nothing.

Every distinct row of the recording is drawn once and used by reference. The frames are one below
the other on a film strip, which a CSS animation moves one step at a time. So it also plays where
images may not run scripts, as in a README. A viewer that prefers reduced motion shows the last
frame.

``textLength`` keeps text on the cell grid with any font. Nothing from the cassette becomes markup:
text is escaped, characters that XML 1.0 forbids are replaced, and links are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from xml.sax.saxutils import escape

import msgspec

from ptycassette.errors import UsageError
from ptycassette.formats.export.registry import ExportSource
from ptycassette.model.records import Manifest
from ptycassette.model.screen import DEFAULT_STYLE, Screen, Style, StyleRun
from ptycassette.model.stored_screen import screen_of
from ptycassette.terminal.widths import split_clusters

# A style in CSS: colours as ``#rrggbb`` (a theme, and xterm's fixed 256-colour cube), and lines.


_CUBE = (0, 95, 135, 175, 215, 255)
_HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")


class Theme(msgspec.Struct, frozen=True, kw_only=True):
    """Default colours and the sixteen that applications name by index."""

    foreground: str
    background: str
    cursor: str
    palette: tuple[str, ...]


DARK = Theme(
    foreground="#d8dee4",
    background="#14181d",
    cursor="#d8dee4",
    palette=(
        "#1f242b",
        "#e5534b",
        "#57ab5a",
        "#c69026",
        "#539bf5",
        "#b083f0",
        "#39c5cf",
        "#b8c0c8",
        "#636e7b",
        "#ff938a",
        "#6bc46d",
        "#daaa3f",
        "#6cb6ff",
        "#dcbdfb",
        "#56d4dd",
        "#f0f3f6",
    ),
)
LIGHT = Theme(
    foreground="#1f2328",
    background="#ffffff",
    cursor="#1f2328",
    palette=(
        "#24292f",
        "#cf222e",
        "#116329",
        "#7d4e00",
        "#0969da",
        "#8250df",
        "#1b7c83",
        "#6e7781",
        "#57606a",
        "#a40e26",
        "#1a7f37",
        "#633c01",
        "#218bff",
        "#a475f9",
        "#3192aa",
        "#8c959f",
    ),
)


def theme_named(name: str) -> Theme:
    """The theme ``light``; ``dark`` for any other name."""
    return LIGHT if name == "light" else DARK


def css_color(color: int | str | None, theme: Theme, default: str) -> str:
    """A colour of a ``Style`` as ``#rrggbb``; ``default`` for None and for anything malformed."""
    match color:
        case int() if 0 <= color < 16:
            return theme.palette[color]
        case int() if 16 <= color < 232:
            index = color - 16
            parts = (_CUBE[index // 36], _CUBE[index // 6 % 6], _CUBE[index % 6])
            return "#{:02x}{:02x}{:02x}".format(*parts)
        case int() if 232 <= color < 256:
            return "#" + f"{8 + 10 * (color - 232):02x}" * 3
        case str() if _HEX.match(color):
            return color.lower()
        case _:
            return default


def css_lines(style: Style) -> str:
    """The value of ``text-decoration``; empty for no decoration."""
    lines = (
        ("underline", style.underline),
        ("line-through", style.strike),
        ("overline", style.overline),
    )
    return " ".join(name for name, on in lines if on)


# The stretch of a recording to show, and its speed: times of frames, without their pictures.


T = TypeVar("T")

IDLE_LIMIT_S = 2.0


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Times in microseconds; those of the stretch and ``idle_limit_us`` are as recorded.

    ``end_us`` is included. Pauses longer than ``idle_limit_us`` are shortened to it. Frames that
    would be closer together than ``min_frame_us`` when shown are merged; the later one stays.
    """

    start_us: int = 0
    end_us: int | None = None
    speed: float = 1.0
    idle_limit_us: int = round(IDLE_LIMIT_S * 1_000_000)
    min_frame_us: int = 33_000


def idle_limit_of(manifest: Manifest, given: float | None) -> float:
    """The limit of pauses in seconds: the given one, else the recording's own, else 2 s."""
    own = manifest.idle_limit_s if given is None else given
    return IDLE_LIMIT_S if own is None else own


def pace_of(
    manifest: Manifest,
    *,
    idle_limit: float | None,
    speed: float | None,
    start: float | None,
    end: float | None,
) -> Pace:
    """The pace for options in seconds; None is the default.

    Raises:
        UsageError: the stretch ends before it starts.
    """
    if start is not None and end is not None and end < start:
        raise UsageError(f"--to {end:g} is before --from {start:g}", hint="swap the two times")
    return Pace(
        start_us=round((start or 0) * 1_000_000),
        end_us=None if end is None else round(end * 1_000_000),
        speed=1.0 if speed is None else speed,
        idle_limit_us=round(idle_limit_of(manifest, idle_limit) * 1_000_000),
    )


def paced(frames: Iterable[tuple[int, T]], pace: Pace) -> list[tuple[int, T]]:
    """Frames ``(t_us, picture)`` in order, with their times in the result, from 0 on.

    The first one is the picture at the start of the stretch. A frame equal to the one before is
    left out.
    """
    shown: list[tuple[int, T]] = []
    now_us = last_us = 0
    for t_us, picture in frames:
        if pace.end_us is not None and t_us > pace.end_us and shown:
            break
        if t_us <= pace.start_us or not shown:
            now_us = last_us = max(t_us, pace.start_us)
            shown = [(now_us, picture)]
            continue
        now_us += min(max(0, t_us - last_us), pace.idle_limit_us)
        last_us = max(last_us, t_us)
        if picture == shown[-1][1]:
            continue
        if now_us - shown[-1][0] < pace.min_frame_us * pace.speed:
            shown[-1] = (shown[-1][0], picture)
        else:
            shown.append((now_us, picture))
    first_us = shown[0][0] if shown else 0
    return [(round((t_us - first_us) / pace.speed), picture) for t_us, picture in shown]


_FORBIDDEN = re.compile("[^\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f]")
# Bidirectional and other invisible controls, which would hide what is there.
_UNSEEN = re.compile(
    "[\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_FONT = (
    "ui-monospace,SFMono-Regular,'Cascadia Mono',Menlo,Consolas,'DejaVu Sans Mono',"
    "'Liberation Mono',monospace"
)


class SvgOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the picture.

    Lengths are in CSS pixels, times in microseconds. The last frame stays for ``hold_us`` before
    the loop starts again.
    """

    theme: Theme = DARK
    font_size: float = 14.0
    cell_width: float = 8.4
    cell_height: float = 18.0
    padding: float = 12.0
    title: str = ""
    pace: Pace = Pace()
    hold_us: int = 2_500_000


def recording_svg(
    source: ExportSource,
    *,
    title: str | None = None,
    idle_limit: float | None = None,
    theme: str = "dark",
    still: bool = False,
    speed: float | None = None,
    start: float | None = None,
    end: float | None = None,
) -> Iterator[bytes]:
    """The stored frames of a recording as one animated picture.

    Args:
        source: the recording.
        title: the title of the picture.
        idle_limit: the longest pause in seconds; None for the recording's own limit, else 2.
        theme: ``dark`` or ``light``.
        still: only the last frame.
        speed: how many times faster than recorded.
        start: the beginning, in seconds.
        end: the end, in seconds.

    Raises:
        UsageError: there is no frame.
    """
    frames = [
        (frame.t_ms * 1000 if frame.t_us is None else frame.t_us, screen_of(frame))
        for frame in source.frames()
    ]
    if not frames:
        raise UsageError(
            "no frames to draw",
            where=str(source.path),
            hint="the program showed nothing; ptycassette cat writes the raw output",
        )
    options = SvgOptions(
        theme=theme_named(theme),
        title=title or "",
        pace=pace_of(source.manifest, idle_limit=idle_limit, speed=speed, start=start, end=end),
    )
    film = paced(frames, options.pace)
    yield "".join(_document(film[-1:] if still else film, options)).encode()


def still_svg(screen: Screen, *, options: SvgOptions | None = None) -> bytes:
    """One screen as an SVG document, UTF-8."""
    return animated_svg([(0, screen)], options=options)


def animated_svg(
    frames: Iterable[tuple[int, Screen]], *, options: SvgOptions | None = None
) -> bytes:
    """Frames ``(t_us, screen)`` in order of time as an animated SVG document, UTF-8.

    Raises:
        ValueError: there is no frame at all.
    """
    opts = options or SvgOptions()
    film = paced(frames, opts.pace)
    if not film:
        raise ValueError("no frame to draw")
    return "".join(_document(film, opts)).encode()


def _document(film: Sequence[tuple[int, Screen]], opts: SvgOptions) -> Iterator[str]:
    cols = max(screen.size.cols for _, screen in film)
    rows = max(screen.size.rows for _, screen in film)
    width, height = cols * opts.cell_width, rows * opts.cell_height
    outer_w, outer_h = width + 2 * opts.padding, height + 2 * opts.padding
    theme = opts.theme
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{outer_w:g}" height="{outer_h:g}" '
        f'viewBox="0 0 {outer_w:g} {outer_h:g}" role="img">'
    )
    if opts.title:
        yield f"<title>{_xml(opts.title)}</title>"
    yield f"<style>{_css(film, height, opts)}</style>"
    yield f'<rect width="100%" height="100%" rx="8" fill="{theme.background}"/>'
    row_ids: dict[str, int] = {}
    strip = [_frame(i, screen, height, row_ids, opts) for i, (_, screen) in enumerate(film)]
    yield "<defs>"
    for drawn, number in row_ids.items():
        yield f'<g id="r{number}">{drawn}</g>'
    yield "</defs>"
    yield (
        f'<svg x="{opts.padding:g}" y="{opts.padding:g}" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" fill="{theme.foreground}" '
        f'font-family="{_FONT}" font-size="{opts.font_size:g}"><g class="film">'
    )
    yield from strip
    yield "</g></svg></svg>\n"


def _css(film: Sequence[tuple[int, Screen]], height: float, opts: SvgOptions) -> str:
    # Colour, weight and slant are attributes, because any CSS rule for them overrides those.
    base = "text{white-space:pre;dominant-baseline:central}"
    if len(film) == 1:
        return base
    total_us = film[-1][0] + opts.hold_us
    moves = "".join(
        f"{100 * t_us / total_us:.4f}%{{transform:translateY({-i * height:g}px)}}"
        for i, (t_us, _) in enumerate(film)
    )
    last = f"translateY({-(len(film) - 1) * height:g}px)"
    return (
        f"{base}.film{{animation:play {total_us / 1_000_000:.3f}s infinite step-end}}"
        f"@keyframes play{{{moves}}}"
        "@media (prefers-reduced-motion:reduce){.film{animation:none;transform:" + last + "}}"
    )


def _frame(
    index: int, screen: Screen, height: float, row_ids: dict[str, int], opts: SvgOptions
) -> str:
    parts = [f'<g transform="translate(0 {index * height:g})">' if index else "<g>"]
    for number, text in enumerate(screen.rows):
        runs = screen.styles[number] if number < len(screen.styles) else ()
        drawn = "".join(_row(text, _within(runs, screen.size.cols), opts))
        if drawn:
            key = row_ids.setdefault(drawn, len(row_ids))
            parts.append(f'<use href="#r{key}" y="{number * opts.cell_height:g}"/>')
    if screen.cursor.visible:
        parts.append(
            f'<rect x="{screen.cursor.col * opts.cell_width:g}" '
            f'y="{screen.cursor.row * opts.cell_height:g}" width="{opts.cell_width:g}" '
            f'height="{opts.cell_height:g}" fill="{opts.theme.cursor}" opacity=".5"/>'
        )
    parts.append("</g>")
    return "".join(parts)


def _within(runs: Sequence[StyleRun], cols: int) -> list[StyleRun]:
    """The runs, clipped to the screen, because the cells of a cassette are not trusted."""
    return [
        StyleRun(run.col, min(run.length, cols - run.col), run.style)
        for run in runs
        if 0 <= run.col < cols and run.length > 0
    ]


def _row(text: str, runs: Sequence[StyleRun], opts: SvgOptions) -> Iterator[str]:
    """Backgrounds first, then the text on top of them."""
    pieces = list(_pieces(text, runs))
    for col, cells, _, style in pieces:
        back = style.fg if style.reverse else style.bg
        plain = opts.theme.foreground if style.reverse else ""
        fill = css_color(back, opts.theme, plain)
        if fill:
            yield (
                f'<rect x="{col * opts.cell_width:g}" width="{cells * opts.cell_width:g}" '
                f'height="{opts.cell_height:g}" fill="{fill}"/>'
            )
    for col, cells, piece, style in pieces:
        if not piece.strip() and not (style.underline or style.strike or style.overline):
            continue
        yield (
            f'<text x="{col * opts.cell_width:g}" y="{opts.cell_height / 2:g}" '
            f'textLength="{cells * opts.cell_width:g}" lengthAdjust="spacingAndGlyphs"'
            f"{_attributes(style, opts.theme)}>{_xml(piece)}</text>"
        )


def _attributes(style: Style, theme: Theme) -> str:
    found = []
    front = style.bg if style.reverse else style.fg
    plain = theme.background if style.reverse else ""
    fill = css_color(front, theme, plain)
    if fill:
        found.append(f' fill="{fill}"')
    if style.bold:
        found.append(' font-weight="bold"')
    if style.italic:
        found.append(' font-style="italic"')
    if lines := css_lines(style):
        found.append(f' text-decoration="{lines}"')
    if style.hidden:
        found.append(' opacity="0"')
    elif style.dim:
        found.append(' opacity=".6"')
    return "".join(found)


def _pieces(text: str, runs: Sequence[StyleRun]) -> Iterator[tuple[int, int, str, Style]]:
    """Cut a row at the borders of its runs: ``(col, cells, text, style)``."""
    clusters = split_clusters(text)
    col = 0
    for run in sorted(runs, key=lambda run: run.col):
        if run.col > col:
            yield from _take(clusters, col, run.col - col, DEFAULT_STYLE)
        start = max(col, run.col)
        end = run.col + run.length
        if end > start:
            yield from _take(clusters, start, end - start, run.style)
            col = end
    rest = sum(width for width, _ in clusters)
    if rest:
        yield from _take(clusters, col, rest, DEFAULT_STYLE)


def _take(
    clusters: list[tuple[int, str]], col: int, cells: int, style: Style
) -> Iterator[tuple[int, int, str, Style]]:
    """Move up to ``cells`` cells from the front of ``clusters`` into one piece."""
    text: list[str] = []
    used = 0
    while clusters and used < cells:
        width, cluster = clusters.pop(0)
        text.append(cluster)
        used += width
    piece = "".join(text) + " " * (cells - used)
    yield col, max(used, cells), piece, style


def _xml(text: str) -> str:
    """Text for XML 1.0: escaped, and forbidden characters replaced (XML 1.0, 2.2)."""
    return escape(_UNSEEN.sub("", _FORBIDDEN.sub("\ufffd", text)))
