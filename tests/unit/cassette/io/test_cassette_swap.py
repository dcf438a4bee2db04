"""Two names that change places in one step."""

from __future__ import annotations

import ctypes
import errno
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ptycassette.cassette.io import staging as cassette_swap
from ptycassette.cassette.io.staging import exchange


def _library(monkeypatch: pytest.MonkeyPatch, **functions: object) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(**functions))


def test_two_directories_change_places(tmp_path: Path) -> None:
    """Where the system can do it; where not, it says so and does nothing."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()

    swapped = exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / ("b" if swapped else "a")).exists()
    assert (tmp_path / "b" / ("a" if swapped else "b")).exists()


def test_what_the_system_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the number that it gave."""
    _library(monkeypatch, renameat2=lambda *_: -1, renamex_np=lambda *_: -1)
    monkeypatch.setattr(ctypes, "get_errno", lambda: errno.EACCES)

    with pytest.raises(PermissionError):
        exchange(Path("a"), Path("b"))


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_do_it_is_no_error(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """The caller has another way."""
    _library(monkeypatch, renameat2=lambda *_: -1, renamex_np=lambda *_: -1)
    monkeypatch.setattr(ctypes, "get_errno", lambda: code)

    assert exchange(Path("a"), Path("b")) is False


def test_a_c_library_without_the_call_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old or small ones lack it."""
    _library(monkeypatch)

    assert exchange(Path("a"), Path("b")) is False


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_each_system_has_its_own_call(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    """``renameat2`` with ``RENAME_EXCHANGE``, ``renamex_np`` with ``RENAME_SWAP``: both 2."""
    calls: list[tuple[object, ...]] = []

    def record(*arguments: object) -> int:
        calls.append(tuple(getattr(each, "value", each) for each in arguments))
        return 0

    _library(monkeypatch, renameat2=record, renamex_np=record)
    monkeypatch.setattr(sys, "platform", platform)

    assert cassette_swap.exchange(Path("a"), Path("b")) is True
    expected = (b"a", b"b", 2) if platform == "darwin" else (-100, b"a", -100, b"b", 2)
    assert calls == [expected]
