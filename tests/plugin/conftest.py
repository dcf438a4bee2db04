"""What all tests of the plugin need."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def no_compiled_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two test files of one name, one length and one second would share what was compiled."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
