"""The fault that a stand-in has: from its option, or from the environment.

The faults are loaded where there is one: they load a fake provider, which would take most of the
time of a test with a ``use``. The emulator and the engine of the stand-in are loaded where they
are used: a test of code in this process needs neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ptycassette.cassette.io.reader import Cassette
from ptycassette.errors import StorageError
from ptycassette.model.records import painted_bytes
from ptycassette.model.screen import Screen, Size

if TYPE_CHECKING:
    from ptycassette.agents.faults.fault import FaultSpec
    from ptycassette.replaying.standin.engine import StandinEngine


FAULT_VARIABLE = "PTYCASSETTE_FAULT"
"""``NAME[:NUMBER][@K]``, for every recording that is played: in this process, or by a stand-in."""
FAULT_LOG_VARIABLE = "PTYCASSETTE_FAULT_LOG"
"""A file that gets a line when a driver meets the fault."""


def fault_in_force(given: str, env: Mapping[str, str]) -> FaultSpec | None:
    """The fault that was asked for; None without one.

    Args:
        given: by an option, which is the stronger; may be empty.
        env: the environment.

    Raises:
        UsageError: there is no such fault of a terminal.
    """
    text = given or env.get(FAULT_VARIABLE, "")
    if not text:
        return None
    from ptycassette.agents.faults.registry import check_terminal, parse_fault  # noqa: PLC0415 - see above

    spec = parse_fault(text)
    check_terminal(spec)
    return spec


def faulty_rerun(env: Mapping[str, str]) -> dict[str, Any]:
    """Options of ``driven_rerun`` and ``run_tape_only``: with the fault of the environment.

    Nothing is played there, so a fault of the terminal is not met.

    Args:
        env: the environment; its log is written when the fault strikes.

    Raises:
        UsageError: there is no such fault, or recorded answers do not depend on it.
    """
    text = env.get(FAULT_VARIABLE, "")
    if not text:
        return {}
    from ptycassette.agents.faults.registry import TERMINAL_FAULTS, parse_fault  # noqa: PLC0415 - see above

    spec = parse_fault(text)
    if spec.name in TERMINAL_FAULTS:
        return {}
    # It loads an HTTP server, which replay does not need.
    from ptycassette.agents.fork.io.forking import run_with_fault  # noqa: PLC0415

    return {"run_of": run_with_fault(spec, lambda: note_met(env))}


def faulty_engine_of(
    cassette: Cassette, spec: FaultSpec | None, met: Callable[[], None], options: dict[str, Any]
) -> StandinEngine:
    """A stand-in's engine for a cassette, with a fault if there is one.

    Args:
        cassette: open; stays the caller's.
        spec: the fault.
        met: called once, when the driver meets it; the log of the environment is written, too.
        options: of ``StandinEngine``, by name.

    Raises:
        NotFoundError: the recording has no such input.
    """
    from ptycassette.replaying.standin.engine import StandinEngine  # noqa: PLC0415 - see above

    inputs = tuple(cassette.inputs())
    if spec is None:
        return StandinEngine(cassette.events(), inputs, **options)
    from ptycassette.replaying.standin.faulty import faulty_engine  # noqa: PLC0415 - see above

    def noted() -> None:
        met()
        note_met(os.environ)

    terminal = cassette.manifest.terminal
    recorded = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    return faulty_engine(spec, cassette.events, inputs, recorded=recorded, met=noted, **options)


def note_met(env: Mapping[str, str]) -> None:
    """Say in the log of the environment, if it names one, that a driver has met its fault.

    Raises:
        StorageError: the log cannot be written.
    """
    path = env.get(FAULT_LOG_VARIABLE)
    if not path:
        return
    try:
        fd = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(fd, b"met\n")
        finally:
            os.close(fd)
    except OSError as failed:
        raise StorageError(
            f"cannot be written: {failed.strerror}", where=path,
            hint=f"{FAULT_LOG_VARIABLE} names a file that may be made or written",
        ) from failed  # fmt: skip


# Screens of a recording at any event, rendered from its output instead of stored frames.


def screen_after(cassette: Cassette, seq: int) -> tuple[str, ...]:
    """The rows after event ``seq``, rendered from the output, empty ones at the end left out."""
    rows = screen_at(cassette, seq).rows
    return rows[: max((number for number, row in enumerate(rows, 1) if row), default=0)]


def screen_at(cassette: Cassette, seq: int) -> Screen:
    """The screen after event ``seq``, rendered from the output."""
    from ptycassette.terminal.emulator import default_emulator  # noqa: PLC0415 - see above

    terminal = cassette.manifest.terminal
    emulator = default_emulator(Size(rows=terminal.initial_rows, cols=terminal.initial_cols))
    for event in cassette.events():
        if event.seq > seq:
            break
        if event.kind == "output":
            emulator.feed(painted_bytes(event))
        elif event.kind == "input":
            size = getattr(event.record, "size", None)
            if size is not None:
                emulator.resize(size)
    return emulator.snapshot()
