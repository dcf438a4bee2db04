"""The parser's state machine, which takes any input, one character at a time.

It is the one of Paul Williams' DEC parser as xterm.js runs it: C0 controls inside a sequence act
at once, CAN and SUB cancel, ESC starts anew, an OSC ends at BEL too and takes effect at the ESC of
its ST, C1 controls count as U+0080-U+009F (never as bytes, so that a 0x9C inside a UTF-8
character ends nothing), other characters abort a control sequence.
"""

from __future__ import annotations

from typing import Final

from ptycassette.terminal._functions import C0_FUNCTIONS, C1_FUNCTIONS, Action, resolve
from ptycassette.terminal._grammar import (
    C0,
    CONTROL,
    CONTROL_SO_FAR,
    CSI,
    DCS,
    ESCAPE,
    GROUND,
    NOT_ASCII,
    OSC,
    PRINTABLE,
    STARTERS,
    STRING,
    STRING_END,
)
from ptycassette.terminal._parameters import MAX_SEQUENCE
from ptycassette.terminal._terminal import Terminal
from ptycassette.terminal.widths import NO_JOIN

MAX_STRING: Final = 1 << 20
"""Characters kept of an OSC, DCS, APC, PM or SOS; one that is longer has no effect."""

_ACTION_LIMIT: Final = 1 << 13


class Machine:
    """The position of the parser in a sequence, and what each control function does.

    Args:
        screen: the terminal that performs what is parsed.
    """

    def __init__(self, screen: Terminal) -> None:
        self.screen = screen
        self._actions: dict[str, Action] = {}
        self._state = GROUND
        self._kept = ""
        self._body: list[str] = []
        self._body_length = 0
        self._overlong = False
        self._dcs_body = False

    def _learn(self, control: str) -> Action:
        """What a complete control function does; remembered when it is short."""
        screen = self.screen
        introducer = control[:2]
        action: Action
        if introducer == "\x1b[":
            match = CONTROL.fullmatch(control, 2)
            if match is None:
                return screen.apply_sgr, (control,)
            action = resolve(screen, *match.groups())
            if action[0] == screen.apply_sgr:
                return action
        elif introducer == "\x1b]":
            return screen.operating_system_command, (
                control[2:].rstrip("\x07").removesuffix("\x1b\\"),
            )
        elif introducer == "\x1bP":
            return self._device_control, (control[2:-2],)
        elif introducer in {"\x1bX", "\x1b^", "\x1b_"}:
            return screen.application_command, (control[1], control[2:-2])
        elif control[0] == "\x1b":
            action = screen.escape, (control[1:-1], control[-1])
        else:
            name = C0_FUNCTIONS.get(control) or C1_FUNCTIONS.get(control, "ignore")
            action = getattr(screen, name), ()
        if len(self._actions) >= _ACTION_LIMIT:
            self._actions.clear()
        self._actions[control] = action
        return action

    def _machine(
        self, text: str, at: int, stop: int, began: int | None, *, whole: bool
    ) -> tuple[int, int | None]:
        """Parse from ``at`` until the ground state is reached, or (``whole``) up to ``stop``.

        Returns:
            Where parsing goes on, and where the sequence that is still open
            began (``None`` if before this text).
        """
        while at < stop:
            if self._state in {OSC, STRING} or (self._state == DCS and self._dcs_body):
                at = self._string(text, at, stop)
            elif self._state == GROUND and (run := PRINTABLE.match(text, at, stop)):
                self._draw(run.group(), at)
                at = run.end()
            else:
                self._step(text[at])
                at += 1
            if self._state == GROUND:
                began = None
                if not whole:
                    break
            elif text[at - 1] in STARTERS:
                began = at - 1
        return at, began

    def _draw(self, text: str, at: int) -> None:  # noqa: ARG002 - a traced parser needs it
        """Paint text that stands at ``at`` in what is being parsed."""
        self.screen.draw(text)

    def _enter(self, state: int) -> None:
        self._state = state
        self._kept = ""
        self._body.clear()
        self._body_length = 0
        self._overlong = False
        self._dcs_body = False

    def _step(self, char: str) -> None:
        """One character outside of a string's body."""
        state = self._state
        if char == "\x1b":
            self._enter(ESCAPE)
        elif "\x80" <= char <= "\x9f" or char in "\x18\x1a":
            self._c1(char)
        elif char < " ":
            if state == DCS:
                return
            self._perform(char)
        elif char == "\x7f":
            return
        elif state == ESCAPE:
            self._escape(char)
        else:
            self._control_sequence(char)

    def _c1(self, char: str) -> None:
        """A C1 control, CAN or SUB: all of them end what is open."""
        if char in "\x98\x9e\x9f":
            self._enter(STRING)
            self._kept = {"\x98": "X", "\x9e": "^", "\x9f": "_"}[char]
        elif char == "\x9b":
            self._enter(CSI)
        elif char == "\x9d":
            self._enter(OSC)
        elif char == "\x90":
            self._enter(DCS)
        else:
            self._enter(GROUND)
            if char != "\x9c":
                self._perform(char)

    def _perform(self, control: str) -> None:
        action = self._actions.get(control) or self._learn(control)
        action[0](*action[1])
        self.screen.kind = NO_JOIN

    def _escape(self, char: str) -> None:
        if " " <= char <= "/":
            if len(self._kept) < MAX_SEQUENCE:
                self._kept += char
            return
        kept = self._kept
        if not kept and char in "[]PX^_":
            self._enter({"[": CSI, "]": OSC, "P": DCS}.get(char, STRING))
            if self._state == STRING:
                self._kept = char
            return
        self._enter(GROUND)
        if char <= "~":
            self.screen.escape(kept, char)
            self.screen.kind = NO_JOIN

    def _control_sequence(self, char: str) -> None:
        """A character of a CSI or of the head of a DCS."""
        in_csi = self._state == CSI
        if char > "~":
            # Not a character of a control sequence: it aborts one, unless it is ignored anyway.
            if CONTROL_SO_FAR.fullmatch(self._kept):
                self._enter(GROUND)
            return
        if char < "@":
            if len(self._kept) < MAX_SEQUENCE:
                self._kept += char
            else:
                self._kept = f"{self._kept[:-1]}?"
            return
        match = CONTROL.fullmatch(self._kept + char)
        if in_csi:
            self._enter(GROUND)
            if match is not None:
                action = resolve(self.screen, *match.groups())
                action[0](*action[1])
                self.screen.kind = NO_JOIN
        else:
            self._dcs_body = True
            self._kept += char
            self._overlong = match is None

    def _string(self, text: str, at: int, stop: int) -> int:
        """Collect a string's body up to what ends it; returns where parsing continues."""
        match = STRING_END.search(text, at, stop)
        end = match.start() if match else stop
        if self._state == STRING and (found := NOT_ASCII.search(text, at, end)):
            # xterm.js, to the letter: such a string ends at a character beyond ASCII.
            self._enter(GROUND)
            return found.end()
        self._keep(text[at:end])
        if match is None:
            return end
        char = match.group()
        if char == "\x07" and self._state != OSC:
            return end + 1
        if char in "\x1b\x9c\x07":
            self._finish()
            self.screen.kind = NO_JOIN
            self._enter(ESCAPE if char == "\x1b" else GROUND)
        elif char in "\x18\x1a":
            self._enter(GROUND)
            self.screen.kind = NO_JOIN
        else:
            self._c1(char)
        return end + 1

    def _keep(self, text: str) -> None:
        if self._overlong or not text:
            return
        if self._state == OSC:
            text = C0.sub("", text)
        if len(self._kept) + self._body_length + len(text) > MAX_STRING:
            self._overlong = True
            self._kept = ""
            self._body.clear()
            return
        # In pieces until it is complete: a string that grows byte by byte must not be copied
        # each time.
        self._body.append(text)
        self._body_length += len(text)

    def _finish(self) -> None:
        """The string is complete."""
        if self._overlong:
            return
        kept = self._kept + "".join(self._body)
        if self._state == OSC:
            self.screen.operating_system_command(kept)
        elif self._state == DCS:
            self._device_control(kept)
        else:
            self.screen.application_command(kept[0], kept[1:])

    def _device_control(self, body: str) -> None:
        match = CONTROL.match(body)
        if match is not None and match.end() <= MAX_SEQUENCE + 1:
            prefix, _, intermediates, final = match.groups()
            self.screen.device_control(f"{prefix}{intermediates}{final}", body[match.end() :])
