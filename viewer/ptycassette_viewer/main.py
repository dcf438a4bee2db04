"""The entry points of ``ptycassette view`` and ``watch``."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from ptycassette import CassetteError, open_cassette
from ptycassette.errors import NotFoundError, UsageError
from ptycassette.viewing import printable, read_reports
from ptycassette_viewer.app import ViewerApp
from ptycassette_viewer.cache import user_cache

from .dialogs import is_library
from .traces.trace_screen import read_trace


def view(
    path: str,
    *,
    other: str | None = None,
    memory_mb: int = 300,
    allow_unscrubbed: bool = False,
    start: float | None = None,
    report: str | None = None,
    cache: bool = True,
    traces: Sequence[str] = (),
) -> int:
    """Show a cassette, the cassettes of a directory, or traces of tests, until the user quits.

    Args:
        path: the cassette or directory.
        other: a cassette to show beside it.
        memory_mb: megabytes that the process may take.
        allow_unscrubbed: also open what was recorded without scrubbing.
        start: seconds into the recording to start at.
        report: of stand-ins, a file or a directory, whose divergences are shown.
        cache: store the index of long recordings, so that they open quickly the next time.
        traces: the JSON of traces that were found at ``path``, the newest first; one is opened,
            more are listed.

    Returns:
        The exit status.

    Raises:
        CassetteError: one of them cannot be opened, or there is no report.
        UsageError: there is no terminal to show it in.
    """
    if traces:
        page = Path(traces[0]).with_name("trace.html")
        _need_terminal(f"open {printable(str(page))} in a browser")
        if len(traces) == 1:
            read_trace(Path(traces[0]))
    else:
        _need_terminal("without a terminal, use `ptycassette info`, `frames` or `export`")
        paths = [path] if other is None else [path, other]
        _check(paths, report, allow_unscrubbed=allow_unscrubbed)
    app = ViewerApp(
        Path(path),
        other=None if other is None else Path(other),
        memory=memory_mb * 1_000_000,
        allow_unscrubbed=allow_unscrubbed,
        start_us=None if start is None else round(start * 1_000_000),
        report=None if report is None else Path(report),
        cache=user_cache(os.environ) if cache else None,
        traces=[Path(trace) for trace in traces],
    )
    status = app.run()
    return status or app.return_code or 0


def watch(path: str, *, memory_mb: int = 300) -> int:
    """Follow the recording in progress whose journal is at ``path``, until the user quits.

    Args:
        path: the journal.
        memory_mb: megabytes that the process may take.

    Raises:
        UsageError: there is no terminal to show it in.
    """
    _need_terminal("without a terminal, wait until the recording ends and read the cassette")
    app = ViewerApp(Path(path), live=True, memory=memory_mb * 1_000_000)
    status = app.run()
    return status or app.return_code or 0


def _check(paths: Iterable[str], report: str | None, *, allow_unscrubbed: bool) -> None:
    """Open everything once before, so that an error is a line and not a dialog."""
    for path in map(Path, paths):
        if not is_library(path):
            open_cassette(path, check="manifest", allow_unscrubbed=allow_unscrubbed).close()
    if report is not None and not any(True for _ in read_reports(report)):
        raise NotFoundError(
            "there is no report",
            where=report,
            hint="give the file that PTYCASSETTE_REPORT named when the stand-in ran",
        )


def _need_terminal(hint: str) -> None:
    """Check for a terminal: Textual reads keys from stdin and draws on stderr by default."""
    if os.environ.get("TEXTUAL_DRIVER"):
        return
    for name, stream in (("stdin", sys.__stdin__), ("stderr", sys.__stderr__)):
        if stream is None or not stream.isatty():
            raise UsageError(f"the viewer needs a terminal, and {name} is not one", hint=hint)
    if os.environ.get("TERM") == "dumb":
        raise UsageError("the viewer cannot draw on a dumb terminal (TERM=dumb)", hint=hint)


def serve(
    arguments: list[str], *, host: str = "127.0.0.1", port: int = 0, traces: bool = False
) -> int:
    """Show in a browser what ``ptycassette view`` with ``arguments`` shows, until ctrl-c.

    Args:
        arguments: of ``ptycassette view``.
        host: the address to listen on.
        port: the port; 0 for any free one.
        traces: they name traces of tests, which the caller has found.

    Raises:
        CassetteError: it cannot be opened, or the port is not available.
        UsageError: the extra ``[serve]`` is not installed.
    """
    try:
        from ptycassette_viewer.serve import (  # noqa: PLC0415 - an extra
            ViewerServer,
            app_command,
        )
    except ModuleNotFoundError as exc:
        raise UsageError(
            f"the viewer in a browser needs the package {exc.name!r}",
            hint="pip install 'ptycassette[serve]'",
        ) from exc
    paths = [] if traces else takewhile(lambda word: not word.startswith("--"), arguments)
    _check(paths, None, allow_unscrubbed="--allow-unscrubbed" in arguments)
    server = ViewerServer(app_command(arguments), host=host, port=port)

    async def run() -> None:
        def say(started: ViewerServer) -> None:
            sys.stdout.write(f"open {started.url}\nctrl-c ends it\n")
            sys.stdout.flush()

        runner = await server.run(say)
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        return 0
    except OSError as exc:
        raise CassetteError(
            f"cannot listen: {exc.strerror}", where=f"{host}:{port}", hint="choose another --port"
        ) from exc
    return 0


def main() -> int:
    """``ptycassette-view``: the same as ``ptycassette view``."""
    from ptycassette.cli import main as command_line  # noqa: PLC0415 - only this program needs it

    return command_line(["view", *sys.argv[1:]])
