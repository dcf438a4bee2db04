"""Start-up of the stand-in: it writes the first bytes before the heavy modules are loaded.

This file is run by path with ``python -I -S``, and by the command line before
anything else is imported. Rules:

- It imports nothing but small modules of the standard library: no package of ours,
  no ``typing``, no ``re``, hence no ``json`` where its C scanner is at hand.
- It does only what the full stand-in would do: it sets the terminal raw and writes
  output that was recorded before any input, once its digests are checked. Anything
  unusual (another size, another mode, a strange file) is left to the full one.
- Then it hands over what it wrote, what it read, and the terminal's earlier attributes.
"""

# ruff: noqa: PLC0415, PTH100, PTH116, PTH118, PTH120 - this file exists to load only what is needed

from __future__ import annotations

import os
import sys

try:
    import _signal as signals  # type: ignore[import-not-found]
except ImportError:  # another implementation of Python
    import signal as signals

TYPE_CHECKING = False  # type checkers accept this name, without loading typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MANIFEST_BYTES = 1 << 20
HEAD_BYTES = 1 << 16
PINNED_BYTES = 16 << 20  # the size of files that are hashed before the first byte: about 10 ms
SMALL_BYTES = 256 << 10  # what Python's own SHA-256 does faster than OpenSSL's is loaded
SMALL_OPTIONS = {"--match", "--order", "--report", "--input-timeout", "--threshold", "--name"}
FAULT_VARIABLE = "PTYCASSETTE_FAULT"  # an error may come with the first bytes
SMALL_FLAGS = {"--lenient", "--ignore-size"}


class Handover:
    """The work that start-up has already done.

    ``written`` counts bytes of ``output.raw``; the digests of the files in ``checked`` are right.
    """

    def __init__(self) -> None:
        self.written = 0
        self.checked: frozenset[str] = frozenset()
        self.early = b""
        self.saved: list[Any] | None = None
        self.size: tuple[int, int] | None = None


def main(argv: list[str] | None = None) -> int:
    """Run a stand-in; ``argv`` without the program name. Does not return if it played."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["--shim"]:
        open_closed()
        find_packages()
        from ptycassette.replaying.standin.io._shim import run_shim

        return run_shim(args[1], args[2], args[4:])
    block_signals()
    handover = Handover()
    try:
        cassette = quick_path(args)
        if cassette is not None and not os.environ.get(FAULT_VARIABLE):
            first_bytes(cassette, handover)
    except (OSError, ValueError, KeyError, TypeError, IndexError, StopIteration, RecursionError):
        pass  # the real stand-in reports the problem in full
    find_packages()
    return load_rest()(args, handover)


def open_closed() -> None:
    """Open ``/dev/null`` where the driver closed a stream, so that no file gets its number."""
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(fd, True)
    os.close(fd)


def load_rest() -> Callable[[list[str], Handover], int]:
    """Import the full program. This is most of the cost of a stand-in, so it is made cheap.

    typing_extensions is kept from loading, because msgspec works without it, and it takes a
    tenth of the time. The garbage collector is off meanwhile.
    """
    import gc

    gc.disable()
    hidden = "typing_extensions" not in sys.modules
    if hidden:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        from ptycassette.replaying.standin.io.process import run
    finally:
        if hidden:
            del sys.modules["typing_extensions"]
    gc.enable()
    return run


def block_signals() -> None:
    """Block signals until their handlers are installed."""
    signals.pthread_sigmask(signals.SIG_BLOCK, signals.valid_signals())


def quick_path(args: list[str]) -> str | None:
    """The cassette, if the arguments need nothing else; None otherwise."""
    at = 0
    while at < len(args):
        word = args[at]
        if word in SMALL_FLAGS:
            at += 1
        elif word in SMALL_OPTIONS:
            at += 2
        else:
            plain = not word.startswith("-") and args[at + 1 : at + 2] in ([], ["--"])
            return word if plain else None
    return None


def first_bytes(cassette: str, handover: Handover) -> None:
    """Write the first recorded output, if it precedes all input."""
    import fcntl
    import struct
    import termios

    manifest = read_json(os.path.join(cassette, "manifest.json"), MANIFEST_BYTES)
    terminal = manifest["terminal"]
    packed = fcntl.ioctl(1, termios.TIOCGWINSZ, b"\0" * 8)
    optional = manifest.get("optional") or {}
    if manifest["version"] != 1 or manifest.get("required_features") or "streams" in optional:
        return
    size = struct.unpack("HHHH", packed)[:2]
    if size != (terminal["initial_rows"], terminal["initial_cols"]):
        return
    line = read_head(os.path.join(cassette, "output.jsonl"), HEAD_BYTES).split(b"\n", 1)[0]
    output = parse(line)
    report = read_json(os.path.join(cassette, "scrub-report.json"), MANIFEST_BYTES)
    if output["seq"] != 1 or output["offset"] != 0 or report["status"] == "unscrubbed":
        return
    length = output["length"]
    if type(length) is not int or not 0 < length <= HEAD_BYTES:
        return
    data = read_head(os.path.join(cassette, "output.raw"), length)
    if len(data) != length:
        return
    pins = {"output.raw": manifest["content_digest"]["sha256"]}
    artifacts = optional.get("artifacts") or {}
    for name in ("output.jsonl", "scrub-report.json"):
        if name in artifacts:  # the reference format pins output.raw alone
            pins[name] = artifacts[name]["sha256"]
    if not are_pinned(cassette, pins):
        return
    handover.checked = frozenset(pins)
    handover.saved, handover.early = set_raw(0)
    if os.write(1, data) != length:
        raise OSError("the terminal took less than one chunk")
    handover.written, handover.size = length, size


def set_raw(fd: int) -> tuple[list[Any], bytes]:
    """Set the terminal raw; returns its earlier attributes, and the input so far."""
    import select
    import termios

    saved = termios.tcgetattr(fd)
    raw = [0, 0, saved[2], 0, saved[4], saved[5], list(saved[6])]
    raw[2] = (saved[2] & ~(termios.CSIZE | termios.PARENB)) | termios.CS8
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
    termios.tcsetattr(fd, termios.TCSANOW, raw)
    early = os.read(fd, HEAD_BYTES) if select.select([fd], [], [], 0)[0] else b""
    return saved, early


def read_head(path: str, most: int) -> bytes:
    """At most ``most`` bytes of a regular file that is not a link."""
    fd = open_plain(path)
    try:
        return os.read(fd, most)
    finally:
        os.close(fd)


def are_pinned(cassette: str, pins: dict[str, str]) -> bool:
    """Whether the files have these digests; also False if they are too large for start-up."""
    sizes = [os.stat(os.path.join(cassette, name)).st_size for name in pins]
    if sum(sizes) > PINNED_BYTES:
        return False
    make = sha256_for(sum(sizes))
    for name, pin in pins.items():
        digest = make()
        fd = open_plain(os.path.join(cassette, name))
        try:
            left = PINNED_BYTES
            while left > 0 and (data := os.read(fd, 1 << 20)):
                digest.update(data)
                left -= len(data)
        finally:
            os.close(fd)
        if digest.hexdigest() != pin:
            return False
    return True


def sha256_for(size: int) -> Callable[[], Any]:
    """SHA-256 from the module that is fastest for so many bytes, loading included."""
    small = [("_sha256", "sha256"), ("_sha2", "sha256")]  # Python 3.11, and later ones
    large = [("_hashlib", "openssl_sha256")]
    for module, function in [*small, *large] if size <= SMALL_BYTES else [*large, *small]:
        try:
            return getattr(__import__(module), function)  # type: ignore[no-any-return]
        except (ImportError, AttributeError):
            continue
    raise OSError("no SHA-256 without the full program")


def open_plain(path: str) -> int:
    """Open a regular file that is not a link."""
    import stat

    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("not a regular file")
    return fd


def read_json(path: str, most: int) -> Any:
    """A small JSON document."""
    return parse(read_head(path, most))


def parse(data: bytes) -> Any:
    """A JSON object, by the C scanner alone if there is one: ``json`` takes 8 ms to load."""
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(data)
    scan = make_scanner(Plain())  # type: ignore[arg-type]
    value, _ = scan(data.decode("utf-8").strip(), 0)
    return value


class Plain:
    """The attributes that the C scanner expects of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}  # noqa: RUF012 - the name that the scanner looks for


def find_packages() -> None:
    """Make our package importable when this file was run alone, without ``site``."""
    if sys.flags.no_site and "site" not in sys.modules:
        import site

        site.main()
    root = os.path.abspath(__file__)
    for _ in range(5):  # ptycassette/replaying/standin/io/boot.py
        root = os.path.dirname(root)
    if root not in sys.path:
        sys.path.insert(0, root)  # this file and the rest of the package are one


if __name__ == "__main__":
    sys.exit(main())
