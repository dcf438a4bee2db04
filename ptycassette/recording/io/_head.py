"""The head of a journal: what a recording knows of its session before the program starts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.model.journal import SessionMeta
from ptycassette.model.manifest import Harness
from ptycassette.recording._tape_option import TAPE_OPTION
from ptycassette.recording.io._running_tape import RunningTape
from ptycassette.recording.io.binary_probe import (
    architecture,
    locale_of,
    probe_harness,
    system,
    timestamp,
    version_arguments,
)
from ptycassette.recording.io.git_head import git_commit
from ptycassette.recording.io.options import RecordPlan, is_allowed_name
from ptycassette.system.files.state_dirs import current_dir
from ptycassette.system.pty.modes import TerminalTemplate, modes_of_line
from ptycassette.version import __version__


def head_of(
    argv: Sequence[str],
    target: Path,
    plan: RecordPlan,
    *,
    env: Mapping[str, str],
    binary: Path | None,
    tape: RunningTape | None = None,
) -> SessionMeta:
    """The head of the journal.

    Args:
        argv: what will be started.
        target: where the cassette will be, absolute.
        plan: the options.
        env: the whole environment of the program.
        binary: the file that will be executed; None for a script.
        tape: what records model traffic, if anything does.
    """
    cwd = current_dir() if plan.cwd is None else current_dir() / plan.cwd
    now = plan.clock.wall()
    home, user_home = env.get("HOME", ""), os.environ.get("HOME", "")
    return SessionMeta(
        id=plan.id_source(),
        argv=tuple(argv),
        size=plan.size,
        recorded_at=timestamp(now),
        harness=_harness(argv, plan, binary, now),
        workdir_policy="inherited" if plan.cwd is None else "given",
        env_allowlist=tuple(sorted(filter(is_allowed_name, env))),
        environment=dict(env),
        home=home,
        user_home="" if user_home == home else user_home,
        cwd=str(cwd),
        term=env.get("TERM", plan.term),
        locale=locale_of(env),
        timeout_ms=None if plan.timeout_s is None else round(plan.timeout_s * 1000),
        permission_mode=plan.permission_mode,
        pty_mode=_pty_mode(plan, env),
        streams=plan.streams,
        git_sha=git_commit(cwd) if binary is not None else None,
        os=system(),
        arch=architecture(),
        recorder_version=f"ptycassette/{__version__}",
        resolution_ms=plan.resolution_ms,
        title=plan.title,
        target=str(target),
        options=_options(plan, tape),
    )


def _pty_mode(plan: RecordPlan, env: Mapping[str, str]) -> dict[str, Any] | None:
    if plan.streams is not None and not plan.streams.with_terminal:
        return {"kind": "pipe"}
    if plan.pty is not None:
        return modes_of_line(plan.pty.line_mode())
    return (plan.terminal or TerminalTemplate.of_environment(env)).modes()


def _harness(argv: Sequence[str], plan: RecordPlan, binary: Path | None, now: datetime) -> Harness:
    if isinstance(plan.harness, Harness):
        return plan.harness
    given = None if plan.capability is None else dict(plan.capability)
    if binary is None:
        name = plan.harness or Path(argv[0]).name
        return Harness(name=name, capability=given, account_class=plan.account_class)
    harness = probe_harness(
        binary,
        now=now,
        name=plan.harness,
        account_class=plan.account_class,
        freshness_window=plan.freshness_window,
        version=plan.probe_version,
    )
    agent = version_arguments(binary, version=None) is not None
    if given is None and (plan.harness is not None or agent):
        # Imported here, because few programs are agent CLIs, and the import delays all.
        from ptycassette.profiles.io import known_capability

        given = known_capability(harness.name, version=None)
    return msgspec.structs.replace(harness, capability=given)


def _options(plan: RecordPlan, tape: RunningTape | None) -> dict[str, Any]:
    """The options that ``recover`` needs to finalise in the same way."""
    options: dict[str, Any] = {"frame_policy": plan.frame_policy}
    if plan.idle_limit_ms is not None:
        options["idle_limit_ms"] = plan.idle_limit_ms
    if plan.meta:
        options["meta"] = dict(plan.meta)
    if not plan.scrub:
        options["scrub"] = False
    if tape is not None:
        options[TAPE_OPTION] = {
            "key": os.urandom(32).hex(),
            "secrets": list(tape.secrets),
            "address": tape.address,
            "described": dict(tape.described),
        }
    return options
