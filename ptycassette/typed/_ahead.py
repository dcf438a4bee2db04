r"""Lines that were typed before the program asked for anything, and which prompt takes each.

Whoever pipes ``printf 'pass\n'`` into a recording sends the line at once. The terminal echoes it,
as the program has not switched that off yet; only then comes the prompt, and takes it. Prompts
take such lines in their order. A line that was typed at a prompt has been taken by that one.
"""

from __future__ import annotations

import re

from ptycassette.typed._fields import AtCursor, row_asks

__all__ = ["TypedAhead"]

_MOST_LINES = 64
_OUTPUTS_LOOKED_AT = 64  # behind the last line
_PROMPT_ENDS = tuple(":?>=]›❯»$#%")  # noqa: RUF001
_LABEL = re.compile(r".{0,160}?[:?>=\]›❯»：？＞](?=\s|$)")  # noqa: RUF001
"""What stands before the answer, where the program has read it by now."""


class TypedAhead:
    """The lines that no prompt has taken yet."""

    def __init__(self) -> None:
        self._lines: list[tuple[bytes, int]] = []
        self._seen: set[str] = set()
        self._looks_left = 0

    @property
    def waiting(self) -> bool:
        """Whether a prompt that appears now may take a line."""
        return bool(self._lines) and self._looks_left > 0

    def add(self, line: bytes, number: int) -> None:
        """A line was typed where no prompt stood; its event has this number."""
        if len(self._lines) < _MOST_LINES:
            self._lines.append((line, number))
            self._looks_left = _OUTPUTS_LOOKED_AT

    def forget(self) -> None:
        """Somebody answers prompts: what was typed before has been read."""
        self._lines.clear()

    def taken(self, at: AtCursor) -> tuple[bytes, int] | None:
        """The line that a new prompt takes, and its number, where that asks for a secret."""
        self._looks_left -= 1
        for row in (*at.rows[: at.row], at.before):
            label = _LABEL.match(row)
            if label is not None and self._is_new(label.group()) and row_asks(label.group()):
                return self._lines.pop(0)
        if at.before.rstrip().endswith(_PROMPT_ENDS) and self._is_new(at.before):
            self._lines.pop(0)
        return None

    def _is_new(self, prompt: str) -> bool:
        if prompt in self._seen:
            return False
        self._seen.add(prompt)
        return True
