"""``ptycassette tape CASSETTE``: the program's requests to its provider, and the answers."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._options import (
    allow_unscrubbed_option,
    cassette_argument,
    json_option,
    opened,
)
from ptycassette.cli._present import count_text, json_text, table_lines, write_lines
from ptycassette.keys.quantities import bytes_text
from ptycassette.model.visible_text import visible, visible_bytes

if TYPE_CHECKING:
    from ptycassette.cassette.io.reader import Cassette
    from ptycassette.cassette.io.tape import RecordedExchange
    from ptycassette.cli._reports import TapeBody, TapeLine
    from ptycassette.model.tape import TapeEntry

_COLUMNS = (
    *("entry", "time", "kind", "question", "model", "status", "sent", "received", "tokens"),
    "outcome",
)
_SPARE = ("kind", "sent", "received", "tokens", "model")
_CELL = 60
_BODY_LIMIT = 20_000


@click.command("tape")
@cassette_argument
@click.option(
    "--entry",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    help="Show only this entry, with its bodies.",
)
@click.option("--full", is_flag=True, help="Do not shorten bodies.")
@json_option
@allow_unscrubbed_option
def command(
    cassette: str, number: int | None, full: bool, as_json: bool, allow_unscrubbed: bool
) -> None:
    """List the model traffic of CASSETTE, which was recorded with `rec --tape`.

    One line per request: time, address, model, status, bytes sent and received,
    tokens in and out, and the failure if there was one. With --entry: its headers
    and bodies, with control characters escaped.

    Example: ptycassette tape codex.cassette --entry 2
    """
    from ptycassette.cli._reports import TapeReport

    with opened(cassette, allow_unscrubbed=allow_unscrubbed) as source:
        said = _said(source)
        exchanges = (one for one in source.tape() if number is None or one.entry.entry == number)
        if number is not None:
            exchange = next(exchanges, None)
            if exchange is None:
                raise click.UsageError(
                    f"--entry {number}: there {_are(len(source.tape()))} in this tape"
                )
            report = _whole(exchange, said)
            write_lines([json_text(report)] if as_json else _entry_lines(report, full=full))
            return
        lines = lines_of(source)
    if as_json:
        write_lines([json_text(TapeReport(path=cassette, entries=tuple(lines)))])
    elif lines:
        write_lines(_table(lines))
    else:
        write_lines(["no model traffic: the program asked nothing of a provider"])


def _are(count: int) -> str:
    return f"{'is' if count == 1 else 'are'} {count_text(count, 'entry', 'entries')}"


def _said(cassette: Cassette) -> dict[int, dict[str, Any]]:
    """The fields of each entry from service events: the requested model, and the tokens."""
    found: dict[int, dict[str, Any]] = {}
    for record in cassette.service_events():
        payload = record.payload
        if not isinstance(payload, dict) or not isinstance(payload.get("entry"), int):
            continue
        about = found.setdefault(payload["entry"], {})
        match payload.get("type"):
            case "model-request":
                about.setdefault("model", payload.get("model"))
            case "usage":
                about |= {
                    name: payload.get(name) for name in ("input_tokens", "output_tokens", "model")
                }
            case "tool-call":
                about.setdefault("tools", []).append(payload.get("name"))
    return found


def lines_of(cassette: Cassette) -> list[TapeLine]:
    """Every question of a tape."""
    said = _said(cassette)
    return [_line(entry, said) for entry in cassette.tape().entries()]


def _line(entry: TapeEntry, said: dict[int, dict[str, Any]]) -> TapeLine:
    from ptycassette.cli._reports import TapeLine

    about, answer = said.get(entry.entry, {}), entry.answer
    model = about.get("model")
    return TapeLine(
        entry=entry.entry,
        seq=entry.seq,
        t_us=entry.t_us,
        end_us=entry.end_us,
        kind=entry.kind,
        within=entry.within,
        method=entry.method or None,
        upstream=entry.upstream or None,
        target=entry.target or None,
        model=model if isinstance(model, str) else None,
        status=None if answer is None else answer.status,
        sent_bytes=0 if entry.body is None else entry.body.bytes,
        received_bytes=0 if answer is None or answer.body is None else answer.body.bytes,
        chunks=0 if answer is None else len(answer.chunks),
        input_tokens=_whole_number(about.get("input_tokens")),
        output_tokens=_whole_number(about.get("output_tokens")),
        tools=tuple(str(name) for name in about.get("tools", ())),
        outcome=entry.outcome,
        detail=entry.detail,
        key=entry.key or None,
    )


def _whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _whole(exchange: RecordedExchange, said: dict[int, dict[str, Any]]) -> Any:
    from ptycassette.cli._reports import TapeChunk, TapeEntryReport

    entry, answer = exchange.entry, exchange.entry.answer
    return TapeEntryReport(
        line=_line(entry, said),
        question=_body(entry.headers, exchange.question(), entry.packing),
        answer=None if answer is None else _body(answer.headers, exchange.answer(), answer.packing),
        chunks=()
        if answer is None
        else tuple(TapeChunk(t_us=one.t_us, bytes=one.length) for one in answer.chunks),
    )


def _body(headers: tuple[tuple[str, str], ...], data: bytes, packing: str) -> TapeBody:
    from ptycassette.cli._reports import TapeBody

    return TapeBody(headers=headers, packing=packing or None, data=data)


def _table(lines: list[TapeLine]) -> Iterator[str]:
    rows = [
        (
            str(line.entry),
            f"{line.t_us / 1_000_000:.3f}",
            line.kind,
            visible(_asked(line), limit=_CELL),
            visible(line.model or "", limit=_CELL),
            "" if line.status is None else str(line.status),
            bytes_text(line.sent_bytes),
            bytes_text(line.received_bytes),
            _tokens(line),
            _outcome(line),
        )
        for line in lines
    ]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return table_lines(_COLUMNS, rows, width=width, spare=_SPARE)


def _asked(line: TapeLine) -> str:
    if line.within is not None:
        return f"over {line.within}"
    return f"{line.method or ''} {line.target or ''}".strip()


def _tokens(line: TapeLine) -> str:
    if line.input_tokens is None and line.output_tokens is None:
        return ""
    return f"{_number(line.input_tokens)} + {_number(line.output_tokens)}"


def _number(count: int | None) -> str:
    return "?" if count is None else str(count)


def _outcome(line: TapeLine) -> str:
    if line.outcome == "complete" and not line.detail:
        return ""
    return visible(f"{line.outcome}: {line.detail}" if line.detail else line.outcome, limit=_CELL)


def _entry_lines(report: Any, *, full: bool) -> Iterator[str]:
    line: TapeLine = report.line
    asked = " ".join(filter(None, (line.method, line.upstream, line.target)))
    yield f"entry {line.entry}  {visible(asked) or _asked(line)}"
    yield from _part(report.question, full=full)
    if report.answer is None:
        yield f"no answer  {_outcome(line)}".rstrip()
        return
    status = "" if line.status is None else f" {line.status}"
    chunks = count_text(line.chunks, "chunk")
    yield f"answer{status}  {chunks}  {_outcome(line)}".rstrip()
    yield from _part(report.answer, full=full)


def _part(body: TapeBody, *, full: bool) -> Iterator[str]:
    for name, value in body.headers:
        yield f"  {visible(name)}: {visible(value)}"
    if body.packing:
        yield f"  ({bytes_text(len(body.data))}, unpacked from {visible(body.packing)})"
    limit = 10**12 if full else _BODY_LIMIT
    text = body.data[:limit].split(b"\n")
    for row in text:
        yield f"  {visible_bytes(row, limit=limit)}"
    if len(body.data) > limit:
        yield f"  ... ({len(body.data) - limit} more bytes; --full shows them)"
