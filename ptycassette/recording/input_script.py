"""The input script of ``rec --headless --input SCRIPT``: one step a line.

::

    # what is typed, and what is waited for
    timeout 20s
    wait-text $
    submit echo hello
    wait-regex ^hello$
    wait-idle
    key ctrl-d
    wait-exit

The first word is the step, and the rest of the line is its argument, taken
literally. An argument that begins with ``"`` is a JSON string, for spaces at the ends,
newlines and escapes. ``secret: TEXT`` may be written for ``secret TEXT``. Empty
lines and lines that begin with ``#`` are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import msgspec

from ptycassette.errors import UsageError
from ptycassette.keys.names import canonical_key
from ptycassette.keys.quantities import parse_size, parse_time
from ptycassette.model.records import NOT_JSON
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import printable, visible

if TYPE_CHECKING:
    # Loading it would delay rec; msgspec needs it only to decode steps, which never happens.
    from ptycassette.profiles.profile import Submit  # noqa: TC004

StepKind = Literal[
    "type",
    "key",
    "paste",
    "submit",
    "secret",
    "secret-env",
    "secret-file",
    "wait-text",
    "wait-regex",
    "wait-stable",
    "wait-idle",
    "wait-exit",
    "resize",
    "signal",
    "note",
    "pause",
]

STEPS = {
    "type": "type the text; a newline in it is Enter",
    "key": "press keys, by name: enter, ctrl-c, f5 ...",
    "paste": "paste the text, bracketed if the program asked for it",
    "submit": "type or paste the text, pause, press Enter, as agent CLIs need it",
    "secret": "as submit, of text that is secret; better not written here: secret-env",
    "secret-env": "as secret, of the value of this variable of rec's own environment",
    "secret-file": "as secret, of the first line of this file",
    "wait-text": "wait until the screen shows the text",
    "wait-regex": "wait until the regular expression is found in the rows of the screen",
    "wait-stable": "wait until the screen has not changed for that long (200ms)",
    "wait-idle": "wait until the program shows that it is your turn, or is quiet that long (500ms)",
    "wait-exit": "wait until the program has ended",
    "resize": "give the terminal another size, COLSxROWS",
    "signal": "send a signal to the foreground process group: int, term ...",
    "note": "put a service event on the record: a JSON value",
    "pause": "let that much time pass, for who watches; what you can wait for, wait for",
    "pace": "how long after each character of type, and each key, after this line (0ms)",
    "timeout": "how long each wait after this line may take (10s)",
}
"""Every step, and what it does."""

DEFAULT_TIMEOUT_S = 10.0
_LONGEST_S = 86_400.0
_QUIET_S = {"wait-stable": 0.2, "wait-idle": 0.5}


class ScriptStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step. ``text`` is its argument; times and sizes are parsed already.

    ``submit``: how the program takes a prompt, where its profile has that.
    """

    line: int
    kind: StepKind
    text: str = ""
    seconds: float = 0.0
    size: Size | None = None
    payload: object = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    pace_s: float = 0.0
    submit: Submit | None = None


def parse_script(text: str, *, name: str = "script") -> tuple[ScriptStep, ...]:
    """The steps of a script.

    Args:
        text: the script.
        name: of its file, for messages.

    Raises:
        UsageError: a line is not a step; the message has its number.
    """
    steps: list[ScriptStep] = []
    timeout_s, pace_s = DEFAULT_TIMEOUT_S, 0.0
    for number, line in enumerate(text.splitlines(), start=1):
        word, _, rest = line.strip().partition(" ")
        word = word.removesuffix(":") if word.startswith("secret") else word
        if not word or word.startswith("#"):
            continue
        try:
            argument = _argument(rest.strip())
            if word == "timeout":
                timeout_s = _seconds(argument)
            elif word == "pace":
                pace_s = _seconds(argument)
            else:
                step = _step(number, word, argument, timeout_s)
                steps.append(msgspec.structs.replace(step, pace_s=pace_s))
        except ValueError as exc:
            raise _wrong(exc, name, number) from exc
    if any(step.kind == "wait-regex" for step in steps):
        _check_patterns(steps, name)
    return tuple(steps)


def _argument(rest: str) -> str:
    if not rest.startswith('"'):
        return rest
    try:
        return msgspec.json.decode(rest, type=resolved(str))
    except NOT_JSON as exc:
        raise ValueError(f"not a JSON string: {exc}") from exc


def _step(line: int, word: str, argument: str, timeout_s: float) -> ScriptStep:
    if word not in STEPS:
        raise ValueError(f"no such step: {visible(word)}")
    kind = cast("StepKind", word)
    step = ScriptStep(line=line, kind=kind, text=argument, timeout_s=timeout_s)
    match kind:
        case "wait-exit":
            if argument:
                raise ValueError("wait-exit takes nothing")
            return step
        case "wait-stable" | "wait-idle":
            seconds = _seconds(argument) if argument else _QUIET_S[kind]
            return msgspec.structs.replace(step, seconds=seconds)
        case _ if not argument:
            raise ValueError(f"{kind} needs a value")
        case "pause":
            return msgspec.structs.replace(step, seconds=_seconds(argument))
        case "key":
            for key in argument.split():
                canonical_key(key)
        case "resize":
            return msgspec.structs.replace(step, size=parse_size(argument))
        case "note":
            return msgspec.structs.replace(step, payload=_payload(argument))
        case _:
            pass
    return step


def _seconds(text: str) -> float:
    return parse_time(text, longest_s=_LONGEST_S)


def _wrong(problem: ValueError, name: str, line: int) -> UsageError:
    return UsageError(
        printable(str(problem)),
        where=f"{visible(name)} line {line}",
        hint=f"steps: {', '.join(STEPS)}",
    )


def _check_patterns(steps: list[ScriptStep], name: str) -> None:
    # Imported here, because few scripts have one, and every import delays rec.
    from ptycassette.model.re2_engine import FilePatterns  # noqa: PLC0415

    patterns = FilePatterns()
    for step in steps:
        if step.kind == "wait-regex":
            try:
                patterns.check(step.text, multiline=True)
            except ValueError as exc:
                raise _wrong(exc, name, step.line) from exc


def _payload(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except RecursionError as exc:
        raise ValueError("not JSON: it nests too deep") from exc
    except ValueError as exc:
        raise ValueError(f"not JSON: {exc}") from exc
