"""What the tests of scrubbing share: the generator of cases, and a session that knows nobody."""

from __future__ import annotations

import importlib.util
import random
import string
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ptycassette.model.records import Harness, SessionMeta
from ptycassette.model.screen import Size


@pytest.fixture(scope="session")
def cases() -> ModuleType:
    """The generator of synthetic cases."""
    spec = importlib.util.spec_from_file_location(
        "secret_cases", Path(__file__).with_name("secret_cases.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["secret_cases"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def meta() -> SessionMeta:
    """A session in a terminal of 24x80 that knows nothing about anybody."""
    return SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("agent",),
        size=Size(24, 80),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="agent"),
    )


@pytest.fixture
def key() -> str:
    """A synthetic API key of a known shape."""
    return "".join(["sk", "-", "ant", "-api03-", "Zq7Lm2Xc9Vb4Nn8Kd3Fg6Hj1Wp5Rt0Ys" * 2, "AA"])


@pytest.fixture
def value() -> str:
    """A synthetic secret without any shape."""
    return "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=24))
