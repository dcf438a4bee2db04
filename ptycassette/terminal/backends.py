"""Emulators by name: the default one, and whatever is installed beside it.

Other packages offer an emulator through an entry point of the group
``ptycassette.emulators``: its name is the backend's, its value an ``EmulatorFactory``
(called with a ``Size``, returns an ``Emulator``). One that also takes a keyword argument
``profile`` answers queries as that profile says. A backend is imported on first use.
"""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, cast

from ptycassette.errors import UsageError
from ptycassette.model.ports import EmulatorFactory
from ptycassette.terminal.emulator import EMULATOR_NAME, default_emulator
from ptycassette.terminal.query_profiles import QueryProfile

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP: Final = "ptycassette.emulators"


def _found() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to load, seldom needed

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def available_backends() -> tuple[str, ...]:
    """The names of all registered backends, the default one first.

    A registered backend may lack its library; loading it raises then.
    """
    return (EMULATOR_NAME, *sorted(name for name in _found() if name != EMULATOR_NAME))


def backend(name: str) -> EmulatorFactory:
    """The factory of a backend.

    Raises:
        UsageError: there is no backend of that name, or its library is not installed.
    """
    if name == EMULATOR_NAME:
        return default_emulator
    entry = _found().get(name)
    if entry is None:
        raise UsageError(
            f"no emulator named {name!r}", hint=f"there are: {', '.join(available_backends())}"
        )
    try:
        return cast("EmulatorFactory", entry.load())
    except (ImportError, AttributeError, OSError) as error:
        raise UsageError(
            f"the emulator {name!r} cannot be loaded: {error}",
            hint=f"install what it needs, for example: pip install 'ptycassette[{name}]'",
        ) from error


def answering(factory: EmulatorFactory, profile: QueryProfile) -> EmulatorFactory:
    """The factory of emulators that answer queries as ``profile`` says.

    Raises:
        UsageError: these emulators take no profile.
    """
    if "profile" not in signature(factory).parameters:
        raise UsageError(
            "this emulator answers as it likes and takes no profile",
            hint="leave the profile out, or use another emulator",
        )
    unchecked: Any = factory
    return cast("EmulatorFactory", partial(unchecked, profile=profile))
