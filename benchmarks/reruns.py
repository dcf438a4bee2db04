"""``python -m benchmarks.reruns``: real agent CLIs, recorded with their tapes and run again.

Each drive of ``fixtures/tapes/drives`` is recorded once, in the CLI's terminal interface, against
the fake provider, with a tool call. Then the CLI runs again from its tape, 20 times, in another
home and another work folder each time; once more on another day; and once each with a change that
has to be named: one word of a prompt (in the file of instructions), one byte of a tool's result,
and another version of the CLI.

The programs are looked for in the folders that ``PTYCASSETTE_AGENTS`` lists, as ``PATH`` does;
other versions of them in those of ``PTYCASSETTE_OTHER_AGENTS``. ``--only NAME`` takes one CLI,
``--times N`` less runs, ``--claude`` adds Claude Code (nothing of it is kept). ``--interactive``
records in a terminal of pexpect that answers what the CLI asks it, as a person's does, and counts
equal reruns and equal drives of the stand-in.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.agents.harness.io.files import find_binary, load_profile
from ptycassette.agents.harness.io.probe import walk
from ptycassette.agents.harness.probe import Drive
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.errors import CassetteError
from ptycassette.model.screen import Size
from ptycassette.recording.io.options import ask_version
from ptycassette.recording.session.session import Session

ROOT = Path(__file__).parent.parent
DRIVES = ROOT / "fixtures" / "tapes" / "drives"
COMMAND = str(Path(sys.executable).with_name("ptycassette"))
PROMPT, RESULT = ("plain words", "plump words"), ("walnuts", "walnutz")
# Where make_agents.py has its homes, and not /tmp, which Codex refuses.
ROOT_OF_HOMES = "/var/tmp/ptycassette"  # noqa: S108 - each run makes a private folder in it
_PATIENCE_S, _TIMEOUT_S = "60", 400
_CHANGED_S = 1500  # another version may show no screen as it was: each is waited for
_HEADING = (
    *("CLI", "equal reruns", "mean s", "on another day", "a word of a prompt"),
    *("a byte of a result", "another version"),
)
_IN_A_TERMINAL = ("CLI", "answers of the terminal", "rerun", "stand-in", "output KB", "cassette KB")


class _Cli(msgspec.Struct, frozen=True):
    """A recorded CLI: its drive, its cassette, where it is, and where another version is."""

    drive: Drive
    cassette: Path
    path: str
    other: str | None


def main(arguments: list[str]) -> int:
    """Print a line for each run that is not as it should be, and a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reruns")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--claude", action="store_true")
    parser.add_argument("--interactive", action="store_true", help="recorded in a terminal")
    parser.add_argument("--keep", type=Path, help="where the recordings are, or are left")
    given = parser.parse_args(arguments)
    times = 2 if given.quick else given.times
    rows: list[list[str]] = []
    good = True
    with tempfile.TemporaryDirectory(prefix="reruns-") as made:
        folder = given.keep or Path(made)
        for cli in _recorded(
            folder, given.only, claude=given.claude, interactive=given.interactive
        ):
            row, fine = (_in_a_terminal if given.interactive else _measured)(cli, times)
            rows.append(row)
            print(f"| {' | '.join(row)} |", flush=True)  # at once: the next CLI takes minutes
            good = good and fine
    heading = _IN_A_TERMINAL if given.interactive else _HEADING
    print(f"| {' | '.join(heading)} |")
    print(f"|{'---|' * len(heading)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return 0 if good and rows else 1


def _recorded(folder: Path, only: list[str], *, claude: bool, interactive: bool) -> Iterator[_Cli]:
    for path in sorted(DRIVES.glob("*.toml")):
        drive = Drive.parse(path.read_text(), where=str(path))
        profile = load_profile(drive.harness, env={})
        if (only and drive.harness not in only) or not (profile.shareable or claude):
            continue
        binary = find_binary(profile, path=os.environ.get("PTYCASSETTE_AGENTS", ""))
        if binary is None:
            print(f"{drive.harness}: not in PTYCASSETTE_AGENTS")
            continue
        target = folder / drive.name
        if not target.exists():
            subprocess.run(
                [
                    *(sys.executable, str(ROOT / "fixtures" / "make_agents.py"), drive.name),
                    *("--out", str(folder), "--also", drive.harness),
                    *(("--interactive",) if interactive else ()),
                ],
                check=True,
                timeout=_TIMEOUT_S,
            )
        other = find_binary(profile, path=os.environ.get("PTYCASSETTE_OTHER_AGENTS", ""))
        yield _Cli(drive, target, str(Path(binary).parent), other and str(Path(other).parent))


def _measured(cli: _Cli, times: int) -> tuple[list[str], bool]:
    """A row of the table, and whether all was as it has to be."""
    began = time.monotonic()
    reports = [_rerun(cli) for _ in range(times)]
    mean_s = (time.monotonic() - began) / times
    passed = sum(report["passed"] for report in reports)
    print(f"{cli.drive.name}: {passed} of {times} equal, {mean_s:.1f} s each", flush=True)
    day = _rerun(cli, zone=_another_day())
    word = _rerun(cli, change=PROMPT)
    byte = _rerun(cli, change=RESULT)
    row = [cli.drive.harness, f"{passed} of {times}", f"{mean_s:.1f}"]
    row += [f"{day['matched']} of {day['entries']} asked", _named(word), _named(byte)]
    row += ["not there" if cli.other is None else _version(_rerun(cli, path=cli.other))]
    fine = passed == times and day["matched"] == day["entries"] and not day["misses"]
    return row, fine and bool(word["misses"]) and bool(byte["misses"])


def _in_a_terminal(cli: _Cli, times: int) -> tuple[list[str], bool]:
    """A row of the table of interactive recordings, and whether all runs were equal."""
    with open_cassette(cli.cassette) as cassette:
        recorded = cassette.manifest.harness.binary_version
        answers = sum(one.source == "terminal" for one in cassette.inputs())
        output_bytes = cassette.output_size
    held_bytes = sum(file.stat().st_size for file in cli.cassette.iterdir())
    driven = sum(_stand_in_ends(cli) for _ in range(times))
    passed = sum(_rerun(cli)["passed"] for _ in range(times))
    # Programs whose name others may have are not asked while they are recorded.
    asked = recorded or ask_version(Path(cli.path, cli.drive.harness), timeout_s=60)
    version = re.search(r"\d[\w.-]+", asked or "")
    row = [f"{cli.drive.harness} {version[0] if version else '?'}", str(answers)]
    row += [f"{passed} of {times}", f"{driven} of {times}"]
    row += [str(round(output_bytes / 1000)), str(round(held_bytes / 1000))]
    return row, passed == driven == times


def _stand_in_ends(cli: _Cli) -> bool:
    """Whether the stand-in shows the drive all that it waits for, and ends as the CLI did."""
    profile = load_profile(cli.drive.harness, env={})
    size = Size(cli.drive.rows or profile.terminal.rows, cli.drive.cols or profile.terminal.cols)
    with Session((COMMAND, "stand-in", str(cli.cassette)), size=size) as session:
        try:
            walk(session, cli.drive.steps, profile)
        except CassetteError as exc:
            print(f"{cli.drive.name}: stand-in: {exc}", flush=True)
            return False
        status = session.exit_status
    return status is not None and status.code in cli.drive.exit_codes


def _another_day() -> str:
    """A time zone in which it is not the day that it is in UTC."""
    return "Pacific/Kiritimati" if datetime.now(UTC).hour >= 12 else "Etc/GMT+12"


def _rerun(
    cli: _Cli, *, change: tuple[str, str] = ("", ""), zone: str = "UTC", path: str | None = None
) -> Mapping[str, Any]:
    """The report of one run, in a new work folder with the files of the drive."""
    drive = cli.drive
    with tempfile.TemporaryDirectory(prefix="work-") as cwd:
        for name, text in drive.files.items():
            Path(cwd, name).write_text(text.replace(*change) if change[0] else text)
        done = subprocess.run(
            [
                *(
                    COMMAND,
                    "rerun",
                    "--trust",
                    "--json",
                    "--copy",
                    cwd,
                    "--root",
                    ROOT_OF_HOMES,
                    "--mode",
                    drive.mode,
                ),
                *("--patience", _PATIENCE_S, "--model", drive.model, "-e", f"TZ={zone}"),
                *("-e", "LANG=C.UTF-8", str(cli.cassette)),
            ],
            env={**os.environ, "PATH": f"{path or cli.path}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S if path is None and not change[0] else _CHANGED_S,
            check=False,
        )
    if not done.stdout:
        raise SystemExit(f"{drive.name}: {done.stderr}")
    report: dict[str, Any] = json.loads(done.stdout)
    if not report["passed"] and zone == "UTC" and not change[0] and path is None:
        print(f"{drive.name}: not equal: {_named(report)}; {report['notes']}", flush=True)
    return report


def _named(report: Mapping[str, Any]) -> str:
    """How a change was named: the first place of the first request, and the first screen."""
    misses, changes = report["misses"], report["changes"]
    parts = [misses[0]["differences"][0][-160:]] if misses and misses[0]["differences"] else []
    if changes:
        number = changes[0]["number"]
        parts.append(f"screen before input {number}" if number else "screen at the end")
    return "; ".join(parts).replace("|", "\\|").replace("\n", " ") or "NOT NAMED"


def _version(report: Mapping[str, Any]) -> str:
    found = report["version"]
    said = f"recorded {found['recorded']}, now {found['now']}" if found else "NOT NAMED"
    return f"{said}; {len(report['misses'])} misses, {len(report['changes'])} screens"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
