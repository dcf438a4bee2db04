"""Rewrites of volatile but harmless text, for comparison only; evidence stays as it is.

A scenario file may be a stranger's: its patterns are ``FilePattern``, and the length of the result
is bounded, because a rewrite of a to aa, applied forty times, fills any memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.file_patterns import FilePattern, file_pattern


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
    """What is wrong with one from a file; None when all is well."""
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
