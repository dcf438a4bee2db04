"""Recording with a profile: the CLI's own session log goes into the cassette.

When the program is over, its newest log is read; tool calls, answers and usage
become service events at the end of the record, and the totals go into the final
record. A log that cannot be read is reported as an event, and the recording is still saved.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ptycassette.errors import CassetteError
from ptycassette.harness.io._logs import read_logs
from ptycassette.model.journal import Noted
from ptycassette.profiles.profile import Profile
from ptycassette.profiles.session_log import LogFacts
from ptycassette.recording.io.journal_file import JournalFile
from ptycassette.system.files.state_dirs import home_dir

_FEW_PARTS = 2  # "/" and one folder, whose name may be a word like any other


class _Recorder(Protocol):
    """The part of a ``Recorder`` that is used here."""

    journal: JournalFile

    def set_final(self, **fields: Any) -> None: ...


def plain_environment(profile: Profile) -> dict[str, str]:
    """The variables of a profile for all runs, also the user's own."""
    return {name: value for name, value in profile.environment.items() if "${" not in value}


def log_reader(
    profile: Profile, *, home: Path, cwd: Path, since_s: float
) -> Callable[[_Recorder, int], None]:
    """A function for ``RecordOptions.at_end`` that reads the log after the program's end.

    Args:
        profile: of the CLI.
        home: of the run.
        cwd: where the run was started.
        since_s: epoch second of the start; older logs are of other sessions.
    """

    def at_end(recorder: _Recorder, t_us: int) -> None:
        try:
            facts, path = read_logs(profile, home=home, cwd=cwd, since_s=since_s)
        except CassetteError as failed:
            note = {"type": "session-log-unreadable", "message": failed.message}
            recorder.journal.on_event(Noted(t_us, note))
            return
        for event in facts.events:
            recorder.journal.on_event(Noted(t_us, event))
        named = None if path is None else without_folder(path, cwd)
        recorder.set_final(**_final(facts), session_log_path=named)

    return at_end


def without_folder(path: str, cwd: Path) -> str:
    """The path of a log with ``$PWD`` for the work folder, of which some CLIs make a file name.

    They write ``-home-ada-my-notes`` for ``/home/ada/my_notes`` or ``/home/ada/my.notes``: what is
    no letter and no digit becomes a dash, or only the slashes do.
    """
    if len(cwd.absolute().parts) <= _FEW_PARTS:
        return path
    folders = {str(cwd.absolute()).strip("/"), str(cwd.resolve()).strip("/")}
    names = {
        name
        for one in folders
        for name in (one.replace("/", "-"), re.sub(r"[^A-Za-z0-9]", "-", one))
    }
    for name in sorted(names, key=len, reverse=True):
        path = path.replace(name, "$PWD")
    return path


def reader_for(
    profile: Profile, cwd: str | None, home: str | None = None
) -> Callable[[_Recorder, int], None]:
    """A log reader for a run that starts now, in the user's own home when None is given."""
    place = (home_dir() or Path("/dev/null")) if home is None else Path(home)
    return log_reader(profile, home=place, cwd=Path(cwd or "."), since_s=time.time())


def _final(facts: LogFacts) -> dict[str, Any]:
    """The fields of the final record."""
    return {
        "usage": facts.usage,
        "cost_usd": facts.cost_usd,
        "final_text": facts.final_text,
        "routing_actual": facts.model,
    }
