"""Create the environment of a scenario for one run of the program.

The block ``environment`` of a scenario describes the environment of its recording: a home and a
configuration of its own, and only those of the caller's variables that it names. Replays and
``check`` run no program and do not need it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from ptycassette.errors import StorageError, UsageError
from ptycassette.recording.session.base import CLEAN_NAMES
from ptycassette.replaying.scenario.evaluation import TEMPORARY, EnvironmentPolicy
from ptycassette.replaying.scenario.io import load_scenario
from ptycassette.system.files.locks import held_folder
from ptycassette.system.files.whole_file import copy_tree
from ptycassette.system.ownership import owned_context

_ALWAYS = ("PATH",)


class ScenarioEnvironment(TypedDict):
    """Options for ``record`` and ``arecord``, and for ``use`` in the modes that record."""

    base_env: dict[str, str]
    clean_env: bool


@owned_context
def scenario_environment(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    root: Path | None = None,
) -> Iterator[ScenarioEnvironment]:
    """Options for ``record``, so that the program runs in the scenario's environment.

    The new folders are removed when the block is left.

    Args:
        path: the scenario; it need not name a recording yet.
        env: the caller's environment; this process's when None.
        root: where to make the temporary folder; in the user's cache folder when None,
            because some CLIs refuse homes under the system's temporary folder.

    Raises:
        CassetteError: the file cannot be read, or is not a scenario.
        UsageError: it has no environment, or names a folder that cannot be copied.
        StorageError: a folder cannot be made.
    """
    policy = load_scenario(path, bound=False).environment
    if policy is None:
        raise UsageError(
            "the scenario asks for no environment",
            where=str(path),
            hint="add the block environment (docs/scenarios.md)",
        )
    source = os.environ if env is None else env
    with held_folder(root) as made_for_it:
        made: dict[str, str] = {}
        # A name that occurs on no screen, because the scrubber treats it as a user's name.
        for name, asked, folder in (
            ("HOME", policy.home, "run-home"),
            ("XDG_CONFIG_HOME", policy.config_root, "run-config"),
        ):
            if asked is not None:
                made[name] = str(_folder(asked, made_for_it.path / folder, Path(path).parent))
        yield {"base_env": _variables(policy, source, made), "clean_env": False}


def _variables(
    policy: EnvironmentPolicy, source: Mapping[str, str], made: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment: the allowed variables of the caller, then the scenario's own."""
    if policy.allowlist:
        allowed = {*_ALWAYS, *policy.allowlist}
        kept = {name: value for name, value in source.items() if name in allowed}
    else:
        kept = {
            name: value
            for name, value in source.items()
            if (name in CLEAN_NAMES or name.startswith("LC_"))
            # These would lead to the user's home, which the program must not see.
            and not (policy.home is not None and name.startswith("XDG_"))
        }
    return {**kept, **policy.variables, **made}


def _folder(asked: str, target: Path, beside: Path) -> Path:
    """A private folder: empty, or a copy of the one that the scenario names."""
    try:
        if asked == TEMPORARY:
            target.mkdir(mode=0o700)
            return target
        template = beside / asked
        _refuse_links(template)
        copy_tree(template, target)
        with suppress(OSError):  # some file systems cannot change modes; it is in a private folder
            target.chmod(0o700)
    except OSError as failed:
        raise StorageError(f"cannot be made: {failed.strerror}", where=str(target)) from failed
    return target


def _refuse_links(template: Path) -> None:
    """Raise unless the folder has plain files only: a link could lead anywhere."""
    problem = None if template.is_dir() and not template.is_symlink() else "it is not a folder"
    for folder, folders, files in os.walk(template):
        for name in (*folders, *files):
            entry = Path(folder, name)
            if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
                problem = f"it holds {name}, which is neither a file nor a folder"
    if problem is not None:
        raise UsageError(
            f"environment: {problem}",
            where=str(template),
            hint="name a folder of plain files beside the scenario, or 'temporary'",
        )
