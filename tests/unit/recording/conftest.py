"""Fixtures of the recording tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the doubles stand beside the tests

from record_doubles import META, ListSink, WordScrubber

from ptycassette.model.records import SessionMeta


@pytest.fixture
def sink() -> ListSink:
    """A sink that keeps everything."""
    return ListSink()


@pytest.fixture
def meta() -> SessionMeta:
    """The head of a small session."""
    return META


@pytest.fixture
def scrubber() -> WordScrubber:
    """Removes one word."""
    return WordScrubber()
