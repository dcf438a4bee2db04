"""The options of a recording, their defaults, and the environment made from them."""

from __future__ import annotations

import getpass
import os
import platform
import re
import selectors
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, Unpack

import msgspec

from ptycassette.errors import CassetteError, PreflightError
from ptycassette.keys.quantities import window_text
from ptycassette.model.ports import (
    Clock,
    EmulatorFactory,
    IdSource,
    ScrubberFactory,
    SessionTap,
    Sleeper,
)
from ptycassette.model.records import NOT_JSON, Harness, SessionMeta, StreamKinds
from ptycassette.model.resolved_types import resolved
from ptycassette.model.screen import Size
from ptycassette.model.tape import TAPE_OPTION
from ptycassette.profiles.io import known_profile, version_query_of
from ptycassette.recording.hooks import BeforeRecord
from ptycassette.recording.io.journal_file import Durability
from ptycassette.recording.session.base import (
    CLEAN_NAMES,
    DEFAULT_SIZE,
    SessionBase,
    StreamChoice,
    child_environment,
    kinds_named,
    size_given,
)
from ptycassette.system.clock import MonotonicClock, SystemSleeper, monotonic_s, random_id
from ptycassette.system.files.project_file import Project, find_project
from ptycassette.system.files.state_dirs import current_dir, home_dir
from ptycassette.system.files.whole_file import read_plain
from ptycassette.system.git_questions import git_commit
from ptycassette.system.pty.process import PtyChild, spawn
from ptycassette.system.pty.terminal import Scripted, TerminalTemplate, modes_of_line
from ptycassette.terminal.emulator import default_emulator
from ptycassette.version import __version__

if TYPE_CHECKING:
    from ptycassette.system.network import Guard  # noqa: TC004 - few recordings load it; no plan is decoded


# What a recorder asks of whatever records model traffic beside it.


class RunningTape(Protocol):
    """The part that records model traffic while the program runs.

    Attributes:
        environment: variables that the program needs for it.
        arguments: added after the program's name; not part of the recorded ``argv``.
        secrets: the secrets in both, also when the program shows them.
        address: its host and port. The program may show them; they are not secret, but differ in
            each run.
        problem: why model traffic was not recorded to its end; None if all is well.
        described: how the program was pointed at it, for the manifest.
        reports: lines for the user.
        needed: whether a run without any request through it is a failure.
    """

    environment: Mapping[str, str]
    arguments: Sequence[str]
    secrets: Sequence[str]
    address: str
    described: Mapping[str, Any]
    needed: bool

    @property
    def problem(self) -> str | None:
        """See above."""

    @property
    def reports(self) -> Sequence[str]:
        """See above."""

    def close(self) -> None:
        """End it. When this returns its journal is complete. Does nothing the second time."""


TapeStarter = Callable[[Path, Mapping[str, str]], RunningTape]
"""Starts it: with the path of its journal, a file that does not exist yet, and the environment in
which the program will be started."""


class RecordOptions(TypedDict, total=False):
    """The options of ``record`` besides argv and target.

    Attributes:
        size: rows and columns of the terminal, set before exec; from the project file, else 24 by
            80.
        cwd: where the program starts; this process's directory by default.
        env: variables to add to its environment. The scrubber removes the values; a cassette holds
            only the names.
        base_env: the environment to start from, in place of this process's.
        clean_env: give the program only the variables of an allowlist; the default.
        term: its TERM.
        timeout_s: end the program after this long; the run then counts as failed.
        overwrite: replace the cassette at the target.
        title: of the cassette.
        harness: the product name of the program, or the whole block.
        capability: what the harness can do, for the manifest; from its built-in profile when None.
        account: the account it uses. Only one recording at a time may use it, with any program.
        account_class: what kind of account, for the manifest (``pro``, ``api``, ...).
        freshness_window: how long the recording stays valid (``24h``).
        probe_version: whether to find its version: from its installed package, else by running it
            beside the session. None does this for agent CLIs only.
        require: command lines that must succeed before anything is started.
        permission_mode: how the harness was allowed to act, for the manifest.
        meta: any JSON object, kept in ``optional.meta`` of the manifest.
        notes: service events (JSON values) to begin with.
        frame_policy: ``settled``, ``tick``, ``chunk`` or ``final``.
        resolution_ms: ``t_ms`` is rounded down to a multiple of this; 1.
        idle_limit_ms: suggest to players to shorten longer pauses to this; the project file's when
            None.
        durability: ``os`` or ``disk``, see ``JournalFile``.
        scrub: False records without scrubbing; readers refuse that by default.
        known: secrets for the scrubber to remove.
        state_dir: where the journal, locks and side channel are; the user's state directory.
        clock, sleeper, id_source, emulator, scrubber: the ports. ``scrubber`` makes a scrubber for
            one session.
        progress: called while finalising with the bytes done and their total.
        show: gets the output, once it is in the journal.
        before_record: called with each event before it is scrubbed; returns it, another
            one in its place, or None to leave it out. See ``recording/hooks.py``.
        at_end: called with the recorder and the time in microseconds when the program
            has ended, before anything is finalised; may add events and final fields.
        pty: an existing PTY, such as a scripted one; nothing is spawned.
        streams: ``pipes`` for pipes in place of the terminal, or the kind of each of the program's
            standard streams.
        tape: True to record the program's model traffic as well (docs/tape.md); or the provider's
            name or base URL; or a starter of the proxy, from ``tape_starter``.
        started_as: the command to start in place of argv, which then runs argv; the cassette
            records argv.
        guard: keeps the program off the network, as for ``spawn``.
        shared_network: leave a program with a tape on the network. By default it reaches only the
            tape's proxy, if the kernel can limit it.
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


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How a program is run and recorded: ``RecordOptions`` with all defaults filled in.

    Commands, sessions, reruns, forks and probes make it with ``run_spec``, and hand it on whole.
    """

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


def run_spec(project: Project | None = None, /, **options: Unpack[RecordOptions]) -> RunSpec:
    """How to run a program: the options, else the project file's settings, else the defaults.

    Args:
        project: the project file; that of the current folder when None.
        **options: see ``RecordOptions``.

    Raises:
        ValueError: an option has an invalid value.
        TypeError: an option is unknown.
        CassetteError: the project file cannot be read, or is wrong.
    """
    given: dict[str, Any] = dict(options)
    if project is None:
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
    return RunSpec(**{**given, "streams": None if kinds.only_terminal else kinds})


AnySession = TypeVar("AnySession", bound=SessionBase)


def live_session(
    kind: type[AnySession], argv: Sequence[str], spec: RunSpec, *, tap: SessionTap | None = None
) -> AnySession:
    """A session of a program that is run as ``spec`` has it, but not recorded.

    Args:
        kind: ``Session`` or ``AsyncSession``.
        argv: the program and its arguments.
        spec: how to run it.
        tap: listens to everything that happens; called from the pump's thread.

    Raises:
        SpawnError, PreflightError: as for ``kind``.
    """
    return kind(
        argv,
        size=spec.size,
        cwd=spec.cwd,
        env=spec.env,
        base_env=spec.base_env,
        clean_env=spec.clean_env,
        term=spec.term,
        timeout_s=spec.timeout_s,
        streams=spec.streams or "terminal",
        clock=spec.clock,
        sleeper=spec.sleeper,
        emulator=spec.emulator,
        guard=spec.guard,
        tap=tap,
    )


def _default_tape(options: RecordOptions, tape: bool | str) -> TapeStarter:  # noqa: FBT001 - as given
    """A proxy that the harness reaches by the method in its profile, if it has one."""
    # Few recordings have a tape.
    from ptycassette.profiles.io import known_profile
    from ptycassette.recording.io.tape_proxy import tape_starter

    harness = options.get("harness")
    name = harness.name if isinstance(harness, Harness) else harness
    return tape_starter(
        profile=None if name is None else known_profile(name),
        provider=tape if isinstance(tape, str) else None,
    )


def provider_without_proxy(spec: RunSpec) -> tuple[Mapping[str, str], Sequence[str]]:
    """Variables and arguments for a program that is run without being recorded.

    They point it at the provider that ``tape`` names; empty without a name.

    Raises:
        PreflightError: PTYCASSETTE_DISABLE_NETWORK is set, and the provider is elsewhere.
        UsageError: the provider is unknown, or we do not know how to point the program at it.
    """
    if spec.tape is None:
        return {}, ()
    from ptycassette.recording.io.tape_proxy import ProxyStarter  # few runs have one

    if not isinstance(spec.tape, ProxyStarter):
        return {}, ()
    return spec.tape.without_proxy(environment_of_tape(spec))


def environment_of_tape(plan: RunSpec) -> dict[str, str]:
    """The program's environment, with the base URLs of providers that the user's has.

    The tape sends requests to these URLs, even if the program starts in a clean environment: the
    program itself talks to the proxy and does not need them.
    """
    from ptycassette.tape.routing import known_providers  # few recordings have a tape

    source = os.environ if plan.base_env is None else plan.base_env
    names = known_providers().base_url_variables("")
    addresses = {name: source[name] for name in names if name in source}
    return {**addresses, **environment_of(plan)}


_OF_A_TERMINAL = ("TERM", "COLUMNS", "LINES", "TERMCAP")


def is_allowed_name(name: str) -> bool:
    """Whether a cassette may name this variable of the environment."""
    return name in CLEAN_NAMES or name.startswith("LC_") or name == "TERM"


def environment_of(plan: RunSpec) -> dict[str, str]:
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


# Facts about the recorded CLI and its system: name, binary, version, platform.


VERSION_TIMEOUT_S = 5.0
_BESIDE_TIMEOUT_S = 60.0
"""Beside a session, where nothing waits: Gemini CLI takes 12 s, and more on a busy machine."""
_VERSION_BYTES = 4096
_VERSION_CHARS = 200
_MAX_PACKAGE_BYTES = 1 << 20
_NICE = 10
_DPKG = Path("/var/lib/dpkg")
_MAX_DPKG_LISTS = 20

# What npm, pnpm and yarn write where they make no links: a script that runs "$basedir/../x.js".
_LAUNCHED = re.compile(rb'exec [^\n]*"\$basedir/([^"$]+)"')
_WITH_DIGIT = re.compile(r"\d+(\.\d+)+[\w.+-]*")
_STORE_NAME = re.compile(r"[0-9a-z]{32}-(?P<name>.+?)-(?P<version>\d[\w.+-]*)")

# As Go spells them (GOARCH), because the format does.
_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "i686": "386"}


def probe_harness(
    binary: Path,
    *,
    now: datetime,
    name: str | None = None,
    account_class: str | None = None,
    freshness_window: str | None = None,
    version: bool | None = None,
) -> Harness:
    """The harness block of a program. The program is not run.

    Args:
        binary: the file that will be executed.
        now: the wall clock.
        name: what it is called; the file's name when None.
        account_class: what kind of account it runs with.
        freshness_window: how long the recording stays valid, e.g. ``24h``.
        version: whether its version is wanted; None for agent CLIs only.
    """
    wanted = version_arguments(binary, version=version) is not None
    return Harness(
        name=name or binary.name,
        binary_path_digest_sha256=path_digest(binary),
        binary_version=installed_version(binary) if wanted else None,
        account_class=account_class,
        captured_at=timestamp(now),
        freshness_window=freshness_window,
    )


def path_digest(binary: str | os.PathLike[str]) -> str:
    """SHA-256 of the resolved path of a program, in hexadecimal.

    Folders and names that scrubbing removes are left out of it as there: otherwise it would be
    a digest of the user's name, which is found by trying.
    """
    path = os.path.realpath(binary)
    with suppress(OSError):
        path = _below(path, os.path.realpath("."), "$PWD")
    home = home_dir()
    if home is not None:
        path = _below(path, os.path.realpath(home), "$HOME")
    path = _SOMEBODYS_HOME.sub(r"\g<1><user>", path)
    with suppress(OSError, KeyError):  # a user without a name
        user = getpass.getuser()
        path = "/".join("<user>" if part == user else part for part in path.split("/"))
    return sha256(os.fsencode(path)).hexdigest()


_SOMEBODYS_HOME = re.compile(r"^((?:/[^/]+){0,2}/(?:home|Users)/)[^/]+")


def _below(path: str, folder: str, name: str) -> str:
    rest = path.removeprefix(folder)
    return name + rest if rest.startswith("/") and rest != path else path


def version_arguments(binary: Path, *, version: bool | None) -> tuple[str, ...] | None:
    """The arguments that ask for its version; None if it is not asked.

    Args:
        binary: the program.
        version: as for ``probe_harness``.
    """
    if version is False:
        return None
    query = _query(binary.name, os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME"))
    if query is None:
        return ("--version",) if version else None
    argv, automatic = query
    return argv if version or automatic else None


@lru_cache(maxsize=16)
def _query(program: str, *_where_profiles_are: str | None) -> tuple[tuple[str, ...], bool] | None:
    """An agent CLI's arguments for its version, and if it runs by default.

    Read once a recording.
    """
    query = version_query_of(program)
    return None if query is None else (query.argv, query.automatic)


# -- from the installed package ---------------------------------------------------------


def installed_version(binary: Path) -> str | None:
    """The version of the package that installed a program; None if no package is found.

    Files are read, and nothing is run: ``package.json`` of npm, the dist-info of Python, the
    folders of Homebrew, Nix, mise, asdf and of Claude Code's own installer, the database of dpkg.
    A package that is not the one named in the program's profile does not count.

    Args:
        binary: the program, as it is found on PATH.
    """
    with suppress(OSError, CassetteError, *NOT_JSON):
        real = _launched(Path(os.path.realpath(binary)))
        for look in (_npm, _python):
            if (found := look(binary.name, real)) is not None:
                package, version = found
                return _shown(version) if _is_wanted(package, _package_of(binary.name)) else None
        return _shown(_by_folder(binary.name, real) or _deb(binary.name, real) or "")
    return None


def _shown(version: str) -> str | None:
    return version[:_VERSION_CHARS] if version and version.isprintable() else None


def _package_of(program: str) -> str | None:
    profile = known_profile(program)
    if profile is None or profile.install is None:
        return None
    named = profile.install.npm or profile.install.pip or ""
    return named.partition("==")[0] if "==" in named else named[:1] + named[1:].split("@")[0]


def _is_wanted(package: str, wanted: str | None) -> bool:
    """Whether it is the package, or its part for a platform: ``@github/copilot-linux-x64``."""
    return wanted is None or package == wanted or package.startswith(f"{wanted}-")


def _launched(script: Path) -> Path:
    """The program that a small script of npm, pnpm or yarn starts; else the file itself."""
    found = _LAUNCHED.search(_head(script))
    if found is None:
        return script
    return Path(os.path.realpath(script.parent / os.fsdecode(found[1])))


def _head(file: Path) -> bytes:
    """The beginning of a script; empty for other files."""
    with file.open("rb") as opened:
        head = opened.read(_VERSION_BYTES)
    return head if head.startswith(b"#!") else b""


class _Package(msgspec.Struct):
    """Part of a ``package.json`` (npm: "package.json")."""

    name: str = ""
    version: str = ""
    bin: str | dict[str, str] = ""


def _npm(_: str, real: Path) -> tuple[str, str] | None:
    """Name and version of the npm package that a file belongs to."""
    for folder in real.parents:
        path = folder / "package.json"
        if not path.is_file():
            continue
        package = msgspec.json.decode(
            read_plain(path, max_bytes=_MAX_PACKAGE_BYTES), type=resolved(_Package)
        )
        starts = [package.bin] if isinstance(package.bin, str) else list(package.bin.values())
        # A project of the user's own has a package.json, too, and its scripts are not the package.
        is_own = any(one and Path(os.path.realpath(folder / one)) == real for one in starts)
        if package.version and (is_own or "node_modules" in folder.parent.parts[-2:]):
            return package.name, package.version
    return None


def _python(name: str, real: Path) -> tuple[str, str] | None:
    if b"python" not in _head(real).partition(b"\nimport ")[0]:
        return None
    root = real.parent.parent
    for pattern in ("lib/python3*/*-packages", "local/lib/python3*/*-packages"):
        for path in root.glob(f"{pattern}/*.dist-info/entry_points.txt"):
            text = read_plain(path, max_bytes=_MAX_PACKAGE_BYTES).decode("utf-8", "replace")
            if re.search(rf"^{re.escape(name)}\s*=", text, re.MULTILINE):
                package, _, version = path.parent.name.removesuffix(".dist-info").partition("-")
                return package.replace("_", "-").lower(), version
    return None


def _deb(name: str, real: Path) -> str | None:
    """The version of the Debian package that a file belongs to (deb-version(7))."""
    if not real.is_relative_to("/usr") or real.is_relative_to("/usr/local"):
        return None
    info = _DPKG / "info"
    for path in (info / f"{name}.list", *sorted(info.glob(f"*{name}*.list"))[:_MAX_DPKG_LISTS]):
        if path.is_file() and str(real) in path.read_text(errors="replace").splitlines():
            package = path.name.removesuffix(".list").partition(":")[0]
            status = (_DPKG / "status").read_text(errors="replace")
            entry = f"\n{status}".partition(f"\nPackage: {package}\n")[2].partition("\n\n")[0]
            found = re.search(r"^Version: (?:\d+:)?(\S+)", entry, re.MULTILINE)
            return re.sub(r"-[^-]*$", "", found[1]) if found else None
    return None


def _by_folder(name: str, real: Path) -> str | None:
    """The version in the path: ``Cellar/NAME/VERSION/bin/NAME``, ``NAME/versions/VERSION``."""
    for owner, version in _versioned_folders(real):
        if owner == name or owner.startswith((f"{name}-", f"{name}@")):
            return version
    return None


def _versioned_folders(real: Path) -> Iterator[tuple[str, str]]:
    """Pairs of a name and a version in a path."""
    parts = [*real.parts]
    for at, part in enumerate(parts):
        if (stored := _STORE_NAME.fullmatch(part)) is not None:
            yield stored["name"], stored["version"]
        if at and _WITH_DIGIT.fullmatch(part):
            owner = parts[at - 2] if parts[at - 1] == "versions" else parts[at - 1]
            yield owner, part


# -- from the program --------------------------------------------------------------------


class VersionQuestion:
    """``PROGRAM --version``, which runs beside a session while nothing waits for it.

    It runs in a clean environment without input, with less priority than the session. It ends
    with its answer, with ``close``, after a minute, or with this process, whatever comes first.
    Nothing that it started stays.

    Args:
        argv: the program and the arguments that ask it.
        environment: what to add to the clean environment, or replace in it.
        cwd: its work folder; the current one when None.
        guard: as for ``spawn``.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        guard: Guard | None = None,
    ) -> None:
        self._asked = " ".join(argv[1:])
        self._started_s = monotonic_s()
        self._said, self._whole = b"", False
        self._stop, self._stopping = os.pipe()
        self._child: PtyChild | None = None
        self._fd, theirs = os.pipe()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._child = spawn(
                argv,
                size=Size(rows=24, cols=80),
                cwd=cwd,
                env=child_environment(clean=True, term="dumb", extra=environment),
                streams=(null, theirs, null),
                grace_s=0,
                guard=guard,
            )
        except CassetteError:
            self._whole = True
        finally:
            os.close(null)
            os.close(theirs)
        self._thread = threading.Thread(target=self._read, name="version", daemon=True)
        if self._child is not None:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._child.pid, _NICE)
            self._thread.start()

    def _read(self) -> None:
        # Signals are for the main thread, which they must wake.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        left_s = _BESIDE_TIMEOUT_S
        with selectors.DefaultSelector() as selector:
            selector.register(self._fd, selectors.EVENT_READ)
            selector.register(self._stop, selectors.EVENT_READ)
            while left_s > 0 and len(self._said) < _VERSION_BYTES:
                ready = [key.fd for key, _ in selector.select(left_s)]
                if self._fd in ready:
                    block = os.read(self._fd, _VERSION_BYTES)
                    self._said += block
                    if not block:
                        self._whole = True
                        break
                elif ready:
                    break
                left_s = self._started_s + _BESIDE_TIMEOUT_S - monotonic_s()
        if self._child is not None:
            self._child.request_end(0)

    def close(self, patience_s: float = 0.0) -> str | None:
        """End it; return its answer: a line, "" if it gave no line, None if it had not ended yet.

        Args:
            patience_s: how much longer it may take.
        """
        if self._stopping >= 0:
            if self._child is not None and patience_s:
                self._thread.join(patience_s)
            os.close(self._stopping)
            self._stopping = -1
            if self._child is not None:
                self._thread.join()
                self._child.close()
            os.close(self._stop)
            os.close(self._fd)
        lines, newline, _ = self._said.rpartition(b"\n")
        answer = _first_line(self._said if self._whole else lines + newline)
        return answer if answer or self._whole else None

    @property
    def missing(self) -> str:
        """Why there is no version, for an answer of ``close`` that is None or ""."""
        if self._whole:
            return f"{self._asked} printed no version"
        seconds = monotonic_s() - self._started_s
        return f"{self._asked} gave no line in the {seconds:.1f} s of the session"


def timestamp(moment: datetime) -> str:
    """An RFC 3339 timestamp in UTC: whole seconds if possible, else microseconds."""
    text = moment.isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def ask_version(
    binary: Path,
    arguments: Sequence[str] = ("--version",),
    *,
    timeout_s: float = VERSION_TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    guard: Guard | None = None,
) -> str | None:
    """The first line that ``binary --version`` prints; None when it prints none in time.

    It runs in a clean environment without input. It is killed, with its children, if it
    takes too long or prints too much.

    Args:
        binary: the program.
        arguments: that ask it.
        timeout_s: how long it may take.
        environment: what to add to the clean environment, or replace in it.
        cwd: its work folder; the current one when None.
        guard: keeps it off the network; when None only if PTYCASSETTE_DISABLE_NETWORK is set.
    """
    import subprocess  # only agent CLIs are asked

    from ptycassette.system.network import guarded_command

    own = child_environment(clean=True, term="dumb", extra=environment)
    program = os.fspath(binary)
    words = [program, *arguments]
    try:
        process = subprocess.Popen(
            guard.command(program, words) if guard else guarded_command(words, own),
            env=own,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, PreflightError):
        return None
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    try:
        said = _read_some(process.stdout.fileno(), timeout_s)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
    return _first_line(said) or None


def _first_line(said: bytes) -> str:
    """The first line with text, if it can be shown; else an empty text."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines()]
    first = next((line for line in lines if line), "")
    return first[:_VERSION_CHARS] if first.isprintable() else ""


def _read_some(fd: int, timeout_s: float) -> bytes:
    """Read until the end, the limit or the timeout."""
    said = b""
    deadline = monotonic_s() + timeout_s
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while len(said) < _VERSION_BYTES:
            left_s = deadline - monotonic_s()
            if left_s <= 0 or not selector.select(left_s):
                break
            block = os.read(fd, _VERSION_BYTES)
            if not block:
                break
            said += block
    return said


def architecture(machine: str | None = None) -> str:
    """The processor architecture, by Go's names."""
    machine = platform.machine() if machine is None else machine
    return _ARCHITECTURES.get(machine, machine)


def system(platform_name: str = sys.platform) -> str:
    """The operating system, by Go's names."""
    return platform_name.rstrip("0123456789")


def locale_of(env: Mapping[str, str]) -> str | None:
    """The locale that a program with this environment has (locale(7))."""
    return env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or None


# The head of a journal: the facts about a session before the program starts.


def head_of(
    argv: Sequence[str],
    target: Path,
    plan: RunSpec,
    *,
    env: Mapping[str, str],
    binary: Path | None,
    tape: RunningTape | None = None,
) -> SessionMeta:
    """The head of the journal.

    Args:
        argv: what will be started.
        target: where the cassette will be, absolute.
        plan: the options.
        env: the whole environment of the program.
        binary: the file that will be executed; None for a script.
        tape: what records model traffic, if anything does.
    """
    cwd = current_dir() if plan.cwd is None else current_dir() / plan.cwd
    now = plan.clock.wall()
    home, user_home = env.get("HOME", ""), os.environ.get("HOME", "")
    return SessionMeta(
        id=plan.id_source(),
        argv=tuple(argv),
        size=plan.size,
        recorded_at=timestamp(now),
        harness=_harness(argv, plan, binary, now),
        workdir_policy="inherited" if plan.cwd is None else "given",
        env_allowlist=tuple(sorted(filter(is_allowed_name, env))),
        environment=dict(env),
        home=home,
        user_home="" if user_home == home else user_home,
        cwd=str(cwd),
        term=env.get("TERM", plan.term),
        locale=locale_of(env),
        timeout_ms=None if plan.timeout_s is None else round(plan.timeout_s * 1000),
        permission_mode=plan.permission_mode,
        pty_mode=_pty_mode(plan, env),
        streams=plan.streams,
        git_sha=git_commit(cwd) if binary is not None else None,
        os=system(),
        arch=architecture(),
        recorder_version=f"ptycassette/{__version__}",
        resolution_ms=plan.resolution_ms,
        title=plan.title,
        target=str(target),
        options=_options(plan, tape),
    )


def _pty_mode(plan: RunSpec, env: Mapping[str, str]) -> dict[str, Any] | None:
    if plan.streams is not None and not plan.streams.with_terminal:
        return {"kind": "pipe"}
    if plan.pty is not None:
        return modes_of_line(plan.pty.line_mode())
    return (plan.terminal or TerminalTemplate.of_environment(env)).modes()


def _harness(argv: Sequence[str], plan: RunSpec, binary: Path | None, now: datetime) -> Harness:
    if isinstance(plan.harness, Harness):
        return plan.harness
    given = None if plan.capability is None else dict(plan.capability)
    if binary is None:
        name = plan.harness or Path(argv[0]).name
        return Harness(name=name, capability=given, account_class=plan.account_class)
    harness = probe_harness(
        binary,
        now=now,
        name=plan.harness,
        account_class=plan.account_class,
        freshness_window=plan.freshness_window,
        version=plan.probe_version,
    )
    agent = version_arguments(binary, version=None) is not None
    if given is None and (plan.harness is not None or agent):
        # Imported here, because few programs are agent CLIs, and the import delays all.
        from ptycassette.profiles.io import known_capability

        given = known_capability(harness.name, version=None)
    return msgspec.structs.replace(harness, capability=given)


def _options(plan: RunSpec, tape: RunningTape | None) -> dict[str, Any]:
    """The options that ``recover`` needs to finalise in the same way."""
    options: dict[str, Any] = {"frame_policy": plan.frame_policy}
    if plan.idle_limit_ms is not None:
        options["idle_limit_ms"] = plan.idle_limit_ms
    if plan.meta:
        options["meta"] = dict(plan.meta)
    if not plan.scrub:
        options["scrub"] = False
    if tape is not None:
        options[TAPE_OPTION] = {
            "key": os.urandom(32).hex(),
            "secrets": list(tape.secrets),
            "address": tape.address,
            "described": dict(tape.described),
        }
    return options
