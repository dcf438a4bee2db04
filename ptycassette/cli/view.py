"""``ptycassette view``: start the viewer, which is found through its entry point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ptycassette.cli._options import TIME, TextType, allow_unscrubbed_option, follow_links_option
from ptycassette.errors import NotFoundError, UsageError

GROUP = "ptycassette.viewers"

memory_option = click.option(
    "--memory",
    type=TextType("bytes", "parse_bytes", least=10_000_000, unit=1_000_000),
    default="300M",
    show_default=True,
    metavar="BYTES",
    callback=lambda _, __, amount: amount // 1_000_000,
    help="Limit the memory of the viewer (500M, 1GiB; a plain number counts megabytes).",
)


def viewer(name: str) -> Callable[..., Any]:
    """The entry point ``name`` of the group ``ptycassette.viewers``.

    The library does not depend on a viewer; any installed one is found.

    Raises:
        UsageError: it does not exist, or cannot be loaded.
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
@click.option("--start", type=TIME, metavar="TIME", help="Start at TIME (12.5, 250ms, 1:02).")
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
    help="Neither read nor write the cache for long recordings.",
)
@click.option(
    "--serve", is_flag=True, help="Show the recording in a browser; prints the address to open."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="With --serve: listen on this address."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    default=0,
    help="With --serve: listen on this port; 0 takes any free one.  [default: 0]",
)
@allow_unscrubbed_option
@follow_links_option
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

    With OTHER, a second cassette, both are shown side by side with the differences
    marked; if one was forked from the other, from that place on. Press ? for the
    keys. Notes are stored beside the cassette, never in it.

    `ptycassette view trace` shows the traces of failed tests in
    .ptycassette-traces, here or in a directory above, newest first; OTHER selects
    tests by a part of their names. PATH may also be a trace, or a directory of
    traces.

    Example: ptycassette view hello.cassette
    """
    traces = _traces(path, other)
    if serve:
        given = [path, *([other] if other else [])]
        arguments = [f"./{one}" if one.startswith("-") else one for one in given]  # no options
        arguments += [f"--memory={memory}"]
        arguments += [f"--start={start}"] if start is not None else []
        arguments += [f"--report={report}"] if report is not None else []
        arguments += ["--no-cache"] if no_cache else []
        arguments += ["--allow-unscrubbed"] if allow_unscrubbed else []
        return int(viewer("serve")(arguments, host=host, port=port, traces=bool(traces)))
    show = viewer("view")
    shown = show(
        path,
        other=other,
        memory_mb=memory,
        allow_unscrubbed=allow_unscrubbed,
        start=start,
        report=report,
        cache=not no_cache,
        traces=[str(trace) for trace in traces],
    )
    return int(shown)


def _traces(path: str, other: str | None) -> list[Path]:
    """The traces of tests that the arguments name, the newest first; empty if they name a cassette.

    Raises:
        NotFoundError: they name traces, and no trace exists.
    """
    from ptycassette.pytest_plugin.traces.page import PLACE, find_traces, traces_at
    from ptycassette.system.files.state_dirs import current_dir

    given = Path(path)
    if path != "trace" or given.exists():
        return traces_at(given) if other is None else []
    found = find_traces(current_dir())
    if not found:
        raise NotFoundError(
            f"there is no {PLACE} with a trace in it, here or in a directory above",
            where=str(current_dir()),
            hint="run pytest: a test that fails with ptycassette leaves a trace; "
            "or give the path of one: ptycassette view PATH/trace.json",
        )
    named = [trace for trace in found if other is None or other in trace.parent.name]
    if not named:
        names = ", ".join(sorted({trace.parent.name for trace in found})[:5])
        raise NotFoundError(
            f"no test with {other!r} in its name left a trace", where=str(found[0].parents[2]),
            hint=f"there are traces of: {names}",
        )  # fmt: skip
    return named
