"""How the program of a use is started, in the modes that run it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette.io.reader import open_cassette
from ptycassette.cassette.tape_lines import TAPE_KEY
from ptycassette.cassette.timeline.match import Matching
from ptycassette.errors import CassetteError, RefusedError, UsageError
from ptycassette.model.records import native_text, streams_of
from ptycassette.model.screen import Size
from ptycassette.recording.io.options import provider_without_proxy
from ptycassette.recording.session.base import DEFAULT_SIZE, StreamChoice, kinds_named
from ptycassette.replaying.io.places import folders_of, found_path
from ptycassette.system.files.project_file import find_project

_OF_THE_START = (
    "cwd", "env", "base_env", "clean_env", "term", "timeout_s", "clock", "sleeper", "emulator",
)  # fmt: skip
"""The record options that say how the program is started and driven, not what is kept of it."""
_OF_THE_DRIVE = ("term", "timeout_s", "clock", "sleeper", "emulator")
"""Those of them that a rerun leaves to the caller: place and environment are its own."""
_OF_THE_TAPE = ("tape", "harness")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of ``use``; see there.

    ``folders`` are searched for a relative path first; ``in_test`` if the first is that of a test.
    """

    path: Path
    folders: Sequence[Path]
    in_test: bool
    argv: Sequence[str] | None
    mode: str | None
    matching: Matching
    size: Size | None
    streams: StreamChoice | None
    lenient: bool
    allow_unplayed: bool
    follow_links: bool | None
    options: Mapping[str, Any]
    searched: tuple[Path, ...] = ()


def found_plan(plan: Plan) -> Plan:
    """The plan with the path of the cassette that is there, or of the one that is recorded.

    In a test, a new one is beside the test file, so that the same name in another folder is
    another cassette; if the path names a folder, the first that there is counts. Elsewhere it
    is in the current folder.
    """
    path, places = found_path(plan.path, plan.folders, in_test=plan.in_test)
    return msgspec.structs.replace(plan, path=path, searched=places)


def searched(plan: Plan) -> str:
    """The folders in which a relative path was searched, as text; empty for an absolute one."""
    return folders_of(plan.searched)


def program_of(plan: Plan) -> Sequence[str]:
    if plan.argv:
        return plan.argv
    if plan.path.exists():
        with open_cassette(plan.path, check="manifest") as cassette:
            recorded = cassette.manifest.command.argv
        if recorded:
            return tuple(map(native_text, recorded))
    raise UsageError(
        "the program is missing: this mode runs it", where=str(plan.path),
        hint="give argv: use(path, ['claude'])",
    )  # fmt: skip


def live_run(plan: Plan) -> tuple[Sequence[str], Any]:
    """How a program is run that is not recorded: its argv, and the options of its start.

    If ``tape`` names a provider, the program is pointed at it as in a recording, but straight.

    Raises:
        CassetteError: it is not known which program, or how to point it at that provider.
    """
    size = plan.size or find_project().size or DEFAULT_SIZE
    started = {name: plan.options[name] for name in _OF_THE_START if name in plan.options}
    program, *words = program_of(plan)
    names = (*_OF_THE_START, *_OF_THE_TAPE)
    asked: Any = {name: plan.options[name] for name in names if name in plan.options}
    environment, arguments = provider_without_proxy(asked)
    if environment or arguments:
        started["env"] = {**(started.get("env") or {}), **environment}
    else:
        from ptycassette.recording.io.recorder import check_network  # noqa: PLC0415 - the recorder

        check_network(program, {**os.environ, **(started.get("env") or {})})
    argv = (program, *arguments, *words)
    return argv, {"size": size, "streams": live_streams(plan), **started}


def live_streams(plan: Plan) -> StreamChoice:
    """The streams for a program that is run.

    Raises:
        UsageError: they were recorded as kinds that only a caller can give.
    """
    if plan.streams is not None or not plan.path.exists():
        return plan.streams or "terminal"
    try:
        with open_cassette(plan.path, check="manifest", allow_unscrubbed=True) as cassette:
            kinds = streams_of(cassette.manifest)
    except CassetteError:  # what is broken is recorded again, too
        return "terminal"
    try:
        return kinds_named(kinds)
    except ValueError as exc:
        raise UsageError(str(exc), where=str(plan.path), hint="or pass streams='pipes'") from exc


def recording_options(plan: Plan, **more: Any) -> Any:
    if "show" in more:
        plan.path.parent.mkdir(parents=True, exist_ok=True)
    own: dict[str, Any] = {"streams": live_streams(plan), **_tape_again(plan)}
    if plan.size is not None:
        own["size"] = plan.size
    return {**own, **plan.options, **more}


def _tape_again(plan: Plan) -> dict[str, bool | str]:
    """A recording with a tape is recorded with a tape again, from the same provider."""
    if "tape" in plan.options or not plan.path.exists():
        return {}
    try:
        with open_cassette(plan.path, check="manifest", allow_unscrubbed=True) as cassette:
            if not cassette.has_tape:
                return {}
            said = (cassette.manifest.optional or {}).get(TAPE_KEY, {})
            upstreams = (said.get("pointed") or {}).get("upstreams") or {}
            return {"tape": True if said.get("harness") else next(iter(upstreams.values()), True)}
    except CassetteError:  # what is broken is recorded again, too
        return {}


class ShownOutput:
    """Counts the output of a recording."""

    def __init__(self) -> None:
        self._bytes = 0

    def __call__(self, data: bytes) -> None:
        self._bytes += len(data)

    def refuse_nothing(self, path: Path) -> None:
        """Raise if there was no output: such a recording is a mistake."""
        if not self._bytes:
            raise RefusedError(
                "nothing was shown: an empty recording is not kept",
                where=str(path),
                hint="wait for the screen in the block (session.wait_for_text)",
            )


def rerun_options(plan: Plan) -> dict[str, Any]:
    """The options of the session that the caller gave."""
    said = {name: plan.options[name] for name in _OF_THE_DRIVE if name in plan.options}
    if plan.size is not None:
        said["size"] = plan.size
    return {**said, "streams": live_streams(plan)}
