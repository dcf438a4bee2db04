"""Typed input, on its way to the program and into the journal.

The journal gets the real bytes, and whether they are secret: typed at a prompt that does not
echo, or after the key with which the user announces a secret.
"""

from __future__ import annotations

import os
import termios
from collections import deque
from collections.abc import Callable

from ptycassette.recording.io.compiled_relay import UnfinishedInput
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.system.pty.terminal import local_modes

_SPACE = 0x20
_ENTER = b"\r\n"


class TypedInput:
    """Input for a program that may not take it at once.

    It goes to the program first. The journal holds it until the next output.

    Args:
        master: the program's terminal; non-blocking.
        journal: where it is logged.
        secret_key: the bytes of the key that announces a secret; empty for none. They are not
            sent to the program.
        on_secret: called when the following input is secret, and when it no longer is.

    Attributes:
        waiting: input that the program has not taken yet.
    """

    def __init__(
        self,
        master: int,
        journal: JournalFile,
        *,
        secret_key: bytes = b"",
        on_secret: Callable[[bool], None] = lambda _on: None,
    ) -> None:
        self._master, self._journal = master, journal
        self._secret_key, self._on_secret = secret_key, on_secret
        self._secret = False
        self.waiting: deque[bytes] = deque()

    def type(self, t_us: int, data: bytes) -> None:
        """Hand ``data`` to the program, and log it."""
        if not self._secret_key:
            self._type(t_us, data)
            return
        first, *rest = data.split(self._secret_key)
        self._type_part(t_us, first)
        for part in rest:
            self._tell(not self._secret)
            self._type_part(t_us, part)

    def _type_part(self, t_us: int, data: bytes) -> None:
        """Type ``data``, which does not contain the key. Enter ends the secret."""
        if self._secret:
            end = next((at for at, byte in enumerate(data, 1) if byte in _ENTER), 0)
            if end:
                self._type(t_us, data[:end])
                self._tell(False)
                data = data[end:]
        if data:
            self._type(t_us, data)

    def _tell(self, on: bool) -> None:  # noqa: FBT001 - the one thing that it says
        self._secret = on
        self._on_secret(on)

    def _type(self, t_us: int, data: bytes) -> None:
        # Reading the modes would delay the echo by a tenth. Input that ends no line does not wake a
        # program that reads lines, so for it the modes are the same afterwards.
        ends_line = min(data) < _SPACE
        secret = ends_line and self._is_secret()
        if self.waiting:
            self.waiting.append(data)
        else:
            self._write(data)
        self._log(t_us, data, secret=secret if ends_line else self._is_secret())

    def complete(self, key: UnfinishedInput) -> None:
        """Complete a key that the compiled loop has begun."""
        if key.sent < len(key.data):
            self.waiting.append(key.data[key.sent :])
        self._log(key.t_us, key.data, secret=key.secret)

    def send(self) -> None:
        """Send waiting input, now that there is room."""
        while self.waiting:
            before = len(self.waiting)
            self._write(self.waiting.popleft())
            if len(self.waiting) == before:
                return

    def _log(self, t_us: int, data: bytes, *, secret: bool) -> None:
        self._journal.hold_key(t_us, data, masked=secret or self._secret)

    def _is_secret(self) -> bool:
        """Whether the program reads a line without echo, as password prompts do."""
        flags = local_modes(self._master)
        return bool(flags & termios.ICANON) and not flags & termios.ECHO

    def _write(self, data: bytes) -> None:
        """Write input to the program; what it does not take at once waits."""
        try:
            done = os.write(self._master, data)
        except BlockingIOError:
            done = 0
        except OSError:
            self.waiting.clear()  # the program is gone; its end comes over the other ways
            return
        if done < len(data):
            self.waiting.appendleft(data[done:])
