"""How large recordings are: ``python -m benchmarks sizes``.

Each recording of ``fixtures/agents`` is made again of its own events, with the frames and records
of today. The ratio is bytes of the whole cassette for each byte of output; what every cassette
needs (manifest, scrub report) weighs most in short ones.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measuring import Report, Row, machine, run
from ptycassette.cassette.io.reader import open_cassette
from ptycassette.formats.editing.io.editing import Operation, edit_cassettes

__all__ = ["measure"]

AGENTS = Path(__file__).resolve().parent.parent / "fixtures" / "agents"
AS_IT_IS = Operation(name="again", arguments={}, of=lambda takes: takes[0])


def sizes(cassette: Path) -> dict[str, int]:
    """Bytes of a cassette, of its frames and of its output, and how many frames there are."""
    with open_cassette(cassette) as opened:
        return {
            "output": opened.output_size,
            "cassette": sum(file.stat().st_size for file in cassette.iterdir()),
            "frames": (cassette / "frames.jsonl").stat().st_size,
            "screens": sum(1 for _ in opened.frames()),
        }


def measure(*, quick: bool = False) -> Report:
    """A row for each recording of an interface, the longest ones first."""
    report = Report(name="sizes", title="Bytes of recordings", machine=machine())
    report.notes.append("the ratio is to the bytes of output")
    found = []
    for source in sorted(AGENTS.glob("*-tui" if quick else "*-*/")):
        if (source / "manifest.json").exists():
            with tempfile.TemporaryDirectory() as folder:
                target = Path(folder) / "again.cassette"
                edit_cassettes([source], AS_IT_IS, target)
                found.append((source.name, sizes(target)))
    for name, one in sorted(found, key=lambda pair: -pair[1]["output"]):
        for what in ("cassette", "frames"):
            ratio = one[what] / one["output"]
            who = f"{name}, {one['screens']} frames"
            report.rows.append(
                Row(what=what, who=who, value=one[what] / 1024, unit="KiB", ratio=ratio)
            )
    return report


if __name__ == "__main__":
    run(measure)
