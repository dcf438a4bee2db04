"""Prepare to run a recorded program again: a place, the tape's server, the network guard.

Every way to run a command from a cassette goes through the one gate in this module: first the seal
that the project demands, then the digests of every file, then trust. Nothing is started before
that.

The caller decides what drives the program: the recorded keys, a test, or another program.
"""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ptycassette.agents.harness.io.files import load_profile
from ptycassette.agents.harness.io.offline import placed_run, run_place
from ptycassette.agents.harness.preparing import home_variables
from ptycassette.agents.rerun.gates import Gates
from ptycassette.agents.rerun.io.options import RerunOptions
from ptycassette.agents.rerun.io.tape_server import TapeServer
from ptycassette.agents.rerun.report import TapeDesk, asked_providers
from ptycassette.agents.rerun.script import RerunScript, script_of
from ptycassette.cassette.edits import refuse_in_process
from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.io.staging import disk_errors
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.cassette.tape_lines import TAPE_KEY, tape_facts
from ptycassette.cassette.timeline.match import SecretsPolicy, secrets_named
from ptycassette.errors import NotFoundError, RefusedError, UsageError
from ptycassette.model.records import native_text
from ptycassette.model.screen import Size
from ptycassette.model.tape import TapeEntry
from ptycassette.model.visible_text import visible
from ptycassette.profiles.profile import Profile
from ptycassette.recording.io.options import RunSpec, run_spec
from ptycassette.scrub.session import default_scrubber
from ptycassette.seal.io.policy import require_seal
from ptycassette.system.files.locks import temporary_folder
from ptycassette.system.files.state_dirs import current_dir, home_dir
from ptycassette.system.files.whole_file import copy_tree
from ptycassette.system.network import Guard, may_isolate, require_isolation
from ptycassette.system.ownership import owned_context
from ptycassette.tape.draws import DrawnValues, drawn_in
from ptycassette.tape.io.draw_log import served_draws
from ptycassette.tape.io.recorded_answers import load_matching_rules
from ptycassette.tape.io.running_proxy import base_url_variables, point_at_provider, proxy_variables
from ptycassette.tape.providers.answers import called_tools
from ptycassette.tape.routing import key_variables

# Point the program of a rerun at its provider: the tape's server, in the recorded way.


_MADE_UP_KEY = "0" * 40
"""The scrubber takes it for no secret. It would look for words, also in the name of a fork."""


class Pointed(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of the program's provider.

    ``url`` is the tape's server, or the real provider if the server is an HTTP proxy, whose
    certificate is in ``ca_file``. ``openai_url`` is the base URL of OpenAI's APIs if it is not
    ``url`` and ``/v1``. ``usual_url`` and ``keys``, which are made up, are for a program without a
    profile. ``model`` is the model that was asked most often; empty if the recording names none.
    """

    server: TapeServer
    url: str
    usual_url: str
    keys: Mapping[str, str]
    openai_url: str
    ca_file: str
    model: str


def pointed_at(
    cassette: Cassette, server: TapeServer, ca_file: str, entries: Sequence[TapeEntry]
) -> Pointed:
    """The addresses at which a program without a network finds its recorded providers."""
    url, openai_url = asked_providers(entries) if ca_file else (server.url, "")
    upstreams = recorded_pointing(cassette).get("upstreams") or {}
    route = next(iter(upstreams), "main")
    server.bases = {name: urlsplit(str(url)).path.rstrip("/") for name, url in upstreams.items()}
    return Pointed(
        server=server,
        url=url,
        usual_url=server.url_as_recorded(route),
        keys={alternatives[0]: _MADE_UP_KEY for alternatives in key_variables(entries)},
        openai_url=openai_url,
        ca_file=ca_file,
        model=_asked_model(cassette),
    )


def _asked_model(cassette: Cassette) -> str:
    asked = Counter(
        str(event.payload.get("model") or "")
        for event in cassette.service_events()
        if isinstance(event.payload, dict) and event.payload.get("type") == "model-request"
    )
    return next((name for name, _ in asked.most_common() if name), "")


def recorded_pointing(cassette: Cassette) -> Mapping[str, Any]:
    """How the program was pointed at the recorder's proxy."""
    said: Mapping[str, Any] = (cassette.manifest.optional or {}).get(TAPE_KEY, {})
    return said.get("pointed") or {}


@owned_context
def tape_server(
    cassette: Cassette,
    gates: Gates,
    hold_s: float,
    server_of: Callable[..., TapeServer],
) -> Iterator[tuple[TapeServer, str]]:
    """The tape's server and, if it is an HTTP proxy as the recorder was, the certificate.

    Args:
        cassette: the recording.
        gates: the inputs that a piece has to wait for.
        hold_s: how long a piece waits for an input at most.
        server_of: makes the server.
    """
    if not recorded_pointing(cassette).get("proxy_env"):
        with server_of(gates, hold_s=hold_s) as server:
            yield server, ""
        return
    with temporary_folder() as folder:
        ca_file = folder / "ca.pem"
        with server_of(gates, hold_s=hold_s, ca_file=ca_file) as server:
            yield server, str(ca_file)


# Set a program's clock back to a moment with libfaketime, if that is installed.


_PLACES = (
    "/usr/lib/*/faketime",
    "/usr/lib64/faketime",
    "/usr/lib/faketime",
    "/usr/local/lib/faketime",
)
_LIBRARY = "libfaketimeMT.so.1"
_HEADER = struct.Struct("<16x2HI3QI3H")  # ELF64, from e_type to e_phnum
_ELF64_LITTLE = b"\x7fELF\x02\x01"
_PT_INTERP = 3
_READ_BYTES = 64 << 10
_MOST_INTERPRETERS = 4


class ClockPin(msgspec.Struct, frozen=True):
    """Variables that set the clock of a program, and the text for a report."""

    environment: Mapping[str, str]
    said: str


def clock_pin(program: str, moment: datetime, *, path: str | None = None) -> ClockPin:
    """Give a program a clock that starts at a moment and runs on.

    Args:
        program: the name or the path of the program.
        moment: with a time zone.
        path: where to look for programs; ``PATH`` of this process when None.
    """
    library = _library()
    if library is None:
        return ClockPin({}, "not pinned: libfaketime is not installed")
    problem = _static(program, path)
    if problem is not None:
        return ClockPin({}, f"not pinned: {problem}")
    environment = {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"@{moment.timestamp():.0f}",
        "FAKETIME_FMT": "%s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # a wait that uses it would never end
        "FAKETIME_NO_CACHE": "1",
    }
    return ClockPin(environment, f"starts at {moment.isoformat()} (libfaketime)")


def _library() -> Path | None:
    if not sys.platform.startswith("linux"):
        return None
    found = (path for place in _PLACES for path in Path("/").glob(f"{place[1:]}/{_LIBRARY}"))
    return next(found, None)


def _static(program: str, path: str | None) -> str | None:
    """Why libfaketime cannot be loaded into a program; None if it can."""
    words = [program]
    for _ in range(_MOST_INTERPRETERS):
        found = shutil.which(words[0], path=path)
        if found is None:
            return f"{words[0]} was not found"
        with Path(found).open("rb") as file:
            head = file.read(_READ_BYTES)
        if not head.startswith(b"#!"):
            return None if _is_dynamic(head) else f"{Path(found).name} is not linked dynamically"
        words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
        if len(words) > 1 and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if not words:
            return f"{Path(found).name} names no interpreter"
    return "it has too many interpreters"


def _is_dynamic(head: bytes) -> bool:
    """Whether a program names a dynamic loader (ELF, PT_INTERP)."""
    if not head.startswith(_ELF64_LITTLE) or len(head) < _HEADER.size:
        return False
    _, _, _, _, table, _, _, _, size, count = _HEADER.unpack_from(head)
    types = (head[at : at + 4] for at in range(table, table + size * count, size or 1))
    return any(int.from_bytes(one, "little") == _PT_INTERP for one in types)


# The place in which a program runs again: a temporary home, the tape, a network guard.


NAMESPACE = "a network namespace of its own, with loopback alone"
"""The properties that ``Guard`` checks from inside before the program starts."""
PROXIES = "proxy variables that lead to a closed port"
_DIRECT = "127.0.0.1,localhost,::1"
_REFUSING = "http://127.0.0.1:9"  # discard: no server listens there


class RerunPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The environment, the folder and the network guard for the program.

    ``guard`` describes what keeps it off the network, and ``network`` enforces that if the kernel
    supports it: pass it to the code that starts ``argv``.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    home: Path
    cwd: Path
    folder: Path
    guard: str
    network: Guard | None


def copy_folder(folder: Path, target: Path, options: RerunOptions, *cassette: Path) -> None:
    """Copy a work folder without the cassettes and runs, which came after the recording."""
    runs = () if options.root is None else options.root.glob("run-*")
    with disk_errors("copying the folder", folder):
        copy_tree(folder.absolute(), target, exists=True, without=(*cassette, *options.made, *runs))


@owned_context
def placed(
    argv: tuple[str, ...],
    profile: Profile | None,
    options: RerunOptions,
    pointed: Pointed,
    more: Mapping[str, str],
) -> Iterator[RerunPlace]:
    """A temporary home, set up by the profile, and the guard."""
    mode, server = options.mode or _usual_mode(profile), pointed.server
    proxy: dict[str, str] = {}
    if server.proxy:
        proxy = proxy_variables(profile, proxy=server.proxy, ca=pointed.ca_file)
    with ExitStack() as stack:
        if profile is not None and mode in profile.modes:
            run = stack.enter_context(
                placed_run(
                    profile,
                    pointed.url,
                    openai_url=pointed.openai_url,
                    mode=mode,
                    model=options.model or pointed.model,
                    binary=argv[0],
                    cwd=options.cwd,
                    files=options.files,
                    root=options.root,
                )
            )
            argv = run.prepared.instead(argv, profile.binaries)
            own = {**run.prepared.environment, **proxy}
            home, cwd, folder = run.home, run.cwd, run.folder
        else:
            made = stack.enter_context(
                run_place(options.root, cwd=options.cwd, files=options.files)
            )
            home, cwd, folder = made.home, made.cwd, made.folder
            own = {
                **home_variables(str(home)),
                **pointed.keys,
                **(proxy or base_url_variables(pointed.usual_url)),
            }
        if options.home is not None:
            copy_folder(options.home, home, options)
            if profile is not None and not proxy:
                variables, arguments = point_at_provider(profile, pointed.url, {})
                own |= variables
                argv = (argv[0], *arguments, *argv[1:])
        if not options.argv:
            work = cwd if _is_given(options) else current_dir()
            argv = (argv[0], *(located(word, work) for word in argv[1:]))
        require_isolation(shared=options.shared_network)
        guard = Guard(server.ports) if not options.shared_network and may_isolate() else None
        kept_off = {} if proxy or guard else refusing_proxies()
        yield RerunPlace(
            argv=argv,
            environment={**kept_off, **own, **more, **options.environment},
            home=home,
            cwd=cwd,
            folder=folder.path,
            guard=PROXIES if guard is None else NAMESPACE,
            network=guard,
        )


def refusing_proxies() -> dict[str, str]:
    """Variables that point a program's proxy at a port on which nothing listens."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), _DIRECT)
    return {**{name: _REFUSING for pair in names for name in (pair, pair.lower())}, **direct}


def left_behind(argv: Sequence[str], options: RerunOptions) -> str:
    """Whether a program without its work folder lacks a file that is in the current folder.

    Returns:
        What to do about it; empty if no missing file is known.
    """
    if _is_given(options):
        return ""
    for word in argv[1:]:
        if not word.startswith(("-", "/")) and word not in options.files and Path(word).is_file():
            return (
                f"{visible(word, limit=200)} is not in the empty folder in which the program"
                " worked, but in this one: --cwd . or --copy ."
            )
    return ""


def in_the_way(cassette: Path, options: RerunOptions) -> str:
    """What to do about a cassette in the work folder: it was not there at the recording.

    Returns:
        Empty if it is elsewhere.
    """
    # resolve(): DIR/../a.cassette, or a link to it, is beside DIR, not in it.
    if options.cwd is None or not cassette.resolve().is_relative_to(options.cwd.resolve()):
        return ""
    return "the cassette is in the work folder now, which agents list: --copy leaves it out"


def _is_given(options: RerunOptions) -> bool:
    """Whether the work folder is the caller's, or a copy of one."""
    return options.cwd is not None or options.copied is not None


_SHORT_OPTION = len("-C")


def located(word: str, work: Path) -> str:
    """A recorded word, with real folders and the user for the scrubber's placeholders.

    A folder is put in only if the word is its placeholder, begins with it, or has it behind ``=``
    or a short option (``-C$PWD``), and the user only in a path that exists: elsewhere the same text
    may be meant for a shell.

    Args:
        word: a word of a recorded command line.
        work: the folder that the program works in.
    """
    for name, folder in (("$PWD", work), ("$HOME", os.environ.get("HOME") or home_dir())):
        before, found, after = word.partition(name)
        begins = before[-1:] in {"", "="} or (len(before) == _SHORT_OPTION and before[0] == "-")
        if folder is not None and found and begins and after[:1] in {"", "/"}:
            word = f"{before}{folder}{after}"
    _, slash, path = word.partition("/")
    if "<user>" in path:
        with suppress(OSError, KeyError):  # a user without a name
            name = getpass.getuser()
            if os.path.exists(slash + path.replace("<user>", name)):  # noqa: PTH110 - Path's raises
                return word.replace("<user>", name)
    return word


def _usual_mode(profile: Profile | None) -> str:
    if profile is None or "key" in profile.modes or not profile.modes:
        return "key"
    return next(iter(profile.modes))


_SECRETS_VARIABLE = "PTYCASSETTE_SECRETS"


class PreparedRerun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is ready to be started; over when its block is left.

    ``argv`` is the recorded or given command line, ``place.argv`` the one to start, as ``spec``
    has it. ``lacking`` is advice in case the program ends too early, ``in_the_way`` in case it asks
    something unexpected; both are empty without advice.
    """

    argv: tuple[str, ...]
    profile: Profile | None
    script: RerunScript
    clock: str
    drawn: DrawnValues
    spec: RunSpec
    place: RerunPlace
    lacking: str
    in_the_way: str
    server: TapeServer
    desk: TapeDesk


def admit(cassette: Cassette) -> None:
    """Check a cassette whose command is to be run. Trust is checked later.

    Raises:
        SealError: the project demands a seal, and the cassette does not have it.
        InvalidCassetteError: its bytes do not match the digests in its manifest.
    """
    require_seal(cassette.path)
    cassette.verify()


@owned_context
def prepared_rerun(
    cassette: Cassette,
    options: RerunOptions,
    *,
    typed: bool = True,
    recorded: bool = True,
    server_of: Callable[..., TapeServer] = TapeServer,
    tapeless: bool = False,
) -> Iterator[PreparedRerun]:
    """Prepare to run the recorded program with the tape as its only provider.

    Args:
        cassette: a cassette with a tape.
        options: the options.
        typed: the server learns when inputs are sent. Otherwise no piece of an answer waits for an
            input.
        recorded: the new run is recorded, too: so its draws are known, and part of the proof.
        server_of: makes the server, as ``TapeServer`` does.
        tapeless: also accept a recording without a tape, and treat its tape as empty. One with
            draws is always accepted: its draws are served, and all requests to providers are
                refused.

    Raises:
        SealError: the project demands a seal, and the cassette does not have it.
        InvalidCassetteError: its bytes do not match the digests in its manifest.
        RefusedError: the caller did not confirm that the cassette is trusted.
        MissingFileError: the cassette has neither a tape nor a draw.
        UsageError: the recording has no command line.
        NotFoundError: the profile or its mode does not exist.
        SpawnError: the program does not exist.
    """
    admit(cassette)
    drawn = drawn_in(event.payload for event in cassette.service_events())
    without = (tapeless or bool(drawn.draws)) and not cassette.has_tape
    tape = None if without else cassette.tape()
    exchanges = [] if tape is None else list(tape)
    argv = _given_argv(options.argv) or _recorded_argv(cassette)
    if not options.trusted:
        raise _untrusted(cassette, argv, exchanges)
    profile = _profile(cassette, options.harness)
    script = script_of(cassette.events())
    gates = Gates([step.t_us for step in script.steps] if typed else [])
    rules = load_matching_rules(
        (profile.name,) if profile else (), tape=tape_facts(cassette.manifest)
    )
    clock = _clock(cassette, argv, options)
    terminal = cassette.manifest.terminal
    with (
        served_draws(drawn.draws) as draws,
        tape_server(cassette, gates, options.patience_s, server_of) as (server, ca_file),
        placed(
            argv,
            profile,
            options,
            pointed_at(cassette, server, ca_file, [one.entry for one in exchanges]),
            {**draws, **clock.environment},
        ) as place,
    ):
        if options.copied is not None and options.cwd is None:
            copy_folder(options.copied, place.cwd, options, cassette.path)
        server.desk = TapeDesk(
            exchanges,
            rules,
            key=bytes(32) if tape is None else bytes.fromhex(tape.key),
            declared={
                "home": str(place.home), "cwd": str(place.cwd), "tmp": tempfile.gettempdir()
            },
            scrubber=default_scrubber,
            facts=tape_facts(cassette.manifest),
            draws=drawn.draws if recorded else (),
            stripped=recorded_pointing(cassette).get("stripped", ()),
            strict=options.strict_order,
            compare_secrets=_secrets_policy() == "same",
        )  # fmt: skip
        yield PreparedRerun(
            argv=argv,
            profile=profile,
            script=script,
            clock=clock.said,
            drawn=drawn,
            spec=run_spec(
                size=Size(terminal.initial_rows, terminal.initial_cols),
                term=terminal.term or RunSpec().term,
                cwd=place.cwd,
                env=place.environment,
                guard=place.network,
            ),
            place=place,
            lacking=left_behind(argv, options),
            in_the_way=in_the_way(cassette.path, options),
            server=server,
            desk=server.desk,
        )


def _given_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Resolve a program that is given by a path from the current folder, not the work folder."""
    if argv and "/" in argv[0]:
        return str(Path(argv[0]).absolute()), *argv[1:]
    return argv


def _recorded_argv(cassette: Cassette) -> tuple[str, ...]:
    """The recorded command line, with the program's path on this machine."""
    program, *rest = map(native_text, cassette.manifest.command.argv or ("",))
    if not program:
        refuse_in_process(cassette.manifest, cassette.path)
        raise UsageError("the recording names no program", hint="name it: -- ARGV")
    return located(program, current_dir()), *rest


def _clock(cassette: Cassette, argv: Sequence[str], options: RerunOptions) -> ClockPin:
    if not options.faketime:
        return ClockPin({}, "")
    moment = datetime.fromisoformat(cassette.manifest.provenance.recorded_at)
    return clock_pin(argv[0], moment, path=options.environment.get("PATH"))


def _untrusted(
    cassette: Cassette, argv: Sequence[str], exchanges: Iterable[RecordedExchange]
) -> RefusedError:
    """The refusal, with the actions in the answers, because service events are not verified."""
    tools: Counter[str] = Counter()
    for exchange in exchanges:
        is_message = exchange.entry.kind == "message"
        bodies = [data for _, data in exchange.pieces()] if is_message else [exchange.answer()]
        found = [call for body in bodies for call in called_tools(body)]
        tools.update(name for name, call_id in found if not call_id)
        tools.update(name for name, call_id in dict.fromkeys(found) if call_id)
    calls = ", ".join(f"{visible(name, limit=40)} ({count})" for name, count in tools.items())
    return RefusedError(
        f"would run: {visible(shlex.join(argv), limit=500)}; the answers of its tape call these"
        f" tools: {visible(calls, limit=500) or 'none that could be found'}",
        where=visible(str(cassette.path)),
        hint="if you trust its author: --trust (trusted=True in Python)",
    )


def _secrets_policy() -> SecretsPolicy:
    """Whether to compare masked values of questions, from the environment.

    Raises:
        UsageError: its value is unknown.
    """
    try:
        return secrets_named(os.environ.get(_SECRETS_VARIABLE) or "same")
    except ValueError as wrong:
        raise UsageError(str(wrong), where=_SECRETS_VARIABLE) from wrong


def _profile(cassette: Cassette, name: str | None) -> Profile | None:
    if name is not None:
        return load_profile(name)
    with suppress(NotFoundError):
        return load_profile(cassette.manifest.harness.name)
    return None
