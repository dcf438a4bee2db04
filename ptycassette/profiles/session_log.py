"""Reading a CLI's own session log into typed service events and the final record.

A log is a sequence of rows: JSON lines, rows of a SQLite query, or matches of a
regular expression in text. Rules pick rows and fields out of them. The caller
reads the files (``harness/io``) and passes rows.

Typed events, with the fields that each may have:

=============== =========================================================
``message``     ``id``, ``role``, ``text``, ``model``
``tool-call``   ``call_id``, ``name``, ``arguments``
``tool-result`` ``call_id``, ``output``
``usage``       ``input_tokens``, ``output_tokens``, ``cached_input_tokens``,
                ``reasoning_output_tokens``, ``cost_usd``, ``model``, ``id``
=============== =========================================================

``cached_input_tokens`` is a part of ``input_tokens``, ``reasoning_output_tokens``
of ``output_tokens``. CLIs that count them beside each other need a sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from ptycassette.profiles.checked import StrictTable, check_regex

EventType = Literal["message", "tool-call", "tool-result", "usage"]

_FIELDS: dict[str, frozenset[str]] = {
    "message": frozenset({"id", "role", "text", "model"}),
    "tool-call": frozenset({"call_id", "name", "arguments"}),
    "tool-result": frozenset({"call_id", "output"}),
    "usage": frozenset(
        {
            "input_tokens",
            "output_tokens",
            "cached_input_tokens",
            "reasoning_output_tokens",
            "cost_usd",
            "model",
            "id",
        }
    ),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS = 1e14
_COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_output_tokens")
_NUMBER = re.compile(r"\$?([0-9][0-9,]*(?:\.[0-9]+)?)\s*([kKmM]?)")
_SCALE = {"": 1, "k": 1000, "m": 1_000_000}


class EventRule(StrictTable, frozen=True, kw_only=True):
    """Which rows are an event, and where its fields are.

    ``where`` compares dotted paths with values, ``exists`` requires
    paths. ``each`` makes one event per element of a list; the paths of ``fields``
    then start at the element, and an element that has none of them is not an event. A field that
    starts with ``=`` is a fixed text; a count
    may be a sum, ``a.b + a.c``, of the paths that are there.
    """

    type: EventType
    fields: dict[str, str]
    where: dict[str, Any] = msgspec.field(default_factory=dict)
    exists: tuple[str, ...] = ()
    each: str | None = None

    def __post_init__(self) -> None:
        unknown = sorted(set(self.fields) - _FIELDS[self.type])
        if unknown:
            known = ", ".join(sorted(_FIELDS[self.type]))
            raise ValueError(f"{self.type} has no field {unknown[0]!r}, but: {known}")


class LogSource(StrictTable, frozen=True, kw_only=True):
    """The location of a log, and how to read it.

    ``total``: usage rows are added up (``sum``) or the last one counts (``last``). Of the
    files that ``glob`` finds the newest is read; ``together`` means all files of its folder, in the
    order of their last change. ``begins`` is a regular expression of what a file begins with, so
    that an import knows it; without it the name tells. ``time`` is the path of a row's time (RFC
    3339, or milliseconds since 1970). ``json`` is one document, ``jsonl`` one a line;
    ``rows`` is the path of the list in it whose elements are the rows. A document that is a list
    is a row for each of its elements.
    """

    glob: str
    base: Literal["home", "cwd"] = "home"
    format: Literal["json", "jsonl", "sqlite", "text"] = "jsonl"
    query: str | None = None
    regex: str | None = None
    rows: str | None = None
    together: bool = False
    total: Literal["sum", "last"] = "sum"
    begins: str | None = None
    time: str | None = None
    events: tuple[EventRule, ...]

    def __post_init__(self) -> None:
        check_regex(self.regex)
        check_regex(self.begins)
        if (self.format == "sqlite") != (self.query is not None):
            raise ValueError("query belongs to format sqlite, which needs one")
        if (self.format == "text") != (self.regex is not None):
            raise ValueError("regex belongs to format text, which needs one")
        if (self.together or self.rows) and self.format not in {"json", "jsonl"}:
            raise ValueError("together and rows belong to the formats json and jsonl")
        if self.glob.startswith("/") or ".." in self.glob.split("/"):
            raise ValueError("a glob is relative and stays inside")


class LogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts in a log: service events in order, and fields of the final record.

    ``times`` are those of the events, in microseconds since 1970; None where the log does not say
    it. ``unread`` counts the rows that no rule is about.
    """

    events: tuple[dict[str, Any], ...] = ()
    times: tuple[int | None, ...] = ()
    unread: int = 0
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    final_text: str | None = None
    model: str | None = None


def read_rows(source: LogSource, rows: Iterable[Any]) -> LogFacts:
    """The facts of a log, row by row, in order."""
    timed: list[tuple[dict[str, Any], int | None]] = []
    unread = 0
    for document in rows:
        row = document if source.rows is None else _at(document, source.rows)
        for one in row if isinstance(row, list) else (row,):
            events = [event for rule in source.events for event in _events(rule, one)]
            unread += not events
            t_us = None if source.time is None else _moment_us(_at(one, source.time))
            timed += [(event, t_us) for event in events]
    timed = _once(timed)
    found = [event for event, _ in timed]
    usages = [event for event in found if event["type"] == "usage"]
    if source.total == "last":
        usages = usages[-1:]
    texts = [
        event["text"]
        for event in found
        if event["type"] == "message" and event.get("role") == "assistant" and event.get("text")
    ]
    models = [event["model"] for event in found if event.get("model")]
    return LogFacts(
        events=tuple(found),
        times=tuple(t_us for _, t_us in timed),
        unread=unread,
        usage=_total(usages),
        cost_usd=_cost(usages),
        final_text=texts[-1] if texts else None,
        model=models[-1] if models else None,
    )


_Timed = tuple[dict[str, Any], int | None]


def _once(events: list[_Timed]) -> list[_Timed]:
    """Keep the last of the events with one type and id, because logs rewrite their rows.

    Its time is that of the first one.
    """
    latest: dict[Any, _Timed] = {}
    for index, one in enumerate(events):
        name = one[0].get("id", one[0].get("call_id"))
        key = (one[0]["type"], name) if isinstance(name, str) and name else index
        latest[key] = (one[0], latest.get(key, one)[1])
    return list(latest.values())


def _moment_us(said: Any) -> int | None:
    """A moment in microseconds since 1970; None where there is none that can be read."""
    try:
        if isinstance(said, str):
            moment = datetime.fromisoformat(said)
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            return (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
    number = to_number(said)
    return round(number * 1000) if number is not None and 0 <= number < _LATEST_MS else None


def _total(usages: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The sum of the token counts; None if there are none."""
    totals = {
        name: sum(int(event[name]) for event in usages if name in event)
        for name in _COUNTS
        if any(name in event for event in usages)
    }
    return totals or None


def _cost(usages: list[dict[str, Any]]) -> float | None:
    """The sum of the costs; None if there are none."""
    costs = [float(event["cost_usd"]) for event in usages if "cost_usd" in event]
    return round(sum(costs), 9) if costs else None


def _events(rule: EventRule, row: Any) -> Iterator[dict[str, Any]]:
    """The events that a rule finds in a row."""
    if any(_at(row, path) != wanted for path, wanted in rule.where.items()):
        return
    if any(_at(row, path) is None for path in rule.exists):
        return
    elements = [row] if rule.each is None else _at(row, rule.each)
    if not isinstance(elements, list):
        return
    for element in elements:
        found = {
            name: value
            for name, path in rule.fields.items()
            if (value := _field(element, name, path)) is not None
        }
        if rule.each is None or any(not rule.fields[name].startswith("=") for name in found):
            yield {"type": rule.type, **found}


def _field(element: Any, name: str, path: str) -> Any:
    """The value of one field; None where it is missing."""
    if name in _COUNTS:
        return _sum(element, path)
    value = path[1:] if path.startswith("=") else _at(element, path)
    return to_number(value) if name == "cost_usd" else value


def _sum(element: Any, paths: str) -> int | float | None:
    """The sum of the counts at ``a.b + a.c``; None if all are missing."""
    found = [to_number(_at(element, path)) for path in paths.split(" + ")]
    counts = [one for one in found if one is not None]
    return sum(counts) if counts else None


def _at(value: Any, path: str) -> Any:
    """What is at a dotted path; None where there is nothing."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def to_number(value: Any) -> int | float | None:
    """A number as CLIs write them: ``6131``, ``"6,131"``, ``"2.6k"``, ``"$0.0065"``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value if math.isfinite(value) else None
    found = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    scale = _SCALE[found[2].lower()]
    digits = found[1].replace(",", "")
    number = round(float(digits) * scale, 9)
    return int(number) if "." not in digits or scale > 1 else number
