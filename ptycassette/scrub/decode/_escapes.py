r"""Characters as escapes, together with the text around them.

``%41``, ``\x41``, ``\u0041``, ``\u{41}``, ``\101``, ``\n``, ``\_``, ``&#65;``: RFC 3986 2.1
(percent), RFC 8259 7 (JSON), ECMA-262 12.9.4 and POSIX printf (backslash), CommonMark 2.4
(backslash before punctuation), HTML 13.5 (character references).
Where something is escaped by percent signs, a plus sign is a blank and ``&`` ends a field (WHATWG
URL, application/x-www-form-urlencoded).

``=41`` and a line that ends in ``=``: quoted-printable (RFC 2045 6.7). Most equals signs mean
something else. They are decoded only with evidence nearby: an equals sign that is escaped itself
(=3D), a character of several bytes, two escapes in one word, or the end of a line that is as long
as encoders make it.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Iterator

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub._mask import ESCAPED, QUOTED, TEXT
from ptycassette.scrub.decode._decoded import AROUND, Decoded, Spans, neighbours, rewritten
from ptycassette.scrub.match import canonical

_HEX = "[0-9A-Fa-f]"
_ESCAPES = (
    lazy_pattern(rf"%(?P<percent>{_HEX}{{2}})"),
    lazy_pattern(
        rf"\\(?:(?P<name>[nrtbf!-/:-@\[-`{{-~])"
        rf"|u(?P<pair>[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}})|u(?P<unit>{_HEX}{{4}})"
        rf"|x(?P<byte>{_HEX}{{2}})|(?P<octal>[0-3][0-7]{{2}})|u\{{(?P<braced>{_HEX}{{1,6}})\}}|U(?P<long>{_HEX}{{8}}))"
    ),
    lazy_pattern(
        rf"&(?:(?P<entity>amp|lt|gt|quot|apos);|\#(?P<decimal>[0-9]{{1,7}});"
        rf"|\#[xX](?P<hex>{_HEX}{{1,6}});)"
    ),
)
_NAMED = {
    "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f",
    "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'",
}  # fmt: skip
_FIELDS = {"+": " ", "&": "\n&"}
_BASES = {"octal": 8, "decimal": 10}
_OF_BYTES = frozenset({"percent", "byte", "octal"})
_BLANK = lazy_pattern(r"\s")
_IN_FORMS = lazy_pattern(r"\+|&(?=[A-Za-z][\w.\[\]-]{0,32}=)", re.ASCII)

_PRINTABLE = "(?:[2-6][0-9A-F]|7[0-9A-E])"
# Of at most 76 characters, behind what a mail program may show, or the start of a string of JSON.
_SOFT_END = r"(?<=[^\n]{69}=)(?:(?<![^\n]{86}=)|(?<![^\n\"]{86}=))\r?\n"
_EVIDENCE = lazy_pattern(
    r"=(?=[2-7C-F\r\n])(?:3D|[C-F][0-9A-F]=[89AB][0-9A-F]"
    rf"|{_PRINTABLE}[A-Za-z0-9_.+/-]{{0,24}}={_PRINTABLE}|{_SOFT_END})"
)
# What searches put around a hit (``<em>``, ``<mark>``), and what breaks long words (``<wbr>``).
_MARKUP = lazy_pattern(
    r"<(?:/?(?:em|mark|b|i|u|s|strong|span|code|font|kbd|tt|ins|del|wbr|hl)\b[^<>\n]{0,200}>)"
    r"|\*\*(?<![*\s]\*\*\*)(?=[\w-])"
)
_QUOTED = lazy_pattern(rf"=(?:(?P<code>[0-9A-F]{{2}})|{_SOFT_END})")


def escapes(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Decode stretches of text with escapes."""
    found = [(*one.span(), _meaning(one)) for kind in _ESCAPES for one in kind.finditer(text)]
    for edits in neighbours(sorted(found)):
        start, end = edits[0][0], edits[-1][1]
        if text.find("%", start, end) >= 0:
            taken = {edit[0] for edit in edits}
            start -= _to_blank(text[max(0, start - AROUND) : start][::-1])
            end += _to_blank(text[end : end + AROUND])
            fields = _IN_FORMS.finditer(text, start, end)
            edits += [(*one.span(), _FIELDS[one[0]]) for one in fields if one.start() not in taken]
            edits.sort()
        yield rewritten(text, edits, form=ESCAPED)


def quoted_printable(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Decode stretches of quoted-printable text."""
    evidence = [sign.start() for sign in _EVIDENCE.finditer(text)]
    found = _QUOTED.finditer(text) if evidence else ()
    for edits in neighbours((*one.span(), _quoted(one["code"])) for one in found):
        first = bisect_left(evidence, edits[0][0])
        if first < len(evidence) and evidence[first] < edits[-1][1]:
            yield rewritten(text, edits, form=QUOTED)


def markup(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Leave out what makes a part of a word bold or marked, in HTML and Markdown."""
    for edits in neighbours((*one.span(), "") for one in _MARKUP.finditer(text)):
        yield rewritten(text, edits, form=TEXT, apart=0)


def _to_blank(text: str) -> int:
    blank = _BLANK.search(text)
    return len(text) if blank is None else blank.start()


def _quoted(code: str | None) -> str:
    return "" if code is None else chr(int(code, 16))


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
