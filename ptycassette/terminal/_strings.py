"""Command strings: OSC, DCS, APC, PM and SOS.

Most of them become signals (see ``ptycassette.terminal.signals``), some are queries
(see ``ptycassette.terminal._reports``), one changes the pen (OSC 8). Nothing is
executed; images and unknown strings are ignored.
"""

from __future__ import annotations

from typing import Final

from ptycassette.terminal._modes import Modes

_MAX_LINK: Final = 2083
_COLOR_QUERIES: Final = frozenset({"4", "5", "10", "11", "12", "17", "19"})
_COMMANDS: Final = {
    "0": "_titles",
    "1": "set_icon_name",
    "2": "set_title",
    "7": "_directory",
    "8": "_hyperlink",
    "9": "_notify",
    "52": "_clipboard",
    "99": "_notify_kitty",
    "133": "_prompt_mark",
    "633": "_prompt_mark",
    "777": "_notify_rxvt",
    "1337": "_property",
    "7501": "_turn",
}


class Strings(Modes):
    """The part of the terminal that reads command strings."""

    def operating_system_command(self, text: str) -> None:
        """OSC: perform ``code ; rest`` (ECMA-48 8.3.89)."""
        code, _, rest = text.partition(";")
        if not code.isdigit() or not code.isascii():
            return
        code = code.lstrip("0") or "0"
        if code in _COLOR_QUERIES:
            self.report_colors(code, rest)
        elif (name := _COMMANDS.get(code)) is not None:
            getattr(self, name)(rest)

    def _titles(self, text: str) -> None:
        self.set_title(text)
        self.set_icon_name(text)

    def _directory(self, uri: str) -> None:
        self.signals.tell("cwd", uri=uri)

    def _clipboard(self, rest: str) -> None:
        selection, _, payload = rest.partition(";")
        self.signals.tell("clipboard", selection=selection, payload=payload)

    def _prompt_mark(self, rest: str) -> None:
        mark, _, detail = rest.partition(";")
        self.signals.tell("prompt", mark=mark, detail=detail)

    def _notify_kitty(self, rest: str) -> None:
        self.signals.tell("notification", body=rest.partition(";")[2])

    def _notify_rxvt(self, rest: str) -> None:
        kind, _, rest = rest.partition(";")
        if kind == "notify":
            title, _, body = rest.partition(";")
            self.signals.tell("notification", title=title, body=body)

    def _property(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        if name == "CurrentDir":
            self.signals.tell("cwd", path=value)

    def _hyperlink(self, rest: str) -> None:
        params, separator, uri = rest.partition(";")
        if not separator or (not uri and params.strip()):
            return
        uri = uri[:_MAX_LINK]
        self.pen = self.pens.change(self.pen, link=uri or None)
        self.signals.tell("link", uri=uri, params=params)

    def _notify(self, rest: str) -> None:
        """OSC 9: a notification (iTerm2), or ``4;state;percent`` and ``9;path`` (ConEmu)."""
        kind, _, value = rest.partition(";")
        if kind == "4":
            state, _, percent = value.partition(";")
            self.signals.tell("progress", state=state, percent=percent)
        elif kind == "9" and value:
            self.signals.tell("cwd", path=value.strip('"'))
        else:
            self.signals.tell("notification", body=rest)

    def _turn(self, rest: str) -> None:
        """OSC 7501: ``key=value`` pairs, or a bare state, between semicolons or colons.

        Codex writes ``state=working:app=codex``.
        """
        data: dict[str, str] = {}
        for item in rest.replace(":", ";").split(";")[:16]:
            key, separator, value = item.partition("=")
            data[key[:64] if separator else "state"] = value if separator else key
        self.signals.tell("turn", **{"state": "", **data})

    def device_control(self, function: str, data: str) -> None:
        """DCS: perform the function with this prefix, these intermediates and final character."""
        match function:
            case "$q":
                self.report_setting(data)
            case "+q":
                self.report_capabilities(data)

    def application_command(self, introducer: str, data: str) -> None:
        """APC (``_``), PM (``^``), SOS (``X``): only kitty graphics queries have an effect."""
        if introducer == "_" and data.startswith("G"):
            self.report_graphics(data[1:])
