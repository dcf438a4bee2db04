"""Files of private keys: lines of base64 behind a line that says so, or before one (RFC 7468).

Such a line stands in code and conversations as well. What is taken behind it ends where
somebody goes on (``docs/decisions/0108-what-of-a-private-key-is-masked.md``); lines that stand
apart from it finds ``ptycassette.scrub.key_lines``.
"""

from __future__ import annotations

import re

from ptycassette.scrub.rules import Rule

__all__ = ["KEY_RULES"]

# A blank, or the end of a row: borders (U+2500 to U+257F) and what pads them.
_GAP = r"(?:[ \t\r\n|>]|\xe2[\x94\x95][\x80-\xbf]){1,120}"
# Where a program, or somebody, goes on who only spoke of such a line, or showed the first lines:
# two words, or a sign that no line of a key has, nor what stands beside one; a spinner.
_SPOKEN = "[A-Za-z]?[a-z]{1,15}"
_NO_KEY = (
    rf"(?<![A-Za-z0-9+/=])(?:{_SPOKEN}[.,:;!?]{{0,3}}[ \t]+{_SPOKEN}"
    rf"|(?=(?:[a-z]+\s+){{0,2}}[A-Z]?[a-z]{{5}}){_SPOKEN}\s+{_SPOKEN}\s+{_SPOKEN})(?![A-Za-z0-9+/=])"
    r"|[(){}\[\]<@$&!?~^%;_]|\xe2(?:\x96[\xa0-\xbf]|[\x97\x9c-\xaf])"
)
_OF_KEY = re.compile(r"(?=[a-z/+]*[A-Z0-9])[A-Za-z0-9+/=]{4,}")
_SHORTEST_OF_KEY = 16
_DASHES_GAP = _GAP.replace("120", "40")


def _holds_a_line(text: str) -> bool:
    """Whether anything of a key stands behind its first line."""
    return sum(map(len, _OF_KEY.findall(text))) >= _SHORTEST_OF_KEY


KEY_RULES: tuple[Rule, ...] = (
    Rule(
        name="private-key",
        # Its first line may be broken, in a box too.
        pattern=rf"-----BEGIN{_GAP}(?:[A-Z0-9]+{_GAP}){{0,3}}PRIVATE{_GAP}KEY(?:{_GAP}BLOCK)?"
        rf"(?:-{{3,5}}|-{{0,4}}{_DASHES_GAP}-{{1,5}})"
        r"(?P<s>(?:[^-]|-(?!--)){16,16384})",
        anchors=("-----begin ",),
        reach=17000,
        edge=False,
        until=_NO_KEY,
        accept=_holds_a_line,
        placeholder="<private-key>",
    ),
    Rule(
        name="putty-private-key",
        pattern=r"Private-Lines: \d+\s(?P<s>[A-Za-z0-9+/=\s]{32,16384})",
        anchors=("private-lines:",),
        reach=17000,
        until=_NO_KEY,
        accept=_holds_a_line,
        placeholder="<private-key>",
    ),
    Rule(  # its first lines are not there (RFC 7468), as in what ``tail`` prints
        name="private-key",
        pattern=r"(?<![A-Za-z0-9+/])"
        r"(?P<s>(?:[A-Za-z0-9+/]{16,76}\s{1,3}){1,24}(?:[A-Za-z0-9+/]{1,76}={0,2}\s{1,3})?"
        r"|[A-Za-z0-9+/]{4,76}={1,2}\s{1,3})"
        r"-----END (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY",
        anchors=("-----end ",),
        lead=1900,
        placeholder="<private-key>",
    ),
)
"""Two of them share a name: what stands behind the first line, and before the last one."""
