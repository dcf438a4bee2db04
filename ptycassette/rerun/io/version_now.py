"""Which version the program is now: read from its package, else asked under the guard of the run.

The program is another process for this, beside the run: off the network by the same guard, and in
an empty home of its own, so that neither the user's files nor the home of the run are touched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ptycassette.cassette.io.reader import Cassette
from ptycassette.harness.preparing import home_variables
from ptycassette.recording.io.binary_probe import (
    VersionQuestion,
    ask_version,
    installed_version,
    version_arguments,
)
from ptycassette.rerun.io.place import RerunPlace, refusing_proxies
from ptycassette.rerun.report import VersionChange, version_change
from ptycassette.system.network import Guard, network_disabled

_TIMEOUT_S = 10.0
_LATE_S = 2.0


class _Question(NamedTuple):
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    home: Path
    guard: Guard | None


def changed_version(cassette: Cassette, place: RerunPlace) -> VersionChange | None:
    """Both versions, where both are known and not the same; the program may be asked."""
    recorded = cassette.manifest.harness.binary_version
    now = None if recorded is None else version_now(place)
    return version_change(recorded, now)


def version_now(place: RerunPlace) -> str | None:
    """The version; None if the program prints none within ten seconds, or must not be asked."""
    asking = _question(place)
    if not isinstance(asking, _Question):
        return asking
    return ask_version(
        Path(asking.argv[0]),
        asking.argv[1:],
        timeout_s=_TIMEOUT_S,
        environment=asking.environment,
        cwd=asking.home,
        guard=asking.guard,
    )


@contextmanager
def version_beside(place: RerunPlace) -> Iterator[Callable[[], str | None]]:
    """While entered, the program is asked beside the run; what it gives takes two seconds at most.

    The function returns the version, or None, as ``version_now``.
    """
    asking = _question(place)
    if not isinstance(asking, _Question):
        yield lambda: asking
        return
    question = VersionQuestion(
        asking.argv, environment=asking.environment, cwd=asking.home, guard=asking.guard
    )
    try:
        yield lambda: question.close(_LATE_S) or None
    finally:
        question.close()


def _question(place: RerunPlace) -> _Question | str | None:
    """How to ask the program; the version itself if its package has it; None if it is not asked.

    It must not be asked where it could reach a network that is disabled, and where no profile says
    that asking does no harm.
    """
    path = place.environment.get("PATH") or os.environ.get("PATH")
    found = shutil.which(place.argv[0], path=path)
    asking = None if found is None else version_arguments(Path(found), version=None)
    if found is None or asking is None:
        return None
    if (known := installed_version(Path(found))) is not None:
        return known
    if place.network is None and network_disabled():
        return None
    environment = {} if place.network else refusing_proxies()
    home = place.folder / "version-home"
    home.mkdir(mode=0o700, exist_ok=True)
    own = {**environment, **home_variables(str(home)), **({"PATH": path} if path else {})}
    argv = (str(Path(found).absolute()), *asking)
    return _Question(argv, own, home, Guard() if place.network else None)
