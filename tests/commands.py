"""Runs ``ptycassette`` as users do: as a command, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from ptycassette.agents.harness.fake.script import Script
from ptycassette.agents.harness.io.fake_provider import FakeProviderServer

__all__ = ["COMMAND", "ptycassette", "taped"]

COMMAND = str(Path(sys.executable).with_name("ptycassette"))


def ptycassette(*words: str, status: int | None = None, **options: Any) -> Any:
    """Run the command; what it printed is text.

    Args:
        words: its own.
        status: what it must end with; anything when None.
        options: of ``subprocess.run``: ``cwd``, ``env``, ``input``, ``timeout``.
    """
    given = {"timeout": 120, **({} if "input" in options else {"stdin": subprocess.DEVNULL})}
    ran = subprocess.run(
        [COMMAND, *words], capture_output=True, text=True, check=False, **{**given, **options}
    )
    assert status in {None, ran.returncode}, ran.stderr
    return ran


def taped(folder: Path, script: str, name: str, *argv: str, options: tuple[str, ...] = ()) -> Path:
    """Record ``argv`` in ``folder``, with a tape, as ``name``; a scripted provider answers it."""
    with FakeProviderServer(Script.parse(script, where="script", variables={})) as provider:
        words = ("rec", "-q", "--headless", "--tape", "--provider", provider.url)
        ptycassette(*words, *options, name, "--", *argv, cwd=folder, status=0)
    return folder / name
