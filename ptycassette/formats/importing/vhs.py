"""Import tapes of VHS as input scripts of ``rec``.

A tape is not a recording but a script: it contains the keys and waits for a shell, the typing speed
and the look of the picture. Its tokens may be on any line. An import runs nothing and follows
no ``Require``, ``Source`` or ``Output``. Source: ``lexer/lexer.go``, ``parser/parser.go`` and
``token/token.go`` of github.com/charmbracelet/vhs, version 0.11; shells: ``shell.go``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from ptycassette.formats.importing.session import BadImportError, ImportedScript
from ptycassette.keys.names import encode_key
from ptycassette.keys.quantities import parse_time, time_text
from ptycassette.model.re2_engine import FilePatterns
from ptycassette.model.visible_text import visible

# The settings of a VHS tape: shell, size, speed; the rest is the look of the picture.


_PROMPT = "> "
_FISH_PROMPT = "function fish_prompt; echo -n '> '; end"
_SHELLS = {
    "bash": (("bash", "--noprofile", "--norc"), ("--env", f"PS1={_PROMPT}")),
    "zsh": (("zsh", "--histnostore", "--no-rcs"), ("--env", f"PROMPT={_PROMPT}")),
    "fish": (("fish", "--no-config", "--private", "-C", _FISH_PROMPT), ()),
    "sh": (("sh",), ("--env", f"PS1={_PROMPT}")),
}  # fmt: skip
_NUMBERS = {
    "Width": 1200.0, "Height": 600.0, "Padding": 60.0, "Margin": 0.0, "WindowBarSize": 30.0,
    "FontSize": 22.0, "LetterSpacing": 1.0, "LineHeight": 1.0,
}  # fmt: skip
"""Settings that determine the number of cells, and VHS's defaults."""
_STYLES = frozenset({
    "BorderRadius", "CursorBlink", "FontFamily", "Framerate", "LoopOffset", "MarginFill",
    "PlaybackSpeed", "Theme", "WindowBar", "SubtitleFontSize", "SubtitleColor",
    "SubtitleBackground", "SubtitlePosition", "SubtitlePadding", "SubtitleBorderRadius",
    "SubtitleFontFamily",
})  # fmt: skip
_CELL_WIDTH, _CELL_HEIGHT = 0.6, 1.32
"""The cell of VHS's font, JetBrains Mono, in units of its size."""
_LARGEST = 1e6
_SIDES = range(1, 1001)


class Settings:
    """The values of all ``Set`` commands so far."""

    def __init__(self) -> None:
        self._numbers = dict(_NUMBERS)
        self._bar = False
        self._shell = "bash"
        self.typing_speed_s = 0.05
        self.wait_timeout_s = 15.0
        self.wait_pattern = ">$"

    def set(self, name: str, value: str) -> bool:
        """Set one value; return True if it only affects the look and is ignored.

        Raises:
            ValueError: there is no such setting, or the value is invalid.
        """
        if name in _NUMBERS:
            try:
                self._numbers[name] = float(value)
            except ValueError:
                raise ValueError(f"{name} is a number, not {visible(value, limit=40)}") from None
            if not 0 <= self._numbers[name] <= _LARGEST:
                raise ValueError(f"{name} is not between 0 and {_LARGEST:g}")
        elif name == "Shell":
            if value not in _SHELLS:
                raise ValueError(
                    f"Shell {visible(value, limit=40)}: known are {', '.join(_SHELLS)}"
                )
            self._shell = value
        elif name == "WaitPattern":
            self.wait_pattern = value
        elif name in _STYLES:
            self._bar |= name == "WindowBar"
            return True
        else:
            raise ValueError(f"not a setting of a tape: {visible(name, limit=40)}")
        return False

    @property
    def argv(self) -> tuple[str, ...]:
        """The shell without the user's own configuration, as VHS starts it."""
        return _SHELLS[self._shell][0]

    @property
    def options(self) -> tuple[str, ...]:
        """Options of ``rec``: the size in cells, close to that of VHS; the prompt of the shell.

        Raises:
            ValueError: the size has no cell, or too many.
        """
        numbers = self._numbers
        around = 2 * (numbers["Padding"] + numbers["Margin"])
        bar = numbers["WindowBarSize"] if self._bar else 0.0
        width = numbers["FontSize"] * _CELL_WIDTH + numbers["LetterSpacing"]
        height = numbers["FontSize"] * _CELL_HEIGHT * numbers["LineHeight"]
        if width <= 0 or height <= 0:
            raise ValueError("the font has no size")
        cols = int((numbers["Width"] - around) / width)
        rows = int((numbers["Height"] - around - bar) / height)
        if rows not in _SIDES or cols not in _SIDES:
            raise ValueError(
                f"the size comes to {cols}x{rows} cells; at least 1x1, at most 1000x1000"
            )
        return ("--window-size", f"{cols}x{rows}", *_SHELLS[self._shell][1])

    @property
    def first_steps(self) -> tuple[str, ...]:
        """Wait for the shell's prompt before the first key, as tapes assume."""
        return ("wait-regex >$",)


MAX_TAPE_BYTES = 1 << 20
MAX_STEPS = 20_000

_TOKEN = re.compile(
    r"""(?P<blank>\s+)|(?P<comment>\#[^\n]*)"""
    r"""|(?P<text>"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)|(?P<regex>/[^/\n]*/)|(?P<json>\{[^}]*\})"""
    r"""|(?P<number>\d[\d.]*|\.\d[\d.]*)|(?P<word>[A-Za-z.][A-Za-z0-9._/%-]*)|(?P<mark>[-@=\]\[%^\\+])"""
)
_KEYS = {
    "Backspace": "backspace", "Delete": "delete", "Down": "down", "End": "end", "Enter": "enter",
    "Escape": "escape", "Home": "home", "Insert": "insert", "Left": "left", "PageDown": "pagedown",
    "PageUp": "pageup", "Right": "right", "Space": "space", "Tab": "tab", "Up": "up",
}  # fmt: skip
_MODIFIERS = {"Ctrl": "ctrl", "Alt": "alt", "Shift": "shift"}
_WORDS = frozenset({
    "Type", "Sleep", "Wait", "Set", "Output", "Require", "Hide", "Show", "Screenshot", "Copy",
    "Paste", "Source", "Env", "Subtitle", "ScrollUp", "ScrollDown",
})  # fmt: skip
_NAMES = frozenset({*_KEYS, *_MODIFIERS, *_WORDS})
_UNITS = {"ms", "s", "m"}
_LONGEST_S = 86_400.0


class _Token(NamedTuple):
    kind: str
    text: str
    line: int

    @property
    def is_text(self) -> bool:
        return self.kind == "text" or (self.kind == "word" and self.text not in _NAMES)


def read_vhs(data: bytes) -> ImportedScript:
    """The input script that does the same as a tape.

    Raises:
        BadImportError: it is not a tape, or reads another file; the message has the line.
    """
    if len(data) > MAX_TAPE_BYTES:
        raise BadImportError(f"it is larger than {MAX_TAPE_BYTES >> 20} MB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise BadImportError(f"line {line}: it is not UTF-8") from exc
    tape = _Tape(list(_tokens(text)))
    while tape.left:
        tape.command()
    if not tape.steps:
        raise BadImportError("nothing in it is typed or waited for")
    try:
        options = tape.settings.options
    except ValueError as exc:
        raise BadImportError(f"the settings: {exc}") from exc
    return ImportedScript(
        steps=(*tape.settings.first_steps, *tape.steps, "signal hup"),
        options=(*options, *tape.options),
        argv=tape.settings.argv,
        skipped=dict(tape.skipped),
    )


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            what = "a quote is not closed" if text[at] in "\"'`/{" else "no token of a tape"
            raise BadImportError(f"line {line}: {what}: {visible(text[at : at + 20])!r}")
        kind, token = found.lastgroup or "", found.group()
        if kind in {"text", "regex"}:
            yield _Token(kind, token[1:-1], line)
        elif kind not in {"blank", "comment"}:
            yield _Token(kind, token, line)
        at = found.end()
        line += token.count("\n")


class _Tape:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._at = tokens, 0
        self._line = 1
        self._clipboard: str | None = None
        self._pace_s: float | None = None
        self._presses = 0
        self.settings = Settings()
        self.steps: list[str] = []
        self.options: list[str] = []
        self.skipped: Counter[str] = Counter()

    @property
    def left(self) -> bool:
        return self._at < len(self._tokens)

    def command(self) -> None:
        """Read one command.

        Raises:
            BadImportError: it is not a command.
        """
        token = self._next("a command")
        self._line = token.line
        name = token.text
        if token.kind != "word" or name not in _NAMES:
            raise self._wrong(f"no command of a tape: {visible(name, limit=40)}")
        if name in _KEYS or name in {"ScrollUp", "ScrollDown"}:
            self._key(name)
        elif name in _MODIFIERS:
            self._chord(name)
        else:
            commands: dict[str, Callable[[], None]] = {
                "Type": self._type, "Sleep": self._sleep, "Wait": self._wait, "Set": self._set,
                "Env": self._env, "Copy": self._copy, "Paste": self._paste, "Source": self._source,
            }  # fmt: skip
            commands.get(name, lambda: self._other(name))()
        if len(self.steps) > MAX_STEPS:
            raise self._wrong(f"more than {MAX_STEPS} steps")

    def _type(self) -> None:
        pace_s = self._speed()
        self._pace(pace_s)
        self.steps.append(f"type {_quoted(self._texts('Type'))}")

    def _key(self, name: str) -> None:
        pace_s = self._speed()
        count = self._count()
        if name not in _KEYS:
            self.skipped[f"{name}: a recording keeps what has scrolled off"] += 1
            return
        self._pace(pace_s)
        self.steps += ["key " + " ".join([_KEYS[name]] * count)]

    def _chord(self, name: str) -> None:
        parts = [_MODIFIERS[name]]
        while self._take("mark", "+"):
            one = self._next("a key")
            parts.append(_MODIFIERS.get(one.text) or _KEYS.get(one.text) or _plain(one.text, parts))
        key = "-".join(parts)
        try:
            encode_key(key)
        except ValueError as exc:
            raise self._wrong(str(exc)) from exc
        self._pace(None)
        self.steps.append(f"key {key}")

    def _sleep(self) -> None:
        self.steps.append(f"pause {_written(self._time('Sleep'))}")

    def _wait(self) -> None:
        if self._take("mark", "+"):
            where = self._next("Line or Screen").text
            if where not in {"Line", "Screen"}:
                raise self._wrong("Wait+ expects Line or Screen")
        else:
            where = "Line"
        timeout_s = self._speed()
        regex = self._take("regex")
        pattern = self.settings.wait_pattern if regex is None else regex.text
        try:
            FilePatterns().check(pattern, multiline=True)
        except ValueError as exc:
            raise self._wrong(str(exc)) from exc
        if where == "Line":
            self.skipped["Wait for the line of the cursor: any line of the screen counts"] += 1
        seconds = self.settings.wait_timeout_s if timeout_s is None else timeout_s
        self.steps += [f"timeout {_written(seconds)}", f"wait-regex {_quoted(pattern)}"]

    def _set(self) -> None:
        name = self._next("a setting").text
        if name in {"TypingSpeed", "WaitTimeout"}:
            seconds = self._time(name)
            if name == "TypingSpeed":
                self.settings.typing_speed_s = seconds
            else:
                self.settings.wait_timeout_s = seconds
            return
        value = self._next(f"a value for {visible(name, limit=40)}")
        if value.kind == "mark" and value.text == "-":
            value = self._next("a number")
        while self.left and self._tokens[self._at].text in {"px", "em", "%", "ms", "s"}:
            self._at += 1
        try:
            style = self.settings.set(name, value.text)
        except ValueError as exc:
            raise self._wrong(str(exc)) from exc
        if style:
            self.skipped[f"Set {name}: say it to export"] += 1

    def _env(self) -> None:
        name, value = self._next("a name").text, self._next("a value").text
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None or "\0" in value:
            raise self._wrong(f"no variable: {visible(name, limit=40)}")
        self.options += ["--env", f"{name}={value}"]

    def _copy(self) -> None:
        self._clipboard = self._texts("Copy")

    def _paste(self) -> None:
        if self._clipboard is None:
            raise self._wrong("Paste without Copy: what is in your clipboard is not read")
        self.steps.append(f"paste {_quoted(self._clipboard)}")

    def _source(self) -> None:
        name = visible(self._next("a file").text, limit=100)
        raise self._wrong(f"Source {name}: no other file is read; put its lines there")

    def _other(self, name: str) -> None:
        """Handle the commands that have no effect on a program."""
        what = "" if name in {"Hide", "Show"} else self._next(f"what {name} is of").text
        if name == "Output":
            self.skipped["Output: export the cassette"] += 1
        elif name == "Require":
            self.skipped["Require: no program is looked for"] += 1
        else:
            label = f"{name} {what}".strip()
            self.steps.append("note " + _json({"type": "marker", "label": label}))
            self.skipped[f"{name}: a marker stands there; nothing is hidden or drawn"] += 1

    def _pace(self, pace_s: float | None) -> None:
        """Set the typing speed of the next step, if it differs from the last step's."""
        pace_s = self.settings.typing_speed_s if pace_s is None else pace_s
        if pace_s != self._pace_s:
            self._pace_s = pace_s
            self.steps.append(f"pace {pace_s * 1000:g}ms")

    def _speed(self) -> float | None:
        return self._time("@") if self._take("mark", "@") else None

    def _time(self, what: str) -> float:
        number = self._take("number")
        text = "" if number is None else number.text
        if self.left and (unit := self._tokens[self._at]).kind == "word" and unit.text in _UNITS:
            self._at += 1
            text += unit.text
        try:
            return parse_time(text, longest_s=_LONGEST_S)
        except ValueError as exc:
            raise self._wrong(f"{what} expects a time: {exc}") from exc

    def _count(self) -> int:
        number = self._take("number")
        if number is None:
            return 1
        if not number.text.isdecimal() or not 1 <= int(number.text[:9]) <= MAX_STEPS:
            raise self._wrong(f"no number of times: {number.text[:20]}")
        self._presses += int(number.text)
        if self._presses > MAX_STEPS:
            raise self._wrong(f"more than {MAX_STEPS} repeated keys")
        return int(number.text)

    def _texts(self, what: str) -> str:
        texts = []
        while self.left and self._tokens[self._at].is_text:
            texts.append(self._next(what).text)
        if not texts:
            raise self._wrong(f"{what} expects a text")
        return " ".join(texts)

    def _take(self, kind: str, text: str | None = None) -> _Token | None:
        """The next token if it is of that kind."""
        if self.left:
            token = self._tokens[self._at]
            if token.kind == kind and text in {None, token.text}:
                self._at += 1
                return token
        return None

    def _next(self, expected: str) -> _Token:
        if not self.left:
            raise self._wrong(f"the tape ends, and {expected} is missing")
        self._at += 1
        return self._tokens[self._at - 1]

    def _wrong(self, what: str) -> BadImportError:
        return BadImportError(f"line {self._line}: {what}")


def _plain(text: str, before: list[str]) -> str:
    """A key of one character; after ctrl, upper and lower case are the same key."""
    return text.lower() if "ctrl" in before and len(text) == 1 else text


def _written(seconds: float) -> str:
    return time_text(seconds).replace(" ", "")


def _quoted(text: str) -> str:
    return _json(text)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
