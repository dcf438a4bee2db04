"""What is known of a recorded CLI by its name alone: the profile of that name that is built in."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

from ptycassette.profiles.capability import capability_of
from ptycassette.profiles.profile import Profile

__all__ = ["known_capability"]

_NAME = re.compile(r"[a-z0-9-]+")


def known_capability(name: str, *, version: str | None) -> dict[str, Any] | None:
    """``harness.capability`` of the CLI ``name``; None of what is not known.

    Args:
        name: of the harness, as ``codex``.
        version: what the program answered to ``--version``, if it was asked.
    """
    if not _NAME.fullmatch(name):
        return None
    file = resources.files("ptycassette.profiles").joinpath(f"{name}.toml")
    if not file.is_file():
        return None
    return capability_of(Profile.parse(file.read_text("utf-8"), where=name), version=version)
