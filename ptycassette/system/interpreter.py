"""Starts Python as a process of ours, without code of the folder in which it is started.

A cloned repository may hold a ``json.py``. Python looks for modules in the current folder where a
program is given by ``-m`` or ``-c``, and beside a script. ``-P`` switches that off.
"""

from __future__ import annotations

import sys


def python_command(*words: str, isolated: bool = False) -> list[str]:
    """The command line of a Python of ours.

    Args:
        words: options and arguments: ``-m MODULE``, ``-c CODE``, or the path of a script.
        isolated: it needs nothing but the standard library: neither variables of the environment
            nor installed packages are read.
    """
    return [sys.executable, *(("-I", "-S") if isolated else ("-P",)), *words]
