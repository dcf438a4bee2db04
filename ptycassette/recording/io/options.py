"""The options of a recording, their defaults, and the environment made from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from ptycassette.keys.quantities import window_text
from ptycassette.model.geometry import Size
from ptycassette.model.manifest import Harness
from ptycassette.model.ports import Clock, EmulatorFactory, IdSource, ScrubberFactory, Sleeper
from ptycassette.model.streams import StreamKinds
from ptycassette.recording.hooks import BeforeRecord
from ptycassette.recording.io._running_tape import TapeStarter
from ptycassette.recording.io.journal_file import Durability
from ptycassette.session.options import (
    CLEAN_NAMES,
    DEFAULT_SIZE,
    StreamChoice,
    child_environment,
    kinds_named,
    size_given,
)
from ptycassette.system.clock import MonotonicClock, SystemSleeper, random_id
from ptycassette.system.files.project_file import find_project
from ptycassette.system.pty.modes import TerminalTemplate
from ptycassette.system.pty.port import Scripted
from ptycassette.terminal.emulator import default_emulator

if TYPE_CHECKING:
    from ptycassette.system.network import Guard  # noqa: TC004 - few recordings load it; no plan is decoded


class RecordOptions(TypedDict, total=False):
    """What ``record`` takes besides argv and target.

    Attributes:
        size: of the terminal, set before exec; what the project file says, else 24 by 80.
        cwd: where the program starts; here.
        env: what to add to its environment. The values are known to the
            scrubber, and a cassette never holds more than names.
        base_env: the environment to start from, in place of this process's.
        clean_env: give the program an allowlist only; the default.
        term: its TERM.
        timeout_s: end the program after this long; the run is a failed one then.
        overwrite: replace the cassette at the target.
        title: of the cassette.
        harness: what the program is called as a product, or the whole block.
        capability: what the harness can do, for the manifest; from its built-in profile when None.
        account: which account it uses: only one recording at a time, of whatever program.
        account_class: what kind of account, for the manifest (``pro``, ``api``, ...).
        freshness_window: how long the recording stays valid (``24h``).
        probe_version: whether its version is wanted: of its installed package, else asked beside
            the session; None for agent CLIs only.
        require: command lines that must succeed before anything is started.
        permission_mode: how the harness was allowed to act, for the manifest.
        meta: any JSON object, kept in ``optional.meta`` of the manifest.
        notes: service events (JSON values) to begin with.
        frame_policy: ``settled``, ``tick``, ``chunk`` or ``final``.
        resolution_ms: what ``t_ms`` is floored to; 1.
        idle_limit_ms: suggest to players to shorten longer pauses to this; what the project file
            says when None.
        durability: ``os`` or ``disk``, see ``JournalFile``.
        scrub: False records without scrubbing; readers refuse that by default.
        known: secrets that the scrubber is to know.
        state_dir: where the journal, locks and side channel are; the user's state directory.
        clock, sleeper, id_source, emulator, scrubber: the ports. ``scrubber``
            makes one for one session.
        progress: called while finalising with the bytes done and their total.
        show: gets the output, once it is in the journal.
        before_record: called with each event before it is scrubbed; returns it, another
            one in its place, or None to leave it out. See ``recording/hooks.py``.
        at_end: called with the recorder and the time in microseconds when the program
            has ended, before anything is finalised; may add events and final fields.
        pty: an existing PTY, such as a scripted one; nothing is spawned.
        streams: ``pipes`` for pipes in place of the terminal, or what each of the program's
            standard streams is.
        tape: True to record the program's model traffic, too (docs/tape.md), or the provider: its
            name or base URL; or what starts the proxy, from ``tape_starter``.
        started_as: what is started in place of argv, and becomes it; argv is what is recorded.
        guard: what keeps the program off the network, as for ``spawn``.
        shared_network: leave a program with a tape on the network. By default it reaches nothing
            but the tape's proxy, where the kernel can.
        terminal: the settings of the user's terminal, for the program's; defaults when None.
    """

    size: Size
    cwd: str | os.PathLike[str] | None
    env: Mapping[str, str]
    base_env: Mapping[str, str] | None
    clean_env: bool
    term: str
    timeout_s: float | None
    overwrite: bool
    title: str | None
    harness: str | Harness | None
    capability: Mapping[str, Any] | None
    account: str | None
    account_class: str | None
    freshness_window: str | None
    probe_version: bool | None
    require: Sequence[str]
    permission_mode: str | None
    meta: Mapping[str, Any]
    notes: Sequence[Any]
    frame_policy: str
    resolution_ms: int
    idle_limit_ms: int | None
    durability: Durability
    scrub: bool
    known: Sequence[str]
    state_dir: Path | None
    clock: Clock
    sleeper: Sleeper
    id_source: IdSource
    emulator: EmulatorFactory
    scrubber: ScrubberFactory | None
    progress: Callable[[int, int], None] | None
    show: Callable[[bytes], None] | None
    before_record: BeforeRecord | None
    at_end: Callable[[Any, int], None] | None
    pty: Scripted | None
    streams: StreamChoice | None
    tape: TapeStarter | bool | str
    started_as: Sequence[str]
    guard: Guard | None
    shared_network: bool
    terminal: TerminalTemplate | None


class RecordPlan(msgspec.Struct, frozen=True, kw_only=True):
    """``RecordOptions`` with all defaults filled in."""

    size: Size = DEFAULT_SIZE
    cwd: str | os.PathLike[str] | None = None
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    base_env: Mapping[str, str] | None = None
    clean_env: bool = True
    term: str = "xterm-256color"
    timeout_s: float | None = None
    overwrite: bool = False
    title: str | None = None
    harness: str | Harness | None = None
    capability: Mapping[str, Any] | None = None
    account: str | None = None
    account_class: str | None = None
    freshness_window: str | None = None
    probe_version: bool | None = None
    require: Sequence[str] = ()
    permission_mode: str | None = None
    meta: Mapping[str, Any] = msgspec.field(default_factory=dict)
    notes: Sequence[Any] = ()
    frame_policy: str = "settled"
    resolution_ms: int = 1
    idle_limit_ms: int | None = None
    durability: Durability = "os"
    scrub: bool = True
    known: Sequence[str] = ()
    state_dir: Path | None = None
    clock: Clock = msgspec.field(default_factory=MonotonicClock)
    sleeper: Sleeper = msgspec.field(default_factory=SystemSleeper)
    id_source: IdSource = random_id
    emulator: EmulatorFactory = default_emulator
    scrubber: ScrubberFactory | None = None
    progress: Callable[[int, int], None] | None = None
    show: Callable[[bytes], None] | None = None
    before_record: BeforeRecord | None = None
    at_end: Callable[[Any, int], None] | None = None
    pty: Scripted | None = None
    streams: StreamKinds | None = None
    tape: TapeStarter | None = None
    started_as: Sequence[str] = ()
    guard: Guard | None = None
    shared_network: bool = False
    terminal: TerminalTemplate | None = None

    def __post_init__(self) -> None:
        if self.resolution_ms < 1:
            raise ValueError(f"resolution_ms is {self.resolution_ms}, and must be 1 or more")
        if self.durability not in {"os", "disk"}:
            raise ValueError(f"durability is {self.durability!r}, and must be os or disk")


def plan_of(options: RecordOptions) -> RecordPlan:
    """The plan of a recording that this process drives, with what the project file says.

    Raises:
        ValueError: an option has an invalid value.
        TypeError: there is no such option.
        CassetteError: the project file cannot be read, or is wrong.
    """
    given: dict[str, Any] = dict(options)
    project = find_project()
    given["size"] = size_given(given.get("size", project.size or DEFAULT_SIZE))
    if given.get("idle_limit_ms") is None and project.idle_limit_s is not None:
        given["idle_limit_ms"] = round(project.idle_limit_s * 1000)
    if given.get("freshness_window") is not None:
        given["freshness_window"] = window_text(given["freshness_window"])
    tape = options.get("tape")
    if isinstance(tape, bool | str):
        given["tape"] = _default_tape(options, tape) if tape else None
    kinds = kinds_named(options.get("streams") or "terminal")
    return RecordPlan(**{**given, "streams": None if kinds.only_terminal else kinds})


def _default_tape(options: RecordOptions, tape: bool | str) -> TapeStarter:  # noqa: FBT001 - as given
    """A proxy that the harness is pointed at as its profile says, if it has one."""
    # Few recordings have a tape.
    from ptycassette.profiles.io import known_profile
    from ptycassette.recording.io.tape_proxy import tape_starter

    harness = options.get("harness")
    name = harness.name if isinstance(harness, Harness) else harness
    return tape_starter(
        profile=None if name is None else known_profile(name),
        provider=tape if isinstance(tape, str) else None,
    )


def provider_without_proxy(
    options: RecordOptions,
) -> tuple[Mapping[str, str], Sequence[str]]:
    """Variables and arguments for a program that is run without being recorded.

    They point it at the provider that ``tape`` names; there are none if it names none.

    Raises:
        PreflightError: PTYCASSETTE_DISABLE_NETWORK is set, and the provider is elsewhere.
        UsageError: it is not known how to point it there, or there is no such provider.
    """
    if not options.get("tape"):
        return {}, ()
    from ptycassette.recording.io.tape_proxy import ProxyStarter  # few runs have one

    plan = plan_of(options)
    if not isinstance(plan.tape, ProxyStarter):
        return {}, ()
    return plan.tape.without_proxy(environment_of_tape(plan))


def environment_of_tape(plan: RecordPlan) -> dict[str, str]:
    """The program's environment, with the base URLs of providers that the user's has.

    They say whom the tape asks, also where the program starts in a clean environment: it talks to
    the proxy, and does not need them.
    """
    from ptycassette.tape.providers import known_providers  # few recordings have a tape

    source = os.environ if plan.base_env is None else plan.base_env
    names = known_providers().base_url_variables("")
    addresses = {name: source[name] for name in names if name in source}
    return {**addresses, **environment_of(plan)}


_OF_A_TERMINAL = ("TERM", "COLUMNS", "LINES", "TERMCAP")


def is_allowed_name(name: str) -> bool:
    """Whether a cassette may name this variable of the environment."""
    return name in CLEAN_NAMES or name.startswith("LC_") or name == "TERM"


def environment_of(plan: RecordPlan) -> dict[str, str]:
    """The environment of the program, the side channel not included."""
    made = child_environment(
        clean=plan.clean_env, extra=plan.env, term=plan.term, base=plan.base_env
    )
    if plan.streams is None or plan.streams.with_terminal or plan.clean_env:
        return made
    # Without a terminal of ours, there is nothing to record about one.
    source = os.environ if plan.base_env is None else plan.base_env
    del made["TERM"]
    return {**made, **{name: source[name] for name in _OF_A_TERMINAL if name in source}, **plan.env}
