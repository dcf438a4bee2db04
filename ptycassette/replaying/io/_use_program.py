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
from ptycassette.recording.io.options import (
    RunSpec,
    provider_without_proxy,
    run_spec,
)
from ptycassette.recording.session.base import StreamChoice, kinds_named
from ptycassette.replaying.io.places import folders_of, found_path

_OF_THE_DRIVE = ("term", "timeout_s", "clock", "sleeper", "emulator")
"""The record options that a rerun leaves to the caller: place and environment are its own."""


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


def _spec_of(plan: Plan, **more: Any) -> RunSpec:
    """How the program is run."""
    options: Any = {"streams": live_streams(plan), **plan.options, **more}
    if plan.size is not None:
        options["size"] = plan.size
    return run_spec(**options)


def live_run(plan: Plan) -> tuple[Sequence[str], RunSpec]:
    """How a program is run that is not recorded, and its argv.

    If ``tape`` names a provider, the program is pointed at it as in a recording, but straight.

    Raises:
        CassetteError: it is not known which program, or how to point it at that provider.
    """
    program, *words = program_of(plan)
    spec = _spec_of(plan)
    own = spec.env or {}
    environment, arguments = provider_without_proxy(spec)
    if environment or arguments:
        spec = msgspec.structs.replace(spec, env={**own, **environment})
    else:
        from ptycassette.recording.io.recorder import check_network  # noqa: PLC0415 - the recorder

        check_network(program, {**os.environ, **own})
    return (program, *arguments, *words), spec


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


def recording_spec(plan: Plan, **more: Any) -> RunSpec:
    if "show" in more:
        plan.path.parent.mkdir(parents=True, exist_ok=True)
    return _spec_of(plan, **_tape_again(plan), **more)


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


def rerun_spec(plan: Plan, spec: RunSpec) -> RunSpec:
    """How the program of a rerun is run, with the options of the session that the caller gave."""
    chosen = {name: plan.options[name] for name in _OF_THE_DRIVE if name in plan.options}
    kinds = kinds_named(live_streams(plan))
    return msgspec.structs.replace(
        spec,
        size=plan.size or spec.size,
        streams=None if kinds.only_terminal else kinds,
        **chosen,
    )
