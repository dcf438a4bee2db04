"""The files that the guides show are files that are taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptycassette.harness import Probe
from ptycassette.harness.provider.fake import Script
from ptycassette.profiles import Profile

DOCS = Path(__file__).resolve().parents[3] / "docs"


def blocks(name: str) -> list[str]:
    """The TOML blocks of a guide."""
    return re.findall(r"```toml\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)


def test_the_profile_of_the_guide_is_one() -> None:
    """With everything that a profile may have."""
    (text,) = blocks("harnesses.md")
    profile = Profile.parse(text)

    assert (profile.name, profile.logs[0].events[0].type) == ("mycli", "usage")


def test_the_probe_of_the_guide_is_one() -> None:
    """Steps, markers, windows."""
    (text,) = blocks("probes.md")
    probe = Probe.parse(text)

    assert probe.quota is not None
    assert probe.quota.windows[0].name == "5h"


@pytest.mark.parametrize("number", [0, 1])
def test_the_scripts_of_the_guide_are_scripts(number: int) -> None:
    """Replies, and limits (which the guide shows without the version)."""
    text = blocks("fake-provider.md")[number]
    script = Script.parse(text if "version" in text else f"version = 1\n{text}")

    assert script.replies or script.limits.codex
