"""Times, terminal sizes and amounts of bytes as text: the only reader and printer of each.

A time is written as people type it for asciinema and ffmpeg: ``90`` or ``1.5`` (seconds),
``250ms``, ``1.5s``, ``2m``, ``1h``, ``7d``, ``2w``, several of these (``1h30m``, as Go prints
durations), or a clock (``1:30``, ``1:02:03.5``). A size is ``COLSxROWS``, as asciinema writes it.
Bytes are ``64M``, ``10MiB`` or a plain number; ``k``, ``M`` and ``G`` count thousands (SI), ``Ki``,
``Mi`` and ``Gi`` count 1024 (IEC 80000-13).
"""

from __future__ import annotations

from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.screen import Size
from ptycassette.model.visible_text import visible

LONGEST_S = 10**9
"""The longest time that is read where nothing else is asked for: 31 years."""
TIME_EXAMPLES = "90, 1.5s, 250ms, 2m, 1h or 1:30"
"""How times are written, for messages."""

_LONGEST_TEXT = 100  # windows of recordings are not trusted
_LARGEST_SIDE = 65_535  # of TIOCSWINSZ
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PLAIN = lazy_pattern(_NUMBER)
_CLOCK = lazy_pattern(rf"(?:([0-9]{{1,9}}):)?([0-9]{{1,9}}):({_NUMBER})s?")
_PART = lazy_pattern(rf"({_NUMBER}) ?(ms|s|m|h|d|w)")
_PARTS = lazy_pattern(rf"{_PART.pattern}(?: ?{_PART.pattern})*")
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SIZE = lazy_pattern(r"([0-9]{1,5})x([0-9]{1,5})")
_BYTES = lazy_pattern(rf"({_NUMBER}) ?([kKMG]?)(i?)(B?)")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}


def parse_time(text: str, *, unit: str = "s", longest_s: float = LONGEST_S) -> float:
    """A time, in seconds.

    Args:
        text: as in the docstring of the module.
        unit: of a plain number: ``s`` or ``ms``.
        longest_s: the longest time that is allowed.

    Raises:
        ValueError: it is not a time, or too long. The message shows the text and an example.
    """
    words = text.strip()
    if len(words) <= _LONGEST_TEXT:
        seconds = None
        if _PLAIN.fullmatch(words):
            seconds = float(words) * _UNITS_MS[unit] / 1000
        elif clock := _CLOCK.fullmatch(words):
            seconds = int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])
        elif _PARTS.fullmatch(words):
            parts = _PART.findall(words)
            seconds = sum(float(number) * _UNITS_MS[name] for number, name in parts) / 1000
        if seconds is not None and seconds <= longest_s:
            return round(seconds, 9)
        if seconds is not None:
            most = f"{longest_s / 3600:g} hours"
            raise ValueError(f"'{visible(text, limit=40)}' is longer than {most}, the most allowed")
    raise ValueError(f"'{visible(text, limit=40)}' is not a time; write {TIME_EXAMPLES}")


def time_text(seconds: float) -> str:
    """A length of time, ``12.5 s``, to the microsecond. ``parse_time`` reads it."""
    number = f"{seconds:.6f}".rstrip("0").rstrip(".")
    return f"{number} s"


def window_text(text: str) -> str:
    """How long a recording stays fresh, as manifests hold it: with units, as Go reads them.

    ``24h`` stays as it is; ``90`` and ``1:30`` are ``90s``.

    Raises:
        ValueError: it is not a time.
    """
    seconds, words = parse_time(text), text.replace(" ", "")
    return words if words[-1:].isalpha() and ":" not in words else f"{seconds:.9g}s"


def clock_text(t_us: int, *, decimals: int = 3, minutes: bool = False) -> str:
    """A moment as ``12.345``, from a minute on ``1:02.345`` or ``1:02:03.345``, rounded down.

    Args:
        t_us: microseconds.
        decimals: digits of the fraction of a second, 1 to 6.
        minutes: show them also where they are 0: ``0:12.345``.
    """
    whole, fraction = divmod(t_us // 10 ** (6 - decimals), 10**decimals)
    minute, second = divmod(whole, 60)
    hour, minute = divmod(minute, 60)
    if not (hour or minute or minutes):
        return f"{second}.{fraction:0{decimals}}"
    front = f"{hour}:{minute:02}" if hour else f"{minute}"
    return f"{front}:{second:02}.{fraction:0{decimals}}"


def parse_size(text: str) -> Size:
    """The size of a terminal, ``COLSxROWS``, such as ``80x24``. ``str(size)`` writes it.

    Raises:
        ValueError: it is not a size. The message shows the text and an example.
    """
    match = _SIZE.fullmatch(text.strip())
    cols, rows = (int(number) for number in match.groups()) if match else (0, 0)
    if not (0 < cols <= _LARGEST_SIDE and 0 < rows <= _LARGEST_SIDE):
        shown = visible(text, limit=40)
        limits = f"each from 1 to {_LARGEST_SIDE}"
        raise ValueError(f"'{shown}' is not a size; write COLSxROWS, such as 80x24, {limits}")
    return Size(rows, cols)


def parse_bytes(text: str, *, unit: int = 1) -> int:
    """A number of bytes: ``64M``, ``10MiB``, ``1.5 GB``.

    Args:
        text: as in the docstring of the module.
        unit: bytes that a plain number counts, such as 1,000,000.

    Raises:
        ValueError: it is not an amount. The message shows the text and an example.
    """
    words = text.strip()
    match = _BYTES.fullmatch(words) if len(words) <= _LONGEST_TEXT else None
    if match is None or (match[3] and not match[2]):
        shown = visible(text, limit=40)
        raise ValueError(f"'{shown}' is not a number of bytes; write 300M, 10MiB or 1GB")
    if not match[2] and not match[4]:
        return round(float(match[1]) * unit)
    factor: int = (1024 if match[3] else 1000) ** _POWERS[match[2].lower()]
    return round(float(match[1]) * factor)


def bytes_text(count: int) -> str:
    """A number of bytes as text: ``812 B``, ``1.5 kB``, ``20.3 MB``."""
    size = float(count)
    for name in ("B", "kB", "MB"):
        if size < 1000:
            return f"{count} B" if name == "B" else f"{size:.1f} {name}"
        size /= 1000
    return f"{size:.1f} GB"
