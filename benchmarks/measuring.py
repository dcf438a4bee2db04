"""What all measurements share: alternating runs, medians, the machine, and the table."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

__all__ = ["Report", "Row", "alternate", "machine", "percentile", "run"]

RESULTS = Path(__file__).parent / "results"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table: what was measured, of whom, in which unit, against what.

    ``ratio`` is the value divided by that of the row named ``base``.
    """

    what: str
    who: str
    value: float
    unit: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


class Report(msgspec.Struct, kw_only=True):
    """The rows of one benchmark."""

    name: str
    title: str
    machine: str
    notes: list[str] = []
    rows: list[Row] = []

    def add(
        self,
        what: str,
        unit: str,
        values: Mapping[str, list[float]],
        *,
        base: str | None = None,
        scale: float = 1.0,
    ) -> None:
        """Add a row for each contender: the median of its runs, and the ratio to ``base``."""
        medians = {who: statistics.median(runs) * scale for who, runs in values.items() if runs}
        for who, median in medians.items():
            self.rows.append(
                Row(
                    what=what,
                    who=who,
                    value=median,
                    unit=unit,
                    ratio=median / medians[base] if base and medians.get(base) else None,
                    low=min(values[who]) * scale,
                    high=max(values[who]) * scale,
                )
            )

    def show(self) -> None:
        """On the terminal."""
        load, cores = os.getloadavg()[0], os.cpu_count() or 1
        if load > cores:
            self.notes.append(
                f"the machine was busy (load {load:.1f} on {cores} cores): ratios say more"
            )
        table = Table(title=self.title, caption="\n".join([self.machine, *self.notes]))
        for column in ("what", "who"):
            table.add_column(column)
        for column in ("median", "unit", "lowest", "highest", "ratio"):
            table.add_column(column, justify="right")
        for row in self.rows:
            table.add_row(*_cells(row))
        Console(width=max(110, Console().width)).print(table)

    def save(self, folder: Path = RESULTS) -> None:
        """As Markdown and as JSON."""
        folder.mkdir(exist_ok=True)
        lines = [f"# {self.title}", "", self.machine, ""]
        lines += [*(f"- {note}" for note in self.notes), ""]
        lines += ["| what | who | median | unit | lowest | highest | ratio |"]
        lines += ["|---|---|--:|---|--:|--:|--:|"]
        lines += [f"| {' | '.join(_cells(row))} |" for row in self.rows]
        (folder / f"{self.name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        text = json.dumps(msgspec.to_builtins(self), indent=2)
        (folder / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")


def run(measure: Callable[..., Report]) -> None:
    """Measure and show; save unless the command line says ``--quick``."""
    quick = "--quick" in sys.argv
    report = measure(quick=quick)
    report.show()
    if not quick:
        report.save()


def _cells(row: Row) -> list[str]:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}x"
    return [
        row.what,
        row.who,
        _number(row.value),
        row.unit,
        *map(_number, (row.low, row.high)),
        ratio,
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def alternate(contenders: Mapping[str, Callable[[], float]], runs: int) -> dict[str, list[float]]:
    """Run everybody in turn, ``runs`` times, so that a busy moment of the machine hits all."""
    values: dict[str, list[float]] = {who: [] for who in contenders}
    for _ in range(runs):
        for who, run in contenders.items():
            values[who].append(run())
    return values


def percentile(values: list[float], share: float) -> float:
    """The value below which ``share`` of all lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def machine() -> str:
    """The machine in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {model}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, load {load:.1f}"
    )
