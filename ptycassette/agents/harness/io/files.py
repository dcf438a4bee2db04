"""Find profiles and probes: built in, or the user's own.

A name is looked up in ``$XDG_CONFIG_HOME/ptycassette/harnesses`` (or ``probes``) first, then among
the built-in ones; a name with a slash or the suffix ``.toml`` is a path.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib import resources
from pathlib import Path

import msgspec

from ptycassette.agents.harness.probe import Probe
from ptycassette.errors import CassetteError, NotFoundError, UnreadableError
from ptycassette.model.toml_text import MAX_TOML_BYTES
from ptycassette.profiles.io import own_folder
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.options import ask_version, installed_version
from ptycassette.system.files.whole_file import read_plain

_PATIENCE_S = 20.0
_SIMILAR = 0.75
"""``SequenceMatcher.ratio`` from which a name counts as mistyped: ``codx``, ``claud`` and
``gemnii`` do, ``mycli`` and ``mini`` do not."""
_PACKAGES = {"profiles": "ptycassette.profiles", "probes": "ptycassette.agents.harness.probes"}


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """A CLI with a profile, on this machine. ``binary`` is None if it is not installed.

    ``problem`` is why a profile of the user's own cannot be read.
    """

    name: str
    title: str
    binary: str | None = None
    version: str | None = None
    tested: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def known(self) -> bool:
        """Whether the profile was tested with this version, if that is known."""
        if self.version is None or not self.tested:
            return True
        return any(one in self.version for one in self.tested)


def builtin_profiles() -> tuple[str, ...]:
    """The names of the built-in profiles."""
    return _names("profiles")


def known_profiles(env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names of all profiles, built in and the user's own."""
    own = own_folder("harnesses", os.environ if env is None else env)
    return tuple(sorted({*builtin_profiles(), *(path.stem for path in own.glob("*.toml"))}))


def similar_profiles(name: str, *, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The profile whose name ``name`` may be a misspelling of, if there is one."""
    return _similar(name, known_profiles(env))


def known_probes(env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names of all probes (``HARNESS-WHAT``): the user's own, then the built-in ones."""
    own = own_folder("probes", os.environ if env is None else env)
    return tuple(
        dict.fromkeys([*sorted(path.stem for path in own.glob("*.toml")), *_names("probes")])
    )


def load_profile(name: str, *, env: Mapping[str, str] | None = None) -> Profile:
    """A profile by its name or path.

    Raises:
        NotFoundError: there is no such profile.
        UsageError: it is invalid.
    """
    where, text = _read("profiles", "harnesses", name, os.environ if env is None else env)
    return Profile.parse(text, where=where)


def load_probe(name: str, *, env: Mapping[str, str] | None = None) -> Probe:
    """A probe by its name (``codex-status``) or path.

    Raises:
        NotFoundError: there is no such probe.
        UsageError: it is invalid.
    """
    where, text = _read("probes", "probes", name, os.environ if env is None else env)
    return Probe.parse(text, where=where)


def find_binary(profile: Profile, *, path: str | None = None) -> str | None:
    """The path of the CLI's program; None if it is not installed.

    Args:
        profile: the CLI's profile.
        path: where to look, as in ``PATH``; this process's own when None.
    """
    look = shutil.which if path is None else partial(shutil.which, path=path)
    found = (look(name) for name in profile.binaries)
    return next((one for one in found if one is not None), None)


def installed(
    *, path: str | None = None, versions: bool = True, env: Mapping[str, str] | None = None
) -> Iterator[Installed]:
    """The CLIs with profiles, built in or the user's own, and which of them are installed."""
    for name in known_profiles(env):
        try:
            profile = load_profile(name, env=env)
        except CassetteError as wrong:
            yield Installed(name=name, title=name, problem=str(wrong).split("\n")[0])
            continue
        if not profile.binaries:
            continue
        binary = find_binary(profile, path=path)
        asked = versions and binary is not None
        yield Installed(
            name=profile.name,
            title=profile.title,
            binary=binary,
            version=_version(Path(binary or ""), profile) if asked else None,
            tested=profile.version_query.tested,
        )


def _version(binary: Path, profile: Profile) -> str | None:
    """The version from the installed package; without one, the program is asked."""
    argv = profile.version_query.argv
    return installed_version(binary) or ask_version(binary, argv, timeout_s=_PATIENCE_S)


def _names(folder: str) -> tuple[str, ...]:
    entries = resources.files(_PACKAGES[folder]).iterdir()
    return tuple(sorted(one.name[:-5] for one in entries if one.name.endswith(".toml")))


def _read(folder: str, user_folder: str, name: str, env: Mapping[str, str]) -> tuple[str, str]:
    """The path of the file that was found, and its text."""
    if "/" in name or name.endswith(".toml"):
        return name, _text(Path(name))
    own = own_folder(user_folder, env) / f"{name}.toml"
    if own.is_file():
        return str(own), _text(own)
    if name in _names(folder):
        text = resources.files(_PACKAGES[folder]).joinpath(f"{name}.toml").read_text("utf-8")
        return f"{folder}/{name}.toml", text
    known = {*_names(folder), *(path.stem for path in own.parent.glob("*.toml"))}
    similar = _similar(name, known)
    meant = f"did you mean {' or '.join(similar)}? " if similar else ""
    raise NotFoundError(
        f"no {folder[:-1]} is named {name!r}",
        hint=f"{meant}built in: {', '.join(_names(folder))}; your own go to {own.parent}",
    )


def _similar(name: str, known: Iterable[str]) -> tuple[str, ...]:
    from difflib import get_close_matches  # noqa: PLC0415 - for errors alone

    return tuple(get_close_matches(name.lower(), sorted(known), n=1, cutoff=_SIMILAR))


def _text(path: Path) -> str:
    try:
        return read_plain(path, max_bytes=MAX_TOML_BYTES).decode("utf-8")
    except UnicodeDecodeError as failed:
        raise UnreadableError(f"cannot be read: {failed}", where=str(path)) from failed
