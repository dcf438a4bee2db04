r"""Characters as escapes: ``%41``, ``\x41``, ``\u0041``, ``\u{41}``, ``\101``, ``\n``, ``&#65;``.

RFC 3986 2.1 (percent), RFC 8259 7 (JSON), ECMA-262 12.9.4 and POSIX printf (backslash), HTML
13.5 (character references). Where something is escaped by percent signs, a plus sign may stand
for a blank and ``&`` ends a field (WHATWG URL, application/x-www-form-urlencoded).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from ptycassette.scrub._mask import ESCAPED
from ptycassette.scrub.decode._decoded import AROUND, Decoded, Edit, neighbours, rewritten
from ptycassette.scrub.decode._plug import Spans
from ptycassette.scrub.match import canonical

__all__ = ["escapes"]

_HEX = "[0-9A-Fa-f]"
_ESCAPES = (
    re.compile(rf"%(?P<percent>{_HEX}{{2}})"),
    re.compile(
        rf"\\(?:(?P<name>[\"\\/nrt'bf])"
        rf"|u(?P<pair>[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}})|u(?P<unit>{_HEX}{{4}})"
        rf"|x(?P<byte>{_HEX}{{2}})|(?P<octal>[0-3][0-7]{{2}})|u\{{(?P<braced>{_HEX}{{1,6}})\}}|U(?P<long>{_HEX}{{8}}))"
    ),
    re.compile(
        rf"&(?:(?P<entity>amp|lt|gt|quot|apos);|\#(?P<decimal>[0-9]{{1,7}});"
        rf"|\#[xX](?P<hex>{_HEX}{{1,6}});)"
    ),
)
_NAMED = {
    "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f",
    "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'",
}  # fmt: skip
_BASES = {"octal": 8, "decimal": 10}
_OF_BYTES = frozenset({"percent", "byte", "octal"})
_PLUS = re.compile(r"\+")
_NEXT_FIELD = re.compile(r"&(?=[A-Za-z][\w.\[\]-]{0,32}=)", re.ASCII)


def escapes(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Decode stretches of text with escapes, together with the text around them."""
    found = [(*one.span(), _meaning(one)) for kind in _ESCAPES for one in kind.finditer(text)]
    for edits in neighbours(sorted(found)):
        start, end = edits[0][0], edits[-1][1]
        blanks: list[Edit] = []
        if text.find("%", start, end) >= 0:
            taken = {edit[0] for edit in edits}
            fields = _NEXT_FIELD.finditer(text, start, end + AROUND)
            edits += [(*sign.span(), "\n&") for sign in fields if sign.start() not in taken]
            edits.sort()
            blanks = [(*plus.span(), " ") for plus in _PLUS.finditer(text, start, end)]
        yield rewritten(text, edits, form=ESCAPED)
        if blanks:
            yield rewritten(text, sorted([*edits, *blanks]), form=ESCAPED)


def _meaning(escape: re.Match[str]) -> str:
    """What one escape stands for, as canonical text."""
    kind = escape.lastgroup or ""
    said = escape[kind]
    if kind in {"name", "entity"}:
        return _NAMED.get(said, said)
    if kind == "pair":  # RFC 8259 7: of characters beyond U+FFFF
        units = int(said[:4], 16), int(said[6:], 16)
        return canonical(chr(0x10000 + (units[0] - 0xD800 << 10) + units[1] - 0xDC00))
    code = int(said, _BASES.get(kind, 16))
    return chr(code) if kind in _OF_BYTES else canonical(chr(min(code, sys.maxunicode)))
