"""Starts Python as a process of ours, without code of the folder in which it is started.

A cloned repository may hold a ``json.py``. Python looks for modules in the current folder where a
program is given by ``-m`` or ``-c``, and beside a script. ``-P`` switches that off.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

_SAFE_PATH = "PYTHONSAFEPATH"
_OURS = "ptycassette"


def python_command(*words: str, isolated: bool = False) -> list[str]:
    """The command line of a Python of ours.

    Args:
        words: options and arguments: ``-m MODULE``, ``-c CODE``, or the path of a script.
        isolated: it needs nothing but the standard library: neither variables of the environment
            nor installed packages are read.
    """
    return [sys.executable, *(("-I", "-S") if isolated else ("-P",)), *words]


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """While the block runs, Pythons that others start for us get ``-P`` by the environment.

    The processes of ``multiprocessing`` are such: their command line is not ours. They call
    ``forget_safe_path``, or the programs that they start would lack the folder of their script.
    """
    before = os.environ.get(_SAFE_PATH)
    if before:
        yield
        return
    os.environ[_SAFE_PATH] = _OURS
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def forget_safe_path() -> None:
    """Remove from the environment what ``safe_path`` put there, in a process that has started."""
    if os.environ.get(_SAFE_PATH) == _OURS:
        del os.environ[_SAFE_PATH]
