"""What a shim does when it is run: stand in, record, compare, or step aside, as the mode says."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ptycassette.errors import CassetteError
from ptycassette.host.cassette_reader import open_cassette
from ptycassette.host.library import Chosen, Library, Start
from ptycassette.host.modes import MODE_VARIABLE, action_of, resolve_mode
from ptycassette.host.shims import ShimConfig, find_real, read_shim_config
from ptycassette.host.standin_report_file import write_report
from ptycassette.model.visible import visible
from ptycassette.replay.drift import Side, drift, drift_lines
from ptycassette.replay.standin_report import StandinReport
from ptycassette.standin.options import parse_settings
from ptycassette.standin.process import FAILED, play

__all__ = ["run_shim"]


def run_shim(directory: str, program: str, args: Sequence[str]) -> int:
    """Be ``program`` with ``args``, for the shims in ``directory``.

    Returns:
        The exit status; does not return where another program takes over.
    """
    report = os.environ.get("PTYCASSETTE_REPORT", "")
    try:
        config = read_shim_config(Path(directory))
        report = report or config.report
        return _be(config, report, program, args)
    except CassetteError as failed:
        return _fail(failed, report, program, args)


def _be(config: ShimConfig, report: str, program: str, args: Sequence[str]) -> int:
    said = os.environ.get(MODE_VARIABLE) or None
    mode = resolve_mode((MODE_VARIABLE, said), ("shim", config.mode), env={})
    if mode == "live":
        return _step_aside(program, args)
    start = Start(program=program, args=tuple(args), cwd=str(Path.cwd()), env=os.environ)
    library = Library(Path(config.library), state=Path(config.state))
    may_record = action_of(mode, exists=False, env=os.environ) == "record"
    chosen = library.choose(start, record=may_record)
    match action_of(mode, exists=chosen.exists, env=os.environ):
        case "record":
            return _record(chosen.path, program, args)
        case "rerecord":
            return _rerecord(chosen.path, program, args, report)
        case _:
            return _stand_in(chosen, config, report, (program, *args))


def _stand_in(chosen: Chosen, config: ShimConfig, report: str, argv: tuple[str, ...]) -> int:
    match = ("--match", chosen.match) if chosen.match else ()
    words = [*config.options, *match, str(chosen.path), "--", *argv]
    return play(parse_settings(words, report=report))


def _step_aside(program: str, args: Sequence[str]) -> NoReturn:
    real = find_real(program, os.environ.get("PATH", ""))
    os.execv(real, [program, *args])  # noqa: S606 - no shell is meant


def _rec_words(target: Path, program: str, args: Sequence[str]) -> list[str]:
    real = find_real(program, os.environ.get("PATH", ""))
    quiet = ["--quiet"] if os.isatty(0) and os.isatty(1) else ["--headless"]
    main = "import sys; from ptycassette.cli import main; sys.exit(main())"
    return [
        sys.executable, "-c", main, "rec", *quiet, "--overwrite", "--harness", program,
        str(target), "--", real, *args,
    ]  # fmt: skip


def _record(target: Path, program: str, args: Sequence[str]) -> NoReturn:
    target.parent.mkdir(parents=True, exist_ok=True)
    words = _rec_words(target, program, args)
    os.execv(words[0], words)  # noqa: S606 - no shell is meant


def _rerecord(old: Path, program: str, args: Sequence[str], report: str) -> int:
    """Run for real, and report what drifted; the cassette is only read."""
    with tempfile.TemporaryDirectory(prefix="ptycassette-") as place:
        new = Path(place) / "new.cassette"
        status = subprocess.call(_rec_words(new, program, args))
        if not (new / "manifest.json").exists():
            return status
        found = drift(_side(old), _side(new))
    notes = tuple(drift_lines(found))
    write_report(
        report,
        StandinReport(
            result="drifted" if found else "passed", cassette=str(old), argv=(program, *args),
            pid=os.getpid(), divergences=found.divergences, notes=notes,
        ),
    )  # fmt: skip
    return status


def _side(path: Path) -> Side:
    with open_cassette(path) as cassette:
        return Side(cassette.manifest, list(cassette.events()))


def _fail(failed: CassetteError, report: str, program: str, args: Sequence[str]) -> int:
    """Say on stderr, and to the report, what is wrong."""
    text = str(failed)
    for line in text.split("\n"):
        sys.stderr.write(f"{program} (ptycassette shim): {visible(line)}\r\n")
    write_report(
        report,
        StandinReport(
            result="failed", cassette=program, argv=(program, *args), pid=os.getpid(), error=text
        ),
    )
    return failed.exit_status if failed.exit_status in {126, 127} else FAILED
