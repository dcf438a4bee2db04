"""What is kept of recordings: for the user alone, bounded, and ignored when anything is wrong."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ptycassette_viewer import cache as module
from ptycassette_viewer.cache import Cache, user_cache

KEY = "a" * 64
CONTENT = b"what is known" * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where files are kept; made by the cache."""
    return tmp_path / "made" / "viewer"


@pytest.fixture
def cache(folder: Path) -> Cache:
    """With one thing in it."""
    cache = Cache(folder)
    cache.put(KEY, CONTENT)
    return cache


def test_what_was_kept_is_found_again(cache: Cache, folder: Path) -> None:
    """By its key, and in files that are for the user alone."""
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / KEY)]

    assert cache.get(KEY) == CONTENT
    assert cache.get("b" * 64) is None
    assert modes == [0o700, 0o600]
    assert [path.name for path in folder.iterdir()] == [KEY]


@pytest.mark.parametrize("place", [0, 25, 60, -1])
def test_a_changed_byte_is_noticed(cache: Cache, folder: Path, place: int) -> None:
    """In the head, the checksum or the content."""
    data = bytearray((folder / KEY).read_bytes())
    data[place] ^= 1
    (folder / KEY).write_bytes(data)

    assert cache.get(KEY) is None


def test_what_is_cut_or_under_another_name_is_ignored(cache: Cache, folder: Path) -> None:
    """Half a file, none of it, and the content of another key."""
    data = (folder / KEY).read_bytes()
    other = "b" * 64
    (folder / other).write_bytes(data)
    (folder / other).chmod(0o600)
    found = [cache.get(other)]
    for part in (data[: len(data) // 2], b""):
        (folder / KEY).write_bytes(part)
        found.append(cache.get(KEY))

    assert found == [None] * 3


def test_what_others_could_have_put_there_is_ignored(cache: Cache, folder: Path) -> None:
    """Links, files and directories that are open to others."""
    found = []
    (folder / KEY).chmod(0o644)
    found.append(cache.get(KEY))
    (folder / KEY).chmod(0o600)
    os.symlink(folder / KEY, folder / ("c" * 64))  # noqa: PTH211 - as attackers do
    found.append(cache.get("c" * 64))
    os.mkfifo(folder / ("d" * 64), 0o600)
    found.append(cache.get("d" * 64))
    folder.chmod(0o777)
    found.append(cache.get(KEY))
    cache.put("e" * 64, CONTENT)
    folder.chmod(0o700)

    assert found == [None] * 4
    assert cache.get(KEY) == CONTENT
    assert cache.get("e" * 64) is None


def test_the_oldest_are_forgotten(tmp_path: Path) -> None:
    """Where there are too many, or too much; what was used is not old."""
    cache = Cache(tmp_path / "few", max_files=2)
    for number, key in enumerate(("one", "two")):
        cache.put(key, CONTENT)
        os.utime(tmp_path / "few" / key, (number, number))
    cache.get("one")
    cache.put("three", CONTENT)
    small = Cache(tmp_path / "small", max_bytes=1_000)
    for number, key in enumerate(("one", "two", "three", "four", "five", "six")):
        small.put(key, os.urandom(120))
        os.utime(tmp_path / "small" / key, (number, number))
    small.put("too large for it", os.urandom(300))

    assert sorted(path.name for path in (tmp_path / "few").iterdir()) == ["one", "three"]
    assert [small.get(key) is None for key in ("one", "two", "six")] == [True, False, False]
    assert small.get("too large for it") is None


def test_what_unpacks_without_end_is_ignored(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file may hold very much."""
    monkeypatch.setattr(module, "_MAX_PLAIN_BYTES", len(CONTENT) - 1)

    assert cache.get(KEY) is None


def test_a_disk_that_refuses_is_no_error(tmp_path: Path) -> None:
    """Nothing is kept, and nothing is said."""
    (tmp_path / "file").write_bytes(b"")
    cache = Cache(tmp_path / "file" / "below")
    cache.put(KEY, CONTENT)

    assert cache.get(KEY) is None


@pytest.mark.parametrize(
    ("environment", "where"),
    [
        ({"XDG_CACHE_HOME": "/x"}, "/x/ptycassette/viewer"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/ptycassette/viewer"),
        ({}, "~/.cache/ptycassette/viewer"),
        ({"PTYCASSETTE_VIEWER_CACHE": "off"}, None),
    ],
)
def test_where_it_is(environment: dict[str, str], where: str | None) -> None:
    """Below the user's cache directory, unless it is switched off."""
    found = user_cache(environment)

    assert (found and found._folder) == (where and Path(where).expanduser())
