"""Turn a CLI's session log into typed service events and the final record.

A log is a sequence of rows: JSON lines, rows of a SQLite query, or matches of a regular expression
in text. Rules pick rows and fields. The caller (``agents/harness/io``) reads the files and passes
rows.

Types of events and their fields: ``message`` (``id``, ``role``, ``text``, ``model``),
``thinking`` (``id``, ``text``, ``model``), ``attachment`` (``id``, ``role``, ``kind``,
``media_type``, ``name``), ``summary`` (``id``, ``text``: replaces the conversation so far),
``tool-call`` (``call_id``, ``name``, ``arguments``), ``tool-result`` (``call_id``, ``output``),
``usage`` (``id``, ``model``, ``cost_usd``, ``input_tokens``, ``output_tokens``, and parts of these:
``cached_input_tokens``, ``reasoning_output_tokens``; a CLI that counts the parts separately needs a
sum). Each may have ``agent`` (its subagent), ``sidechain`` (true for a subagent's event) and
``inherited`` (true for a copy from the session that was forked, whose tokens do not count again).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Literal, TypeVar
from uuid import UUID

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.re2_engine import (
    FilePatterns,
    PatternError,
    TooManyPatternsError,
    file_pattern,
)
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Screen
from ptycassette.model.toml_text import read_toml, suggest
from ptycassette.model.visible_text import visible

# The base of hand-written TOML files: strict tables, and errors with a place.


S = TypeVar("S", bound=msgspec.Struct)


class StrictTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a file; unknown names are errors."""


def check_regex(pattern: str | None) -> None:
    """Check that ``pattern`` is a regular expression that files may contain.

    Raises:
        ValueError: it is not; msgspec adds its place.
    """
    if pattern is not None:
        try:
            file_pattern(pattern, multiline=True)
        except PatternError as wrong:
            raise ValueError(f"{wrong}: '{pattern}'") from wrong


def _check_all(value: Any, patterns: FilePatterns) -> None:
    """Check that a file does not have too many patterns; each one is checked elsewhere."""
    if isinstance(value, list):
        for item in value:
            _check_all(item, patterns)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "regex" and isinstance(item, str):
                _count(item, patterns)
            _check_all(item, patterns)


def _count(pattern: str, patterns: FilePatterns) -> None:
    try:
        patterns.check(pattern, multiline=True)
    except TooManyPatternsError:
        raise
    except PatternError:
        pass  # its struct reports that, with the place


def read_checked(text: str, kind: type[S], *, where: str, known: tuple[type, ...]) -> S:
    """Read a TOML file with ``version = 1`` as ``kind``.

    Args:
        text: TOML; variables stay as they are.
        kind: the struct of the whole file.
        where: a path or a name, for messages.
        known: the structs of its tables, for suggestions.

    Raises:
        UsageError: it is not TOML, has another version, or does not fit ``kind``.
    """
    raw = read_toml(text, where=where, variables=None)
    if raw.get("version") != 1:
        raise UsageError("the file starts with version = 1", where=where)
    try:
        _check_all(raw, FilePatterns())
    except TooManyPatternsError as wrong:
        raise UsageError(str(wrong), where=where) from wrong
    try:
        return msgspec.convert(raw, resolved(kind))
    except msgspec.ValidationError as wrong:
        names = {
            field.encode_name for table in (kind, *known) for field in msgspec.structs.fields(table)
        }
        raise UsageError(str(wrong), where=where, hint=suggest(str(wrong), names)) from wrong


EventType = Literal[
    "message", "thinking", "attachment", "summary", "tool-call", "tool-result", "usage"
]

_COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_output_tokens")
_ALL = frozenset({"agent", "sidechain"})
_FIELDS: dict[str, frozenset[str]] = {
    "message": _ALL | {"id", "role", "text", "model"},
    "thinking": _ALL | {"id", "text", "model"},
    "attachment": _ALL | {"id", "role", "kind", "media_type", "name"},
    "summary": _ALL | {"id", "text"},
    "tool-call": _ALL | {"call_id", "name", "arguments"},
    "tool-result": _ALL | {"call_id", "output"},
    "usage": _ALL | {*_COUNTS, "cost_usd", "model", "id"},
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS = 1e14
_NUMBER = re.compile(r"\$?([0-9][0-9,]*(?:\.[0-9]+)?)\s*([kKmM]?)")
_BEGIN_CHARS = 400
_MOST_KINDS = 1000
_SHORT_FILE = 256
_BASE64 = re.compile(r"[A-Za-z0-9+/\r\n]{256}")
_DATA_URL = re.compile(r"data:[\w.+/-]{1,80};base64,")
_SCALE = {"": 1, "k": 1000, "m": 1_000_000}


class EventRule(StrictTable, frozen=True, kw_only=True):
    """Selects the rows that are an event, and the places of its fields.

    ``where`` compares dotted paths with values, ``exists`` requires paths, and a row that agrees
    with ``unless`` in one path is left out. A list of values means any of them; a value that starts
    with ``~`` is a regular expression for the beginning of a text.

    ``each`` makes one event per element of a list, for elements that agree with ``each_where``; the
    paths of ``fields`` then start at the element, or at the row if they start with ``/``. A text in
    place of the list is one element, ``{"type": "text", "text": TEXT}``. An element without any of
    the fields is not an event; neither is an empty text, or a tool result without output.

    A field that starts with ``=`` is a fixed text; a count may be a sum, ``a.b + a.c``, of the
    paths that exist. ``fallback`` events count only if no other rule found the same text or the
    same call. ``aside`` marks a fact in a row about something else: the row still counts as unread
    if nothing else is taken from it.
    """

    type: EventType
    fields: dict[str, str]
    where: dict[str, Any] = msgspec.field(default_factory=dict)
    unless: dict[str, Any] = msgspec.field(default_factory=dict)
    exists: tuple[str, ...] = ()
    each: str | None = None
    each_where: dict[str, Any] = msgspec.field(default_factory=dict)
    each_unless: dict[str, Any] = msgspec.field(default_factory=dict)
    fallback: bool = False
    aside: bool = False

    def __post_init__(self) -> None:
        unknown = sorted(set(self.fields) - _FIELDS[self.type])
        if unknown:
            known = ", ".join(sorted(_FIELDS[self.type]))
            raise ValueError(f"{self.type} has no field {unknown[0]!r}, but: {known}")
        if self.each is None and (self.each_where or self.each_unless):
            raise ValueError("each_where and each_unless need each")
        for table in (self.where, self.unless, self.each_where, self.each_unless):
            for wanted in table.values():
                for one in wanted if isinstance(wanted, list) else [wanted]:
                    if isinstance(one, str) and one.startswith("~"):
                        check_regex(one[1:])


class ForkedHistory(StrictTable, frozen=True, kw_only=True):
    """How a log begins with a copy of the session that it was forked from.

    ``head`` compares paths of a session's first row, ``id`` is the path of its id, and ``parent``
    the path that only the head of a fork has. The copy ends before the first row whose ``turn`` (a
    UUID of version 7) is younger than the session. If no row has such an id, it ends before the
    first row that is more than a second younger than the head, because a copy is written at once.
    """

    head: dict[str, Any]
    id: str
    parent: str
    turn: str


class LogSource(StrictTable, frozen=True, kw_only=True):
    """The location of a log, and how to read it.

    ``total``: the counts of usage rows are separate (``sum``), or running totals (``last``), whose
    increases are the events. The newest file that ``glob`` finds is read; ``together`` means all
    files of its folder, in the order of their last change; ``beside`` finds more files of the
    session, such as those of subagents, below the file's folder; ``{stem}`` is the file's name
    without its suffix. ``begins`` is a regular expression for the beginning of a file, so that an
    import can recognise it; without it the name decides. ``time`` is the path of a row's time (RFC
    3339, or milliseconds since 1970). ``json`` is one document, ``jsonl`` one a line; ``rows`` is
    the path of the list of rows in it. If the document is a list, its elements are the rows. A row
    that has ``copied`` comes from another session. ``version`` is the path of the CLI's version, in
    any row. ``common`` are fields of all events, at paths of the row: ``agent`` and ``sidechain``.
    """

    glob: str
    base: Literal["home", "cwd"] = "home"
    format: Literal["json", "jsonl", "sqlite", "text"] = "jsonl"
    query: str | None = None
    regex: str | None = None
    rows: str | None = None
    together: bool = False
    beside: str | None = None
    total: Literal["sum", "last"] = "sum"
    begins: str | None = None
    time: str | None = None
    version: str | None = None
    copied: str | None = None
    forked: ForkedHistory | None = None
    common: dict[str, str] = msgspec.field(default_factory=dict)
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
        if not self.common.keys() <= _ALL:
            raise ValueError(f"common is about {' and '.join(sorted(_ALL))}")
        for pattern in (self.glob, self.beside or ""):
            if pattern.startswith("/") or ".." in pattern.split("/"):
                raise ValueError("a glob is relative and stays inside")


class LogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts in a log: service events in order, and fields of the final record.

    ``times`` are the times of the events in microseconds since 1970; None if the log has no time.
    ``unread`` counts everything that no rule covers, by the kind of row or element.
    """

    events: tuple[dict[str, Any], ...] = ()
    times: tuple[int | None, ...] = ()
    unread: dict[str, int] = {}
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    final_text: str | None = None
    model: str | None = None
    version: str | None = None


def read_rows(source: LogSource, rows: Iterable[Any]) -> LogFacts:
    """Collect the facts of a log from its rows; a ``Raw`` is a row that could not be decoded."""
    reading = _Reading(source)
    for document in rows:
        row = document if source.rows is None else _at(document, source.rows)
        for one in row if isinstance(row, list) else (row,):
            reading.take(one)
    return reading.facts()


class _Found(msgspec.Struct):
    event: dict[str, Any]
    t_us: int | None
    rule: EventRule
    position: int


class _Reading:
    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._found: list[_Found] = []
        self._unread: Counter[str] = Counter()
        self._copy = _Copy(source)
        self._totals: dict[str, int | float] = {}
        self._version: str | None = None
        self._paths = tuple(dict.fromkeys(path for rule in source.events for path in rule.where))
        self._rules: dict[Any, tuple[EventRule, ...]] = {}

    def take(self, row: Any) -> None:
        if isinstance(row, msgspec.Raw):
            self._unread["rows of broken JSON"] += 1
            return
        source = self._source
        if source.version is not None and isinstance(said := _at(row, source.version), str):
            self._version = said
        t_us = None if source.time is None else _moment_us(_at(row, source.time))
        inherited = self._copy.holds(row, t_us)
        common = {
            name: path for name, path in source.common.items() if _field(row, row, name, path)
        }
        read = False
        left: dict[str, dict[int, Any]] = {}
        for rule in self._rules_for(row):
            if not _agrees(row, rule):
                continue
            elements = [row] if rule.each is None else _elements(_at(row, rule.each))
            unread = left.setdefault(rule.each, dict(enumerate(elements))) if rule.each else {}
            for position, element in enumerate(elements):
                event = _event(rule, element, row)
                if event is None:
                    continue
                unread.pop(position, None)
                read = read or not rule.aside
                event |= {name: _field(row, row, name, path) for name, path in common.items()}
                if (own := self._own(rule, event, inherited=inherited)) is not None:
                    self._found.append(_Found(own, t_us, rule, position))
        parts = [element for elements in left.values() for element in elements.values()]
        self._unread.update(f"parts of kind {_kind(element)}" for element in parts)
        if not read and not parts:
            self._unread[f"rows of kind {_kind(row)}"] += 1

    def _rules_for(self, row: Any) -> tuple[EventRule, ...]:
        """The rules whose ``where`` matches a row; cached, because there are few kinds of rows."""
        key = tuple(_at(row, path) for path in self._paths)
        if not all(one is None or isinstance(one, bool | int | str) for one in key):
            return tuple(rule for rule in self._source.events if _matches(row, rule.where))
        found = self._rules.get(key)
        if found is None:
            found = tuple(rule for rule in self._source.events if _matches(row, rule.where))
            if len(self._rules) < _MOST_KINDS:
                self._rules[key] = found
        return found

    def _own(
        self, rule: EventRule, event: dict[str, Any], *, inherited: bool
    ) -> dict[str, Any] | None:
        if rule.type == "usage":
            return self._own_usage(event, inherited=inherited)
        return {**event, "inherited": True} if inherited else event

    def _own_usage(self, event: dict[str, Any], *, inherited: bool) -> dict[str, Any] | None:
        """The tokens of this event alone; None if it adds none, or belongs to another session."""
        if self._source.total == "sum":
            return None if inherited else event
        before, now = (
            self._totals,
            {name: event[name] for name in (*_COUNTS, "cost_usd") if name in event},
        )
        self._totals = now
        if inherited:
            return None
        if any(now[name] < before.get(name, 0) for name in now):
            before = {}  # the CLI began to count anew
        more = {name: now[name] - before.get(name, 0) for name in now}
        return {**event, **more} if any(more.values()) or not before else None

    def facts(self) -> LogFacts:
        found = _without_repeats(self._found)
        if self._source.beside is not None:
            found = _in_order(found)
        events = [one.event for one in found]
        usages = [event for event in events if event["type"] == "usage"]
        own = [event for event in events if not event.get("sidechain")]
        texts = [
            event["text"]
            for event in own or events
            if event["type"] == "message" and event.get("role") == "assistant" and event.get("text")
        ]
        models = [
            model
            for event in own or events
            if (model := event.get("model")) and not str(model).startswith("<")
        ]
        return LogFacts(
            events=tuple(events),
            times=tuple(one.t_us for one in found),
            unread=dict(self._unread),
            usage=_total(usages),
            cost_usd=_cost(usages),
            final_text=texts[-1] if texts else None,
            model=models[-1] if models else None,
            version=self._version,
        )


def _without_repeats(found: list[_Found]) -> list[_Found]:
    """Of events with the same type and id keep the last, because logs rewrite their rows.

    Its time and place are those of the first one. Events of a ``fallback`` rule are kept only
    if no other rule found the same text.
    """
    texts = {_said(one.event) for one in found if not one.rule.fallback}
    latest: dict[Any, _Found] = {}
    for index, one in enumerate(found):
        event = one.event
        if one.rule.fallback and _said(event) in texts:
            continue
        call = event.get("call_id")
        name = call if call is not None else event.get("id")
        part = one.position if call is None else 0
        key = (event["type"], name, part) if isinstance(name, str) and name else index
        first = latest.get(key)
        latest[key] = one if first is None else _Found(event, first.t_us, one.rule, part)
    return list(latest.values())


def _in_order(found: list[_Found]) -> list[_Found]:
    """Sort events of several files by time; one without a time stays behind its predecessor."""
    latest = 0
    keys: list[int] = []
    for one in found:
        latest = latest if one.t_us is None else one.t_us
        keys.append(latest)
    order = sorted(range(len(found)), key=lambda at: keys[at])
    return [found[at] for at in order]


def _said(event: dict[str, Any]) -> tuple[Any, ...]:
    """The parts of an event that a repetition of it also has."""
    call, text = event.get("call_id"), event.get("text")
    return (
        event["type"],
        event.get("role"),
        call if isinstance(call, str) else None,
        text.strip() if isinstance(text, str) else None,
    )


class _Copy:
    """Recognises rows that were copied from the session that this one was forked from."""

    _LATER_US = 1_000_000
    _MUCH_LATER_US = 10_000_000

    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._session: str | None = None
        self._made_us: int | None = None
        self._inside = False
        self._old_turns = False

    def holds(self, row: Any, t_us: int | None) -> bool:
        """Whether the next row is a copy."""
        forked = self._source.forked
        if forked is not None:
            if _matches(row, forked.head):
                self._head(row, t_us, forked)
            elif self._inside:
                self._inside = not self._is_own(_at(row, forked.turn), t_us)
            if self._inside:
                return True
        return self._source.copied is not None and _at(row, self._source.copied) is not None

    def _head(self, row: Any, t_us: int | None, forked: ForkedHistory) -> None:
        name = _at(row, forked.id)
        if self._session is None:
            self._session = str(name)
            self._made_us = _made_us(name) or t_us
            self._inside = _at(row, forked.parent) is not None
        elif name != self._session and self._made_us is not None and t_us is not None:
            # The head of the parent, in a log of a version that names no parent.
            self._inside = self._inside or t_us <= self._made_us + self._LATER_US

    def _is_own(self, turn: Any, t_us: int | None) -> bool:
        if self._made_us is None:
            return False
        turn_us = _made_us(turn)
        if turn_us is not None:
            self._old_turns = turn_us < self._made_us
            return not self._old_turns
        margin = self._MUCH_LATER_US if self._old_turns else self._LATER_US
        return t_us is not None and t_us > self._made_us + margin


def _made_us(name: Any) -> int | None:
    """When a UUID of version 7 was made (RFC 9562, section 5.7); None for other names."""
    try:
        made = UUID(name) if isinstance(name, str) else None
    except ValueError:
        return None
    return (made.int >> 80) * 1000 if made is not None and made.version == 7 else None


def _kind(value: Any) -> str:
    """The type that a row or element names, with the types of its parts."""
    if not isinstance(value, Mapping):
        return type(value).__name__
    inner = [value.get(name) for name in ("payload", "event", "part", "message", "data")]
    names = [
        said
        for one in (value, *inner)
        if isinstance(one, Mapping)
        for name in ("type", "subtype", "kind", "role")
        if isinstance(said := one.get(name), str)
    ]
    names = list(dict.fromkeys(names)) or sorted(str(name) for name in value)[:2]
    return visible("/".join(names) or "without a name", limit=80)


def _moment_us(said: Any) -> int | None:
    """A moment in microseconds since 1970; None if there is no readable one."""
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


def _matches(value: Any, wanted: Mapping[str, Any]) -> bool:
    return all(_is(_at(value, path), one) for path, one in wanted.items())


def _is(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_is(found, one) for one in wanted)
    if isinstance(wanted, str) and wanted.startswith("~"):
        return isinstance(found, str) and _begins(found, wanted[1:])
    return bool(found == wanted)


def _begins(text: str, pattern: str) -> bool:
    match = next(file_pattern(pattern).matches(text[:_BEGIN_CHARS]), None)
    return match is not None and match.start() == 0


def _agrees(row: Any, rule: EventRule) -> bool:
    """Whether a row matches the conditions of a rule besides ``where``."""
    return not any(_is(_at(row, path), one) for path, one in rule.unless.items()) and all(
        _at(row, path) is not None for path in rule.exists
    )


def _elements(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [{"type": "text", "text": value}] if value else []
    return value if isinstance(value, list) else []


def _event(rule: EventRule, element: Any, row: Any) -> dict[str, Any] | None:
    """The event that a rule finds in a row or in an element of it."""
    if rule.each is not None and not (
        _matches(element, rule.each_where)
        and not any(_is(_at(element, path), one) for path, one in rule.each_unless.items())
    ):
        return None
    found = {
        name: value
        for name, path in rule.fields.items()
        if (value := _field(element, row, name, path)) is not None
    }
    if found.get("text") == "" or (rule.type == "tool-result" and "output" not in found):
        return None
    if rule.each is not None and all(rule.fields[name][0] in "=/" for name in found):
        return None
    return {"type": rule.type, **found}


def _field(element: Any, row: Any, name: str, path: str) -> Any:
    """The value of one field; None if it is missing."""
    if path.startswith("/"):
        element, path = row, path[1:]
    if name in _COUNTS:
        return _sum(element, path)
    if path.startswith("="):
        return path[1:]
    value = _at(element, path)
    if name == "cost_usd":
        return to_number(value)
    if name == "sidechain":
        return bool(value) or None
    if name in {"output", "name"}:
        return _as_text(_without_files(value))
    return value


def _as_text(value: Any) -> Any:
    """The text of a list that consists only of text blocks; other values unchanged."""
    if not isinstance(value, list) or not value:
        return value
    texts = [
        one["text"]
        for one in value
        if isinstance(one, dict) and one.get("type") == "text" and isinstance(one.get("text"), str)
    ]
    return "\n".join(texts) if len(texts) == len(value) else value


def _without_files(value: Any) -> Any:
    """A value without the bytes of pictures and documents, which a log holds in base64."""
    match value:
        case {"data": str(data), **rest} if _is_base64(data):
            return {"data": f"{len(data)} characters of base64", **_each(rest)}
        case dict():
            return _each(value)
        case list():
            return [_without_files(one) for one in value]
        case str() if (found := _DATA_URL.match(value)) is not None:
            return f"{found[0]}... ({len(value)} characters)"
        case _:
            return value


def _each(values: Mapping[Any, Any]) -> dict[str, Any]:
    return {name: _without_files(value) for name, value in values.items()}


def _is_base64(text: str) -> bool:
    return len(text) > _SHORT_FILE and _BASE64.match(text) is not None


def _sum(element: Any, paths: str) -> int | float | None:
    """The sum of the counts at ``a.b + a.c``; None if all are missing."""
    found = [to_number(_at(element, path)) for path in paths.split(" + ")]
    counts = [one for one in found if one is not None]
    return sum(counts) if counts else None


@cache
def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _at(value: Any, path: str) -> Any:
    """The value at a dotted path; None if the path does not exist."""
    for part in _parts(path):
        if isinstance(value, dict):
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


# Predicates over screens, as profiles and probes write them.


class ScreenPredicate(StrictTable, frozen=True, kw_only=True):
    """A condition on the screen."""

    contains: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    regex: str | None = None
    stable_ms: int = 0

    def __post_init__(self) -> None:
        check_regex(self.regex)
        if not (self.contains or self.absent or self.regex or self.stable_ms):
            raise ValueError("an empty predicate")

    def misses(self, screen: Screen) -> tuple[str, ...]:
        """The conditions that do not hold, in words."""
        text = screen.text
        failed = [f"contains {part!r}" for part in self.contains if part not in text]
        failed += [f"absent {part!r}" for part in self.absent if part in text]
        if self.regex and not file_pattern(self.regex, multiline=True).found(text):
            failed.append(f"regex '{self.regex}'")
        return tuple(failed)

    def holds(self, screen: Screen) -> bool:
        """Whether all conditions hold (except ``stable_ms``)."""
        return not self.misses(screen)
