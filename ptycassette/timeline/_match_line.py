"""The input line after the editing keys were applied, as readline would.

What counts is the line when Enter is pressed, not the keys that led there:
``helo<backspace>lo`` means ``hello``.
"""

from __future__ import annotations

from ptycassette.timeline.match_keys import Key


class Line:
    """One line of text under edit. ``apply`` returns whether a key edited it.

    On an empty line an editing key is an action instead: it moves a menu,
    scrolls a pager or ends a program.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._at = 0
        self._killed: list[str] = []

    @property
    def text(self) -> str:
        """The line now."""
        return "".join(self._text)

    def apply(self, key: Key) -> bool:
        """Apply one key. False when it is an action, neither text nor an edit."""
        if key.kind in {"text", "paste"}:
            self._text[self._at : self._at] = key.text
            self._at += len(key.text)
            return True
        if key.kind != "key" or not (self._text or (key.name == "ctrl-y" and self._killed)):
            return False
        return self._edit(key.name)

    def _edit(self, name: str) -> bool:
        at, end = self._at, len(self._text)
        match name:
            case "backspace":
                self._cut(max(0, at - 1), at, keep=False)
            case "delete":
                self._cut(at, min(end, at + 1), keep=False)
            case "ctrl-d" if at < end:
                self._cut(at, at + 1, keep=False)
            case "ctrl-w" | "alt-backspace":
                self._cut(self._word_start(), at)
            case "ctrl-u":
                self._cut(0, at)
            case "ctrl-k":
                self._cut(at, end)
            case "ctrl-y":
                self._text[at:at] = self._killed
                self._at += len(self._killed)
            case _:
                return self._move(name)
        return True

    def _move(self, name: str) -> bool:
        match name:
            case "left" | "ctrl-b":
                self._at = max(0, self._at - 1)
            case "right" | "ctrl-f":
                self._at = min(len(self._text), self._at + 1)
            case "home" | "ctrl-a":
                self._at = 0
            case "end" | "ctrl-e":
                self._at = len(self._text)
            case "ctrl-left" | "alt-left":
                self._at = self._word_start()
            case "ctrl-right" | "alt-right":
                self._at = self._word_end()
            case _:
                return False
        return True

    def _cut(self, start: int, stop: int, *, keep: bool = True) -> None:
        if keep and start < stop:
            self._killed = self._text[start:stop]
        del self._text[start:stop]
        self._at = start

    def _word_start(self) -> int:
        at = self._at
        while at > 0 and self._text[at - 1].isspace():
            at -= 1
        while at > 0 and not self._text[at - 1].isspace():
            at -= 1
        return at

    def _word_end(self) -> int:
        at, end = self._at, len(self._text)
        while at < end and self._text[at].isspace():
            at += 1
        while at < end and not self._text[at].isspace():
            at += 1
        return at
