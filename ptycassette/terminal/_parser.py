"""Bytes into calls: text to paint, control functions to perform.

Two ways through the same grammar. The *fast* one splits decoded text with one
regular expression into runs of text and complete control functions, and looks
up each control function in a table of earlier results. Everything that the
expression does not match whole, sequences cut by the end of a chunk,
control characters inside sequences, cancelled and malformed ones, goes through
the *machine* (``_machine.py``), one character at a time, until it is back in the ground state.
Malformed UTF-8 is dropped.

Splitting the input at any byte changes nothing, and ``pending`` is exactly how
many bytes at its end are an incomplete character or sequence.
"""

from __future__ import annotations

import codecs
from typing import Final

from ptycassette.terminal._grammar import (
    BOM,
    DROPPED,
    GROUND,
    SPLIT,
    STARTERS,
    STRIKE,
    STRING,
    STRUCK,
    ParserState,
)
from ptycassette.terminal._machine import MAX_STRING, Machine
from ptycassette.terminal._terminal import Terminal
from ptycassette.terminal.widths import NO_JOIN

_BLOCK: Final = 1 << 14
_SLOW_LIMIT: Final = 8


class Parser(Machine):
    """Feeds one terminal.

    Args:
        screen: the terminal that performs what is parsed.
    """

    def __init__(self, screen: Terminal) -> None:
        super().__init__(screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._sequence_bytes = 0
        self._held = b""
        # What was painted last, if nothing came after it: a character, or one and a BS.
        self._painted = ""
        # The chunk with ``STRIKE`` in it, if it has any, and whether the block is made of it.
        self._struck: str | None = None
        self._marked = False

    @property
    def pending(self) -> int:
        """How many bytes at the end of the input are an incomplete character or sequence."""
        return self._sequence_bytes + len(self._held)

    @property
    def in_sequence(self) -> bool:
        """Whether a control function is open, be it an escape sequence or a string."""
        return self._state != GROUND

    def feed(self, data: bytes) -> None:
        """Parse bytes. Never raises."""
        if not data:
            return
        text = self._decoder.decode(data)
        if BOM in text:
            text = text.replace(BOM, "")
        before = self._held
        self._held = self._decoder.getstate()[0]
        self._struck = None
        if "\x08" in text or self._painted[1:]:
            self._mark(text if len(text) == len(before + data) else before + data)
        began = self._run(text)
        if not self._painted.encode().endswith(data[-len(self._painted) :]):
            self._painted = ""
        if self._state == GROUND:
            self._sequence_bytes = 0
        else:
            decoded = (before + data)[: len(before) + len(data) - len(self._held)]
            if began is None:
                self._sequence_bytes += len(decoded)
            else:
                # The last one, because a new sequence ends the one before it.
                start = decoded.rfind(text[began].encode())
                self._sequence_bytes = len(decoded) - start

    def _mark(self, text: str | bytes) -> None:
        """Mark where characters of the chunk are struck over."""
        if isinstance(text, bytes):  # what is dropped of it comes between, too
            text = text.decode("utf-8", "surrogateescape")
        marked = STRUCK.sub(STRIKE, self._painted + text)
        if STRIKE in marked:
            self.screen.struck = len(self._painted) > 1 and marked[1] == STRIKE
            self._struck = DROPPED.sub("", marked[len(self._painted) :])

    def state(self) -> ParserState:
        """The parser's state, for a checkpoint."""
        return ParserState(
            self._state,
            self._kept + "".join(self._body),
            self._overlong,
            self._dcs_body,
            self._sequence_bytes,
            self._held,
        )

    def restore(self, state: ParserState) -> None:
        """Take the state that ``state`` returned.

        Raises:
            ValueError: it is not a state of a parser.
        """
        if not GROUND <= state.state <= STRING or len(state.kept) > MAX_STRING:
            raise ValueError("not the state of a parser")
        if len(state.held) > 3 or state.sequence_bytes < 0:
            raise ValueError("not the state of a parser")
        self._state = state.state
        self._kept = state.kept
        self._body.clear()
        self._body_length = 0
        self._overlong = state.overlong
        self._dcs_body = state.dcs_body
        self._sequence_bytes = state.sequence_bytes
        self._held = state.held
        self._painted = ""
        self._decoder.setstate((state.held, 0))

    def _run(self, text: str) -> int | None:
        """Parse text; returns where a sequence left open at its end began, if in this text."""
        began: int | None = None
        at, length = 0, len(text)
        while at < length:
            stop = min(at + _BLOCK, length)
            slow = 0
            while at < stop:
                if self._state == GROUND and slow < _SLOW_LIMIT:
                    at += self._fast(text, at, stop)
                    if at == stop:
                        break
                    slow += 1
                    began = at
                self._painted = ""
                at, began = self._machine(text, at, stop, began, whole=slow >= _SLOW_LIMIT)
        return began

    def _parts(self, text: str, at: int, stop: int) -> list[str]:
        """Text and control functions in turn; the first and the last part are text."""
        if self._struck is not None:
            parts = SPLIT.split(self._struck[at:stop])
            self._marked = STRIKE not in "".join(parts[1::2])
            if self._marked:
                return parts
        self._marked = False
        return SPLIT.split(text[at:stop])

    def _note_painted(self, parts: list[str]) -> None:
        """Note what a block ends with, for a BS or a character at the start of the next one."""
        if parts[-1]:
            self._painted = parts[-1][-1]
        elif len(parts) > 1 and parts[-2] == "\x08":
            before = parts[-3][-1:] or (self._painted if len(parts) == 3 else "")
            self._painted = f"{before}\x08" if len(before) == 1 else ""
        else:
            self._painted = ""

    def _fast(self, text: str, at: int, stop: int) -> int:
        """Perform the complete functions of a block; returns how many characters they are.

        A block that ends in the middle of a sequence hands the rest to the
        machine, which goes on in the next block.
        """
        screen = self.screen
        known = self._actions.get
        parts = self._parts(text, at, stop)
        draw = screen.draw_struck if self._marked else screen.draw
        rest = iter(parts)
        for shown, control in zip(rest, rest, strict=False):
            if shown:
                draw(shown)
            pen = screen.pen.next.get(control)
            if pen is not None:
                screen.pen = pen
                screen.kind = NO_JOIN
                continue
            action = known(control)
            if action is None:
                if control in STARTERS:
                    self._painted = ""
                    return stop - at - len(control) - sum(map(len, rest))
                if control in "\x7f\x9c":
                    continue
                action = self._learn(control)
            function, arguments = action
            function(*arguments)
            screen.kind = NO_JOIN
        if parts[-1]:
            draw(parts[-1])
        self._note_painted(parts)
        return stop - at
