"""Start-up of the stand-in: what it may do early, and what it leaves to the full program."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ptycassette.replaying.standin.io import boot


@pytest.mark.parametrize(
    ("words", "cassette"),
    [
        (["c"], "c"),
        (["c", "--", "claude"], "c"),
        (["--match", "exact", "--lenient", "--report", "r", "c"], "c"),
        (["--speed", "1", "c"], None),
        (["--expect-id", "x", "c"], None),
        (["--match=exact", "c"], None),
        (["c", "extra"], None),
        ([], None),
        (["--match"], None),
    ],
)
def test_only_plain_starts_are_quick(words: list[str], cassette: str | None) -> None:
    """Anything else needs the full program to judge."""
    assert boot.quick_path(words) == cassette


def test_json_is_read_without_the_json_module() -> None:
    """As the json module would."""
    value = {"a": [1, 2.5, None, True], "b": {"c": "é\n\u2028"}, "d": -3}

    assert boot.parse(json.dumps(value, indent=2).encode()) == value
    assert boot.parse(b'  {"a": "\\ud83d\\ude00"}\n') == {"a": "😀"}


@pytest.mark.parametrize("data", [b"", b"{", b'{"a" 1}', b"\xff"])
def test_what_is_no_json_is_an_error_that_start_up_survives(data: bytes) -> None:
    """Of the kinds that ``main`` passes on to the full program."""
    with pytest.raises((ValueError, StopIteration)):
        boot.parse(data)


def test_json_that_nests_for_ever_is_left_to_the_full_program(tmp_path: Path) -> None:
    """That one refuses it in words, not with a traceback."""
    (tmp_path / "manifest.json").write_bytes(b"[" * 100_000)
    ended = subprocess.run(
        [sys.executable, "-m", "ptycassette", "stand-in", tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "Traceback" not in ended.stderr
    assert "nested deeper" in ended.stderr


def test_links_and_devices_are_not_read(tmp_path: Path) -> None:
    """A cassette is someone else's."""
    (tmp_path / "real").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert boot.read_head(str(tmp_path / "real"), 10) == b"x" * 10
    with pytest.raises(OSError, match=r"symbolic|loop|Too many"):
        boot.read_head(str(tmp_path / "link"), 10)
    with pytest.raises(OSError, match="not a regular file"):
        boot.read_head("/dev/null", 10)


def test_start_up_loads_nothing_heavy() -> None:
    """Neither typing nor re nor json, hence none of ours."""
    code = (
        "import sys; exec(compile(open(sys.argv[1]).read(), 'boot', 'exec'), {'__name__': 'b'});"
        "print([m for m in ('typing', 're', 'json', 'msgspec', 'ptycassette') if m in sys.modules])"
    )
    words = [sys.executable, "-I", "-S", "-c", code, str(boot.__file__)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)

    assert ran.stdout.strip() == "[]"


def test_the_full_program_loads_no_emulator() -> None:
    """Nor what else a run that passes has no use for: every test pays for it, for each start."""
    code = (
        "import sys; import ptycassette.replaying.standin.io.process;"
        "heavy = ('pyte', 'wcwidth', 'asyncio', 'yaml', 'click', 'ptycassette.terminal');"
        "print([m for m in heavy if m in sys.modules])"
    )
    words = [sys.executable, "-c", code]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)

    assert ran.stdout.strip() == "[]"


def test_files_are_checked_by_their_digests(tmp_path: Path) -> None:
    """Small and large ones; too large ones are left to the full program."""
    for name, size in (("small", 10), ("large", boot.SMALL_BYTES + 1)):
        (tmp_path / name).write_bytes(b"x" * size)
        pin = hashlib.sha256(b"x" * size).hexdigest()

        assert boot.are_pinned(str(tmp_path), {name: pin})
        assert not boot.are_pinned(str(tmp_path), {name: pin[::-1]})
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(boot.PINNED_BYTES + 1)
    assert not boot.are_pinned(str(tmp_path), {"huge": "read to its end it would be wrong anyway"})
