"""The one alphabet in which text is searched: UTF-8 bytes shown as characters 0 to 255.

A position in such text is a position in bytes, so that a hit in plain output
is a byte range without any table. Squeezed text is the same without blanks,
box borders, invisible characters and quotes: in it, a value that was wrapped, boxed,
indented or quoted stands in one piece.
"""

from __future__ import annotations

import re

# Characters that take no room, as their UTF-8 bytes: soft hyphen; U+0300-036F (marks that combine);
# U+061C; U+180B-180E; U+1AB0-1AFF and U+1DC0-1DFF (more marks); U+200B-200F and U+202A-202E (zero
# width, bidi); U+2060-206F; U+20D0-20FF (marks for symbols); U+FE00-FE0F and U+FE20-FE2F
# (variations, half marks); U+FEFF; U+FFF9-FFFB; U+E0000-E0FFF (tags, variations).
_INVISIBLE = (
    "\xc2\xad|\xcc[\x80-\xbf]|\xcd[\x80-\xaf]|\xd8\x9c"
    "|\xe1(?:\xa0[\x8b-\x8e]|\xaa[\xb0-\xbf]|[\xab\xb7][\x80-\xbf])"
    "|\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf]|\x83[\x90-\xbf])"
    "|\xef(?:\xb8[\x80-\x8f\xa0-\xaf]|\xbb\xbf|\xbf[\xb9-\xbb])"
    "|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)
# And no-break space, bullets; U+2000-200A, U+2028-202F, U+3000 (spaces); U+23BF; U+2500-257F and
# U+2580-259F (boxes and blocks); U+25A0-25FF (shapes); U+2800-28FF (braille spinners).
_AWAY = (
    f"\xc2[\xa0\xb7]|\xe2(?:\x80[\x80-\x8a\xa2\xa8\xa9\xaf]|\x8e\xbf"
    f"|[\x94-\x97][\x80-\xbf]|[\xa0-\xa3][\x80-\xbf])|\xe3\x80\x80|{_INVISIBLE}"
)
# These; blanks and controls; | and > (ASCII borders and quotes); * (what passwords are shown as);
# quotes, and the sign at the end of a line that continues.
_ASCII_AWAY = bytes([*range(0x21), 0x7F, *b"|>*\"'\\"])
SQUEEZED_AWAY = re.compile(f"[{re.escape(_ASCII_AWAY.decode())}]+|{_AWAY}")


def canonical(text: str) -> str:
    """``text`` with each UTF-8 byte as one character. Lone surrogates keep their byte."""
    if text.isascii():
        return text
    try:
        return text.encode().decode("latin-1")
    except UnicodeEncodeError:
        errors = "surrogatepass" if _LONE.search(text) else "surrogateescape"
        return text.encode("utf-8", errors).decode("latin-1")


# A surrogate that is no byte that was no UTF-8.
_LONE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def plain(text: str) -> str:
    """The text behind canonical text."""
    if text.isascii():
        return text
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


_OTHERS_AWAY = re.compile(_AWAY.encode("latin-1"))


def squeeze(text: str) -> str:
    """Canonical ``text`` without blanks, borders, quotes and invisible characters."""
    raw = text.encode("latin-1")
    if not text.isascii():
        raw = _OTHERS_AWAY.sub(b"", raw)  # first, so that nothing new comes together
    return raw.translate(None, _ASCII_AWAY).decode("latin-1")
