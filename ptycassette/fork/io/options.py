"""How a recording is forked."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ptycassette.fork.changes import Change, Tail
from ptycassette.fork.io.live import LiveTerms
from ptycassette.fork.io.turns import QUIET_MS
from ptycassette.fork.places import ForkPlace
from ptycassette.recording.input_script import ScriptStep
from ptycassette.rerun.io.options import RerunOptions


class ForkOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to fork.

    Attributes:
        at: where; before the first input when left out.
        change: the one thing that is changed; nothing when left out.
        tail: who answers afterwards.
        script: a script of answers, for ``scripted``; the recorded answers when None.
        inputs: what is typed afterwards; the rest of the recorded inputs when None.
        quiet_ms: how long nothing moves before the next of them is typed, where the recorded
            screen does not come.
        live: what may be asked of whom, for ``live``.
        overwrite: replace the cassette at the target.
        run: how the program is run; its ``argv`` is that of the recording when empty.
    """

    at: ForkPlace = ForkPlace("exchange", 1)
    change: Change = Change(kind="none")
    tail: Tail = "scripted"
    script: Path | None = None
    inputs: tuple[ScriptStep, ...] | None = None
    quiet_ms: int = QUIET_MS
    live: LiveTerms = LiveTerms()
    overwrite: bool = False
    run: RerunOptions = RerunOptions()
