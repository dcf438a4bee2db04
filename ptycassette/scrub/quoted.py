"""Quoted-printable text (RFC 2045 6.7): letters as =XX, lines that go on behind = at their end.

Signs of equality stand everywhere. These are read so where one is escaped itself (=3D), where
letters or digits of one word are, which have no need of it, or letters of several words, of one
that names a value or has digits, or that begins a line or stands behind a quote, or a dot in an
address; and where lines are as long as they may be, or broken inside of a word or several times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.mask import QUOTED
from ptycassette.scrub.stretches import neighbours, unescaped
from ptycassette.scrub.words import looks_torn_off

__all__ = ["quoted"]

_QUOTED = re.compile(r"=(?:(?P<code>[0-9A-F]{2})|\r?\n)")
_LONG_LINES = range(70, 86)  # of at most 76 characters, with what may stand before them
# Of letters, digits, the low line and the hyphen.
_CODE = "=(?:2D|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9A])"
# And of a character that has several bytes in UTF-8.
_IN_A_WORD = re.compile(
    rf"{_CODE}[A-Za-z0-9_.+/-]{{0,24}}{_CODE}|=(?:C[2-9A-F]|D[0-9A-F]|E[0-9A-F]|F[0-4])=[89AB][0-9A-F]"
)
# Of letters amid others, or where a word begins; not a number with its unit behind a name.
_LETTER = "(?:4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A])"
_AMID = re.compile(
    rf"=(?:{_LETTER}(?=[A-Za-z]{{3}}|[A-Za-z]{{0,2}}[.@=])|(?<=[A-Za-z]=)20(?=[A-Za-z]{{3}}))"
)
# Of the first letter of a word where nothing stands that a value may be given to.
_BEGINS = re.compile(rf"(?<![^\n\"'(\[{{<])={_LETTER}(?=[A-Za-z]{{3}})")
# One that a word may go over: with enough behind it, or a letter or a sign beside another one.
_IN_NAMES = "[A-Za-z_-]"
_MAY_TELL = re.compile(
    f"{_CODE}(?=[A-Za-z0-9_-]{{4}})"
    f"|=(?:2D|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9A])(?:(?<={_IN_NAMES}=..)|(?={_IN_NAMES}))"
)
_PART = re.compile(r"(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{2,}\Z")
_OTHER_PART = re.compile("[A-Za-z0-9_-]{4,12}")
_SHORTEST_WORD = 12
_SEVERAL = 2
_TELLING = re.compile(
    "password|passwd|passphrase|secret|token|bearer|basic|authori[sz]ation|api[_-]?key|credential",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile("@[A-Za-z0-9.-]{1,63}=2E[A-Za-z]")
_BLANKS_BEHIND = (":=20", "==20")
_NAMES = re.compile(rf"(?:{_TELLING.pattern})[\"']?\Z", re.IGNORECASE)
_LONGEST_TELLING = 12
_LONGEST_NAME = 24
_REST = re.compile("[!-<>-~]{4}")
_SHORTEST_TORN = 10
# Of variables and properties, which have no value in a list of them.
_NAME = re.compile("(?:export )?(?:[A-Z][A-Z0-9_]*|[a-z][a-z0-9_.]*)")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{20,}\Z")


def quoted(text: str) -> Iterator[Decoded]:
    """Stretches of such text in canonical ``text``, and what stands around them."""
    for matches in neighbours(list(_QUOTED.finditer(text))):
        breaks = _breaks(text, [match.span() for match in matches if not match["code"]])
        if breaks or _escapes(text, matches[0].start(), matches[-1].end()):
            escapes = [
                (*match.span(), chr(int(match["code"], 16)) if match["code"] else "")
                for match in matches
                if match["code"] or match.start() in breaks
            ]
            yield unescaped(text, escapes, form=QUOTED)


def _escapes(text: str, start: int, end: int) -> bool:
    """Whether signs of equality escape characters there."""
    if text.find("=3D", start, end) >= 0 or _IN_A_WORD.search(text, start, end):
        return True
    if _BEGINS.search(text, start, end + _LONGEST_TELLING):
        return True
    before = max(0, start - _LONGEST_NAME)
    if _blank_behind(text, before, end) or _IN_ADDRESS.search(text, before, end + 1):
        return True
    end += _LONGEST_TELLING
    amid = sum(1 for _ in _AMID.finditer(text, start, end))
    return amid >= _SEVERAL or any(map(_tells, _MAY_TELL.finditer(text, start, end)))


def _blank_behind(text: str, start: int, end: int) -> bool:
    """Whether the blank behind the name of a value is escaped there."""
    for sign in _BLANKS_BEHIND:
        at = text.find(sign, start, end)
        while at >= 0:
            if _NAMES.search(text[max(start, at - _LONGEST_NAME) : at]):
                return True
            at = text.find(sign, at + 1, end)
    return False


def _tells(escape: re.Match[str]) -> bool:
    """Whether a word that names a value goes over an escape, or one with digits in it."""
    text, start, end = escape.string, *escape.span()
    before = text[max(0, start - _LONGEST_TELLING) : start]
    rest = _OTHER_PART.match(text, end, end + _LONGEST_TELLING)
    part = rest and _PART.search(before)
    if part and rest and len(part.group()) + len(rest.group()) >= _SHORTEST_WORD:
        return True
    char = chr(int(escape.group()[1:], 16))
    if char.isdigit():
        return False
    return any(
        name.start() <= len(before) < name.end()
        for name in _TELLING.finditer(f"{before}{char}{text[end : end + _LONGEST_TELLING]}")
    )


def _pads(shown: str) -> bool:
    """Whether a sign of equality behind what is shown makes base64 whole."""
    tail = _BASE64.search(shown)
    return tail is not None and len(tail.group()) % 4 == 3


def _breaks(text: str, spans: list[tuple[int, int]]) -> set[int]:
    """Where, of these ends of lines, such is one behind which the line goes on."""
    found: set[int] = set()
    run: list[int] = []
    last, count, named = -1, 0, True
    for start, end in spans:
        line = text.rfind("\n", max(0, start - _LONG_LINES.stop), start) + 1
        shown = text[max(line, start - _LONG_LINES.stop) : start]
        word = shown[shown.rfind(" ") + 1 :]
        if start - line + 1 in _LONG_LINES:
            found.add(start)
        elif not shown or shown[-1] == "=" or _pads(shown):
            continue  # no such end, or one of base64
        if last != line:
            run, count, named = [], 0, True
        run.append(start)
        count += 1
        named = named and _NAME.fullmatch(shown) is not None
        if count > 1 and not named:
            found.update(run)
            run = []
        if len(word) >= _SHORTEST_TORN and looks_torn_off(word) and _REST.match(text, end):
            found.add(start)
        last = end
    return found
