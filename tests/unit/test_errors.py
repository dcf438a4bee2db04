"""The exception tree."""

from __future__ import annotations

import inspect
import re

import pytest

from ptycassette import errors


def classes() -> dict[str, type[errors.CassetteError]]:
    """Every error class of the module, by name."""
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.CassetteError)
    }


def drawn() -> list[tuple[int, str]]:
    """Depth and name of every class in the tree of the docstring."""
    found = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^    ((?:\|  )*(?:[|']- )|)(\w+Error)\b", line)
        if match:
            found.append((len(match[1]) // 3, match[2]))
    return found


def test_the_docstring_draws_every_class() -> None:
    """The tree in the docstring and the classes are the same set."""
    assert sorted(name for _, name in drawn()) == sorted(classes())
    assert sorted(errors.__all__) == sorted(classes())


def test_the_tree_shows_the_real_parents() -> None:
    """Each class stands under its base in the drawing."""
    path: list[str] = []
    for depth, name in drawn():
        del path[depth:]
        path.append(name)
        parent = classes()[name].__mro__[1].__name__

        assert parent == (path[-2] if depth else "Exception")


@pytest.mark.parametrize("name", sorted(set(classes()) - {"SpawnError"}))
def test_a_message_says_where_what_and_what_to_do(name: str) -> None:
    """``str`` puts the place in front and the hint behind."""
    error = classes()[name]("broken", where="manifest.json", hint="record it again")

    assert str(error) == "manifest.json: broken\n  hint: record it again"


def test_a_wait_timeout_shows_the_screen() -> None:
    """The rows of the screen stand below the message."""
    error = errors.WaitTimeoutError("no 'ready' in 2 s", screen=("$ ls", "a  b"))

    assert str(error).endswith("at that moment:\n  | $ ls\n  | a  b")


def test_a_spawn_error_carries_its_own_exit_status() -> None:
    """126 for a file that cannot be executed, as ``env`` does."""
    assert errors.SpawnError("not executable", exit_status=126).exit_status == 126
    assert errors.SpawnError("not found").exit_status == 127
