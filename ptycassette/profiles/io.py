r"""Find profiles and facts about a CLI, by its name or the name of its program.

Built-in profiles are beside this module, the user's own in
``$XDG_CONFIG_HOME/ptycassette/harnesses``. If two have the same name, the user's is used. CLIs
without a profile are listed in ``without_profile/clis.toml``.

``rec`` looks up every program before it starts it, and most are not agent CLIs. So a file is
parsed, and the parser loaded, only if it contains the name in quotes. (A TOML string may spell a
name with escapes, so a file with ``\u`` in it is parsed, too.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ptycassette.errors import CassetteError
from ptycassette.model.toml_text import made_table, parse_toml

if TYPE_CHECKING:  # rec loads this module before it starts the program
    from ptycassette.profiles.profile import KnownCli, Profile, VersionQuery

_BUILT_IN = Path(__file__).parent
_WITHOUT_PROFILE = _BUILT_IN / "without_profile" / "clis.toml"
_VARIABLE = re.compile(rb"^[A-Z][A-Z0-9_]* *=.*$", re.MULTILINE)
"""A line that sets an environment variable; its value does not name a program."""
_CREDENTIALS = re.compile(rb"^\[credentials\]\n(?:[^\[\n].*\n)*", re.MULTILINE)


class CredentialFiles(NamedTuple):
    """Files with secrets of one CLI, relative to the home directory and to the work folder."""

    home: tuple[str, ...]
    cwd: tuple[str, ...]


def own_folder(kind: str, env: Mapping[str, str]) -> Path:
    """The folder for the user's own files of a kind: ``harnesses`` or ``probes``."""
    base = env.get("XDG_CONFIG_HOME") or str(Path(env.get("HOME", os.devnull)) / ".config")
    return Path(base) / "ptycassette" / kind


def known_capability(
    name: str, *, version: str | None, env: Mapping[str, str] | None = None
) -> dict[str, Any] | None:
    """``harness.capability`` of a CLI; None without a profile.

    Args:
        name: the name of the harness or of its program, such as ``codex``.
        version: the program's reply about its version, if it was asked.
        env: locates the user's own profiles; this process's environment when None.
    """
    from ptycassette.profiles.profile import capability_of  # noqa: PLC0415 - see above

    profile = known_profile(name, env=env)
    return None if profile is None else capability_of(profile, version=version)


def known_profile(name: str, *, env: Mapping[str, str] | None = None) -> Profile | None:
    """The profile of a CLI, by its name or that of its program; None if it has no profile.

    Args:
        name: the name of the harness or of its program.
        env: as for ``known_capability``.
    """
    from ptycassette.profiles.profile import Profile  # noqa: PLC0415 - see above

    for cli in _holding(name, env):
        if isinstance(cli, Profile) and name in {cli.name, *cli.binaries}:
            return cli
    return None


def version_query_of(program: str, *, env: Mapping[str, str] | None = None) -> VersionQuery | None:
    """How to ask a program for its version; None if it is not an agent CLI.

    Args:
        program: the file name of the program.
        env: as for ``known_capability``.
    """
    for cli in _holding(program, env):
        if program in cli.binaries:
            return cli.version_query
    return None


def credentials_of_clis(env: Mapping[str, str] | None = None) -> tuple[CredentialFiles, ...]:
    """The files with secrets of all known CLIs, including the user's own profiles.

    Only this table of the built-in profiles is read; parsing all of them would delay each
    recording.

    Raises:
        UsageError: a profile of the user's own is wrong; it may name files that hold secrets.
        UnreadableError, UnsafeFileError, LimitError: it cannot be read.
    """
    tables: list[Mapping[str, Any]] = []
    for path in _files(env):
        data = _data(path)
        if path == _WITHOUT_PROFILE:
            tables += [cli.get("credentials", {}) for cli in _read(data)["clis"]]
        elif path.parent == _BUILT_IN:
            made = made_table(data.decode())
            tables += (
                [_read(table[0])["credentials"] for table in _CREDENTIALS.finditer(data)]
                if made is None
                else [made.get("credentials", {})]
            )
        else:
            own = (cli.credentials for cli in _parsed(path, data))
            tables += [{"home": one.home, "cwd": one.cwd} for one in own]
    found = (
        CredentialFiles(tuple(one.get("home", ())), tuple(one.get("cwd", ()))) for one in tables
    )
    return tuple(one for one in found if one.home or one.cwd)


def _read(data: bytes) -> dict[str, Any]:
    text = data.decode()
    made = made_table(text)
    return parse_toml(text) if made is None else made


def _files(env: Mapping[str, str] | None) -> Iterator[Path]:
    """The user's own profiles, the built-in ones not replaced by them, and the list of others."""
    own = sorted(own_folder("harnesses", os.environ if env is None else env).glob("*.toml"))
    names = {path.name for path in own}
    yield from own
    yield from (path for path in sorted(_BUILT_IN.glob("*.toml")) if path.name not in names)
    yield _WITHOUT_PROFILE


def _holding(name: str, env: Mapping[str, str] | None) -> Iterator[KnownCli]:
    """The CLIs in files that contain a name. ``doctor`` reports unreadable files."""
    name_in_quotes = tuple(
        f"{quote}{name}{quote}".encode("utf-8", "surrogateescape") for quote in "\"'"
    )
    for path in _files(env):
        try:
            data = _data(path)
            if b"\\u" in data.lower() or (
                any(one in data for one in name_in_quotes)  # most files do not contain it
                and any(one in _VARIABLE.sub(b"", data) for one in name_in_quotes)
            ):
                yield from _parsed(path, data)
        except CassetteError:
            continue


def _data(path: Path) -> bytes:
    from ptycassette.model.toml_text import MAX_TOML_BYTES  # noqa: PLC0415 - see above
    from ptycassette.system.files.whole_file import read_plain  # noqa: PLC0415 - see above

    return read_plain(path, max_bytes=MAX_TOML_BYTES)


def _parsed(path: Path, data: bytes) -> tuple[KnownCli, ...]:
    from ptycassette.profiles.profile import Profile, clis_without_profile  # noqa: PLC0415 - so

    text = data.decode("utf-8", "replace")
    if path == _WITHOUT_PROFILE:
        return clis_without_profile(text)
    return (Profile.parse(text, where=str(path)),)
