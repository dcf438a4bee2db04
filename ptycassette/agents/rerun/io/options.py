"""How a recorded program is to be run again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ptycassette.agents.rerun.screens import VOLATILE


class RerunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run the program again.

    Attributes:
        trusted: whether whoever made the cassette may say what this machine does: its command
            line is run, and the answers of its tape make an agent call tools.
        argv: what to run; as recorded when empty.
        harness: the profile's name or path; that of the recording when None.
        mode: one of the profile's modes; its usual one when None.
        model: the model to ask for; the one that was asked most, or the profile's, when empty.
        cwd: the work folder; an empty one in the temporary home when None.
        files: files of an empty work folder, by name.
        copied: a folder whose content is copied into an empty work folder.
        made: what the caller makes meanwhile; it is never copied.
        home: a folder whose content is laid over the temporary home: settings of one's own, hooks,
            prompts. The program is then pointed at the tape as it was when it was recorded.
        root: where the temporary home is made; in the user's cache folder when None.
        environment: variables to add to the program's environment.
        normalise: names of the normalisers that screens are compared with.
        patience_s: how long to wait for the screen of an input, and for the end, beyond twice
            the time that it took in the recording.
        strict_order: refuse a question that comes before an earlier one of its conversation.
        faketime: give the program a clock that starts when the recording did, by libfaketime.
        shared_network: leave the program on the network, with proxy variables alone.
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
