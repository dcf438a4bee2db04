"""Parameters that several commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ptycassette.cassette.io import Cassette

if TYPE_CHECKING:
    _ParamType = click.ParamType[float]
    _AgeParamType = click.ParamType[timedelta]
else:  # generic for type checkers only, depending on the version of click
    _ParamType = _AgeParamType = click.ParamType

F = TypeVar("F", bound=Callable[..., Any])

_CLOCK = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d+(?:\.\d*)?|\.\d+)(ms|s)?")


class TimeType(_ParamType):
    """A moment or a length of time; seconds, as ``12.5``, ``250ms`` or ``1:02.5``."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The time in seconds."""
        if isinstance(value, int | float):
            return float(value)
        match = _CLOCK.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no time; write 12.5, 250ms or 1:02.5", param, ctx)
        hours, minutes, seconds, unit = match.groups()
        if unit == "ms" and (minutes or hours):
            self.fail(f"{value!r} mixes a clock and milliseconds", param, ctx)
        time_s = float(seconds) / (1000 if unit == "ms" else 1)
        total_s = int(hours or 0) * 3600 + int(minutes or 0) * 60 + time_s
        if not math.isfinite(total_s) or total_s > MAX_TIME_S:
            self.fail(f"{value!r} is too long", param, ctx)
        return total_s


class AgeType(_AgeParamType):
    """How long ago; ``90m``, ``12h``, ``7d``, as freshness windows are written."""

    name = "age"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The length of time."""
        from ptycassette.cassette import window_of

        if isinstance(value, timedelta):
            return value
        window = window_of(str(value))
        if window is None:
            self.fail(f"{value!r} is no age; write 90m, 12h, 7d or 2w", param, ctx)
        return window


AGE = AgeType()
MAX_TIME_S = 10**9
TIME = TimeType()


def cassette_argument(function: F) -> F:
    """The argument CASSETTE: the directory of a cassette."""
    return click.argument("cassette", metavar="CASSETTE", type=click.Path())(function)


def json_option(function: F) -> F:
    """The flag ``--json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object (docs/json.md)."
    )(function)


def allow_unscrubbed_option(function: F) -> F:
    """The flag ``--allow-unscrubbed``."""
    return click.option(
        "--allow-unscrubbed",
        is_flag=True,
        help="Also open what was recorded without scrubbing.",
    )(function)


def opened(path: str, *, allow_unscrubbed: bool = False, full: bool = False) -> Cassette:
    """Open the cassette of a command: documents checked, or, ``full``, every byte."""
    from ptycassette.cassette.io import open_cassette

    return open_cassette(
        path, allow_unscrubbed=allow_unscrubbed, check="full" if full else "manifest"
    )


@contextmanager
def needing_provider() -> Iterator[None]:
    """Say which extra to install if a package of the fake provider is missing.

    Raises:
        UsageError: a package of another project is missing.
    """
    from ptycassette.errors import UsageError

    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "ptycassette":
            raise
        raise UsageError(
            f"the fake provider needs the package {missing.name!r}",
            hint="pip install 'ptycassette[provider]'",
        ) from missing
