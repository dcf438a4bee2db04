"""Time of scrubbing what was made to be slow: ``python -m benchmarks.scrub_hostile [NAME...]``.

Each family of inputs is nothing but things to find. For each, and for sizes that double, it
prints the processor time of scrubbing, of verifying what was scrubbed, and of verifying
what was not. The process ends with 1 when anything takes more than a second for each 64 KB.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence

from ptycassette.model.records import Harness, JournalEvent, Output, SessionMeta, Typed
from ptycassette.model.screen import Size
from ptycassette.scrub.session import default_scrubber

__all__ = ["FAMILIES", "Family", "hostile"]

Family = Callable[[random.Random], Iterator[str]]
"""The lines of an endless input."""

NAMES = (
    *("pwd", "psk", "token", "sessionkey", "password", "api_key", "secret", "auth", "cookie"),
    *("PAT", "AWS_SECRET_ACCESS_KEY", "credential", "passphrase"),
)
SHORT_VALUE = "aB3$x9"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
SIZE = Size(24, 80)
CHUNK = 4096
SLOW_S = 1.0
"""For 64 KB."""


def _value(chance: random.Random, length: int = 12) -> str:
    return "".join(chance.choices(ALPHABET, k=length))


def _lines(make: Callable[[random.Random], str]) -> Family:
    def lines(chance: random.Random) -> Iterator[str]:
        while True:
            yield make(chance)

    return lines


def _assigned(name: str) -> Family:
    return _lines(lambda _: f"{name}={SHORT_VALUE}\r\n")


def _uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _growing(end: str) -> Family:
    """A line that is painted again whenever a character is added to its token."""

    def lines(chance: random.Random) -> Iterator[str]:
        shown = ""
        while True:
            shown += _value(chance, 1)
            yield f"\rexport API_TOKEN={shown}{end}"

    return lines


def _repainted(chance: random.Random) -> Iterator[str]:
    """A token of several kilobytes, longer with each repaint."""
    shown = "sk-ant-api03-"
    while True:
        shown += _value(chance, 40)
        yield f"\x1b[2J\x1b[H{shown}"


def _turning(filled: str) -> Family:
    """One cell that changes on a screen whose rows are all one line."""

    def lines(chance: random.Random) -> Iterator[str]:
        yield from (filled or _value(chance, 1) for _ in range(SIZE.rows * SIZE.cols - 9))
        while True:
            yield f"\r{_value(chance, 1)}"

    return lines


FAMILIES: dict[str, Family] = {
    **{f"{name}=, one value": _assigned(name) for name in NAMES},
    "all names, one value": _lines(lambda c: f"{c.choice(NAMES)}={SHORT_VALUE}\r\n"),
    "token=, 12 characters": _lines(lambda c: f"token={_value(c)}\r\n"),
    "password=, 6 characters": _lines(lambda c: f"password={_value(c, 5)}{c.randrange(10)}\r\n"),
    "all names, 20 characters": _lines(lambda c: f"{c.choice(NAMES)}={_value(c, 20)}\r\n"),
    "all names, on one line": _lines(lambda c: f"{c.choice(NAMES)}={_value(c, 20)} "),
    "all names, coloured": _lines(
        lambda c: f"{c.choice(NAMES)}=\x1b[3{c.randrange(8)}m{_value(c)}\x1b[0m\r\n"
    ),
    "JSON, one value": _lines(lambda _: f'{{"token":"{SHORT_VALUE}"}}\r\n'),
    "JSON": _lines(lambda c: f'{{"token":"{_value(c)}"}}\r\n'),
    "JSON in one object": _lines(lambda c: f'"token":"{_value(c)}",'),
    "JSON with escapes": _lines(lambda c: f'{{"token":"{_value(c)}\\n\\"{_value(c)}"}}\r\n'),
    "URLs, one value": _lines(lambda _: "https://u:p0p@h/ "),
    "URLs": _lines(lambda c: f"https://u:{_value(c)}@h/\r\n"),
    "URL queries": _lines(lambda c: f"http://h/?token={_value(c)}&sig={_value(c)}\r\n"),
    "Authorization, one value": _lines(lambda _: "Authorization: Bearer aB3x9aB3x9aB3\r\n"),
    "Authorization": _lines(lambda c: f"Authorization: Bearer {_value(c, 24)}\r\n"),
    "Basic": _lines(lambda c: f"authorization: basic {_value(c, 24)}=\r\n"),
    "cookies": _lines(lambda c: f"Cookie: a={_value(c)}; b={_value(c)}\r\n"),
    "e-mails": _lines(lambda c: f"{_value(c, 6)}@{_value(c, 6)}.org\r\n"),
    "account UUIDs": _lines(lambda c: f'"account_uuid":"{_uuid(c)}"\r\n'),
    "UUIDs": _lines(lambda c: f"{_uuid(c)}\r\n"),
    "tokens of a shape": _lines(lambda c: f"ghp_{_value(c, 36)}\r\n"),
    "sk-ant tokens": _lines(lambda c: f"sk-ant-api03-{_value(c, 93)}AA\r\n"),
    "curl users": _lines(lambda c: f"curl -u me:{_value(c)} x\r\n"),
    "percent": _lines(lambda c: f"token%3D%{ord(_value(c, 1)):02x}{_value(c)}\r\n"),
    "base64": _lines(lambda c: f"dG9rZW49{_value(c, 16)}\r\n"),
    "hexadecimal": _lines(lambda c: f"{f'token={_value(c)} '.encode().hex()}\r\n"),
    "hexadecimal on one line": _lines(lambda c: f"token={_value(c)} ".encode().hex()),
    "homes": _lines(lambda c: f"/home/{_value(c, 6).lower()}/x\r\n"),
    "one long token": _lines(lambda c: _value(c, 64)),
    "a growing line": _growing(""),
    "a growing line, erased": _growing("\x1b[K"),
    "a growing screen": _repainted,
    "a spinner on a full screen": _turning(""),
    "a spinner on a full screen of a": _turning("a"),
}


def hostile(name: str, size: int, chance: random.Random | None = None) -> bytes:
    """``size`` bytes of a family of inputs, without ``chance`` the same every time."""
    lines = FAMILIES[name](chance or random.Random(name))  # noqa: S311 - no secret
    parts: list[bytes] = []
    length = 0
    while length < size:
        parts.append(next(lines).encode())
        length += len(parts[-1])
    return b"".join(parts)[:size]


def _session(channel: str, data: bytes) -> tuple[SessionMeta, Sequence[JournalEvent]]:
    meta = SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("agent",),
        size=SIZE,
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="agent"),
    )
    kind = Typed if channel == "input" else Output
    parts = (data[at : at + CHUNK] for at in range(0, len(data), CHUNK))
    return meta, [kind(number, part) for number, part in enumerate(parts)]


def measured(name: str, size: int, channel: str = "output") -> tuple[float, float, float]:
    """Seconds of processor for scrubbing, verifying what came of it, verifying the input."""
    meta, events = _session(channel, hostile(name, size))
    began = time.process_time()
    scrubbed = list(default_scrubber().events(meta, lambda: iter(events)))
    scrubbing = time.process_time() - began
    began = time.process_time()
    left = default_scrubber().verify(meta, lambda: iter(scrubbed))
    verifying = time.process_time() - began
    if left:
        print(f"    {name}, {size} bytes: left: {left}")
    began = time.process_time()
    default_scrubber().verify(meta, lambda: iter(events))
    return scrubbing, verifying, time.process_time() - began


def main() -> int:
    """Measure what is named, all when nothing is; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--kib", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--channel", default="output", choices=("output", "input"))
    options = parser.parse_args()
    if unknown := sorted({*options.names} - {*FAMILIES}):
        parser.error(f"unknown: {', '.join(unknown)}")
    measured("JSON", 1 << 12)  # rules are compiled once
    heads = "  ".join(f"{f'{kib} KiB':^20}" for kib in options.kib)
    print(f"{'':32}{heads}")
    print(f"{'':32}" + "scrub  clean    raw   " * len(options.kib))
    good = True
    for name in options.names or FAMILIES:
        rows = [measured(name, kib << 10, options.channel) for kib in options.kib]
        slow = any(
            took > SLOW_S * kib / 64
            for kib, row in zip(options.kib, rows, strict=True)
            for took in row
        )
        good = good and not slow
        figures = "   ".join("  ".join(f"{took:5.2f}" for took in row) for row in rows)
        print(f"{name:32}{figures}{'   slow' if slow else ''}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
