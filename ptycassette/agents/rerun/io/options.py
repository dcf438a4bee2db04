"""The options of running a recorded program again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ptycassette.agents.rerun.screens import VOLATILE


class RerunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run the program again.

    Attributes:
        trusted: whether the author of the cassette may control this machine: its command line is
            run, and the answers of its tape make an agent call tools.
        argv: the command line; as recorded when empty.
        harness: the profile's name or path; that of the recording when None.
        mode: one of the profile's modes; its usual one when None.
        model: the model to ask for. Empty: the one that was asked most often, or the profile's.
        cwd: the work folder; an empty one in the temporary home when None.
        files: files of an empty work folder, by name.
        copied: a folder whose content is copied into an empty work folder.
        made: the caller's own output; it is never copied.
        home: a folder whose content is laid over the temporary home: settings, hooks, prompts. The
            program is then pointed at the tape as it was when it was recorded.
        root: where the temporary home is made; in the user's cache folder when None.
        environment: variables to add to the program's environment.
        normalise: names of the normalisers for comparing screens.
        patience_s: how long to wait for the screen of an input, and for the end, beyond twice
            the recorded time.
        strict_order: refuse a question that comes before an earlier one of its conversation.
        faketime: give the program a clock that starts at the time of the recording (libfaketime).
        shared_network: leave the program on the network, and set only proxy variables.
    """

    trusted: bool = False
    argv: tuple[str, ...] = ()
    harness: str | None = None
    mode: str | None = None
    model: str = ""
    cwd: Path | None = None
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    copied: Path | None = None
    made: tuple[Path, ...] = ()
    home: Path | None = None
    root: Path | None = None
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    normalise: tuple[str, ...] = VOLATILE
    patience_s: float = 20.0
    strict_order: bool = False
    faketime: bool = False
    shared_network: bool = False

    def __post_init__(self) -> None:
        """Take paths that are text, as functions with ``**options`` get them."""
        for name in ("cwd", "copied", "home", "root"):
            if isinstance(given := getattr(self, name), str):
                msgspec.structs.force_setattr(self, name, Path(given))
