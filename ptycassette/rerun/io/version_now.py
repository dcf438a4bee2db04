"""Which version the program says that it is, asked under the guard under which it runs again.

The program is another process for this, before the run: off the network by the same guard, and in
an empty home of its own, so that neither the user's files nor the home of the run are touched.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ptycassette.cassette.io import Cassette
from ptycassette.harness import home_variables
from ptycassette.recording.io import ask_version, version_arguments
from ptycassette.rerun.io.guard import kept_off
from ptycassette.rerun.io.place import RerunPlace
from ptycassette.rerun.report import VersionChange, version_change

_TIMEOUT_S = 60.0  # Gemini CLI takes 7 s, and over 15 s on a busy machine


def changed_version(cassette: Cassette, place: RerunPlace) -> VersionChange | None:
    """Both versions, where both are known and not the same; the program is asked."""
    recorded = cassette.manifest.harness.binary_version
    now = None if recorded is None else version_now(place)
    return version_change(recorded, now)


def version_now(place: RerunPlace) -> str | None:
    """What the program says; None if it says nothing, or must not be asked.

    It must not where it could reach a network that is disabled, and where no profile says that
    asking does no harm.
    """
    path = place.environment.get("PATH") or os.environ.get("PATH")
    found = shutil.which(place.program, path=path)
    asking = None if found is None else version_arguments(Path(found), version=None)
    if found is None or asking is None:
        return None
    guarded = kept_off((str(Path(found).absolute()), *asking), isolated=place.isolated)
    if guarded is None:
        return None
    argv, environment = guarded
    home = place.folder / "version-home"
    home.mkdir(mode=0o700, exist_ok=True)
    own = {**environment, **home_variables(str(home)), **({"PATH": path} if path else {})}
    return ask_version(Path(argv[0]), argv[1:], timeout_s=_TIMEOUT_S, environment=own, cwd=home)
