"""The dispatch tables: which method performs which control function.

A control sequence is identified by its private prefix, its intermediates and its
final character together; ``CSI > 4 m`` is unrelated to ``CSI 4 m``. A function that
is not in the table is ignored. Surplus parameters are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ptycassette.terminal._parameters import MAX_SEQUENCE, values
from ptycassette.terminal._terminal import Terminal

Action = tuple[Callable[..., Any], tuple[Any, ...]]

ALL: Final = 32
"""Take all parameters."""

C0_FUNCTIONS: Final = {
    "\r\n": "new_line",
    "\x05": "enquiry",
    "\x07": "bell",
    "\x08": "backspace",
    "\x09": "tab",
    "\x0a": "linefeed",
    "\x0b": "linefeed",
    "\x0c": "linefeed",
    "\x0d": "carriage_return",
    "\x0e": "shift_out",
    "\x0f": "shift_in",
}
C1_FUNCTIONS: Final = {"\x84": "index", "\x85": "next_line", "\x88": "set_tab_stop"}

CSI_FUNCTIONS: Final[dict[str, tuple[str, int]]] = {
    # prefix, intermediates and final: the method, and how many parameters it takes
    "@": ("insert_characters", 1),
    " @": ("scroll_left", 1),
    "A": ("cursor_up", 1),
    " A": ("scroll_right", 1),
    "B": ("cursor_down", 1),
    "C": ("cursor_forward", 1),
    "D": ("cursor_back", 1),
    "E": ("cursor_down1", 1),
    "F": ("cursor_up1", 1),
    "G": ("cursor_to_column", 1),
    "H": ("cursor_position", 2),
    "I": ("forward_tab", 1),
    "J": ("erase_in_display", 1),
    "?J": ("erase_in_display", 1),
    "K": ("erase_in_line", 1),
    "?K": ("erase_in_line", 1),
    "L": ("insert_lines", 1),
    "M": ("delete_lines", 1),
    "P": ("delete_characters", 1),
    "S": ("scroll_up", 1),
    "T": ("scroll_down", 1),
    "X": ("erase_characters", 1),
    "Z": ("backward_tab", 1),
    "`": ("cursor_to_column", 1),
    "a": ("cursor_forward", 1),
    "b": ("repeat", 1),
    "c": ("report_device_attributes", 1),
    ">c": ("report_secondary_attributes", 1),
    "=c": ("report_tertiary_attributes", 1),
    "d": ("cursor_to_line", 1),
    "e": ("cursor_row_forward", 1),
    "f": ("cursor_position", 2),
    "g": ("clear_tab_stop", 1),
    "h": ("set_mode", ALL),
    "?h": ("set_mode", ALL),
    "l": ("reset_mode", ALL),
    "?l": ("reset_mode", ALL),
    "n": ("report_device_status", 1),
    "?n": ("report_device_status", 1),
    "!p": ("soft_reset", 0),
    "$p": ("report_mode", 1),
    "?$p": ("report_mode", 1),
    " q": ("set_cursor_style", 1),
    '"q': ("select_protected", 1),
    ">q": ("report_version", 1),
    "r": ("set_margins", 2),
    "s": ("save_cursor", 0),
    "t": ("window_operation", ALL),
    "u": ("restore_cursor", 0),
    "?u": ("report_keyboard", 0),
    ">u": ("push_keyboard", 1),
    "<u": ("pop_keyboard", 1),
    "=u": ("change_keyboard", 2),
    "'}": ("insert_columns", 1),
    "'~": ("delete_columns", 1),
}
_PRIVATE: Final = frozenset({"?J", "?K", "?h", "?l", "?n", "?$p"})


def resolve(
    screen: Terminal, prefix: str, parameters: str, intermediates: str, final: str
) -> Action:
    """The bound method that performs a control sequence, and its arguments."""
    if len(prefix) + len(parameters) + len(intermediates) > MAX_SEQUENCE:
        return screen.ignore, ()
    key = f"{prefix}{intermediates}{final}"
    if key == "m":
        return screen.apply_sgr, (f"\x1b[{parameters}m",)
    name, arity = CSI_FUNCTIONS.get(key, ("ignore", 0))
    arguments = values(parameters)[:arity]
    method = getattr(screen, name)
    if key in _PRIVATE:
        return partial(method, private=True), arguments
    return method, arguments
