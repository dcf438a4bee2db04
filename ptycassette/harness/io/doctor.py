"""Inspects the machine: what ptycassette needs, what it can use, journals left behind."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import locale
import os
import platform
import pty
import select
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import Literal

import msgspec

from ptycassette.errors import CassetteError
from ptycassette.harness.io.files import Installed, installed
from ptycassette.model.geometry import Size
from ptycassette.recording.io.compiled_relay import CompiledRelay
from ptycassette.recording.io.journal_name import JOURNAL_SUFFIX
from ptycassette.system.files.state_dirs import journal_dirs, known_state_dirs
from ptycassette.terminal.backends import available_backends, backend
from ptycassette.terminal.emulator import default_emulator

Status = Literal["ok", "warn", "fail"]
PROGRAMS = ("bash", "vim", "less", "tmux", "git")
EXTRAS = (
    ("provider", "aiohttp", "aiohttp: the fake provider"),
    ("provider", "trustme", "trustme: the fake provider over TLS"),
    ("tape", "wsproto", "h11, wsproto: recording model traffic, rec --tape"),
    ("ghostty", "pyghostty", "pyghostty: another emulator"),
    ("seal", "securesystemslib", "securesystemslib, cryptography: seals of cassettes"),
    ("sigstore", "sigstore", "sigstore: seals by an identity instead of a key"),
    ("pictures", "PIL", "Pillow: pictures and films of recordings"),
    ("serve", "textual_serve", "textual-serve: the viewer in a browser, view --serve"),
    ("embeddings", "sentence_transformers", "sentence-transformers: comparing by meaning"),
)
PTY_TIMEOUT_S = 5.0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check, and what to do if it is not ok."""

    name: str
    status: Status
    detail: str
    hint: str | None = None


def doctor_findings(*, versions: bool = False) -> Iterator[Finding]:
    """All findings, in a useful order.

    Args:
        versions: start each agent CLI to ask for its version, which takes seconds.
    """
    yield _python()
    yield Finding(name="platform", status="ok", detail=f"{platform.system()} {platform.machine()}")
    yield from _libraries()
    yield _pty()
    yield _terminal()
    yield _term()
    yield _locale()
    yield _state()
    yield _journals()
    yield _emulators()
    yield _relay()
    yield from _extras()
    yield _programs()
    yield _agents(versions=versions)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < (3, 11):  # noqa: UP036 - people run doctor because something is wrong
        return Finding(
            name="python", status="fail", detail=version, hint="use Python 3.11 or newer"
        )
    return Finding(name="python", status="ok", detail=f"{version} at {sys.executable}")


def _libraries() -> Iterator[Finding]:
    for name in ("msgspec", "click", "pyte", "wcwidth"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(
                name=name,
                status="fail",
                detail="not installed",
                hint="install ptycassette again with its dependencies",
            )
        else:
            yield Finding(name=name, status="ok", detail=version)


def _pty() -> Finding:
    """Send a line through a real pair of terminals."""
    try:
        master, slave = pty.openpty()
    except OSError as exc:
        return Finding(
            name="pty",
            status="fail",
            detail=f"no terminal can be opened: {exc.strerror}",
            hint="look at the limit of ptys and that /dev/pts is mounted",
        )
    try:
        os.write(slave, b"ping\n")
        ready, _, _ = select.select([master], [], [], PTY_TIMEOUT_S)
        said = os.read(master, 64) if ready else b""
        if said != b"ping\r\n":
            return Finding(name="pty", status="fail", detail=f"wrote ping, read {said!r}")
        return Finding(name="pty", status="ok", detail=f"works ({os.ttyname(slave)})")
    except OSError as exc:
        return Finding(name="pty", status="fail", detail=f"does not work: {exc.strerror}")
    finally:
        os.close(master)
        os.close(slave)


def _terminal() -> Finding:
    for name, fd in (("stdout", 1), ("stderr", 2)):
        if os.isatty(fd):
            size = os.get_terminal_size(fd)
            return Finding(
                name="terminal", status="ok", detail=f"{name} is one, {size.columns}x{size.lines}"
            )
    return Finding(
        name="terminal",
        status="warn",
        detail="neither stdout nor stderr is one",
        hint="recording works with --headless; play writes text",
    )


def _term() -> Finding:
    term = os.environ.get("TERM", "")
    if term in {"", "dumb"}:
        return Finding(
            name="TERM",
            status="warn",
            detail=term or "not set",
            hint="set it to the type of your terminal; recordings get xterm-256color",
        )
    return Finding(name="TERM", status="ok", detail=term)


def _locale() -> Finding:
    encoding = locale.getpreferredencoding(do_setlocale=False)
    name = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "C"
    if encoding.upper().replace("-", "") != "UTF8":
        return Finding(
            name="locale",
            status="warn",
            detail=f"{name}, {encoding}",
            hint="use a UTF-8 locale, or other characters are printed as escapes",
        )
    return Finding(name="locale", status="ok", detail=f"{name}, {encoding}")


def _state() -> Finding:
    """Whether journals can be written: in the state directory, or in its future parent."""
    try:
        path = next(iter(known_state_dirs()))
    except StopIteration:
        return Finding(
            name="state directory",
            status="fail",
            detail="no home, and no temporary directory",
            hint="set PTYCASSETTE_STATE_DIR to a directory that you can write to",
        )
    place = path
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as exc:
        return Finding(
            name="state directory",
            status="fail",
            detail=f"{path}: {exc.strerror}",
            hint="make it writable, or set PTYCASSETTE_STATE_DIR",
        )
    free = shutil.disk_usage(place).free
    return Finding(
        name="state directory", status="ok", detail=f"{path}, {free // 1_000_000} MB free"
    )


def _journals() -> Finding:
    """Journals whose recorder is gone. Never creates a directory."""
    left = sorted(path for top in journal_dirs() for path in top.glob(f"*{JOURNAL_SUFFIX}"))
    if left:
        return Finding(
            name="journals",
            status="warn",
            detail=f"{len(left)} in {left[0].parent}: of crashed recordings, or of running ones",
            hint="`ptycassette recover` makes cassettes of those that crashed",
        )
    return Finding(name="journals", status="ok", detail="none left")


def _emulators() -> Finding:
    """The default emulator as manifests pin it, and which others can be used."""
    ours = default_emulator(Size(rows=1, cols=1)).identity
    usable, missing = [], []
    for name in available_backends():
        try:
            backend(name)(Size(rows=2, cols=2))
        except CassetteError:
            missing.append(name)
        else:
            usable.append(name)
    absent = f"; not installed: {', '.join(missing)}" if missing else ""
    return Finding(
        name="emulators",
        status="ok",
        detail=f"{ours.name} {ours.version}; usable: {', '.join(usable)}{absent}",
    )


def _relay() -> Finding:
    """Which of the two relay loops interactive recordings use."""
    if CompiledRelay.load() is not None:
        return Finding(name="relay", status="ok", detail="compiled")
    return Finding(
        name="relay",
        status="ok",
        detail="in Python",
        hint="optional: with a C compiler (Linux), install again for faster echoes",
    )


def _extras() -> Iterator[Finding]:
    for extra, module, what in EXTRAS:
        there = importlib.util.find_spec(module) is not None
        yield Finding(
            name=f"extra {extra}",
            status="ok",
            detail=what if there else f"not installed ({what})",
            hint=None if there else f"optional: pip install 'ptycassette[{extra}]'",
        )


def _programs() -> Finding:
    found = [name for name in PROGRAMS if shutil.which(name)]
    missing = [name for name in PROGRAMS if name not in found]
    absent = f"; not here: {', '.join(missing)}" if missing else ""
    return Finding(name="programs", status="ok", detail=f"{', '.join(found) or 'none'}{absent}")


def _agents(*, versions: bool) -> Finding:
    """The installed agent CLIs that have a profile, built in or the user's own."""
    known = list(installed(versions=versions))
    here = [_description(one) for one in known if one.binary is not None]
    missing = [one.name for one in known if one.binary is None and one.problem is None]
    wrong = [one.problem for one in known if one.problem is not None]
    detail = f"known and installed: {', '.join(here) or 'none'}"
    if missing:
        detail += f"; known, not installed: {', '.join(missing)}"
    if wrong:
        return Finding(
            name="agent CLIs",
            status="warn",
            detail=f"{detail}; profiles that cannot be read: {'; '.join(wrong)}",
            hint="correct the file (docs/harnesses.md), or remove it",
        )
    return Finding(name="agent CLIs", status="ok", detail=detail)


def _description(one: Installed) -> str:
    """A CLI with its path and, if it was asked, its version."""
    if one.version is None:
        return f"{one.name} ({one.binary})"
    untried = "" if one.known else f", tried with {' '.join(one.tested)}"
    return f"{one.name} ({one.binary}, {one.version}{untried})"
