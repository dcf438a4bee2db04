"""Make a page that plays a recording, and that is readable without its script.

The head describes the recording. Below it are the player, the list of inputs and events, the still
screens, and the scrub report. ``recording_section`` makes all of that for pages with several
recordings.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, pairwise
from math import inf
from pkgutil import get_data
from typing import Any, Literal, Protocol, cast, runtime_checkable

import msgspec

from ptycassette.cassette.timeline.exchange_cutting import ExchangeCutter
from ptycassette.cassette.timeline.match import Entry, iter_entries
from ptycassette.errors import UsageError
from ptycassette.formats.export.page.styles import (
    SCREEN_CSS,
    Film,
    Shot,
    StyleClasses,
    film_object,
    filmed,
    row_html,
    row_pieces,
    theme_css,
)
from ptycassette.formats.export.registry import ExportSource
from ptycassette.formats.export.svg import DARK, LIGHT, Theme, idle_limit_of
from ptycassette.formats.export.text import TextStream
from ptycassette.keys.quantities import clock_text
from ptycassette.model.records import (
    Event,
    ExitStatus,
    FinalRecord,
    InputRecord,
    Manifest,
    OutputRecord,
    ScrubReport,
    ServiceEventRecord,
    moment_us,
    painted_bytes,
    streams_of,
)
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import printable, visible, visible_bytes
from ptycassette.replaying.standin.reported import ReportedDivergence, reported_divergences

# A line of the list beside the screen.


ItemKind = Literal[
    "input", "terminal", "resize", "signal", "service", "model", "tool", "message", "end",
    "divergence",
]  # fmt: skip


class Item(msgspec.Struct, kw_only=True):
    """A line of the list. ``label`` is our own text; ``text`` and ``bodies`` are untrusted.

    ``seq`` is its place; None for the place of the last event before its time.
    """

    kind: ItemKind
    seq: int | None
    t_us: int
    label: str
    text: str = ""
    bodies: tuple[tuple[str, str], ...] = ()
    """The title and the lines of each."""


# Model traffic as items of the list beside the screen.


MOST_BODY = 4_000
"""How many bytes of a body are shown,"""
MOST_BODIES = 400_000
"""and of all bodies together."""


class ExchangeSource(Protocol):
    """A question of the tape with its answer."""

    entry: TapeEntry

    def question(self) -> bytes:
        """The body of the question."""
        ...

    def answer(self) -> bytes:
        """The body of the answer."""
        ...


def model_item(exchange: ExchangeSource, payloads: Iterable[dict[str, Any]]) -> Any:
    """The item for an entry of the tape, and the exchange, for its bodies."""
    entry, answer = exchange.entry, exchange.entry.answer
    about: dict[str, Any] = {}
    for payload in payloads:
        about |= {name: value for name, value in payload.items() if value is not None}
    words = [
        f"{entry.method} {entry.target}".strip() or f"message over {entry.within}",
        *([str(about["model"])] if "model" in about else []),
        *([f"status {answer.status}"] if answer is not None and answer.status else []),
    ]
    if "input_tokens" in about or "output_tokens" in about:
        words.append(f"{about.get('input_tokens')} + {about.get('output_tokens')} tokens")
    if entry.end_us is not None:
        words.append(f"{(entry.end_us - entry.t_us) / 1_000_000:.2f} s")
    if entry.outcome != "complete":
        words.append(f"{entry.outcome} {entry.detail}".strip())
    item = Item(
        kind="model",
        seq=entry.seq,
        t_us=entry.t_us,
        label=f"model {entry.entry}",
        text=", ".join(words),
    )
    return item, exchange


def with_bodies(asked: Iterable[tuple[Item, ExchangeSource]]) -> Iterator[Item]:
    """The items with the beginnings of question and answer, as long as there is room."""
    left = MOST_BODIES
    for item, exchange in asked:
        bodies = []
        for title, read in (("question", exchange.question), ("answer", exchange.answer)):
            data = read() if left > 0 else b""
            if data:
                bodies.append((title, _body(data)))
                left -= len(bodies[-1][1])
        if left <= 0 and not bodies:
            bodies.append(("question and answer", "left out: there is too much in this tape"))
        item.bodies = tuple(bodies)
        yield item


def _body(data: bytes) -> str:
    """The beginning of a body; JSON is split into lines."""
    try:
        text = msgspec.json.format(data, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = data.decode("utf-8", "replace")
    left = len(text) - MOST_BODY
    return f"{text[:MOST_BODY]}\n... ({left} more characters)" if left > 0 else text


# The list beside the screen: inputs and the events between them, in order.


MOST_ITEMS = 5_000
_FOLDED = frozenset({"model-request", "model-answer", "model-end", "usage"})
"""Service events about an entry of the tape that are already part of its item."""


class ListedTurn(msgspec.Struct, kw_only=True):
    """An input and the events after it. ``typed`` is None before the first input."""

    seq: int
    t_us: int
    first_exchange: int
    last_exchange: int
    typed: str | None = None
    masked: bool = False
    items: list[Item] = []


class Listing(msgspec.Struct, kw_only=True):
    """The turns, and how many items were left out because there are too many."""

    turns: list[ListedTurn]
    left_out: int = 0

    def turn_of(self, seq: int) -> int:
        """The index of the turn that an event belongs to."""
        return max(0, bisect_right(self.turns, seq, key=lambda turn: turn.seq) - 1)


def listing(
    events: Iterable[Event], tape: Iterable[ExchangeSource], others: Sequence[Item] = ()
) -> Listing:
    """The list of a recording.

    Args:
        events: all events.
        tape: the model traffic.
        others: items from elsewhere, such as divergences, with their places.
    """
    inputs: list[InputRecord] = []
    items: list[Item] = []
    begun: list[tuple[int, int]] = []  # seq and number of exchanges
    payloads: dict[int, list[dict[str, Any]]] = {}
    cutter, number = ExchangeCutter(), 0
    first_us = None
    placeless = sorted((one for one in others if one.seq is None), key=lambda one: one.t_us)
    for event in events:
        while placeless and placeless[0].t_us < event.t_us:
            placeless.pop(0).seq = event.seq - 1
        first_us = event.t_us if first_us is None else first_us
        begins = cutter.begins(event)
        record = event.record
        if isinstance(record, InputRecord):
            inputs.append(record)
            number += begins and record.source != "terminal"
        if begins:
            begun.append((event.seq, number))
        about = _entry_of(record)
        if about is not None and isinstance(record, ServiceEventRecord):
            payloads.setdefault(about, []).append(record.payload)
        items += _items_of(event)
    entries = list(iter_entries(inputs))
    items += _loose_inputs(inputs, entries)
    asked = [model_item(one, payloads.get(one.entry.entry, [])) for one in tape]
    if asked:
        items = [one for one in items if one.label not in _FOLDED]
    items += [*with_bodies(asked), *others]
    items.sort(key=lambda item: (_place(item), item.t_us))
    return Listing(
        turns=_turns(entries, items[:MOST_ITEMS], begun, first_us or 0),
        left_out=max(0, len(items) - MOST_ITEMS),
    )


def _place(item: Item) -> float:
    return inf if item.seq is None else item.seq


def _turns(
    entries: Sequence[Entry], items: Iterable[Item], begun: Sequence[tuple[int, int]], first_us: int
) -> list[ListedTurn]:
    starts = [seq for seq, _ in begun]

    def exchange_at(seq: int) -> int:
        at = bisect_right(starts, seq) - 1
        return begun[at][1] if at >= 0 else 0

    turns = [ListedTurn(seq=0, t_us=first_us, first_exchange=0, last_exchange=0, items=[])]
    turns += [
        ListedTurn(
            seq=entry.seq,
            t_us=entry.t_us,
            first_exchange=exchange_at(entry.seq),
            last_exchange=exchange_at(entry.seq),
            typed=entry.shown,
            masked=entry.masked,
            items=[],
        )
        for entry in entries
    ]
    for turn, following in pairwise(turns):
        turn.last_exchange = max(turn.first_exchange, following.first_exchange - 1)
    if begun:
        turns[-1].last_exchange = max(turns[-1].first_exchange, begun[-1][1])
    places = [turn.seq for turn in turns]
    for item in items:
        turns[bisect_right(places, _place(item)) - 1].items.append(item)
    return turns


def _items_of(event: Event) -> Iterator[Item]:
    record = event.record

    def made(kind: ItemKind, label: str, text: str = "", *bodies: tuple[str, str]) -> Item:
        return Item(
            kind=kind, seq=event.seq, t_us=event.t_us, label=label, text=text, bodies=bodies
        )

    match record:
        case InputRecord(kind="resize", size=size) if size is not None:
            yield made("resize", "resize", f"{size.cols} x {size.rows}")
        case InputRecord(kind="signal", signal=signal):
            yield made("signal", "signal", signal or "")
        case InputRecord(kind="input", source="terminal"):
            yield made("terminal", "answer of the terminal", visible_bytes(event.data, limit=200))
        case ServiceEventRecord(payload=payload):
            yield _service_item(made, payload)
        case FinalRecord(exit=ended):
            yield made("end", "end", _ended(ended))
        case _:
            pass


def _service_item(made: Any, payload: Any) -> Item:
    kind = payload.get("type") if isinstance(payload, dict) else None
    match kind:
        case "message":
            item: Item = made("message", "message", f"{payload.get('role')}: {payload.get('text')}")
        case "thinking" | "summary":
            item = made("message", kind, str(payload.get("text", "")))
        case "attachment":
            item = made("message", kind, _words(payload, "role", "kind", "media_type", "name"))
        case "tool-call":
            item = made("tool", "tool call", _words(payload, "name", "arguments"))
        case "tool-result":
            item = made("tool", "tool result", _result(payload))
        case str():
            rest = {name: value for name, value in payload.items() if name != "type"}
            label = kind if kind in _FOLDED and "entry" in payload else "service event"
            item = made("service", label, f"{kind} {_json(rest)}" if rest else kind)
        case _:
            item = made("service", "service event", _json(payload))
    return item


def _words(payload: dict[str, Any], *names: str) -> str:
    found = [payload[name] for name in names if payload.get(name) is not None]
    words = [value if isinstance(value, str) else _json(value) for value in found]
    return " ".join(words) or f"of entry {payload.get('entry')}"


def _result(payload: dict[str, Any]) -> str:
    match payload.get("error"):
        case {"type": str(name), "message": str(message)}:
            return f"{name}: {message}"
        case _:
            return _words(payload, "output")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _ended(status: ExitStatus | None) -> str:
    if status is None:
        return "how it ended was not recorded"
    if status.signaled:
        return f"ended by {status.signal or 'a signal'}"
    return f"exit status {status.code}" if status.exited else "still running"


def _entry_of(record: object) -> int | None:
    payload = record.payload if isinstance(record, ServiceEventRecord) else None
    entry = payload.get("entry") if isinstance(payload, dict) else None
    return entry if isinstance(entry, int) else None


def _loose_inputs(inputs: Iterable[InputRecord], entries: Sequence[Entry]) -> Iterator[Item]:
    """Inputs that do not begin a turn: the key that submits one, and focus reports."""
    starts = [entry.seq for entry in entries]
    for record in inputs:
        if record.kind != "input" or record.source == "terminal":
            continue
        at = bisect_right(starts, record.seq) - 1
        if at >= 0 and (record.seq < entries[at].last_seq or record.seq == entries[at].seq):
            continue
        shown = "(masked)" if record.masked else record.key or visible_bytes(record.bytes or b"")
        shown = shown or ("end of input" if record.eof else "")
        yield Item(kind="input", seq=record.seq, t_us=moment_us(record), label="input", text=shown)


# The frame of every HTML page: one file that loads nothing, under a strict policy.


def document(
    body: Iterable[str], *, title: str, style: str | Iterable[str] = "", script: str = ""
) -> Iterator[str]:
    """The pieces of a page.

    Args:
        body: its elements; untrusted text in them is already escaped.
        title: the plain text; escaped here.
        style: all of its rules.
        script: all of its code; no script when empty.
    """
    style = "".join(style)
    sources = [f"style-src {_digest(style)}"]
    if script:
        sources.append(f"script-src {_digest(script)}; require-trusted-types-for 'script'")
    policy = "; ".join(("default-src 'none'", "base-uri 'none'", "form-action 'none'", *sources))
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    yield from body
    yield (f"\n<script>{script}</script>" if script else "") + "\n</body>\n</html>\n"


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def part(name: str) -> str:
    """A style sheet or a script of this package."""
    return (get_data(__package__, name) or b"").decode()


def text(value: object, *, limit: int = 2000) -> str:
    """Untrusted text in one line: escaped, without characters that hide or act."""
    return escape(visible(str(value), limit=limit))


def line(value: str, *, limit: int = 2000) -> str:
    """As ``text``, but keeps backslashes: for text whose bytes were escaped before."""
    return escape(printable(value, limit=limit))


def lines(value: str, *, limit: int = 10_000) -> str:
    """Untrusted text in lines, each shown as ``printable`` shows it."""
    return "\n".join(escape(printable(line, limit=limit)) for line in value.split("\n"))


# The list beside the screen, the facts of the recording and its scrub report, as HTML.


Facts = Iterable[tuple[str, str]]


def listing_html(found: Listing, anchor: str, *, still_of: dict[int, int]) -> Iterator[str]:
    """The list as HTML.

    Args:
        found: the turns.
        anchor: begins the ids of the still screens.
        still_of: the number of the still screen for the index of a turn.
    """
    yield '<ol class="turns">'
    for index, turn in enumerate(found.turns):
        if turn.typed is None and not turn.items:
            continue
        target = f"#{anchor}{still_of[index]}"
        yield f'<li class="turn">{_head(turn, target)}<ol>'
        for item in turn.items:
            yield _item(item, target)
        yield "</ol></li>"
    yield "</ol>"
    if found.left_out:
        yield f'<p class="dull">{found.left_out} more are not listed here.</p>'


def turn_name(turn: ListedTurn) -> str:
    """The name of a turn: its exchanges."""
    first, last = turn.first_exchange, turn.last_exchange
    if turn.typed is None:
        return "Before any input"
    return f"Exchange {first}" if first == last else f"Exchanges {first} to {last}"


def _head(turn: ListedTurn, target: str) -> str:
    shown = ""
    if turn.typed is not None:
        shown = f"<code>{line('(masked)' if turn.masked else turn.typed, limit=400)}</code>"
    return _link("input" if turn.typed is not None else "start", turn.t_us, target,
                 f"<b>{turn_name(turn)}</b> {shown}")  # fmt: skip


def _item(item: Item, target: str) -> str:
    link = _link(item.kind, item.t_us, target, f"<b>{item.label}</b> {line(item.text, limit=400)}")
    bodies = "".join(
        f"<details><summary>{title}</summary><pre>{lines(body)}</pre></details>"
        for title, body in item.bodies
    )
    return f"<li>{link}{bodies}</li>"


def _link(kind: str, t_us: int, target: str, inside: str) -> str:
    return (
        f'<a class="{kind}" href="{target}" data-t="{t_us // 1000}">'
        f"<time>{clock_text(t_us, decimals=2)}</time> <span>{inside}</span></a>"
    )


def recording_facts(manifest: Manifest, final: FinalRecord) -> Iterator[tuple[str, str]]:
    """Facts from the manifest and the final record as names and values; values are not escaped."""
    harness, terminal, made = manifest.harness, manifest.terminal, manifest.provenance
    yield "program", shlex.join(manifest.command.argv or ())
    yield "harness", " ".join(filter(None, (harness.name, harness.binary_version)))
    yield "account", harness.account_class or ""
    size = f"{terminal.initial_cols} x {terminal.initial_rows}"
    yield "terminal", ", ".join(filter(None, (size, terminal.term, terminal.locale)))
    yield "recorded", f"{made.recorded_at}, {made.os} {made.arch}"
    yield "duration", f"{final.duration_ms / 1000:.2f} s"
    for name, value in (
        ("usage", final.usage),
        ("cost", None if final.cost_usd is None else f"{final.cost_usd} USD"),
        ("routing", final.routing_actual),
        ("final text", final.final_text),
    ):
        yield name, value if isinstance(value, str) else _json_text(value)
    yield "recorder", made.recorder_version
    yield "emulator", f"{terminal.emulator.name} {terminal.emulator.version}"
    yield "id", manifest.id
    yield "sha256 of output.raw", manifest.content_digest.sha256


def _json_text(value: Any) -> str:
    return "" if value is None else msgspec.json.encode(value).decode()


def scrub_facts(report: ScrubReport) -> Iterator[tuple[str, str]]:
    """Facts from the scrub report as names and values; values are not escaped."""
    yield "status", report.status
    yield "rules", ", ".join(report.rules or ())
    hits = report.hit_counts or {}
    yield "hits", ", ".join(f"{name} {count}" for name, count in hits.items()) or "none"
    for name in ("channels", "env_allowlist", "intentionally_preserved"):
        value = getattr(report, name)
        if value is not msgspec.UNSET and value:
            shown = ", ".join(value) if isinstance(value, tuple) else _json_text(value)
            yield name.replace("_", " "), shown


def facts_html(facts: Facts) -> str:
    """Names and values as HTML; those without a value are left out."""
    rows = "".join(
        f"<dt>{name}</dt><dd>{text(value, limit=10_000)}</dd>" for name, value in facts if value
    )
    return f"<dl>{rows}</dl>"


# Divergences in reports of stand-ins, as items of the list beside the screen.


def reported_items(reports: Iterable[dict[str, Any]], cassette_id: str) -> list[Item]:
    """The divergences from one cassette; see ``reported_divergences``.

    Raises:
        UsageError: they are not such reports, or are about other recordings.
    """
    return [_divergence_item(found) for found in reported_divergences(reports, cassette_id)]


def _divergence_item(found: ReportedDivergence) -> Item:
    lines = [f"{name}: {text}" for name, text in found.sides]
    return Item(
        kind="divergence",
        seq=found.seq,
        t_us=found.t_ms * 1000,
        label="divergence",
        text=f"{found.kind}: {found.message}",
        bodies=(("what to do", "\n".join([*lines, *filter(None, [found.hint])])),),
    )


# Output to pipes and files, for recordings without a screen: its text, by turns.


MOST_TEXT = 1_000_000
"""How many characters are shown."""


def stream_texts(events: Iterable[Event], found: Listing) -> Iterator[tuple[int, str, str]]:
    """Index of the turn, name of the stream and text, in order."""
    readers: dict[str, TextStream] = {}
    left, turn = MOST_TEXT, 0
    outputs = (event for event in events if isinstance(event.record, OutputRecord))
    for (turn, stream), written in groupby(
        outputs, lambda event: (found.turn_of(event.seq), _stream(event))
    ):
        reader = readers.setdefault(stream, TextStream())
        shown = "".join(reader.feed(painted_bytes(event)) for event in written)
        yield turn, stream, shown[: max(0, left)]
        left -= len(shown)
    for stream, reader in readers.items():
        yield turn, stream, reader.finish()[: max(0, left)]
    if left <= 0:
        yield turn, "more", "there is more: ptycassette cat writes all of it"


def streams_html(events: Iterable[Event], found: Listing, anchor: str) -> Iterator[str]:
    """The text of each turn, with the names of its streams."""
    texts: dict[int, list[str]] = {}
    for index, stream, shown in stream_texts(events, found):
        if shown.strip():
            texts.setdefault(index, []).append(_text_of(stream, shown))
    yield '<div class="streams">'
    for number, turn in enumerate(found.turns):
        caption = f"{turn_name(turn)}, {clock_text(turn.t_us, decimals=2)} s"
        yield f'<figure id="{anchor}{number}">'
        if number in texts:
            yield "".join((f"<figcaption>{caption}</figcaption>", *texts[number]))
        yield "</figure>"
    yield "</div>"


def _text_of(stream: str, shown: str) -> str:
    return f"<p>{text(stream)}</p><pre>{lines(shown.rstrip())}</pre>"


def _stream(event: Event) -> str:
    record = event.record
    return (record.stream if isinstance(record, OutputRecord) else None) or "terminal"


MOST_STILLS = 100
"""The most still screens; with more turns, every second or third and the last one have one."""


@runtime_checkable
class _Recording(Protocol):
    """The parts of an open cassette that a page needs."""

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
    """A recording as a page; see ``recording_page`` of ``ptycassette.formats.export.html``."""
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
        classes: collects the classes of its styles.
        name: its heading; no heading when empty.
        anchor: begins the ids of its elements.
        idle_limit: the longest pause in seconds; 2 when None.
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
        f'data-idle="{round(idle_limit_of(manifest, idle_limit) * 1000)}">'
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
    """The turns of a recording, and for each turn the rows of text at its end."""

    listing: Listing
    shown: list[tuple[str, ...]]
    summary: str


def read_turns(source: ExportSource) -> ReadTurns:
    """The recording as text, turn by turn.

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
    """Map each turn to the turn whose still screen it shows: its own, or the next one with one."""
    step = -(-turns // MOST_STILLS) or 1
    return {index: turns - 1 - (turns - 1 - index) // step * step for index in range(turns)}


def shots_at_ends(film: Film, turns: Sequence[ListedTurn]) -> Iterator[Shot]:
    """The frame at the end of each turn; turns without a frame are skipped."""
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
    """The film as JSON without any markup, so that nothing in it can end the element."""
    data = msgspec.json.encode(film_object(film, classes)).decode()
    for char in "<>&":
        data = data.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" class="film">{data}</script>'
