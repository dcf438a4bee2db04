"""What forms send: words joined by plus signs, other characters as percent escapes.

WHATWG URL, application/x-www-form-urlencoded. A plus sign is one in code and in base64, so
that what is read so is what follows a name and a sign of equality, or holds the name of a
value before a plus sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptycassette.scrub.decoded import Decoded
from ptycassette.scrub.stretches import unescaped

__all__ = ["fields"]

_SENT = r"A-Za-z0-9*._%~:/@,!()$\-"
_FIELD = re.compile(rf"=(?<=[\w\].-]=)(?P<sent>[{_SENT}]*\+[{_SENT}+]*)", re.ASCII)
_PLUS = re.compile(r"\+(?<=[\w-]\+)(?=[\w%-])", re.ASCII)
_NAMES = (
    "token", "secret", "password", "passwords", "passwd", "passphrase", "apikey", "api_key",
    "api-key", "login", "bearer", "basic", "%3a", "%3d", "-----begin",
)  # fmt: skip
_LONGEST_OF_THEM = 10
_BEFORE = re.compile(rf"[{_SENT}+=]*")
_AFTER = re.compile(rf"[{_SENT}+]*")
_LONGEST_NAME = 64
_FARTHEST = 1024
_ESCAPE = re.compile(r"%(?P<code>[0-9A-Fa-f]{2})|\+")


def fields(text: str) -> Iterator[Decoded]:
    """What the fields in canonical ``text`` say, each with its name; each ends a line."""
    group: list[tuple[int, int]] = []
    for start, end in sorted(_spans(text)) if "+" in text else ():
        if group and start < group[-1][1]:
            continue
        if group and start - group[-1][1] > _LONGEST_NAME:
            yield _read(text, group)
            group = []
        group.append((start, end))
    if group:
        yield _read(text, group)


def _read(text: str, spans: list[tuple[int, int]]) -> Decoded:
    """Fields that stand near each other, as one text."""
    escapes = []
    for start, end in spans:
        for match in _ESCAPE.finditer(text, start, end):
            meaning = chr(int(match["code"], 16)) if match["code"] else " "
            escapes.append((*match.span(), meaning))
        if text[end : end + 1] == "&" and end < spans[-1][1]:
            escapes.append((end, end + 1, "\n"))
    return unescaped(text, escapes, within=(max(0, spans[0][0] - _LONGEST_NAME), spans[-1][1]))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where such words begin and end."""
    for match in _FIELD.finditer(text):
        yield match.span("sent")
    end = 0
    for plus in _PLUS.finditer(text):
        at = plus.start()
        if at >= end and text[max(0, at - _LONGEST_OF_THEM) : at].lower().endswith(_NAMES):
            before = _BEFORE.match(text[max(0, at - _FARTHEST) : at][::-1])
            after = _AFTER.match(text, at)
            end = after.end() if after else at
            yield at - len(before.group()) if before else at, end
