"""Signs in place of text: what a program shows of a secret that is typed.

They are looked for where the text would stand, and in what the program prints. A driver sends a
line in one piece. Many programs then paint signs, clear the screen and continue within one read,
so that no screen ever shows the signs. Their output does.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder

from ptycassette.model.lazy_regex import lazy_pattern

FEW_SIGNS = 3
MASKS = frozenset("*•●∙·.⋅◦○■▪█∗⁎＊‣⬤x")  # noqa: RUF001 - characters that hide others
_AMBIGUOUS = frozenset(".·∙⋅x")  # these also stand where nothing is hidden
_CERTAIN = frozenset("*•●")

_MOST_PRINTED = 16 << 10
_MOST_RUNS = 64
_LONGEST_RUN = 512
_HIDING = "([*•●◦○∗⁎＊⬤])"  # noqa: RUF001 - progress bars have the others
_RUN = lazy_pattern(_HIDING + r"(?: ?\1){3,}")
_PLACED_RUN = lazy_pattern(_HIDING + r"(?:\0+\1){3,}")  # each with a position of its own
_SIGNS_A_KEY = (1, 2, 3)
# ECMA-48 5.4, 5.6, 8.3.117: what leaves the cursor where it is, and all the rest.
_QUIET = lazy_pattern(rb"\x1b\[[0-9;:]*m|\x1b[*+()][0-~]|[\x0e\x0f]")
_STRING = rb"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
_CONTROL = lazy_pattern(
    _STRING + rb"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-OQ-WYZ`-~\\]|[\x00-\x1f\x7f]"
)
_CUT = lazy_pattern(rb"\x1b(?:\[[0-?]*[ -/]*|[ -/]*|[\]PX^_][^\x07\x1b]{0,1000}\x1b?)\Z")
_CUT_CHARACTER = lazy_pattern(
    rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z"
)
_CHARACTER_SET = lazy_pattern(rb"\x1b\([0-~]")
_LINES_IN_G1 = b"\x1b)0"
_SHIFT = lazy_pattern(rb"[\x0e\x0f]")
_LEAVES = lazy_pattern(rb"\x1b\[\?(?:1049|1047|47)l")
_MOVED = b"\0"
_AS_ONE = {0: None, ord("\n"): None}


def begun(output: bytes) -> bytes:
    """What output leaves open for the output behind it, as bytes with the same effect.

    Reads end anywhere: in a control sequence, in a character, between a character set and the
    lines that are drawn with it.

    Args:
        output: the end of what was printed so far; 1 KB is enough.
    """
    designated, shifted = _CHARACTER_SET.findall(output), _SHIFT.findall(output)
    cut = _CUT.search(output) or _CUT_CHARACTER.search(output)
    # A program designates G1 once, when it starts, and always for lines.
    ends = (*designated[-1:], _LINES_IN_G1, *shifted[-1:], cut.group() if cut else b"")
    return b"".join(ends)


class Printed:
    """What a program has printed since something was typed.

    Args:
        begun: what the output before left open; see ``begun``.

    Attributes:
        left: the program left the alternate screen. What it prints behind that is no echo.
        output: the bytes of it, of a long output the beginning.
    """

    def __init__(self, begun: bytes = b"") -> None:
        self.left = False
        self.output = bytearray()
        self._text = ""
        self._rest = begun
        self._decoder = getincrementaldecoder("utf-8")("replace")
        # Where runs of signs start, how many signs each has, and whether nothing is between them.
        self._runs: dict[int, tuple[int, bool]] = {}

    def add(self, data: bytes) -> None:
        """More output."""
        if self.left or len(self._text) >= _MOST_PRINTED:
            return
        data = self._rest + data[:_MOST_PRINTED]
        leaves = _LEAVES.search(data)
        if leaves is not None:
            self.left, data = True, data[: leaves.start()]
        cut = _CUT.search(data)
        end = len(data) if cut is None else cut.start()
        self._rest = data[end:]
        self.output += data[: min(end, _MOST_PRINTED - len(self.output))]
        visible = _CONTROL.sub(_replacement, _QUIET.sub(b"", data[:end]))
        tail = self._text[-_LONGEST_RUN:]  # a run in it may go on
        start = max(0, len(self._text) - len(tail) + len(tail.rstrip(tail[-1:] + " \0")) - 1)
        self._text += self._decoder.decode(visible)
        for pattern in (_RUN, _PLACED_RUN):
            for run in pattern.finditer(self._text, start):
                if len(self._runs) < _MOST_RUNS or run.start() in self._runs:
                    self._runs[run.start()] = run.group().count(run[1]), pattern is _RUN

    @property
    def new_line_first(self) -> bool:
        """Whether it started a new line before it printed anything."""
        return self._text.lstrip("\0")[:1] == "\n"

    def shows(self, typed: str) -> bool:
        """Whether it printed what was typed, key by key or at once."""
        return typed in self._text.translate(_AS_ONE)

    def shows_tick(self, question: str, typed: str) -> bool:
        """Whether it printed a tick before ``question``, and no answer behind it or earlier."""
        row = re.compile(rf"[✔✓√] {re.escape(question)}\s*[^\w\s]?[ \0]*\n")
        found = row.search(self._text)
        return found is not None and typed not in self._text[: found.start()].translate(_AS_ONE)

    def hides(
        self, typed: str, before: tuple[str, ...], now: tuple[str, ...], *, in_a_row: bool = False
    ) -> bool:
        """Whether it printed as many signs as characters were typed, and not these before.

        Signs that have positions of their own are side by side on the screen; an animation has
        some anywhere.

        Args:
            typed: the text.
            before: the rows of the screen before. Signs that stood there hide something else.
            now: the rows of the screen now.
            in_a_row: take only signs that were printed one behind the other.
        """
        if not self._runs:
            return False
        lengths = {len(typed) * signs for signs in _SIGNS_A_KEY}
        lengths.add(len(typed.encode("utf-8", "surrogateescape")))
        lengths -= _runs(before)
        side_by_side = set() if in_a_row else _runs(now)
        for start, (length, row) in self._runs.items():
            if length in lengths and (row or length in side_by_side):
                return typed not in self._text[:start].translate(_AS_ONE)
        return False


def _runs(rows: tuple[str, ...]) -> set[int]:
    """How many signs each run of them has in these rows."""
    return {run.group().count(run[1]) for row in rows for run in _RUN.finditer(row)}


def _replacement(control: re.Match[bytes]) -> bytes:
    return b"\n" if control.group() == b"\n" else _MOVED


def hides(shown: str, typed: str, *, exactly: bool) -> bool:
    """Whether ``shown`` stands for ``typed`` and does not show it.

    Args:
        shown: what appeared.
        typed: what was typed.
        exactly: take only a sign for each character, or a row of three or more of one kind.
    """
    signs = shown.strip(" │┃|║")
    if len(signs) == len(typed) >= FEW_SIGNS and _is_one_sign(signs):
        return True
    if len(signs) == len(typed) > FEW_SIGNS and signs[-1] == typed[-1]:
        signs = signs[:-1] + signs[0]  # the last one is shown for a moment
    if not signs or set(signs) - MASKS:
        return False
    # The program may be behind the keys, or have lost some that came at once (ink).
    behind = signs[0] in _CERTAIN and signs == signs[0] * len(signs)
    # One more, where it took Enter for text (ink, of a line that came in one piece). Some programs
    # paint up to three for a key, so that nobody can count them.
    if exactly and behind and FEW_SIGNS <= len(signs) <= len(typed) * max(_SIGNS_A_KEY) + 1:
        return True
    return len(signs) == len(typed) or not (exactly or set(signs) & _AMBIGUOUS)


def _is_one_sign(signs: str) -> bool:
    """Whether it is the same sign again and again, and none of text."""
    return len(set(signs)) == 1 and (not signs[0].isalnum() or signs[0] in "xX")
