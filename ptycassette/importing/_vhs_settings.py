"""The settings of a VHS tape: shell, size, speed; the rest is the look of the picture."""

from __future__ import annotations

from ptycassette.model.visible_text import visible

_PROMPT = "> "
_FISH_PROMPT = "function fish_prompt; echo -n '> '; end"
_SHELLS = {
    "bash": (("bash", "--noprofile", "--norc"), ("--env", f"PS1={_PROMPT}")),
    "zsh": (("zsh", "--histnostore", "--no-rcs"), ("--env", f"PROMPT={_PROMPT}")),
    "fish": (("fish", "--no-config", "--private", "-C", _FISH_PROMPT), ()),
    "sh": (("sh",), ("--env", f"PS1={_PROMPT}")),
}  # fmt: skip
_NUMBERS = {
    "Width": 1200.0, "Height": 600.0, "Padding": 60.0, "Margin": 0.0, "WindowBarSize": 30.0,
    "FontSize": 22.0, "LetterSpacing": 1.0, "LineHeight": 1.0,
}  # fmt: skip
"""Settings that say how many cells there are, and VHS's defaults."""
_STYLES = frozenset({
    "BorderRadius", "CursorBlink", "FontFamily", "Framerate", "LoopOffset", "MarginFill",
    "PlaybackSpeed", "Theme", "WindowBar", "SubtitleFontSize", "SubtitleColor",
    "SubtitleBackground", "SubtitlePosition", "SubtitlePadding", "SubtitleBorderRadius",
    "SubtitleFontFamily",
})  # fmt: skip
_CELL_WIDTH, _CELL_HEIGHT = 0.6, 1.32
"""Of VHS's font, JetBrains Mono, in units of its size."""
_LARGEST = 1e6
_SIDES = range(1, 1001)


class Settings:
    """What ``Set`` has said so far."""

    def __init__(self) -> None:
        self._numbers = dict(_NUMBERS)
        self._bar = False
        self._shell = "bash"
        self.typing_speed_s = 0.05
        self.wait_timeout_s = 15.0
        self.wait_pattern = ">$"

    def set(self, name: str, value: str) -> bool:
        """Set one; True if it is of the look alone, which nothing here needs.

        Raises:
            ValueError: there is no such setting, or it has no such value.
        """
        if name in _NUMBERS:
            try:
                self._numbers[name] = float(value)
            except ValueError:
                raise ValueError(f"{name} is a number, not {visible(value, limit=40)}") from None
            if not 0 <= self._numbers[name] <= _LARGEST:
                raise ValueError(f"{name} is not between 0 and {_LARGEST:g}")
        elif name == "Shell":
            if value not in _SHELLS:
                raise ValueError(
                    f"Shell {visible(value, limit=40)}: known are {', '.join(_SHELLS)}"
                )
            self._shell = value
        elif name == "WaitPattern":
            self.wait_pattern = value
        elif name in _STYLES:
            self._bar |= name == "WindowBar"
            return True
        else:
            raise ValueError(f"no setting of a tape: {visible(name, limit=40)}")
        return False

    @property
    def argv(self) -> tuple[str, ...]:
        """The shell, without the user's own configuration, as VHS starts it."""
        return _SHELLS[self._shell][0]

    @property
    def options(self) -> tuple[str, ...]:
        """Options of ``rec``: the size in cells, nearly as VHS has it; the prompt of the shell.

        Raises:
            ValueError: there is no room for a cell, or for too many.
        """
        numbers = self._numbers
        around = 2 * (numbers["Padding"] + numbers["Margin"])
        bar = numbers["WindowBarSize"] if self._bar else 0.0
        width = numbers["FontSize"] * _CELL_WIDTH + numbers["LetterSpacing"]
        height = numbers["FontSize"] * _CELL_HEIGHT * numbers["LineHeight"]
        if width <= 0 or height <= 0:
            raise ValueError("a font of no size")
        cols = int((numbers["Width"] - around) / width)
        rows = int((numbers["Height"] - around - bar) / height)
        if rows not in _SIDES or cols not in _SIDES:
            raise ValueError(
                f"the size comes to {cols}x{rows} cells; at least 1x1, at most 1000x1000"
            )
        return ("--window-size", f"{cols}x{rows}", *_SHELLS[self._shell][1])

    @property
    def first_steps(self) -> tuple[str, ...]:
        """What a tape takes for granted: the shell has its prompt when the first key comes."""
        return ("wait-regex >$",)
