"""The print stream: the text that a program wrote, in order of time, without control functions.

Colours and other attributes are dropped, so that a coloured secret is in one piece. So are other
functions that do not move the cursor: erasing, modes, strings. A function that moves the cursor or
starts a line ends a word. Erased and overwritten text is still in the stream. The contents of
strings (OSC, DCS, APC: titles, links, clipboards) are searched separately.

Overstruck characters (BS, as in man pages: bold and underlined text) are also read as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptycassette.model import lazy_pattern
from ptycassette.scrub.views._view import RunsView, View

# ECMA-48 5.4: parameter bytes 30-3F, intermediate bytes 20-2F, a final byte 40-7E. Controls inside
# of a sequence act at once (what moves counts as its end); U+009B (C2 9B) begins one too.
# What moves the cursor or paints, but for SGR, erasing, modes and reports, which leave it there.
_MOVES = r"[\x20-\x3f]*+[A-ILMPSTZ`abdefru@]"
_PARAMETERS = r"[\x20-\x3f\x00-\x07\x0e-\x17\x19\x1c-\x1f\x7f]*[\x40-\x7e]?"  # torn ones, too
_SHORT = r"[\x20-\x2f]+[\x30-\x7e]?|[0-OQ-WYZ\\`-~]"  # charsets, save, keypad modes, ST
MOVING = rf"\x1b\[{_MOVES}|\xc2\x9b{_MOVES}|\x1b[DEMc]"
"""Control functions that move the cursor or start a line."""
_COLOUR = r"\x1b\[[0-9;:]*+m"
# A string ends at BEL, ST, CAN, SUB or any other ESC; the terminator is no part of what it says.
_BODY = r"[^\x07\x1b\x18\x1a]*"
_END = r"(?:\x07|\x1b\\)?"
_DCS = "(?:[0-?]*[ -/]*[@-~])?"
_HEAD = rf"(?:\x1bP{_DCS}|\x1b[\]X^_])"
_QUIET = (
    rf"(?<=\x1b)(?:(?:P{_DCS}|[\]X^_]){_BODY}{_END}|\[{_PARAMETERS}|{_SHORT})?"
    rf"|(?<=\xc2)\x9b{_PARAMETERS}"
)
_STEER = r"\r\n\x08\x0b\x0c"
# Each expression begins with a character or a class of them, because the engine then skips what
# lies between at full speed. The second group is there when a token steers.
_TOKEN = lazy_pattern(
    rf"([{_STEER}\x1b\xc2\x00\x07\x0e\x0f\x18\x1a\x7f]"
    rf"(?:((?<=[{_STEER}])[{_STEER}]*|(?<=\x1b)(?:\[{_MOVES}|[DEMc])|(?<=\xc2)\x9b{_MOVES})"
    rf"|{_QUIET}|(?<=[\x00\x07\x0e\x0f\x18\x1a\x7f])))"
)

# The same in four steps without a look at each token. The mark, which steers nothing and
# ends a string, keeps apart what stood before and behind a colour.
_MARK = "\x18"
_COLOURS = lazy_pattern(rf"{_COLOUR}(?:{_COLOUR})*")
_LINE_ENDS = ("\r\n", "\r", "\x08", "\x0b", "\x0c")
_BREAKING = lazy_pattern(rf"\x1b(?:\[{_MOVES}|[DEMc])")
_BREAKING_C1 = lazy_pattern(rf"\xc2\x9b{_MOVES}")
_SILENT = lazy_pattern(
    rf"[\x1b\x00\x07\x0e\x0f\x1a\x7f\xc2](?:{_QUIET}|(?<=[\x00\x07\x0e\x0f\x1a\x7f]))"
)
_BEGIN_SILENT = "\x1b\x00\x07\x0e\x0f\x1a\x7f\xc2"
"""The characters that ``_SILENT`` may begin with."""
# A character over itself, or over a low line.
_CHAR = "(?:[!-~]|[\xc2-\xf4][\x80-\xbf]{1,3})"
_STRUCK = lazy_pattern(f"(?P<first>{_CHAR})\x08(?P<second>(?P=first)|(?<=_\x08){_CHAR})")
_MAYBE_STRUCK = lazy_pattern("\x08[!-~\xc2-\xf4]")
"""What any of these has, and few other uses of BS."""
_STRINGS = lazy_pattern(rf"{_HEAD}(?P<body>{_BODY})")


_Span = tuple[int, int]


class PrintedView(View):
    """The print stream of a block. The origins of its characters are computed on demand.

    Args:
        raw: canonical text of the block.
        base: the offset of its first byte in the channel.
        cuts: stretches of it that are left out, ascending.
    """

    def __init__(self, raw: str, *, base: int, cuts: Sequence[_Span] = ()) -> None:
        kept = "".join([raw[slice(*kept)] for kept in _kept(raw, cuts)]) if cuts else raw
        super().__init__(_printed(kept))
        self._raw = raw
        self._base = base
        self._cuts = cuts
        self._mapped: RunsView | None = None

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        if self._mapped is None:
            self._mapped = RunsView(_runs(self._raw, self._base, self._cuts))
        yield from self._mapped.pieces(start, end)


def _printed(raw: str) -> str:
    """What canonical ``raw`` prints. Plain text has only its line ends changed."""
    text = _COLOURS.sub(_MARK, raw) if "\x1b[" in raw else raw
    for end in _LINE_ENDS:
        text = text.replace(end, "\n")
    while "\n\n" in text:  # several in a row are one
        text = text.replace("\n\n", "\n")
    if any(char in text for char in _BEGIN_SILENT):
        text = _BREAKING.sub(f"{_MARK}\n", text)
        if "\xc2\x9b" in text:
            text = _BREAKING_C1.sub(f"{_MARK}\n", text)
        text = _SILENT.sub("", text)
    return text.replace(_MARK, "")


def printed_views(raw: str, base: int) -> tuple[View, ...]:
    """The print stream of canonical ``raw``, which is at ``base``, and its strings, one a line."""
    strings = []
    for match in _STRINGS.finditer(raw):
        strings += [(match["body"], base + match.start("body")), ("\n", -1)]
    return PrintedView(raw, base=base), RunsView(strings), *_struck(raw, base)


def _struck(raw: str, base: int) -> Iterator[View]:
    """The print stream twice: without the upper and without the lower overstruck characters."""
    struck = list(_STRUCK.finditer(raw)) if _MAYBE_STRUCK.search(raw) else ()
    if struck:
        seconds = [(match.start(), match.start("second")) for match in struck]
        yield PrintedView(raw, base=base, cuts=seconds)
        firsts = [
            (match.end("first"), match.end()) if match["first"] == match["second"] else second
            for match, second in zip(struck, seconds, strict=True)
        ]
        yield PrintedView(raw, base=base, cuts=firsts)


def _kept(raw: str, cuts: Sequence[_Span]) -> Iterator[_Span]:
    """The stretches between those that are left out."""
    at = 0
    for start, end in cuts:
        yield at, start
        at = end
    yield at, len(raw)


def _runs(raw: str, base: int, cuts: Sequence[_Span]) -> Iterator[tuple[str, int]]:
    """The print stream, run by run."""
    for start, end in _kept(raw, cuts):
        at = base + start
        parts = _TOKEN.split(raw[start:end])  # a text, a token, what steers in it, and so on
        tokens, steering = [*parts[1::3], ""], [*parts[2::3], None]
        for text, token, steers in zip(parts[::3], tokens, steering, strict=True):
            yield text, at
            if steers is not None:
                yield "\n", -1
            at += len(text) + len(token)
