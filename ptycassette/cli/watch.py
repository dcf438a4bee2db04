"""``ptycassette watch``: follow a recording in progress, strictly read-only."""

from __future__ import annotations

from pathlib import Path

import click

from ptycassette.cli.view import memory_option, viewer
from ptycassette.errors import NotFoundError, UsageError


@click.command("watch")
@click.argument("target", metavar="[TARGET]", required=False, type=click.Path())
@memory_option
def command(target: str | None, memory: int) -> int:
    """Follow a recording in progress: the newest one, or the one that becomes TARGET.

    It writes nothing and does not disturb the recording. The output is shown as the
    program prints it, before it is scrubbed. TARGET may also be a journal.

    Example: ptycassette watch hello.cassette
    """
    return int(viewer("watch")(str(_journal(target)), memory_mb=memory))


def _journal(target: str | None) -> Path:
    from ptycassette.recording.io.journal_follower import live_journals
    from ptycassette.system.files.state_dirs import absolute

    if target is not None and Path(target).is_file():
        return Path(target)
    found = live_journals()
    if target is not None:
        wanted = absolute(target)
        found = [item for item in found if absolute(item[1].target) == wanted]
    if found:
        return found[0][0]
    if target is not None and Path(target).is_dir():
        raise UsageError(f"{target} is finished", hint=f"run: ptycassette view {target}")
    raise NotFoundError(
        "no recording is in progress",
        hint="start one: ptycassette rec hello.cassette -- bash",
    )
