"""The list beside the screen, the facts of the recording and its scrub report, as HTML.

All of it stands in the page and is readable without scripts: a link of the list goes to the still
screen of its turn. With scripts it moves the player.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ptycassette.export.page.item import Item
from ptycassette.export.page.items import ListedTurn, Listing
from ptycassette.export.page.shell import line, lines, text
from ptycassette.keys.quantities import clock_text
from ptycassette.model.events import FinalRecord
from ptycassette.model.manifest import Manifest
from ptycassette.model.records import ScrubReport

Facts = Iterable[tuple[str, str]]


def listing_html(found: Listing, anchor: str, *, still_of: dict[int, int]) -> Iterator[str]:
    """The list.

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
    """What a turn is called: its exchanges."""
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
    """What the manifest and the end say, as names and values; values are not escaped."""
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
        yield name, value if isinstance(value, str) else _json(value)
    yield "recorder", made.recorder_version
    yield "emulator", f"{terminal.emulator.name} {terminal.emulator.version}"
    yield "id", manifest.id
    yield "sha256 of output.raw", manifest.content_digest.sha256


def _json(value: Any) -> str:
    return "" if value is None else msgspec.json.encode(value).decode()


def scrub_facts(report: ScrubReport) -> Iterator[tuple[str, str]]:
    """What the scrub report says."""
    yield "status", report.status
    yield "rules", ", ".join(report.rules or ())
    hits = report.hit_counts or {}
    yield "hits", ", ".join(f"{name} {count}" for name, count in hits.items()) or "none"
    for name in ("channels", "env_allowlist", "intentionally_preserved"):
        value = getattr(report, name)
        if value is not msgspec.UNSET and value:
            shown = ", ".join(value) if isinstance(value, tuple) else _json(value)
            yield name.replace("_", " "), shown


def facts_html(facts: Facts) -> str:
    """Names and values; those without a value are left out."""
    rows = "".join(
        f"<dt>{name}</dt><dd>{text(value, limit=10_000)}</dd>" for name, value in facts if value
    )
    return f"<dl>{rows}</dl>"
