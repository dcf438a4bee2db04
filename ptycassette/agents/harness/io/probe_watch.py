"""Keep a snapshot file of a probe fresh, for dashboards. One run per account at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from ptycassette.agents.harness.probe import ProbeResult
from ptycassette.errors import CassetteError, LockedError
from ptycassette.model.ports import Clock
from ptycassette.model.records import NOT_JSON
from ptycassette.model.resolved_types import resolved
from ptycassette.recording.io.options import timestamp
from ptycassette.scrub.io.conceal import process_scrubber
from ptycassette.scrub.session import SessionScrubber
from ptycassette.system.files.locks import LockHolder, account_lock
from ptycassette.system.files.state_dirs import lock_dir
from ptycassette.system.files.whole_file import read_plain, write_whole

_MAX_BYTES = 16 << 20
_MODE = 0o600


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of the file: the last result, the last one that was ``ok``, and its time."""

    written_at: str
    harness: str
    probe: str
    last: ProbeResult
    last_ok: ProbeResult | None = None


def refresh_snapshot(
    path: Path, ask: Callable[[], ProbeResult], *, account: str, harness: str, clock: Clock
) -> ProbeResult | None:
    """Ask once and write the snapshot: atomically, scrubbed, readable by this user only.

    Args:
        path: the snapshot file; the last good result in it is kept.
        ask: the probe.
        account: locked meanwhile, so that no other process asks for it.
        harness: the harness of the account.
        clock: for the time in the file.

    Returns:
        The result; None if another process is asking for this account.

    Raises:
        StorageError: the file cannot be written.
        UsageError: the configuration of scrubbing, or a plug-in, is wrong.
    """
    holder = LockHolder(pid=os.getpid(), what=f"probe of {harness}", since=timestamp(clock.wall()))
    lock = account_lock(lock_dir(os.environ), harness=harness, account=account, holder=holder)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock)
        except LockedError:
            return None
        result = ask()
    good = result if result.status == "ok" else _last_ok(path)
    scrubber = process_scrubber()
    snapshot = Snapshot(
        written_at=timestamp(clock.wall()),
        harness=result.harness,
        probe=result.probe,
        last=_scrubbed(result, scrubber),
        last_ok=None if good is None else _scrubbed(good, scrubber),
    )
    document = msgspec.json.format(msgspec.json.encode(snapshot), indent=2)
    write_whole(path, [document, b"\n"], mode=_MODE)
    return result


def _scrubbed(result: ProbeResult, scrubber: SessionScrubber) -> ProbeResult:
    """The result with scrubbed texts, the diagnostic screen included."""
    said = {
        name: scrubber.value(msgspec.to_builtins(getattr(result, name)), channel=name)
        for name in ("quota", "discovery", "diagnostic")
        if getattr(result, name) is not None
    }
    if result.diagnostic is not None:
        said["diagnostic"]["screen"] = scrubber.rows(result.diagnostic.screen)
    return msgspec.convert({**msgspec.to_builtins(result), **said}, resolved(ProbeResult))


def call_every(
    once: Callable[[], object], *, interval_s: float, stopped: Callable[[float], bool]
) -> None:
    """Call ``once`` immediately, then every ``interval_s`` seconds.

    Args:
        once: the function to call.
        interval_s: the time between two calls.
        stopped: waits for a number of seconds, and returns whether to stop.
    """
    while not stopped(0):
        once()
        if stopped(interval_s):
            return


def _last_ok(path: Path) -> ProbeResult | None:
    """The last good result of an earlier snapshot; None if that is missing or unreadable."""
    try:
        return msgspec.json.decode(
            read_plain(path, max_bytes=_MAX_BYTES), type=resolved(Snapshot)
        ).last_ok
    except (*NOT_JSON, OSError, CassetteError):
        return None
