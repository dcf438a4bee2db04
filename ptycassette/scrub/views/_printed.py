"""The print stream: the text that a program wrote, in order of time, without control functions.

Colours and other attributes are dropped, so that a coloured secret is in one piece. So are other
functions that do not move the cursor: erasing, modes, strings. A function that moves the cursor or
starts a line ends a word. Erased and overwritten text is still in the stream. The contents of
strings (OSC, DCS, APC: titles, links, clipboards) are searched separately.

Overstruck characters (BS, as in manual pages: bold and underlined text) are read as one, however
often they are struck. A mask covers each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from ptycassette.model.lazy_regex import lazy_pattern
from ptycassette.scrub.views._view import Patch, RunsView, View

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
_STEER = r"\r\n\x0b\x0c"  # and BS, which counts as text until it is known what is struck over
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
_LINE_ENDS = ("\r\n", "\r", "\x0b", "\x0c")
_BREAKING = lazy_pattern(rf"\x1b(?:\[{_MOVES}|[DEMc])")
_BREAKING_C1 = lazy_pattern(rf"\xc2\x9b{_MOVES}")
_SILENT = lazy_pattern(
    rf"[\x1b\x00\x07\x0e\x0f\x1a\x7f\xc2](?:{_QUIET}|(?<=[\x00\x07\x0e\x0f\x1a\x7f]))"
)
_BEGIN_SILENT = "\x1b\x00\x07\x0e\x0f\x1a\x7f\xc2"
"""The characters that ``_SILENT`` may begin with."""
# What other characters are struck over. Each begins with literal characters, for the same reason.
_CHAR = "(?:[!-~]|[\xc2-\xf4][\x80-\xbf]{1,3})"
_LOW_LINE = lazy_pattern(f"_\x08(?={_CHAR})")
_SAME = "|".join(  # each with a name, because a look behind has one width
    rf"(?<=(?P<of_{width}>{char})\x08)(?P=of_{width})"
    for width, char in enumerate(
        ("[!-~]", *(f"[\xc2-\xf4][\x80-\xbf]{{{more}}}" for more in (1, 2, 3))), 1
    )
)
_AGAIN = lazy_pattern(f"\x08(?:{_SAME})")
_BACK = lazy_pattern("\n*\x08[\n\x08]*")
_AGAIN_OR_BACK = lazy_pattern(f"\x08(?P<again>{_SAME})|\n*\x08[\n\x08]*")
_TEXT_BEFORE = lazy_pattern(rf"_\x08(?<=[^\n\x08]{{2}}[^\s\x08]_\x08)(?={_CHAR})")
"""A low line that may also be the end of the text before it."""
_LONGEST_BEFORE = 4096
_STRINGS = lazy_pattern(rf"{_HEAD}(?P<body>{_BODY})")


_Span = tuple[int, int]


class PrintedView(View):
    """The print stream of a block. The origins of its characters are computed on demand.

    Args:
        raw: canonical text of the block.
        base: the offset of its first byte in the channel.
        cuts: stretches of it that are left out, ascending.
    """

    def __init__(self, raw: str, *, base: int = 0, cuts: Sequence[_Span] = ()) -> None:
        kept = "".join([raw[slice(*kept)] for kept in _kept(raw, cuts)]) if cuts else raw
        text = _printed(kept)
        self.moves_back = "\x08" in text
        super().__init__(_struck(text) if self.moves_back else text)
        self.raw = raw
        self._base = base
        self._cuts = cuts

    @cached_property
    def written(self) -> RunsView:
        """The same with all that was struck over, and BS between."""
        return RunsView(_runs(self.raw, self._base, self._cuts))

    @cached_property
    def _resolved(self) -> tuple[RunsView, RunsView, Mapping[int, list[_Span]]]:
        """The text without low lines, the places in it of what is shown, and what is struck again.

        The latter by the place of the character that it is struck over.
        """
        written = self.written.text
        low_lines = [found.span() for found in _LOW_LINE.finditer(written)]
        single = RunsView(
            [(written[start:end], start) for start, end in _kept(written, low_lines)], self.written
        )
        parts: list[tuple[str, int]] = []
        again: dict[int, list[_Span]] = {}
        at = shown_at = 0
        for found in _AGAIN_OR_BACK.finditer(single.text):
            parts.append((single.text[at : found.start()], at))
            if found["again"] is None:
                parts.append(("\n", -1))
            else:
                if found.start() > at:  # not of the same character again
                    shown_at = found.start() - len(found["again"])
                again.setdefault(shown_at, []).append(found.span("again"))
            at = found.end()
        return single, RunsView([*parts, (single.text[at:], at)]), again

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """See ``View.pieces``."""
        if not self.moves_back:
            yield from self.written.pieces(start, end)
            return
        single, shown, _ = self._resolved
        for at, length, place in shown.pieces(start, end):
            for here, count, offset in single.pieces(place, place + length):
                yield at + here - place, count, offset

    def _written(self, start: int, end: int, masked: str) -> Iterator[Patch]:
        yield from super()._written(start, end, masked)
        if not self.moves_back:
            return
        single, shown, again = self._resolved
        for at, length, place in shown.pieces(start, end) if again else ():
            for number in range(place, place + length):
                for first, last in again.get(number, ()):
                    here = at + number - place - start
                    part = masked[here : here + last - first]
                    for one, count, offset in single.pieces(first, last):
                        yield offset, part[one - first : one - first + count].encode("latin-1")


def _struck(text: str) -> str:
    """Text with BS as it looks printed: what is struck twice is there once."""
    text = _AGAIN.sub("", _LOW_LINE.sub("", text))
    return _BACK.sub("\n", text) if "\x08" in text else text


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
    printed = PrintedView(raw, base=base)
    return printed, RunsView(strings), *(_before_low_lines(printed) if printed.moves_back else ())


def _before_low_lines(printed: PrintedView) -> Iterator[View]:
    """The texts that end with a low line that something is struck over, if there are any."""
    parts: list[tuple[str, int]] = []
    text = printed.written.text if "_\x08" in printed.raw else ""
    for found in _TEXT_BEFORE.finditer(text):
        end = found.start() + 1
        least = max(0, end - _LONGEST_BEFORE)
        begin = max(text.rfind("\n", least, end), text.rfind("\x08", least, end), least - 1) + 1
        parts += [(text[begin:end], begin), ("\n", -1)]
    if parts:
        yield RunsView(parts, printed.written)


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
