"""Builds a scrubber from the built-in rules, plug-ins, the configuration and files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ptycassette.errors import CassetteError, NotFoundError, UsageError
from ptycassette.model.toml_text import MAX_TOML_BYTES
from ptycassette.model.visible_text import visible
from ptycassette.scrub.io.sources import MAX_FILE_BYTES, credential_values, file_lines
from ptycassette.scrub.rules._config import ScrubConfig, config_of, parse_config
from ptycassette.scrub.rules._rule_set import Rule
from ptycassette.scrub.search._known import SHORTEST_KNOWN, KnownValue
from ptycassette.scrub.session import SessionScrubber, default_scrubber
from ptycassette.system.files.plain_file import read_plain
from ptycassette.system.files.plugins import announced
from ptycassette.system.files.project_file import find_project
from ptycassette.system.files.state_dirs import current_dir, home_dir

CONFIG_VARIABLE = "PTYCASSETTE_SCRUB_CONFIG"
PLUGIN_GROUP = "ptycassette.scrub_rules"
"""Entry points that name a ``Rule``, several, or a function that returns several."""


def load_config(path: Path | None = None, *, cwd: Path | None = None) -> ScrubConfig:
    """The configuration: ``path``, else ``$PTYCASSETTE_SCRUB_CONFIG``, else the project file.

    Raises:
        NotFoundError: a file that was named is not there.
        UnreadableError, UnsafeFileError, LimitError: it cannot be read.
        UsageError: it has an unknown key, a wrong type or a wrong pattern.
    """
    named = path or (Path(found) if (found := os.environ.get(CONFIG_VARIABLE)) else None)
    if named is None:
        project = find_project(cwd)
        if project.scrub is None:
            return ScrubConfig()
        return config_of(project.scrub, where=visible(str(project.where)))
    try:
        text = read_plain(named, max_bytes=MAX_TOML_BYTES).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise UsageError("not UTF-8", where=visible(str(named))) from exc
    return parse_config(text, where=visible(str(named)))


def plugin_rules() -> Iterator[Rule]:
    """Rules of installed packages, through the entry points ``ptycassette.scrub_rules``.

    Raises:
        UsageError: a plug-in cannot be loaded, or gives a wrong pattern or no rules; scrubbing
            without the rules that somebody installed would be worse than not scrubbing.
    """
    if not announced(PLUGIN_GROUP):
        return
    from importlib.metadata import entry_points  # noqa: PLC0415 - it costs 20 ms of each recording

    for entry in sorted(entry_points(group=PLUGIN_GROUP), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
            given = loaded() if callable(loaded) and not isinstance(loaded, Rule) else loaded
            rules = (given,) if isinstance(given, Rule) else tuple(given)
            for rule in rules:
                rule.check()
        except Exception as exc:
            raise UsageError(
                f"the scrub plug-in {visible(entry.name)} failed: {visible(str(exc))}"
            ) from exc
        yield from rules


def known_lines(path: Path) -> tuple[str, ...]:
    """The lines of a file that was declared secret; none when it is not there.

    Raises:
        UnreadableError, UnsafeFileError, LimitError: it is there and cannot be read; without it
            what is secret would be published.
    """
    try:
        read_plain(path, max_bytes=MAX_FILE_BYTES)
    except NotFoundError:
        return ()
    except CassetteError as exc:
        exc.hint = exc.hint or "it was declared secret: known_files, --known-file"
        raise
    return file_lines(path)


def session_scrubber(
    *,
    known: Iterable[str] = (),
    typed: Iterable[KnownValue] = (),
    volatile: bool = False,
    config: ScrubConfig | None = None,
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
) -> SessionScrubber:
    """A scrubber for one session that knows what this machine knows.

    Args:
        known: values declared secret.
        typed: what was typed in the session and is secret.
        volatile: also scrub clocks, PIDs and the like.
        config: as ``load_config`` gives it; loaded when None.
        environment: where ``known_env`` is looked up; this process's when None.
        home: where credential files are, and the user's own profiles unless XDG_CONFIG_HOME says
            where; the user's when None.
        cwd: where ``.env`` files are; the current directory when None.

    Raises:
        UsageError: the configuration, a plug-in or a profile of the user's own is wrong.
        UnreadableError, UnsafeFileError, LimitError: as ``known_lines``.
    """
    here = cwd or current_dir()
    configured = load_config(cwd=here) if config is None else config
    variables = os.environ if environment is None else environment
    declared = [
        *known,
        *(
            variables[name]
            for name in configured.known_env
            if len(variables.get(name, "")) >= SHORTEST_KNOWN
        ),
        *(line for name in configured.known_files for line in known_lines(Path(name).expanduser())),
    ]
    house = home or _home()
    env = {**os.environ, "HOME": str(house)}
    values = [*typed, *credential_values(house, here, env=env)]
    return default_scrubber(
        known=declared,
        volatile=volatile or configured.volatile,
        values=values,
        rules=(*configured.rules, *plugin_rules()),
        preserved=configured.preserve,
        without=configured.without,
    )


def _home() -> Path:
    return home_dir() or Path(os.devnull)  # where nothing can be
