"""Dialogs: errors, questions of one line, and the help page."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Static

from ptycassette import CassetteError, printable

_CSS = """
    {name} {{ align: center middle; }}
    {name} > Vertical {{
        width: 70; max-width: 95%; height: auto; max-height: 90%;
        border: round $accent; background: $surface; padding: 1 2;
    }}
    {name} Button {{ margin-top: 1; }}
"""


def error_text(error: CassetteError) -> Text:
    """What happened, where, and what to do.

    Messages are escaped already; doing it again would double backslashes.
    """
    text = Text()
    text.append(_lines(error.message), style="bold")
    if error.where:
        text.append("\n\nwhere: ", style="dim")
        text.append(printable(error.where))
    if error.hint:
        text.append("\n\nwhat to do: ", style="dim")
        text.append(_lines(error.hint))
    return text


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n")[:30])


class ErrorDialog(ModalScreen[None]):
    """An error message. Enter, escape or the button closes it."""

    DEFAULT_CSS = _CSS.format(name="ErrorDialog")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Close")]

    def __init__(self, error: CassetteError, *, title: str = "This did not work") -> None:
        super().__init__()
        self.error = error
        self._title = title

    def compose(self) -> ComposeResult:
        """The text and a button."""
        with Vertical():
            yield Label(Text(self._title, style="bold red"))
            with VerticalScroll(can_focus=False):
                yield Static(error_text(self.error), id="error-text")
            yield Button("OK", variant="primary", id="ok")

    def on_button_pressed(self) -> None:
        """Close."""
        self.dismiss()

    def action_close(self) -> None:
        """Close."""
        self.dismiss()


class AskDialog(ModalScreen[str | None]):
    """A dialog for one line of text; None when it is cancelled."""

    DEFAULT_CSS = _CSS.format(name="AskDialog")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Cancel")]

    def __init__(self, question: str, *, hint: str = "", value: str = "") -> None:
        super().__init__()
        self._question = question
        self._hint = hint
        self._value = value

    def compose(self) -> ComposeResult:
        """The question and a line to write on."""
        with Vertical():
            yield Label(self._question, markup=False)
            yield Input(value=self._value, id="answer")
            yield Static(Text(self._hint, style="dim"), id="hint")

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Answer."""
        self.dismiss(message.value)

    def action_close(self) -> None:
        """No answer."""
        self.dismiss(None)


class LeaveDialog(ModalScreen[bool]):
    """Asks whether to leave the viewer, after escape on the first screen."""

    DEFAULT_CSS = _CSS.format(name="LeaveDialog")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y,q", "answer(True)", "Leave"),
        Binding("escape,n", "answer(False)", "Stay"),
    ]

    def compose(self) -> ComposeResult:
        """The question, and the keys that answer it."""
        with Vertical():
            yield Label(Text("Leave the viewer?", style="bold"))
            yield Label(Text("enter, y or q leaves; escape or n stays", style="dim"))

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 - an action of a key
        """Leave, or stay."""
        if answer:
            self.app.exit()
        else:
            self.dismiss(False)


class HelpScreen(ModalScreen[None]):
    """All keys on one page."""

    DEFAULT_CSS = _CSS.format(name="HelpScreen")
    CSS = """
    HelpScreen > Vertical { height: 90%; padding: 0 2; }
    HelpScreen VerticalScroll { height: 1fr; scrollbar-size: 1 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "close", "Close")
    ]

    def __init__(self, keys: tuple[tuple[str, str], ...], legend: str) -> None:
        super().__init__()
        self._keys = keys
        self._legend = legend

    def compose(self) -> ComposeResult:
        """A table of keys."""
        text = Text()
        for key, meaning in self._keys:
            text.append(f"{key:>16}  ", style="bold")
            text.append(meaning + "\n")
        text.append("\n" + self._legend, style="dim")
        with Vertical():
            yield Label(Text("Keys", style="bold"))
            with VerticalScroll():
                yield Static(text)
            yield Label(Text("escape closes this; ctrl+p has all commands", style="dim"))

    def action_close(self) -> None:
        """Close."""
        self.dismiss()
