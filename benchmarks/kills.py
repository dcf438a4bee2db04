"""The command line of the benchmarks of kills: kill what is named, and say what came of it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

__all__ = ["Killed", "run_kills"]


class Killed(Protocol):
    """What came of a number of kills."""

    points: int
    failures: list[str]

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong."""


K = TypeVar("K", bound=Killed)


def run_kills(
    names: Iterable[str],
    kill: Callable[..., K],
    line: Callable[[K], str],
    *,
    about: str | None,
    points: int,
) -> int:
    """Kill what is named on the command line, everything when nothing is; the exit status.

    Args:
        names: what can be killed.
        kill: does it so many times, from the seed on.
        line: what is said of the outcome.
        about: the documentation of the benchmark; its first line describes the command.
        points: how many times each, if nobody says.
    """
    known = tuple(names)
    parser = argparse.ArgumentParser(description=(about or "").split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--points", type=int, default=points, help="for each")
    parser.add_argument("--seed", type=int, default=1, help="other moments")
    given = parser.parse_args()
    if unknown := sorted({*given.names} - {*known}):
        parser.error(f"unknown: {', '.join(unknown)}")
    clean = True
    for name in given.names or known:
        began = time.monotonic()
        done = kill(name, given.points, seed=given.seed)
        took = (time.monotonic() - began) / max(1, done.points)
        print(f"{name:10} {line(done)}; {took * 1000:.0f} ms each", flush=True)
        for failure in done.failures[:10]:
            print(f"    {failure}", flush=True)
        clean = clean and done.clean
    return 0 if clean else 1
