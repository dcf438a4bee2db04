"""The base of all predicates: common fields, access to the evidence, failures.

A predicate is one class: its name in files (``tag``), its fields, ``problem`` (checks that types
cannot express) and ``judge`` (None when it holds, else why not and at what time). The table of all
is in ``_predicates.py``.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import itertools
import operator
import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol

import msgspec
import yaml

from ptycassette.cassette.timeline.match import Entry, read_entries
from ptycassette.errors import UsageError
from ptycassette.model.re2_engine import FilePattern, FilePatterns, PatternError, file_pattern
from ptycassette.model.records import (
    Event,
    FinalRecord,
    FrameRecord,
    InputRecord,
    Manifest,
    OutputRecord,
    ServiceEventRecord,
)
from ptycassette.model.screen import DEFAULT_STYLE, Style
from ptycassette.terminal.widths import split_cells

# Limits for one check: a scenario and its recording may both come from a stranger.


MAX_EFFORT = 500_000_000
"""Forty predicates that each look at all of a thousand screens of 80x24 cells without a blank."""

PER_LOOK = 3_000
"""One screen or text, whatever is in it."""
PER_RECORD = 400
"""One of all events, of which only the time or the kind is looked at."""
PER_CHAR = 6
"""Looking for a text: ``aab`` among letters a is the worst."""
PER_PATTERN_CHAR = 10
"""Looking for a pattern: RE2 takes 2 to 8 ns for each byte, besides encoding it."""
PER_REWRITTEN_CHAR = 100
"""One normaliser."""
PER_VALUE = 3_000
"""One value of JSON that a path with wildcards looks at."""


class Effort:
    """Counts the effort of one check."""

    def __init__(self) -> None:
        self._left = MAX_EFFORT

    def spend(self, nanoseconds: int) -> None:
        """Count something that is about to be done.

        Raises:
            UsageError: the sum is over the limit.
        """
        self._left -= nanoseconds
        if self._left < 0:
            raise UsageError(
                "this scenario looks at too much: its predicates, times the screens and events"
                " that each looks at, would take more than about half a second",
                hint="split it into several files, or set at_ms or within_ms",
            )


# The evidence for predicates: the events of one recording, by kind.


# OSC 52 ; selection ; base64, ended by BEL or ST (xterm's ctlseqs, "Manipulate Selection Data").
_CLIPBOARD = re.compile(rb"\x1b\]52;[^;\x07\x1b]*;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)")
_LINK = re.compile(rb"\x1b\]8;[^;\x07\x1b]*;([^\x07\x1b]+)(?:\x07|\x1b\\)")


class Evidence:
    """The evidence of one recording.

    Args:
        manifest: of the recording.
        events: starts a fresh pass over all events.
        artifacts: the names of the files that the cassette holds.
    """

    def __init__(
        self,
        manifest: Manifest,
        events: Callable[[], Iterable[Event]],
        artifacts: Iterable[str] = (),
    ) -> None:
        self.manifest = manifest
        self.artifacts = frozenset(artifacts)
        self._events = events
        self.timed: list[tuple[int, int, str]] = []
        self.frames: list[FrameRecord] = []
        self.inputs: list[InputRecord] = []
        self.outputs: list[OutputRecord] = []
        self.services: list[ServiceEventRecord] = []
        self.final: FinalRecord | None = None
        for event in events():
            self._sort(event)
        self._frame_times = [frame.t_ms for frame in self.frames]
        self.end_ms = self.timed[-1][1] if self.timed else 0

    def _sort(self, event: Event) -> None:
        record = event.record
        self.timed.append((record.seq, record.t_ms, event.kind))
        match record:
            case FrameRecord():
                self.frames.append(record)
            case InputRecord():
                self.inputs.append(record)
            case OutputRecord():
                self.outputs.append(record)
            case ServiceEventRecord():
                self.services.append(record)
            case FinalRecord():
                self.final = record

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The recorded input as lines and the keys that sent them."""
        return read_entries(self.inputs)

    def start_of(self, exchange: int) -> int | None:
        """When input ``exchange`` (from 1) was complete, in ms; None without such an input."""
        if not 1 <= exchange <= len(self.entries):
            return None
        return self.entries[exchange - 1].last_t_us // 1000

    def frame_at(self, t_ms: int) -> FrameRecord | None:
        """The frame that was shown at ``t_ms``: the latest at or before."""
        at = bisect.bisect_right(self._frame_times, t_ms)
        return self.frames[at - 1] if at else None

    def frames_between(self, start_ms: int, end_ms: int) -> Iterator[FrameRecord]:
        """The frame shown at the start, and all that came up to the end."""
        first = max(0, bisect.bisect_right(self._frame_times, start_ms) - 1)
        for at in range(first, len(self.frames)):
            if self.frames[at].t_ms > end_ms:
                return
            yield self.frames[at]

    def values_in(self, service: int) -> int:
        """How many JSON values a service event holds, by its number from 0."""
        return self._value_counts[service]

    @cached_property
    def _value_counts(self) -> list[int]:
        return [_values(record.payload) for record in self.services]

    @cached_property
    def clipboard(self) -> list[str]:
        """The texts put into the clipboard."""
        found = []
        for match in _CLIPBOARD.finditer(self._raw):
            try:
                found.append(base64.b64decode(match[1], validate=True).decode("utf-8", "replace"))
            except (binascii.Error, ValueError):
                continue
        return found

    @cached_property
    def links(self) -> list[str]:
        """The addresses of hyperlinks."""
        return [match[1].decode("utf-8", "replace") for match in _LINK.finditer(self._raw)]

    @cached_property
    def _raw(self) -> bytes:
        return b"".join(event.data for event in self._events() if event.kind == "output")


def _values(payload: Any) -> int:
    """How many values JSON holds, itself included. It nests no deeper than a reader allows."""
    if isinstance(payload, dict):
        return 1 + sum(map(_values, payload.values()))
    return 1 + sum(map(_values, payload)) if isinstance(payload, list) else 1


# Rewrites of volatile but harmless text, for comparison only; evidence stays as it is.


class Normaliser(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rewrite of volatile text, for comparison alone (extension)."""

    pattern: str
    replace: str = ""


MAX_CHARS = 4_000_000
"""Of normalised text. The largest screen has a million cells."""

# Braille, circle and star frames anywhere; the ASCII ones only as words of their own.
_SPINNER = (
    r"[\u2800-\u28ff\u25d0-\u25d3\u25f4-\u25f7\u2722\u2733\u2736\u273b\u273d]"
    r"|(?<=\s)[|/\\-](?=\s)"
)
# Not the 907d of a uuid, whichever of the two is replaced first.
_DURATION = (
    r"(?<![0-9a-fA-F]{4}-)<?\b\d+(?:\.\d+)?\s?(?:ms|s|m|h|d)\b(?!-[0-9a-fA-F]{4}-)"
    r"(?:\s\d+(?:\.\d+)?\s?(?:ms|s|m)\b)*"
)
BUILT_IN: dict[str, tuple[str, str]] = {
    "clock": (r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:\s?[AaPp][Mm])?\b", "<clock>"),
    "date": (r"\b\d{4}-\d{2}-\d{2}\b", "<date>"),
    "duration": (_DURATION, "<duration>"),
    "pid": (r"(?i)\b(pid[ :=#]*)\d+\b", r"\1<pid>"),
    "uuid": (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<uuid>"),
    "hex": (r"\b[0-9a-f]{7,64}\b", "<hex>"),
    "number": (r"\b\d+(?:[.,]\d+)*\b", "<number>"),
    "spinner": (_SPINNER, "<spinner>"),
    "space": (r"[ \t]+", " "),
    "path": (r"(?<![\w./~-])(?:~|/)[\w.@+-]*(?:/[\w.@+-]+)+/?", "<path>"),
    "tokens": (r"\b\d+(?:\.\d+)?[kKmM]?\s(?=tokens?\b)", "<number> "),
    "cost": (r"\$\d+(?:\.\d+)?", "<cost>"),
}  # fmt: skip
"""Name to pattern and replacement. Ours, so that look-around is allowed in them."""

_TEMPLATE = re.compile(r"\\(?:([1-9][0-9]?)|g<(\w+)>|([abfnrtv\\]))|\\|[^\\]+", re.DOTALL)
_CONTROLS = dict(zip("abfnrtv\\", "\a\b\f\n\r\t\v\\", strict=True))


def normaliser_of(
    names: Iterable[str], defined: Mapping[str, Normaliser] | None = None
) -> Callable[[str], str]:
    """A function that applies the named normalisers, in order.

    It raises ``UsageError`` if one of them makes the text too long.

    Raises:
        KeyError: a name that is neither built in nor defined.
        ValueError: a definition is wrong (``normaliser_problem``).
    """
    steps = [_step(name, (defined or {}).get(name)) for name in names]

    def normalise(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return normalise


def normaliser_problem(normaliser: Normaliser) -> str | None:
    """The problem with a normaliser from a file; None if it is valid."""
    try:
        _parts(normaliser.replace, file_pattern(normaliser.pattern))
    except ValueError as exc:
        return str(exc)
    return None


def _step(name: str, own: Normaliser | None) -> Callable[[str], str]:
    if own is None:
        pattern, replacement = BUILT_IN[name]
        compiled = re.compile(pattern)
        return lambda text: _bounded(name, compiled.sub(replacement, text))
    engine = file_pattern(own.pattern)
    parts = _parts(own.replace, engine)
    return lambda text: _rewritten(name, engine, parts, text)


def _rewritten(name: str, pattern: FilePattern, parts: list[str | int], text: str) -> str:
    """Replace every match; the length is checked before each step."""
    pieces: list[str] = []
    length = end = 0
    for match in pattern.matches(text):
        fresh = [text[end : match.start()]]
        fresh += [part if isinstance(part, str) else match[part] or "" for part in parts]
        end = match.end()
        length += sum(map(len, fresh))
        if length > MAX_CHARS:
            raise _too_long(name)
        pieces += fresh
    return _bounded(name, "".join([*pieces, text[end:]]))


def _bounded(name: str, text: str) -> str:
    if len(text) > MAX_CHARS:
        raise _too_long(name)
    return text


def _too_long(name: str) -> UsageError:
    return UsageError(
        f"normaliser {name!r} makes the text longer than {MAX_CHARS} characters",
        hint="replace by something short, and name each normaliser once",
    )


def _parts(template: str, pattern: FilePattern) -> list[str | int]:
    r"""A replacement: texts, and numbers of groups (``\1``, ``\g<name>``).

    Raises:
        ValueError: an escape or a group that does not exist.
    """
    parts: list[str | int] = []
    for token in _TEMPLATE.finditer(template):
        number, name, control = token.groups()
        if number or name:
            parts.append(pattern.group_number(number or name))
        elif control:
            parts.append(_CONTROLS[control])
        elif token[0] == "\\":
            raise ValueError(rf"replace {template!r}: \1, \g<name>, \n and \\ are known")
        else:
            parts.append(token[0])
    return parts


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 300
_KINDS = {"input", "output", "frame", "service-event", "final", ""}


class Failed(msgspec.Struct, frozen=True):
    """The reason why a predicate does not hold, and the time."""

    message: str
    t_ms: int


class PredicateContext(msgspec.Struct, frozen=True):
    """The file around a predicate: its normalisers, and its patterns so far."""

    normalisers: Collection[str]
    patterns: FilePatterns


class Worded(Protocol):
    """A predicate that looks for a text or a pattern."""

    @property
    def text(self) -> str | None:
        """The text."""
        ...

    @property
    def regex(self) -> str | None:
        """The pattern."""
        ...


class Look:
    """The evidence for a predicate, from a start time.

    Args:
        evidence: the recording.
        defined: the normalisers of the scenario.
        start_ms: the time that the predicate names, or 0.
        effort: counts what is searched.
        fixed: whether the predicate names a time.
    """

    def __init__(
        self,
        evidence: Evidence,
        defined: Mapping[str, Normaliser],
        start_ms: int,
        effort: Effort,
        *,
        fixed: bool,
    ) -> None:
        self.evidence = evidence
        self.defined = defined
        self.start_ms = start_ms
        self.effort = effort
        self.fixed = fixed

    def end_ms(self, within_ms: int | None) -> int:
        """The end of a window that begins at the requested time."""
        return self.start_ms + within_ms if within_ms else self.evidence.end_ms

    def shown(self) -> list[FrameRecord]:
        """The frame at the given time, or all frames."""
        if not self.fixed:
            return self.evidence.frames
        frame = self.evidence.frame_at(self.start_ms)
        return [frame] if frame else []

    def frame_is(
        self,
        right: Callable[[FrameRecord], bool],
        expected: str,
        got: Callable[[FrameRecord], str],
    ) -> Failed | None:
        """Whether the frame at the given time is right."""
        frame = self.evidence.frame_at(self.start_ms)
        if frame is None:
            return Failed(f"there is no frame at {self.start_ms} ms", self.start_ms)
        if right(frame):
            return None
        return Failed(f"expected {expected}, got {got(frame)}", frame.t_ms)

    def eventually(
        self, within_ms: int | None, found: Callable[[FrameRecord], bool], expected: str
    ) -> Failed | None:
        """Whether some frame of the window is right."""
        end_ms = self.end_ms(within_ms)
        for frame in self.evidence.frames_between(self.start_ms, end_ms):
            self.effort.spend(PER_LOOK)
            if found(frame):
                return None
        return Failed(f"{expected} did not come from {self.start_ms} to {end_ms} ms", end_ms)

    def any_text(self, query: Worded, texts: Iterable[str], what: str) -> Failed | None:
        """Whether the text is in one of several."""
        pattern = None if query.regex is None else file_pattern(query.regex)
        per_char = PER_CHAR if pattern is None else PER_PATTERN_CHAR
        seen: dict[str, None] = {}
        for text in texts:
            self.effort.spend(PER_LOOK + per_char * len(text))
            if text in seen:
                continue
            if (query.text or "") in text if pattern is None else pattern.found(text):
                return None
            seen[text] = None
        shown = in_short(seen)
        return Failed(f"no {what} with {wanted(query)}; there was {shown}", self.start_ms)


class Base(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """The fields that every predicate may have.

    ``name`` is shown in reports. ``negate`` (written ``not``, extension) turns the
    outcome around. ``at_ms`` is a time of the recording, or, with ``exchange``
    (extension), the time since that input was sent.
    """

    name: str = ""
    negate: bool = msgspec.field(name="not", default=False)
    at_ms: int | None = None
    exchange: int | None = None

    def problem(self, known: PredicateContext) -> str | None:  # noqa: ARG002
        """A problem with its fields beyond their types; None if they are valid."""
        return None


def in_short(values: Iterable[Any]) -> str:
    """The first of some values, each shortened, for messages."""
    return ", ".join(map(_SHORT.repr, itertools.islice(values, 5))) or "nothing"


def wanted(query: Worded) -> str:
    """The wanted text or pattern, for messages."""
    return f"/{query.regex}/" if query.regex is not None else repr(query.text)


def bad_text(query: Worded, known: PredicateContext, *, optional: bool = False) -> str | None:
    """The problem with ``text`` and ``regex``, one of which must be given."""
    given = (query.text is not None) + (query.regex is not None)
    if given > 1 or (not given and not optional):
        return "give text or regex, one of them"
    if query.text == "":
        return "an empty text is in every screen: it cannot fail"
    return None if query.regex is None else bad_pattern(query.regex, known.patterns)


def bad_kind(**fields: str) -> str | None:
    """The problem with fields that name a kind of event; None if they are valid."""
    for field, kind in fields.items():
        if kind not in _KINDS:
            return f"{field} {kind!r} is not one of {', '.join(sorted(_KINDS - {''}))}"
    return None


def bad_pattern(pattern: str, patterns: FilePatterns) -> str | None:
    """Why a pattern of the file is refused."""
    try:
        patterns.check(pattern)
    except PatternError as exc:
        return f"regex '{pattern}': {exc}"
    return None


# A first scenario for a recording, and the same scenario for a new one. YAML text out.


_REQUIRED = (
    "manifest.json", "input.jsonl", "output.raw", "output.jsonl", "frames.jsonl",
    "service-events.jsonl", "final.json", "scrub-report.json",
)  # fmt: skip
MAX_LINES = 5


def draft_scenario(evidence: Evidence, *, name: str, cassette_path: str) -> str:
    """Draft a scenario that the recording passes: its screens, its input, its end.

    Edit it afterwards: it covers everything that is there, not only what matters.
    """
    manifest = evidence.manifest
    terminal = manifest.terminal
    groups: dict[str, list[dict[str, Any]]] = {"screen": _screen(evidence)}
    groups["streams"] = [{"type": "raw_output_order"}]
    for entry in evidence.entries[:20]:
        if not entry.masked and entry.text.strip():
            groups["streams"].append({"type": "input_text", "text": entry.text})
    exit_status = evidence.final.exit if evidence.final else None
    if exit_status is not None:
        groups["end"] = [
            {
                "type": "exit_status",
                "exit_code": exit_status.code,
                "signaled": exit_status.signaled,
            }
        ]
    document = {
        "name": name,
        "cassette_path": cassette_path,
        "expected_manifest_id": manifest.id,
        "expected_content_digest": manifest.content_digest.sha256,
        "required_emulator": {
            "name": terminal.emulator.name,
            "version": terminal.emulator.version,
        },
        "replay_mode": "collapsed",
        "terminal_size": {"rows": terminal.initial_rows, "cols": terminal.initial_cols},
        "expected_artifacts": list(_REQUIRED),
        "groups": {group: checks for group, checks in groups.items() if checks},
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def draft_expectations(evidence: Evidence, *, name: str, cassette_path: str) -> str:
    """A scenario of what a reviewed run showed: as ``draft_scenario``, and its whole end.

    That is the last screen row by row, the final text, what the tape counts (requests, models,
    outcomes), and the tools that were called.
    """
    document = yaml.safe_load(draft_scenario(evidence, name=name, cassette_path=cassette_path))
    groups = document["groups"]
    if evidence.frames:
        last = evidence.frames[-1]
        groups["last-screen"] = [
            {"type": "frame_contains", "at_ms": evidence.end_ms, "row": number, "text": row}
            for number, row in enumerate(last.text)
            if row.strip()
        ]
    final = evidence.final
    metadata = (final.metadata if final else None) or {}
    if "tape" in metadata:
        check = {"type": "final_metadata", "metadata_key": "tape", "equals": metadata["tape"]}
        groups["requests"] = [check]
    if final is not None and final.final_text:
        groups["final-text"] = [{"type": "final_metadata", "text": final.final_text}]
    groups["tools"] = [
        {"type": "service_json", "json_path": "$.name", "equals": tool} for tool in _tools(evidence)
    ]
    document["groups"] = {group: checks for group, checks in groups.items() if checks}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def _tools(evidence: Evidence) -> list[str]:
    """The names of the tools that were called, each once, in order."""
    payloads = [record.payload for record in evidence.services if isinstance(record.payload, dict)]
    names = [one.get("name") for one in payloads if one.get("type") == "tool-call"]
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _screen(evidence: Evidence) -> list[dict[str, Any]]:
    """The longest lines of the first screen with text, and of the last."""
    checks: list[dict[str, Any]] = []
    spoken = [frame for frame in evidence.frames if any(row.strip() for row in frame.text)]
    for label, frames in (("first", spoken[:1]), ("last", spoken[-1:])):
        for frame in frames:
            rows = sorted({row.strip() for row in frame.text if row.strip()}, key=_by_length)
            for number, row in enumerate(rows[-MAX_LINES:], 1):
                check = {"name": f"{label}-{number}", "type": "frame_contains", "text": row}
                if not any(other["text"] == row for other in checks):
                    checks.append(check)
    return checks


def _by_length(row: str) -> tuple[int, str]:
    return len(row), row


def repin_scenario(text: str, evidence: Evidence) -> str:
    """The scenario's text with the pins of the recording; everything else is unchanged.

    Raises:
        ValueError: a pin is not on a separate line.
    """
    emulator = evidence.manifest.terminal.emulator
    pins = {
        "expected_manifest_id": evidence.manifest.id,
        "expected_content_digest": evidence.manifest.content_digest.sha256,
    }
    lines = text.splitlines(keepends=True)
    for key, value in pins.items():
        places = [number for number, line in enumerate(lines) if line.startswith(f"{key}:")]
        if len(places) != 1:
            raise ValueError(f"{key} is on {len(places)} lines of its own, not on one")
        ending = "\n" if lines[places[0]].endswith("\n") else ""
        lines[places[0]] = f"{key}: {value}{ending}"
    new = "".join(lines)
    document = yaml.safe_load(new)
    pin = document.get("required_emulator")
    if pin and pin != {"name": emulator.name, "version": emulator.version}:
        raise ValueError(
            f"required_emulator is {pin!r}, the recording has {emulator.name} {emulator.version}; "
            "change it by hand if that is meant"
        )
    return new


# The predicate on styles, by the style runs of our frames or the cells of the reference's.


_PER_CELL = 300


class StyleIs(Base, frozen=True, kw_only=True, tag="style"):
    """Text painted so at ``at_ms``. Colours are palette numbers or ``#rrggbb``.

    The attributes are an extension.
    """

    text: str
    fg: int | str | None = None
    bg: int | str | None = None
    bold: bool | None = None
    dim: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    reverse: bool | None = None
    strike: bool | None = None

    def judge(self, look: Look) -> Failed | None:
        """The failure, or None."""

        def right(frame: FrameRecord) -> bool:
            cells = sum(map(len, frame.cells or frame.text)) + sum(map(len, frame.styles or ()))
            look.effort.spend(_PER_CELL * cells)
            return styled(frame, self)

        return look.frame_is(
            right,
            f"{self.text!r} painted so",
            lambda _: "no such text, or painted otherwise",
        )


def styled(frame: FrameRecord, wanted: StyleIs) -> bool:
    """Whether the frame has the text somewhere with all of its cells in the wanted style."""
    if not wanted.text:
        return False
    if frame.styles is None and frame.cells is not None:
        return any(_row_of_cells(row, wanted) for row in frame.cells)
    return any(_row_of_runs(frame, number, wanted) for number in range(len(frame.text)))


def _row_of_runs(frame: FrameRecord, number: int, wanted: StyleIs) -> bool:
    row = frame.text[number]
    if wanted.text not in row:
        return False
    cells = split_cells(row)
    runs = frame.styles[number] if frame.styles and number < len(frame.styles) else ()
    right = [_painted(DEFAULT_STYLE, wanted)] * len(cells)
    for run in runs:
        end = min(run.col + run.length, len(cells))
        right[run.col : end] = [_painted(run.style, wanted)] * max(0, end - run.col)
    return _stands(row, wanted.text, right, [*itertools.accumulate(map(len, cells), initial=0)])


def _stands(row: str, text: str, right: list[bool], starts: list[int]) -> bool:
    """Whether the row has the text at a place where all of its cells are right.

    Args:
        row: its text.
        text: the wanted text.
        right: for each cell whether its style is right.
        starts: for each cell the index of its first character in the row, and the end.
    """
    wrong = [0, *itertools.accumulate(not one for one in right)]  # in the cells before each
    at = row.find(text)
    while at >= 0:
        first = bisect.bisect_right(starts, at) - 1
        last = bisect.bisect_right(starts, at + len(text)) - 1
        if wrong[last] == wrong[first]:
            return True
        at = row.find(text, at + 1)
    return False


def _painted(style: Style, wanted: StyleIs) -> bool:
    if wanted.fg is not None and style.fg != wanted.fg:
        return False
    if wanted.bg is not None and style.bg != wanted.bg:
        return False
    for name in ("bold", "dim", "italic", "reverse", "strike"):
        want = getattr(wanted, name)
        if want is not None and getattr(style, name) != want:
            return False
    return wanted.underline is None or bool(style.underline) == wanted.underline


def _row_of_cells(row: list[dict[str, Any]], wanted: StyleIs) -> bool:
    chars = "".join(chr(cell.get("Char", 32) or 32) for cell in row)
    right = [
        (wanted.fg is None or cell.get("FG") == wanted.fg)
        and (wanted.bg is None or cell.get("BG") == wanted.bg)
        for cell in row
    ]
    return _stands(chars, wanted.text, right, [*range(len(row) + 1)])


# Comparisons of a JSON value; all that the scenario gives must hold.


JsonValue = Any


class Compare(Base, frozen=True, kw_only=True):
    """Comparisons of a JSON value; all given must hold. All but ``equals`` are extensions."""

    equals: JsonValue | msgspec.UnsetType = msgspec.UNSET
    not_equals: JsonValue | msgspec.UnsetType = msgspec.UNSET
    less_than: float | None = None
    at_most: float | None = None
    greater_than: float | None = None
    at_least: float | None = None
    contains: JsonValue | msgspec.UnsetType = msgspec.UNSET
    matches: str | None = None
    one_of: tuple[JsonValue, ...] | None = None
    exists: bool | None = None

    def problem(self, known: PredicateContext) -> str | None:
        """A problem with its fields beyond their types; None if they are valid."""
        if self.matches is None or (bad := bad_pattern(self.matches, known.patterns)) is None:
            return None
        return f"matches: {bad}"


def compares(predicate: Compare, value: Any) -> bool:
    """Whether all comparisons of the predicate hold for the value."""
    checks: list[bool] = []
    if predicate.equals is not msgspec.UNSET:
        checks.append(_same(value, predicate.equals))
    if predicate.not_equals is not msgspec.UNSET:
        checks.append(not _same(value, predicate.not_equals))
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    for bound, holds in (
        (predicate.less_than, operator.lt),
        (predicate.at_most, operator.le),
        (predicate.greater_than, operator.gt),
        (predicate.at_least, operator.ge),
    ):
        if bound is not None:
            checks.append(number is not None and bool(holds(number, bound)))
    if predicate.contains is not msgspec.UNSET:
        checks.append(isinstance(value, str | list | dict) and _contains(value, predicate.contains))
    if predicate.matches is not None:
        checks.append(isinstance(value, str) and file_pattern(predicate.matches).found(value))
    if predicate.one_of is not None:
        checks.append(any(_same(value, option) for option in predicate.one_of))
    if predicate.exists is not None:
        checks.append(predicate.exists)
    # Without any comparison the reference compares with null.
    return all(checks) if checks else value is None


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _contains(value: Any, part: Any) -> bool:
    return part in value if not isinstance(value, str) else isinstance(part, str) and part in value
