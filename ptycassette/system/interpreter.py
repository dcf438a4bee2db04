"""Starts Python and helpers as processes of ours, without code of the folder they are started in.

A cloned repository may hold a ``json.py``. Python looks for modules in the current folder where a
program is given by ``-m`` or ``-c``, and beside a script. ``-P`` switches that off.
"""

from __future__ import annotations

import os
import sys


def python_command(*words: str, isolated: bool = False) -> list[str]:
    """The command line of a Python of ours.

    Args:
        words: options and arguments: ``-m MODULE``, ``-c CODE``, or the path of a script.
        isolated: it needs nothing but the standard library: neither variables of the environment
            nor installed packages are read.
    """
    return [sys.executable, *(("-I", "-S") if isolated else ("-P",)), *words]


def program_of_ours(name: str) -> str | None:
    """The file of an installed program that we start ourselves; None where it is not installed.

    A folder that PATH names relatively (``.``, ``node_modules/.bin``, an empty entry) is left out:
    it would be one of the repository that we look at.
    """
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = f"{folder}/{name}"
        if folder.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113
            return path
    return None
