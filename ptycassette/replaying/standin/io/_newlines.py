"""Line ends of a terminal, as a program wrote them."""

from __future__ import annotations


class UnixNewlines:
    """Turns CR LF, however split, back into the LF that the program wrote."""

    def __init__(self) -> None:
        self._held = b""

    def __call__(self, data: bytes) -> bytes:
        """The next piece; a CR at its end waits for what comes behind it."""
        data = self._held + data
        self._held = b"\r" if data.endswith(b"\r") else b""
        return data.removesuffix(self._held).replace(b"\r\n", b"\n")
