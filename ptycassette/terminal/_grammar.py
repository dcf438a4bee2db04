"""The grammar of control functions, as regular expressions and states.

``SPLIT`` splits decoded text into runs of text and complete control functions.
The states are those of the machine that handles everything else.
Sources: ECMA-48 chapters 5 and 8, Paul Williams' DEC parser, xterm.js.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

# It begins with a character class, so that the search skips text at full speed; what
# follows depends on the control character just taken. Nothing in it can backtrack far. (No group is
# repeated possessively: Python 3.11.2 goes on behind the part of one that fails.)
SPLIT: Final = re.compile(
    r"([\x00-\x1f\x7f-\x9f]"
    r"(?:(?<=\x1b)(?:"
    r"\[(?:[0-9;:]*+(?:m(?:\x1b\[[0-9;:]*+m)*|[ -/]*+[@-~])|[<-?][0-9;:]*+[ -/]*+[@-~])"
    r"|[ -/]*+[0-OQ-WYZ\\`-~]"
    r"|\][^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x1b\\)"
    r"|P[<-?]?[0-9;:]*+[ -/]*+[@-~][^\x00-\x1f\x7f-\x9f]*+\x1b\\"
    r"|[X^_][ -~]*+\x1b\\"
    r")|(?<=\r)\n)?)"
)
"""Used with ``split``: text and control functions take turns."""

STRIKE: Final = "\udc08"
"""BS between characters of which one is struck over the other. No decoded text has it."""

STRUCK: Final = re.compile("\x08(?:(?<=([!-~])\x08)(?=\\1)|(?<=_\x08)(?=[!-~]))")
"""BS after which a character comes again, or comes over a low line: bold and underlined text of
manual pages. ``Terminal.draw_struck`` paints a run of such text in one go."""


CONTROL: Final = re.compile(r"([<-?]?)([0-9;:]*)([ -/]*)([@-~])")
"""A control sequence without its introducer: prefix, parameters, intermediates, final."""

CONTROL_SO_FAR: Final = re.compile(r"[<-?]?[0-9;:]*[ -/]*")
"""A control sequence that may still become a valid one."""

PRINTABLE: Final = re.compile("[^\x00-\x1f\x7f-\x9f]+")
STRING_END: Final = re.compile("[\x07\x18\x1a\x1b\x80-\x9f]")
NOT_ASCII: Final = re.compile("[^\x00-\x7f]")
C0: Final = re.compile("[\x00-\x1f]")
BOM: Final = "\ufeff"
DROPPED: Final = re.compile("[\udc80-\udcff\ufeff]")
"""What is dropped of text: BOM, and malformed bytes, as ``surrogateescape`` decodes them."""

STARTERS: Final = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
"""Characters that begin a sequence or a string, and end whatever was open."""

GROUND, ESCAPE, CSI, OSC, DCS, STRING = range(6)
"""States. ``STRING`` is APC, PM or SOS."""


class ParserState(msgspec.Struct, array_like=True, frozen=True):
    """The state of a parser between two chunks."""

    state: int
    kept: str
    overlong: bool
    dcs_body: bool
    sequence_bytes: int
    held: bytes
