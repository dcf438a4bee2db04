"""``ptycassette view``: start the viewer, which is found through its entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ptycassette.cli._options import TIME, allow_unscrubbed_option
from ptycassette.errors import UsageError

__all__ = ["command", "memory_option", "viewer"]

GROUP = "ptycassette.viewers"

memory_option = click.option(
    "--memory",
    type=click.IntRange(min=10),
    default=300,
    show_default=True,
    metavar="MB",
    help="How much memory the viewer may take.",
)


def viewer(name: str) -> Callable[..., Any]:
    """What is registered under ``name`` in the entry point group ``ptycassette.viewers``.

    The library knows no viewer: whoever installs another one is found as well.

    Raises:
        UsageError: nothing is, or it cannot be loaded.
    """
    from importlib.metadata import entry_points

    for found in entry_points(group=GROUP, name=name):
        try:
            loaded: Callable[..., Any] = found.load()
        except ImportError as exc:
            raise UsageError(
                f"the viewer cannot be loaded: {exc}", hint="install ptycassette again"
            ) from exc
        return loaded
    raise UsageError("no viewer is installed", hint="install ptycassette again")


@click.command("view")
@click.argument("path", metavar="PATH", type=click.Path())
@click.argument("other", metavar="[OTHER]", type=click.Path(), required=False)
@click.option("--start", type=TIME, metavar="TIME", help="Begin here (12.5, 250ms, 1:02).")
@memory_option
@click.option(
    "--report",
    type=click.Path(),
    metavar="REPORT",
    help="Show the divergences in this report of a stand-in, or in a directory of reports.",
)
@click.option(
    "--no-cache",
    is_flag=True,
    help="Keep nothing of what is found out about a long recording, and use nothing kept.",
)
@click.option("--serve", is_flag=True, help="Show it in a browser; prints the address to open.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where --serve listens.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Where --serve listens; 0 is any that is free.  [default: 0]",
)
@allow_unscrubbed_option
def command(
    path: str,
    other: str | None,
    start: float | None,
    memory: int,
    report: str | None,
    no_cache: bool,
    serve: bool,
    host: str,
    port: int,
    allow_unscrubbed: bool,
) -> int:
    """Scrub through a recording: PATH is a cassette, or a directory of cassettes.

    With OTHER, a second cassette, both are shown side by side, and what differs is
    marked. Press ? for the keys. Notes are kept beside the cassette, never in it.

    Example: ptycassette view hello.cassette
    """
    if serve:
        arguments = [path, *([other] if other else []), f"--memory={memory}"]
        arguments += [f"--start={start}"] if start is not None else []
        arguments += [f"--report={report}"] if report is not None else []
        arguments += ["--no-cache"] if no_cache else []
        arguments += ["--allow-unscrubbed"] if allow_unscrubbed else []
        return int(viewer("serve")(arguments, host=host, port=port))
    show = viewer("view")
    shown = show(
        path,
        other=other,
        memory_mb=memory,
        allow_unscrubbed=allow_unscrubbed,
        start=start,
        report=report,
        cache=not no_cache,
    )
    return int(shown)
