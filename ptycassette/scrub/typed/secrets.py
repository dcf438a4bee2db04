"""The secrets that were typed in a session, learnt from the events of its journal. Pure.

All ways of recording and ``recover`` use this module: everything sent to a program is a ``Typed``
event in the journal, with its real bytes. These inputs are secret:

``unseen``  the event is ``masked``: the terminal did not echo (ECHO off, ICANON on, as for
            password prompts), or the sender marked it. Also a line typed ahead for such a prompt,
            if only the end of the input came while it waited.
``asked``   it was typed where the screen asks for a secret by name (``secret_prompts``): left of
            the cursor, as a placeholder right of it, or in the nearest row above with text.
            Also a line that was typed ahead, before such a prompt appeared (``_ahead``).
``hidden``  only ``*``, bullets or dots appeared in its place; or the program printed as many of
            them as characters were sent, before it printed the text itself, if ever.
``silent``  nothing appeared, although the program had shown earlier input: at a prompt, one word,
            for a third of a second or longer, until Enter came by itself. Also if the program took
            the line, and ticked off its question (``? X`` is now ``✔ X``) or left the screen
            with the box in which it was typed.

A line is read in several ways (``readings``), and all readings are secrets. A short secret, of
five characters or fewer (a PIN), may also be ordinary text. It is ``whole``: it is removed only
where no letter or digit touches it, and only from the event ``since`` on, in which its typing
began. Longer ones are removed everywhere, in pieces as well if they look generated. One or two
characters are not returned: their removal would destroy the recording and hide nothing. Their
input is still masked.

Feed every event, in the order of the journal.
"""

from __future__ import annotations

import re
import unicodedata
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Literal, NamedTuple

import msgspec

from ptycassette.keys.reader import REMOVING, edited_text, typed_keys
from ptycassette.keys.reader import typed_text as typed_in_line
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import JournalEvent, Output, Typed
from ptycassette.model.screen import Screen, Size
from ptycassette.model.toml_text import package_table
from ptycassette.terminal.emulator import default_emulator
from ptycassette.terminal.widths import split_cells

# Whether a label asks for a secret: the words by which programs ask for one, in many languages.
#
# The words are data, in ``prompts.toml``. A word alone does not make a prompt: "I changed the
# password handling" and "12k tokens" ask for nothing. A label asks for a secret in these cases:
# only punctuation follows the word (``Password``); it ends like a prompt (``Passphrase for key
# '/home/me/.ssh/id':``); it begins or ends like a request (``Paste your API key here``); or it
# announces that input is hidden (``[input is masked]``). Yes-or-no questions do not ask for a
# secret.


_LONGEST = 160
_ENDS = ":?>=]›❯»…→➜➤▶▸‣"  # noqa: RUF001 - the signs that are meant
_CLOSING = _ENDS + " \t)}.*_`'\"|"
_SPACED = lazy_pattern(r"\b(?:\w ){3,}\w\b")
_YES_OR_NO = lazy_pattern(r"\by(?:es)?\s?/\s?n(?:o)?\b|\bj/n\b|\bo/n\b|\bs/n\b", re.IGNORECASE)


def _words(table: str) -> list[str]:
    """The words of a table in all its languages; a longer word comes before its beginnings."""
    texts = (" ".join(text.split()) for text in _tables()[table].values())
    words = {_as_read(word) for text in texts for word in text.split(", ")}
    return sorted(words, key=lambda word: (-len(word), word))


def _any_of(words: Iterable[str]) -> str:
    return "(?:" + "|".join(map(re.escape, words)) + ")"


def _as_read(label: str) -> str:
    """Text with one form for each letter: composed, of ordinary width. "…" is kept."""
    parts = label.replace("’", "'").split("…")  # noqa: RUF001 - both are written
    return "…".join(unicodedata.normalize("NFKC", part) for part in parts)


@cache
def _tables() -> dict[str, dict[str, str]]:
    return package_table(__package__, "prompts.toml")


@cache
def _of_something() -> frozenset[str]:
    return frozenset(_words("of-something"))


# Messages that input is hidden, from @inquirer/prompts, inquirer, and other programs.
_UNSEEN = lazy_pattern(
    lambda: (
        r"\b(?:input|typing|keystrokes|characters)(?: (?:is|are|will be))? "
        r"(?:masked|hidden|invisible)\b"
        r"|\b(?:input|typing|keystrokes|characters) (?:is not|are not|will not be|won't be) "
        r"(?:shown|displayed|echoed|visible)\b|" + _any_of(_words("says-hidden"))
    ),
    re.IGNORECASE,
)
_NAMED = lazy_pattern(
    lambda: (
        r"(?:^|(?<=[\s\"'`(\[{<*_]))"
        rf"(?:(?i:{_any_of(_words('names'))}|\w+{_any_of(_words('name-endings'))})"
        rf"|{_any_of(_words('names-as-written'))})(?![\w-])"
    )
)
# "Vault key for hermes:", "Wi-Fi key>", "Key for the archive:", "key (sk-...):", and "Pass:".
_KEY_LABEL = lazy_pattern(
    lambda: (
        r"(?!.*\b(?:file|name|path)\b)"
        rf"(?:(?:.*\s)?(?!{_any_of(_words('no-secret-keys'))}\s)[^\W\d_][\w.-]*\s+keys?"
        r"(?=\s*[(\[:?>=]|\s+(?:for|of|to|on)\s)"
        r"|\W*key(?=\s+(?:for|to)\s|\s*\([^)]*(?:\.\.|…|sk-))"
        r"|\W*pass(?=\s*[:?>=]))"
        r".*[:?>=›❯»]\s*$"  # noqa: RUF001
    ),
    re.IGNORECASE,
)
_UNSPACED = lazy_pattern(lambda: _any_of(_words("names-unspaced")))
_REQUEST = lazy_pattern(
    lambda: rf"\W*{_any_of(_words('requests'))}\b|.*{_any_of(_words('request-endings'))}\W*$",
    re.IGNORECASE,
)
_NO_NAMES = lazy_pattern(lambda: rf"\b{_any_of(_words('no-names'))}\b", re.IGNORECASE)


def asks_for_secret(label: str) -> bool:
    """Whether ``label``, the text of a prompt in one row, asks for a secret."""
    label = _NO_NAMES.sub("", _as_read(label.strip()[-_LONGEST:]))
    label = _SPACED.sub(lambda word: word.group().replace(" ", ""), label)
    if _YES_OR_NO.search(label):
        return False
    if _UNSEEN.search(label) or _KEY_LABEL.match(label):
        return True
    named = [*_NAMED.finditer(label), *_UNSPACED.finditer(label)]
    return any(_word_asks(label, label[match.end() :]) for match in named)


def _word_asks(label: str, rest: str) -> bool:
    """Whether a label asks for the thing named before ``rest``."""
    if not rest.strip(_CLOSING):
        return True
    words = rest.strip(_CLOSING).split()
    if words and words[0].lower().strip(_CLOSING) in _of_something():
        return False
    return label.rstrip()[-1:] in _ENDS or _REQUEST.match(label) is not None


# The texts that the keys of one line may have typed.
#
# We cannot see which keys the program obeyed. So a line is read in several ways: as typed, with
# rubout and kill keys applied (``text_of_line``), with cursor keys applied (``edited_text``), and
# as it was each time before a part of it was removed: a part may be rubbed out and typed again.


SHORTEST_TYPED = 3
"""Characters; fewer cannot be distinguished from ordinary text at all."""

_SHORTEST_REMOVED = 4
_EDITING = lazy_pattern(rb"[\x00-\x1f\x7f]")


def readings(line: bytes) -> Iterator[str]:
    """The texts that the keys of one line may have typed, none twice, the likeliest first."""
    raw = line.decode("latin-1")
    if _EDITING.search(line):
        edited = edited_text(raw)
        texts = [
            text_of_line(line, editing=True),
            *(() if edited is None else _plain(edited.text).split("\n")),
            *_removed(raw),
            text_of_line(line, editing=False),
        ]
    else:
        texts = [_plain(raw)]
    found: dict[str, None] = {}
    for text in texts:
        for value in (text, text.strip()):
            if len(value.strip()) >= SHORTEST_TYPED and set(value) != {"*"}:
                found[value] = None
    return iter(found)


def _removed(raw: str) -> Iterator[str]:
    """The line each time before a part of it was removed."""
    chars = ""
    for at, (char, places) in enumerate(keys := [*typed_keys(raw, base=0)]):
        if not places:
            continue
        if char not in REMOVING:
            chars += char
            continue
        before = at == 0 or keys[at - 1][0] not in REMOVING
        text = _plain(chars)
        if before and len(text) >= _SHORTEST_REMOVED:
            yield text
        chars = typed_in_line(chars + char).text


def text_of_line(line: bytes, *, editing: bool) -> str:
    """The text that the keys typed; with ``editing`` rubout and kill keys are applied."""
    if not _EDITING.search(line):
        return _plain(line.decode("latin-1"))
    return _plain(typed_in_line(line.decode("latin-1"), editing=editing).text)


def _plain(canonical: str) -> str:
    """The text in bytes shown as characters, without control characters."""
    text = canonical.encode("latin-1").decode("utf-8", "surrogateescape")
    return "".join(char for char in text if (char >= " " and char != "\x7f") or char == "\n")


# The screen at one moment, as the typing user sees it.


BORDERS = "│┃|║▏▕╎┊ \t╭╮╰╯┌┐└┘─━═+-"
"""What stands around a field, blanks included."""

_MOST_STOPS = 64
# ECMA-48 8.3.21, and xterm's VPA: the cursor is put somewhere.
_PUT = lazy_pattern(rb"\x1b\[[0-9;]*[Hfd]")


class AtCursor(NamedTuple):
    """The screen at one moment.

    Attributes:
        rows: the text of all rows, from the top.
        row: the number of the row in which the cursor is, from 0.
        before: the text in that row left of the cursor, blanks included.
        cols: how many cells a row has.
        visible: whether the cursor is shown. If not (ink), the program paints its own cursor, and
            the terminal's is somewhere below.
    """

    rows: tuple[str, ...]
    row: int
    before: str
    cols: int
    visible: bool = True

    @property
    def prompt(self) -> str:
        """The text left of the cursor, without borders and blanks around it."""
        return self.before.strip(BORDERS)

    def full(self, row: int) -> bool:
        """Whether the text of a row may continue in the next one."""
        text = self.rows[row]
        cells_at_most = len(text) if text.isascii() else 2 * len(text)
        return cells_at_most >= self.cols - 1


def at_cursor(screen: Screen) -> AtCursor:
    """A screen as ``TypedSecrets`` looks at it."""
    row, col = screen.cursor.row, screen.cursor.col
    text = screen.rows[row]
    cells = text if text.isascii() else split_cells(text)
    before = "".join(cells[:col]) + " " * (col - len(cells))
    return AtCursor(screen.rows, row, before, screen.size.cols, screen.cursor.visible)


def stops(first: AtCursor, output: bytes) -> Iterator[AtCursor]:
    """The screen each time before a program puts its cursor somewhere else.

    Args:
        first: the screen before.
        output: what the program then prints; of much, the end is looked at.
    """
    puts = [*_PUT.finditer(output)][-_MOST_STOPS:]
    if not puts:
        return
    screen = default_emulator(Size(len(first.rows), first.cols))
    begun = "\r\n".join(first.rows) + f"\x1b[{first.row + 1};{len(split_cells(first.before)) + 1}H"
    screen.feed(begun.encode("utf-8", "replace"))
    fed = 0
    for put in puts:
        screen.feed(output[fed : put.start()])
        fed = put.start()
        yield at_cursor(screen.snapshot())


# Signs in place of text: a program's display of a typed secret.


FEW_SIGNS = 3
MASKS = frozenset("*•●∙·.⋅◦○■▪█∗⁎＊‣⬤x")  # noqa: RUF001 - characters that hide others
_AMBIGUOUS = frozenset(".·∙⋅x")  # these also appear where nothing is hidden
_CERTAIN = frozenset("*•●")

_MOST_PRINTED = 16 << 10
_MOST_RUNS = 64
_LONGEST_RUN = 512
_HIDING = "([*•●◦○∗⁎＊⬤])"  # noqa: RUF001 - progress bars have the others
_RUN = lazy_pattern(_HIDING + r"(?: ?\1){3,}")
_PLACED_RUN = lazy_pattern(_HIDING + r"(?:\0+\1){3,}")  # each with a position of its own
_SIGNS_A_KEY = (1, 2, 3)
# ECMA-48 5.4, 5.6, 8.3.117: sequences that do not move the cursor, and all others.
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
    """The state that output leaves open for the output after it, as bytes with the same effect.

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
    """The output of a program since something was typed.

    Args:
        begun: the state that the output before left open; see ``begun``.

    Attributes:
        left: the program left the alternate screen. Output after that is no echo.
        output: its bytes; only the beginning if it is long.
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
        """Whether it printed the typed text, key by key or at once."""
        return typed in self._text.translate(_AS_ONE)

    def shows_tick(self, question: str, typed: str) -> bool:
        """Whether it printed a tick before ``question``, and no answer behind it or earlier."""
        row = re.compile(rf"[✔✓√] {re.escape(question)}\s*[^\w\s]?[ \0]*\n")
        found = row.search(self._text)
        return found is not None and typed not in self._text[: found.start()].translate(_AS_ONE)

    def hides(
        self, typed: str, before: tuple[str, ...], now: tuple[str, ...], *, in_a_row: bool = False
    ) -> bool:
        """Whether it printed as many signs as characters were typed, not counting earlier signs.

        Signs with their own positions must be side by side on the screen; an animation has
        some anywhere.

        Args:
            typed: the text.
            before: the rows of the screen before. Signs that were already there hide something
                else.
            now: the rows of the screen now.
            in_a_row: count only signs that were printed one after the other.
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
    """The lengths of the runs of signs in these rows."""
    return {run.group().count(run[1]) for row in rows for run in _RUN.finditer(row)}


def _replacement(control: re.Match[bytes]) -> bytes:
    return b"\n" if control.group() == b"\n" else _MOVED


def hides(shown: str, typed: str, *, exactly: bool) -> bool:
    """Whether ``shown`` replaces ``typed`` and does not show it.

    Args:
        shown: the text that appeared.
        typed: the text that was typed.
        exactly: accept only a sign for each character, or a row of three or more of one kind.
    """
    signs = shown.strip(" │┃|║")
    if len(signs) == len(typed) >= FEW_SIGNS and _is_one_sign(signs):
        return True
    if len(signs) == len(typed) > FEW_SIGNS and signs[-1] == typed[-1]:
        signs = signs[:-1] + signs[0]  # the last one is shown for a moment
    if not signs or set(signs) - MASKS:
        return False
    # The program may lag behind the keys, or have lost some that came at once (ink).
    behind = signs[0] in _CERTAIN and signs == signs[0] * len(signs)
    # One more if it took Enter for text (ink, for a line that came in one piece). Some programs
    # paint up to three for a key, so they cannot be counted.
    if exactly and behind and FEW_SIGNS <= len(signs) <= len(typed) * max(_SIGNS_A_KEY) + 1:
        return True
    return len(signs) == len(typed) or not (exactly or set(signs) & _AMBIGUOUS)


def _is_one_sign(signs: str) -> bool:
    """Whether it is the same sign repeated, and not a sign of text."""
    return len(set(signs)) == 1 and (not signs[0].isalnum() or signs[0] in "xX")


# An input field, and whether the screen shows that it is for a secret.


_MOST_BYTES = 4 << 10
_ROWS_ABOVE = 4
_ROWS_BELOW = 2
_ROWS_WITHOUT_CURSOR = 6
_SILENT_US = 300_000
_SHORTEST_SILENT = 4
_SHORTEST_WITHOUT_CURSOR = 3
_ENOUGH_SHOWN = 12  # more may be in the next row
_LETTER = lazy_pattern(r"[^\W\d_]")
_PROMPT_ENDS = tuple(":?>=]›❯»")  # noqa: RUF001
_INPUT_BEGINS = tuple(">›❯»")  # noqa: RUF001
_ARROW = lazy_pattern(r"\s*(?:[-=~─═]+[>›❯»]|>{2,}|[→➜⇒▶])\s*")  # noqa: RUF001 - decorates a prompt
_QUESTION = lazy_pattern(r"\s*\? (.*?\w.*?)\s*[^\w\s]?\s*")
"""Of inquirer and the like; when it was answered, a tick stands in place of the question mark."""
_SAYS_SOMETHING = lazy_pattern(r"(?!\s*[>›❯»]).*[^\W\d_]{2}.*[:?>=\]›❯»]\s?")  # noqa: RUF001
_BOX = lazy_pattern(r".*[│┃|║][ _]{8,}[│┃|║].*")
_KEY = lazy_pattern(r"(?=\S*[A-Za-z])(?=\S*\d)[\w.+/=~-]{16,}")
_MOST_LABEL_WORDS = 4  # also after a sign that begins input lines

How = Literal["unseen", "asked", "hidden", "silent"]
"""Why something typed is secret; see ``typed_secrets``."""


class Field:
    """A place for typing that the line discipline does not hide.

    Args:
        at: the screen before the first key; None when it is not known.
        answered: the prompt at which something was typed before, as ``prompt`` gives it.
        t_us: the moment of the first key.
        number: the number of its event.
        begun: the state that the output before the first key left open; see ``_signs.begun``.

    Attributes:
        how: why the typed text is secret; None while nothing shows that it is.
        shown: it was shown as it was typed.
        ended: Enter or the like was pressed.
        kept: for the owner: its text was learnt.
        printed: for the owner to fill: the program's output since.
        keys: the typed keys.
        events: the numbers of the events with these keys.
    """

    def __init__(
        self,
        at: AtCursor | None,
        t_us: int,
        number: int,
        *,
        answered: str = "",
        begun: bytes = b"",
    ) -> None:
        asks = None if at is None else _asks(at, answered)
        self.how: How | None = "asked" if asks == "here" else None
        self._sign: How | None = "asked" if asks == "near" else None
        self.shown = self.ended = self.kept = False
        self.keys = bytearray()
        self.printed = Printed(begun)
        self.events = [number]
        self._at = at
        self._t_us = t_us

    @property
    def prompt(self) -> str:
        """The prompt on the screen before the first key."""
        return "" if self._at is None else self._at.prompt

    @property
    def before(self) -> AtCursor | None:
        """The screen before the first key; None when it is not known."""
        return self._at

    @property
    def unprompted(self) -> bool:
        """Whether the place left of the cursor was empty, or its text is unknown."""
        return self._at is None or not self._at.before.strip()

    @property
    def decided(self) -> bool:
        """Whether another look cannot change the answer: it is known, or the line is too long."""
        return self.how is not None or self.shown or len(self.keys) >= _MOST_BYTES

    def add(self, data: bytes, number: int) -> None:
        """More keys."""
        self.keys += data[: _MOST_BYTES - len(self.keys)]
        if self.events[-1] != number:
            self.events.append(number)

    def left(self, at: AtCursor | None) -> bool:
        """Whether the program has gone on to something else, without Enter (a PIN of four digits).

        A line that wraps has not been left: its beginning is still there, above full rows. Nor has
        a line with the cursor inside the prompt: it is being repainted.
        """
        first = self._at
        if first is None or at is None:
            return False
        label = first.before.rstrip()
        if not (first.visible and at.visible and label):
            return _is_another(first.rows, at.rows)
        if at.before.startswith(label):
            return False
        if at.row == first.row and label.startswith(at.before.rstrip()):
            return False
        above = at.row
        while above > 0 and at.full(above - 1):
            above -= 1
            if at.rows[above].startswith(label):
                return False
        return True

    def judge(self, at: AtCursor) -> bool:
        """Look whether the keys, or signs in their place, are shown. Returns whether it decides."""
        first = self._at
        typed = text_of_line(bytes(self.keys), editing=True).strip()
        if not set(typed) - MASKS:
            return False
        rows = () if first is None else first.rows
        places = [] if first is None else [*self._in_place(first, at)]
        # Without a cursor, a program that prints its input after the signs shows it in some row.
        certain = first is not None and not first.visible and self.ended
        certain = certain and self.printed.hides(typed, rows, at.rows, in_a_row=True)
        if not certain and any(self._is_shown(shown, typed) for shown, _ in places):
            self.shown = True
            return True
        if any(hides(shown, typed, exactly=exactly) for shown, exactly in places):
            self._sign = "hidden"
            if first is not None and first.visible:
                self.how = "hidden"
        elif self.printed.hides(typed, rows, at.rows):
            self._sign = "hidden"
        if self.ended and self._sign is None and first is not None:
            self._sign = "silent" if self._taken_unseen(first, at, typed) else None
        if self.ended:
            self.settle()
        return self.decided

    def settle(self) -> None:
        """Nothing more is known of it: what points to a secret decides, unless it was shown.

        Some programs show the key that they ask for. It is no prompt if it looks like a key.
        """
        typed = text_of_line(bytes(self.keys), editing=True).strip()
        like_a_key = self._sign == "asked" and _KEY.fullmatch(typed) is not None
        if self.how is None and (like_a_key or not self.shown):
            self.how = self._sign

    def _is_shown(self, shown: str, typed: str) -> bool:
        """Whether a text in its place is the typed text.

        Two letters are enough, unless the place is not known or something points to a secret.
        """
        placed = self._at is not None and self._at.visible and len(typed) > 1
        if placed and (self._sign is None or shown.strip() == typed):
            return typed[:2] in shown
        return len(typed) >= _SHORTEST_WITHOUT_CURSOR and typed[:_ENOUGH_SHOWN] in shown

    def _taken_unseen(self, first: AtCursor, at: AtCursor, typed: str) -> bool:
        """Whether the program took the line, and went on without having shown any of it."""
        if len(typed) < _SHORTEST_SILENT:
            return False
        if self.printed.new_line_first and _SAYS_SOMETHING.fullmatch(first.before):
            return at.row > first.row and at.rows[first.row] == first.before.rstrip()
        if self.printed.left and first.visible and self._stood_in_box(first):
            return not self.printed.shows(typed[:_SHORTEST_SILENT])
        question = _QUESTION.fullmatch(first.before)
        return question is not None and self.printed.shows_tick(question[1], typed)

    def _stood_in_box(self, first: AtCursor) -> bool:
        """Whether the cursor was in an empty box when the text was typed, or when it was read.

        A driver may type while the box is being painted; then the rest may come at once.
        """
        if _in_box(first):
            return True
        return any(_in_box(at) for at in stops(first, bytes(self.printed.output)))

    def look_for_silence(self, t_us: int, at: AtCursor) -> None:
        """Note whether nothing appeared at a prompt, although there was time for it."""
        if self.shown or t_us - self._t_us < _SILENT_US or at != self._at:
            return
        typed = text_of_line(bytes(self.keys), editing=True)
        prompts = at.before.rstrip().endswith(_PROMPT_ENDS)
        if prompts and len(typed) >= _SHORTEST_SILENT and not re.search(r"\s", typed):
            self._sign = self._sign or "silent"

    def _in_place(self, first: AtCursor, at: AtCursor) -> Iterator[tuple[str, bool]]:
        """The texts where the keys would be shown, and whether each must have its sign.

        Away from the cursor, other text may look alike.
        """
        if not first.visible:
            if len(self.keys) >= _SHORTEST_WITHOUT_CURSOR:
                yield from ((change, True) for change in _changes(first.rows, at.rows))
            return
        label = first.before.rstrip()
        if at.before.startswith(label) and (label or at.row == first.row):
            shown = at.before[len(first.before) :]
            # Behind Enter, signs may still come one by one, and so may something else.
            yield shown, self.ended and len(shown.strip()) < FEW_SIGNS
        if label and self.ended:
            for row in at.rows:
                if row.startswith(label) and row != label:
                    yield row[len(first.before) :], True


def _in_box(at: AtCursor) -> bool:
    """Whether the cursor is in a row with only blanks between borders."""
    row = at.rows[at.row]
    return _BOX.fullmatch(row) is not None and not row.strip(BORDERS + "_")


def _is_another(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Whether a screen shows something else: less than half of the rows with text are left."""
    rows = {row.strip(BORDERS) for row in before if _LETTER.search(row)}
    there = [row.strip(BORDERS) for row in now]
    return 2 * sum(any(row.startswith(old) for row in there) for old in rows) < len(rows)


def _asks(at: AtCursor, answered: str) -> Literal["here", "near"] | None:
    """Whether the screen asks for a secret where the cursor is: right before it, or near it.

    A prompt in a row above that was ``answered`` in that row asks no more.
    """
    if at.visible and _LETTER.search(at.before):
        return "here" if row_asks(at.before) or _label_asks(at.before) else None
    return "near" if _asks_near(at, answered) else None


def _asks_near(at: AtCursor, answered: str) -> bool:
    """Whether a placeholder at the cursor, or another row, asks for a secret."""
    if not at.visible:
        return _asks_somewhere(at.rows)
    behind = at.rows[at.row][len(at.before) :] if at.row < len(at.rows) else ""
    if _LETTER.search(behind):
        return row_asks(behind) or _label_asks(behind)
    for row in reversed(at.rows[max(0, at.row - _ROWS_ABOVE) : at.row]):
        if _LETTER.search(row):
            old = answered != "" and row.strip(BORDERS).startswith(answered)
            return not old and row_asks(row)
    below = [row for row in at.rows[at.row + 1 : at.row + 1 + _ROWS_BELOW] if _LETTER.search(row)]
    return bool(below) and row_asks(below[0])


def _asks_somewhere(rows: tuple[str, ...]) -> bool:
    """Whether the lowest prompt of the screen asks for a secret."""
    lettered = [row for row in rows if _LETTER.search(row)]
    for row in reversed(lettered[-_ROWS_WITHOUT_CURSOR:]):
        if row_asks(row):
            return True
        if row.rstrip(BORDERS).endswith(_PROMPT_ENDS) or row.lstrip(BORDERS).startswith("?"):
            return False
    return False


def row_asks(row: str) -> bool:
    """Whether a row asks for a secret. One that begins as an input line was typed itself."""
    arrow = _ARROW.match(row)
    text = row[arrow.end() if arrow else 0 :].strip(BORDERS)
    return not text.startswith(_INPUT_BEGINS) and asks_for_secret(text)


def _label_asks(label: str) -> bool:
    """Whether a few words beside the cursor ask for one, after the sign of an input line."""
    text = label.strip(BORDERS).lstrip("".join(_INPUT_BEGINS))
    return len(text.split()) <= _MOST_LABEL_WORDS and asks_for_secret(text)


def _changes(before: tuple[str, ...], now: tuple[str, ...]) -> Iterator[str]:
    """The new part of each changed row: without its unchanged beginning and end."""
    for old, new in zip(before, now, strict=False):
        if old == new:
            continue
        start = 0
        while start < min(len(old), len(new)) and old[start] == new[start]:
            start += 1
        end = 0
        while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
            end += 1
        yield new[start : len(new) - end]


# Lines that were typed before the program asked for anything, and which prompt takes each.


_MOST_LINES = 64
_OUTPUTS_LOOKED_AT = 64  # after the last line
_ENDS_AHEAD = tuple(":?>=]›❯»$#%")  # noqa: RUF001
_LABEL = lazy_pattern(r".{0,160}?[:?>=\]›❯»：？＞](?=\s|$)")  # noqa: RUF001
"""What stands before the answer, where the program has read it by now."""


class TypedAhead:
    """The lines that no prompt has taken yet."""

    def __init__(self) -> None:
        self._lines: list[tuple[bytes, int]] = []
        self._prompts: Counter[str] = Counter()
        self._looks_left = 0
        self._last: tuple[bytes, int] | None = None

    @property
    def waiting(self) -> bool:
        """Whether a prompt that appears now may take a line, or ends the wait of another one."""
        return bool(self._lines or self._last) and self._looks_left > 0

    def add(self, line: bytes, number: int, at: AtCursor | None) -> None:
        """Remember a line that was typed without a prompt.

        Args:
            line: its keys, without Enter.
            number: the number of the event in which its typing began.
            at: the screen before it, with prompts that were already answered. None if not known.
        """
        if len(self._lines) < _MOST_LINES:
            self._lines.append((line, number))
            self._looks_left = _OUTPUTS_LOOKED_AT
        if at is not None:
            self._prompts = Counter(_prompts(at))

    def forget(self) -> None:
        """Drop the lines typed so far: prompts are answered now, so they have been read."""
        self._lines.clear()
        self._last = None

    def taken(self, at: AtCursor) -> list[tuple[bytes, int]]:
        """The lines that new prompts take that ask for a secret, with their numbers."""
        self._looks_left -= 1
        before, self._prompts = self._prompts, Counter(_prompts(at))
        taken = []
        for prompt in _prompts(at):
            if before[prompt] > 0:
                before[prompt] -= 1
                continue
            self._last = self._lines.pop(0) if self._lines else None
            if self._last is not None and row_asks(prompt):
                taken.append(self._last)
        return taken

    def taken_unseen(self) -> list[tuple[bytes, int]]:
        """The line that the last prompt took, or that it is to take: it does not echo."""
        line = self._last or (self._lines[0] if self._lines else None)
        return [] if line is None else [line]


def _prompts(at: AtCursor) -> list[str]:
    """The prompts on a screen down to the cursor, from the top.

    A row above may hold the answer, too, where its prompt asks for a secret; any other text with a
    colon is no prompt.
    """
    found = []
    for row in at.rows[: at.row]:
        label = _LABEL.match(row)
        if label is not None and (label.group() == row.rstrip() or row_asks(label.group())):
            found.append(label.group())
    last = at.before.rstrip()
    label = _LABEL.match(last)
    if label is not None and row_asks(label.group()):
        found.append(label.group())
    elif last.endswith(_ENDS_AHEAD):
        found.append(last)
    return found


__all__ = ["How", "LookAtScreen", "TypedSecret", "TypedSecrets"]

_LONGEST_WHOLE = 5
_MOST_LINE_BYTES = 4 << 10
_MOST_FIELDS = 3  # of one piece, besides the last one
_TAIL_BYTES = 1 << 10

# Enter, ctrl-c, ctrl-d, ctrl-z, ctrl-\: keys that end a line of the line discipline.
_LINE_ENDS = lazy_pattern(rb"[\r\n\x03\x04\x1a\x1c]")
# Enter, Tab, ctrl-c, Up, Down: keys that leave a field that a program paints.
_FIELD_ENDS = lazy_pattern(rb"[\r\n\t\x03]|\x1b(?:\[|O)[AB]")
_ESCAPE = b"\x1b"
_ENTER = frozenset({b"\r", b"\n", b"\r\n"})

LookAtScreen = Callable[[], AtCursor]
"""The screen with all output before the event. Asked only where it is needed."""


class TypedSecret(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of something secret that was typed.

    Attributes:
        text: the value.
        how: why it is secret; see above.
        whole: too short to be removed inside of other words, or before it was typed.
        since: the number of the event in which typing it began, counted from 0 over all events.
    """

    text: str
    how: How
    whole: bool
    since: int


class TypedSecrets:
    """Learns the secrets that were typed in one session.

    Attributes:
        hidden: the numbers of the events, counted from 0, of which the bytes are secret although
            they are not ``masked``: they are to be hidden as if they were.
    """

    def __init__(self) -> None:
        self.hidden: set[int] = set()
        self._number = -1
        self._known: dict[str, TypedSecret] = {}
        self._unseen = bytearray()
        self._unseen_since = 0
        self._field: Field | None = None
        self._sent_along: list[Field] = []  # before it, in one piece with it
        self._answered = ""
        self._tail = b""  # of the output
        self._looks_left = 0
        self._shows_input = self._escaped = False
        self._ahead = TypedAhead()

    def feed(self, event: JournalEvent, look: LookAtScreen | None = None) -> list[TypedSecret]:
        """Take one event; return the secrets that it reveals.

        Args:
            event: the next event.
            look: returns the screen at the event: after everything before it, and after the event
                itself if it is an ``Output``. None without a screen; then only ``masked`` input is
                learnt.
        """
        self._number += 1
        match event:
            case Typed(source="terminal"):
                return []
            case Typed(masked=True):
                return [*self._leave(look), *self._take_unseen(event, look)]
            case Typed():
                ended = [*self._end_unseen(event)]
                return ended if look is None else [*ended, *self._take_shown(event, look)]
            case Output(stream=None) if look is not None:
                self._print(event.data)
                self._tail = (self._tail + event.data[-_TAIL_BYTES:])[-_TAIL_BYTES:]
                watching = self._looks_left > 0 or self._ahead.waiting
                return [*self._look(look())] if watching else []
            case _:
                return []

    def _look(self, at: AtCursor) -> Iterator[TypedSecret]:
        if self._looks_left > 0:
            self._looks_left -= 1
            yield from self._judge(at)
            if self._looks_left == 0 and self._field is not None and self._field.ended:
                yield from self._settle()
        for line, number in self._ahead.taken(at) if self._ahead.waiting else ():
            yield from self.learn(line, "asked", number)

    def _print(self, data: bytes) -> None:
        """Show output to the fields that are not decided yet."""
        for field in self._undecided() if self._looks_left > 0 else ():
            field.printed.add(data)

    def _undecided(self) -> list[Field]:
        """The fields that are not yet known to be secret or not, in their order."""
        last = [] if self._field is None else [self._field]
        return [field for field in (*self._sent_along, *last) if not field.decided]

    def finish(self) -> list[TypedSecret]:
        """The events have ended; return the secrets that this reveals."""
        unseen = self.learn(bytes(self._unseen), "unseen", self._unseen_since)
        return [*unseen, *self._settle()]

    def values(self) -> tuple[TypedSecret, ...]:
        """All secrets learnt so far."""
        return tuple(self._known.values())

    def learn(self, line: bytes, how: How, since: int) -> Iterator[TypedSecret]:
        """Learn the readings of a line; yield the new ones."""
        for text in readings(line):
            if text not in self._known:
                whole = len(text) <= _LONGEST_WHOLE
                secret = TypedSecret(text=text, how=how, whole=whole, since=since)
                self._known[text] = secret
                yield secret

    def _take_unseen(self, event: Typed, look: LookAtScreen | None) -> Iterator[TypedSecret]:
        if not self._unseen:
            self._unseen_since = self._number
            if not text_of_line(event.data, editing=False):  # Enter, or the end of piped input
                for line, number in self._ahead.taken_unseen():
                    yield from self.learn(line, "unseen", number)
            self._ahead.forget()
            self._answered = "" if look is None else look().prompt
        *ended, rest = _LINE_ENDS.split(bytes(self._unseen) + event.data)
        for line in ended:
            yield from self.learn(line, "unseen", self._unseen_since)
        if len(rest) > _MOST_LINE_BYTES:
            yield from self.learn(rest, "unseen", self._unseen_since)
            rest = b""
        self._unseen = bytearray(rest)
        if ended:
            self._unseen_since = self._number

    def _end_unseen(self, event: Typed) -> Iterator[TypedSecret]:
        """Note that input is shown again. An Enter that is shown still belongs to the secret."""
        if not self._unseen:
            return
        line, self._unseen = bytes(self._unseen), bytearray()
        yield from self.learn(line, "unseen", self._unseen_since)
        if event.data in _ENTER:
            self.hidden.add(self._number)

    def _take_shown(self, event: Typed, look: LookAtScreen) -> Iterator[TypedSecret]:
        at: AtCursor | None = look()
        data = event.data
        start = 0
        escaped, self._escaped = self._escaped, data == _ESCAPE
        if escaped and data[:1] not in {b"[", b"O"}:  # a dialog was closed, unless it is a key
            yield from self._end_field(_ESCAPE, event.t_us, at)
        for end in _FIELD_ENDS.finditer(data):
            yield from self._type(data[start : end.start()], event.t_us, at)
            yield from self._end_field(end.group(), event.t_us, at)
            start = end.end()
            at = None  # the screen after Enter is not known yet
        yield from self._type(data[start:], event.t_us, at)

    def _type(self, data: bytes, t_us: int, at: AtCursor | None) -> Iterator[TypedSecret]:
        """Add some keys to a field."""
        if not data:
            return
        field = self._field
        if field is not None and at is None and len(self._sent_along) < _MOST_FIELDS:
            self._sent_along.append(field)
            self._field = None
        elif field is not None and (field.ended or field.left(at)):
            yield from self._leave(None if at is None else lambda: at)
        if self._field is None:
            if not text_of_line(data, editing=False):
                return  # no text: an answer of the terminal, a movement
            left_open = begun(self._tail)
            self._field = Field(at, t_us, self._number, answered=self._answered, begun=left_open)
            self._answered = self._field.prompt
            if not self._field.unprompted:
                self._ahead.forget()
        field = self._field
        if at is not None:
            yield from self._judge(at)
        field.add(data, self._number)
        if field.how is not None:
            self.hidden.update(field.events)
        self._looks_left = _OUTPUTS_LOOKED_AT if self._undecided() else 0

    def _end_field(self, key: bytes, t_us: int, at: AtCursor | None) -> Iterator[TypedSecret]:
        field = self._field
        if field is None or field.ended:
            return
        if at is not None:
            yield from self._judge(at)
            alone = self._number != field.events[-1]
            if key in _ENTER and alone and self._shows_input:
                field.look_for_silence(t_us, at)
        field.ended = True
        if key != _ESCAPE:  # that came in an event before this one
            field.add(b"", self._number)
        if field.how is None and field.unprompted and key in _ENTER:
            self._ahead.add(bytes(field.keys), field.events[0], field.before)
        yield from self._keep(field)

    def _leave(self, look: LookAtScreen | None) -> Iterator[TypedSecret]:
        """Something else begins: look a last time at the field of the last input."""
        if self._undecided() and look is not None:
            yield from self._judge(look())
        yield from self._settle()
        self._field = None
        self._sent_along.clear()

    def _settle(self) -> Iterator[TypedSecret]:
        """Decide on the open fields, and learn their secrets."""
        last = [] if self._field is None else [self._field]
        for field in (*self._sent_along, *last):
            field.settle()
            yield from self._keep(field)

    def _judge(self, at: AtCursor) -> Iterator[TypedSecret]:
        """Check whether the keys of each field were shown."""
        for field in self._undecided():
            if field.judge(at):
                self._shows_input = self._shows_input or field.shown
            if field.ended:
                yield from self._keep(field)
        if not self._undecided():
            self._looks_left = 0

    def _keep(self, field: Field) -> Iterator[TypedSecret]:
        """Learn the text of the field, if it is secret."""
        if field.how is not None and not field.kept:
            field.kept = True
            self.hidden.update(field.events)
            yield from self.learn(bytes(field.keys), field.how, field.events[0])
