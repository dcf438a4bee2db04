"""Facts about the recorded CLI and its system: name, binary, version, platform.

The version comes from running ``PROGRAM --version``, or with the arguments in its profile. A
script that ignores its arguments would simply run. So this is done only for agent CLIs, which
have profiles (``ptycassette.profiles``), and on demand (docs/decisions/0041).
"""

from __future__ import annotations

import os
import platform
import selectors
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from ptycassette.model import Harness
from ptycassette.profiles.io import version_query_of
from ptycassette.session import child_environment

VERSION_TIMEOUT_S = 5.0
LATE_VERSION_TIMEOUT_S = 15.0
"""After the session: CLIs that run on Node take over 5 s on a busy machine."""
_VERSION_BYTES = 4096
_VERSION_CHARS = 200

# As Go spells them (GOARCH), because the format does.
_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "i686": "386"}


def probe_harness(
    binary: Path,
    *,
    now: datetime,
    name: str | None = None,
    account_class: str | None = None,
    freshness_window: str | None = None,
    version: bool | None = None,
) -> Harness:
    """The harness block of a program.

    Args:
        binary: the file that will be executed.
        now: the wall clock.
        name: what it is called; the file's name when None.
        account_class: what kind of account it runs with.
        freshness_window: how long the recording stays valid, e.g. ``24h``.
        version: whether to ask it for its version; None for agent CLIs only.
    """
    name = name or binary.name
    asking = version_arguments(binary, version=version)
    return Harness(
        name=name,
        binary_path_digest_sha256=sha256(os.fsencode(os.path.realpath(binary))).hexdigest(),
        binary_version=None if asking is None else ask_version(binary, asking),
        account_class=account_class,
        captured_at=timestamp(now),
        freshness_window=freshness_window,
    )


def version_arguments(binary: Path, *, version: bool | None) -> tuple[str, ...] | None:
    """The arguments that ask for its version; None if it is not asked.

    Args:
        binary: the program.
        version: as for ``probe_harness``.
    """
    if version is False:
        return None
    query = _query(binary.name, os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME"))
    if query is None:
        return ("--version",) if version else None
    argv, automatic = query
    return argv if version or automatic else None


@lru_cache(maxsize=16)
def _query(program: str, *_where_profiles_are: str | None) -> tuple[tuple[str, ...], bool] | None:
    """The arguments of an agent CLI, and whether to use them unasked. Read once a recording."""
    query = version_query_of(program)
    return None if query is None else (query.argv, query.automatic)


def late_version(binary: Path, *, version: bool | None, ask: bool) -> dict[str, str]:
    """Fields of ``Finished`` for a version that was not read before the session.

    Args:
        binary: the program.
        version: as for ``probe_harness``.
        ask: whether to ask once more, with more time.
    """
    asking = version_arguments(binary, version=version)
    if asking is None:
        return {}
    answer = ask_version(binary, asking, timeout_s=LATE_VERSION_TIMEOUT_S) if ask else None
    if answer is not None:
        return {"binary_version": answer}
    return {
        "version_missing": f"{' '.join(asking)} gave no line in {VERSION_TIMEOUT_S:g} s, nor "
        f"in {LATE_VERSION_TIMEOUT_S:g} s after the session"
    }


def timestamp(moment: datetime) -> str:
    """An RFC 3339 timestamp in UTC: whole seconds if possible, else microseconds."""
    text = moment.isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def ask_version(
    binary: Path,
    arguments: Sequence[str] = ("--version",),
    *,
    timeout_s: float = VERSION_TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str | None:
    """The first line that ``binary --version`` prints; None when it prints none in time.

    It runs in a clean environment without input. It is killed, with its children, if it
    takes too long or prints too much.

    Args:
        binary: the program.
        arguments: that ask it.
        timeout_s: how long it may take.
        environment: what to add to the clean environment, or replace in it.
        cwd: its work folder; the current one when None.
    """
    import subprocess  # programs that are no agent CLIs are not asked

    try:
        process = subprocess.Popen(
            [os.fspath(binary), *arguments],
            env=child_environment(clean=True, term="dumb", extra=environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    try:
        said = _read_some(process.stdout.fileno(), timeout_s)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines()]
    first = next((line for line in lines if line), None)
    return first[:_VERSION_CHARS] if first and first.isprintable() else None


def _read_some(fd: int, timeout_s: float) -> bytes:
    """Read until the end, the limit or the timeout."""
    said = b""
    deadline = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while len(said) < _VERSION_BYTES:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not selector.select(left_s):
                break
            block = os.read(fd, _VERSION_BYTES)
            if not block:
                break
            said += block
    return said


def architecture(machine: str | None = None) -> str:
    """The processor architecture, by Go's names."""
    machine = platform.machine() if machine is None else machine
    return _ARCHITECTURES.get(machine, machine)


def system(platform_name: str = sys.platform) -> str:
    """The operating system, by Go's names."""
    return platform_name.rstrip("0123456789")


def locale_of(env: Mapping[str, str]) -> str | None:
    """The locale that a program with this environment has (locale(7))."""
    return env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or None
