"""Names and values that are separated by something other than an ASCII blank.

What forms send has a plus sign for each blank (WHATWG URL, application/x-www-form-urlencoded);
word processors and web pages put no-break, narrow and wide blanks. Both stand in other texts
too: they are read where the name of a secret is beside them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from ptycassette.scrub._mask import ESCAPED, TEXT
from ptycassette.scrub.decode._decoded import Decoded, neighbours, rewritten
from ptycassette.scrub.decode._plug import Spans

__all__ = ["NAMED_BLANK", "form_fields", "other_blanks"]

_WORDS = (
    "token", "secret", "password", "passwords", "passwd", "passphrase", "key", "login", "bearer",
    "basic", "-----begin",
)  # fmt: skip
_BEFORE_PLUS = (*_WORDS, "%3a", "%3d")
_LONGEST = max(map(len, _BEFORE_PLUS))
_PLUS = re.compile(r"\+(?=[\w%-])", re.ASCII)
_SENT = r"A-Za-z0-9*._%~:/@,!()$+\-"
_NO_FIELD = re.compile(f"[^{_SENT}]")
_ESCAPE = re.compile(r"%(?P<code>[0-9A-Fa-f]{2})|\+")
_LONGEST_FIELD = 4096
_LONGEST_NAME = 64

# U+00A0, U+2000 to U+200A, U+202F, U+205F, U+3000, written as their UTF-8 bytes.
_BLANK = "(?:\xc2\xa0|\xe2(?:\x80[\x80-\x8a\xaf]|\x81\x9f)|\xe3\x80\x80)"
_BLANKS = re.compile(_BLANK)
_BEFORE_BLANK = "|".join((*_WORDS, "auth", "cookie", "user", "-u", "pass"))
NAMED_BLANK = f"[:=][\"']?{_BLANK}|{_BLANK}[:=]|(?i:{_BEFORE_BLANK}){_BLANK}"
"""Such a blank behind a name, or before what names are followed by."""


def form_fields(text: str, _spans: Spans) -> Iterator[Decoded]:
    """Form fields that hold the name of a secret, a plus sign and its value."""
    done = 0
    for plus in _PLUS.finditer(text):
        at = plus.start()
        if at < done or not text[max(0, at - _LONGEST) : at].lower().endswith(_BEFORE_PLUS):
            continue
        after = _NO_FIELD.search(text, at)
        before = _NO_FIELD.search(text[max(done, at - _LONGEST_FIELD) : at][::-1])
        start = at - before.start() if before else max(done, at - _LONGEST_FIELD)
        done = after.start() if after else len(text)
        edits = [
            (*escape.span(), chr(int(escape["code"], 16)) if escape["code"] else " ")
            for escape in _ESCAPE.finditer(text, start, done)
        ]
        within = (max(0, start - _LONGEST_NAME), done)
        yield rewritten(text, edits, form=ESCAPED, within=within)


def other_blanks(text: str, spans: Spans) -> Iterator[Decoded]:
    """Read blanks outside ASCII as ordinary blanks, where one is beside the name of a secret."""
    named = [end for _, end in spans]
    for blanks in neighbours((*blank.span(), " ") for blank in _BLANKS.finditer(text)):
        first = bisect_left(named, blanks[0][0])
        if first < len(named) and named[first] <= blanks[-1][1] + 1:
            yield rewritten(text, blanks, form=TEXT)
