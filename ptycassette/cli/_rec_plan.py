"""Turns the options of ``ptycassette rec`` into the ``RunSpec`` of the recorder."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
import msgspec

from ptycassette.cli._options import TimeType, project
from ptycassette.cli._rec_evidence import tape_lines
from ptycassette.model.records import StreamKinds
from ptycassette.model.screen import Size

if TYPE_CHECKING:
    from ptycassette.model.ports import EmulatorFactory
    from ptycassette.profiles.profile import Profile
    from ptycassette.recording.hooks import BeforeRecord
    from ptycassette.recording.input_script import ScriptStep
    from ptycassette.recording.io.options import RunSpec, TapeStarter
    from ptycassette.recording.io.recorder import Recorder
    from ptycassette.recording.io.recording import RecordingEnded
    from ptycassette.system.pty.terminal import TerminalTemplate
    from ptycassette.tape.consent.terms import Terms
    from ptycassette.tape.retries import Retries
    from ptycassette.terminal.query_profiles import QueryProfile


class LimitArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The user's limits for requests to a provider: the options of ``limit_options``."""

    provider: str | None = None
    yes: bool = False
    approval: str | None = None
    max_requests: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    forbid: tuple[str, ...] = ()
    strip: bool = False
    unsearched: bool = False
    unknown_models: bool = False


class RecArguments(LimitArguments, frozen=True, kw_only=True):
    """The options of ``ptycassette rec``, by the names of its parameters; times in seconds.

    ``streams`` is no option: it is what ``--pipes`` and ``--as-given`` come to.
    """

    line: str | None
    title: str | None
    idle_limit: float | None
    size: Size | None
    cols: int | None
    rows: int | None
    env: tuple[str, ...]
    clean_env: bool
    scenario: str | None
    cwd: str | None
    timeout: float | None
    headless: bool
    pipes: bool
    as_given: bool
    script: str | None
    pass_signals: bool
    secret_key: str | None
    hooks: str | None
    overwrite: bool
    cassette_id: str | None
    require: tuple[str, ...]
    harness: str | None
    tape: bool
    proxy_env: bool
    retries: int | None
    answer_timeout: float | None
    fallback: str | None
    shared_network: bool
    evidence: str | None
    account: str | None
    account_class: str | None
    freshness: str | None
    permission_mode: str | None
    probe_version: bool | None
    meta: tuple[str, ...]
    notes: tuple[str, ...]
    frame_policy: str
    emulator: str | None
    answers: str | None
    resolution_ms: int
    durability: Literal["os", "disk"]
    no_scrub: bool
    lifeline: int | None
    keep_journal: bool
    publish_alone: bool
    quiet: bool
    streams: StreamKinds | None = None

    @property
    def sized(self) -> bool:
        """Whether the user named a size."""
        return (self.size, self.cols, self.rows) != (None, None, None)


# The terminal of a recording: the options ``rec --emulator`` and ``--answers``.


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def emulator_options(command: Decorated) -> Decorated:
    """The two options."""
    emulator = click.option(
        "--emulator",
        metavar="NAME",
        help="Make the frames with pyte (default), ghostty, stock-pyte, or an emulator of another"
        " package.",
    )
    answers = click.option(
        "--answers",
        metavar="PROFILE",
        help="Without your terminal: answer the program's terminal queries as xterm (default),"
        " dumb (no answers), or a TOML file (docs/screens.md).",
    )
    return emulator(answers(command))


def chosen_emulator(given: RecArguments) -> EmulatorFactory:
    """The chosen factory.

    Raises:
        UsageError: there is no such emulator, or it does not support the profile.
        CassetteError: the profile cannot be read.
    """
    from ptycassette.terminal.emulator import answering, backend, default_emulator

    if given.emulator is None and given.answers is None:
        return default_emulator
    factory = backend(given.emulator or "pyte")
    return factory if given.answers is None else answering(factory, _profile(given.answers))


def _profile(name: str) -> QueryProfile:
    from ptycassette.errors import UsageError
    from ptycassette.model.toml_text import MAX_TOML_BYTES
    from ptycassette.system.files.whole_file import read_plain
    from ptycassette.terminal.query_profiles import PROFILES, query_profile_of

    if name in PROFILES:
        return PROFILES[name]
    if "/" not in name and not name.endswith(".toml"):
        raise UsageError(
            f"no profile named {name!r}", hint=f"there are: {', '.join(PROFILES)}; or name a file"
        )
    try:
        return query_profile_of(read_plain(name, max_bytes=MAX_TOML_BYTES))
    except ValueError as exc:
        raise UsageError(f"no profile of answers: {exc}", where=name) from exc


# The options of ``ptycassette rec`` about model traffic, and their limits.


_Command = TypeVar("_Command", bound=Callable[..., object])


def limit_options(when: str) -> tuple[Callable[[_Command], _Command], ...]:
    """The options that limit what may be sent; ``when`` is the option they go with."""
    return (
        click.option(
            "--approval",
            metavar="FILE",
            type=click.Path(),
            help=f"With {when}: read the agreement of a reviewer from FILE (docs/tape.md).",
        ),
        click.option(
            "--max-requests",
            type=click.IntRange(0),
            metavar="N",
            help=f"With {when}: send at most N requests.",
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(0),
            metavar="N",
            help=f"With {when}: use at most N tokens.",
        ),
        click.option(
            "--max-usd",
            type=click.FloatRange(0),
            metavar="USD",
            help=f"With {when}: spend at most USD dollars.",
        ),
        click.option(
            "--forbid",
            metavar="KEY",
            multiple=True,
            help=f"With {when}: refuse input with this JSON key, instead of the usual keys.",
        ),
        click.option(
            "--strip",
            is_flag=True,
            help=f"With {when}: remove forbidden keys and send the rest, instead of refusing.",
        ),
        click.option(
            "--unsearched",
            is_flag=True,
            help=f"With {when}: also send bodies that cannot be searched for forbidden keys.",
        ),
        click.option(
            "--unknown-models",
            is_flag=True,
            help="With --max-usd: allow models without a known price.",
        ),
    )


_OPTIONS = (
    click.option(
        "--tape",
        is_flag=True,
        help="Also record the model traffic, through a proxy on 127.0.0.1 (docs/tape.md).",
    ),
    click.option(
        "--provider",
        metavar="NAME",
        help="With --tape: send requests to anthropic, openai, gemini, or a base URL. Default: the"
        " provider of the harness.",
    ),
    click.option(
        "--proxy-env",
        is_flag=True,
        help="With --tape: redirect the program with HTTPS_PROXY and a certificate made for this"
        " recording.",
    ),
    click.option(
        "--yes",
        is_flag=True,
        help="With --tape: agree that the program sends data to its provider.",
    ),
    *limit_options("--tape"),
    click.option(
        "--retries",
        metavar="N",
        type=click.IntRange(0, 20),
        help="With --tape: retry up to N times after 429, 5xx or no answer; end with 6 if all"
        " fail.",
    ),
    click.option(
        "--answer-timeout",
        metavar="TIME",
        type=TimeType(least=0.1, longest_s=3600),
        help="With --retries: wait this long for an answer to begin. Default: 120 s.",
    ),
    click.option(
        "--fallback",
        metavar="CASSETTE",
        type=click.Path(),
        help="With --retries: if all retries fail, answer from this recording.",
    ),
    click.option(
        "--shared-network",
        is_flag=True,
        help="With --tape: let the program also reach other hosts. What it sends there is not"
        " recorded.",
    ),
    click.option(
        "--evidence",
        metavar="DIR",
        type=click.Path(),
        help="With --tape: write evidence for a reviewer into the new directory DIR.",
    ),
)
_ONLY_WITH_TAPE = (
    *LimitArguments.__struct_fields__,
    *("proxy_env", "evidence", "retries", "answer_timeout", "fallback", "shared_network"),
)
_MAX_APPROVAL_BYTES = 1 << 20


def tape_options(command: _Command) -> _Command:
    """Add them to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_without(option: str, names: Iterable[str], value: Callable[[str], object]) -> None:
    """Refuse options that have no effect without ``option``; ``value`` gives what they are set to.

    Raises:
        UsageError: one of them is set.
    """
    for name in names:
        if value(name) not in {None, False, ()}:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with {option} only")


def retries_of(given: RecArguments) -> Retries | None:
    """How to retry after errors of providers; None to pass them on as they are."""
    from ptycassette.tape.retries import Retries

    if given.retries is None:
        refuse_without("--retries", ("answer_timeout", "fallback"), partial(getattr, given))
        return None
    return Retries(
        times=given.retries,
        timeout_s=given.answer_timeout or Retries().timeout_s,
        fallback=given.fallback or "",
    )


def terms_of(given: LimitArguments) -> Terms:
    """The limits for what may leave the machine.

    Raises:
        CassetteError: the approval cannot be read, or is over.
    """
    from datetime import datetime

    from ptycassette.system.files.whole_file import read_plain
    from ptycassette.tape.consent.terms import ANYWHERE, Approval, Limit, Terms

    terms = Terms(
        upstreams=(ANYWHERE,) if given.yes else (),
        limit=Limit(requests=given.max_requests, tokens=given.max_tokens, usd=given.max_usd),
        forbidden=given.forbid or None,
        strip=given.strip,
        unsearched=given.unsearched,
        unknown_models=given.unknown_models,
    )
    path = given.approval
    if path is None:
        return terms
    text = read_plain(path, max_bytes=_MAX_APPROVAL_BYTES).decode("utf-8", "replace")
    approval = Approval.parse(text, where=path)
    return approval.terms(terms, today=datetime.now().astimezone().date())


# One line on the terminal while a recording is saved: bytes left, seconds left.


_SHOWN_AFTER_S = 0.5
_SHOWN_EACH_S = 0.1
_ERASE = "\r\x1b[K"


class SavingLine:
    """Shows the progress of saving on a terminal, if it takes more than half a second.

    Args:
        fd: where it is shown.
        now_s: a monotonic clock.
    """

    def __init__(self, fd: int = 2, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._fd, self._now_s = fd, now_s
        self._start_s: float | None = None
        self._start_bytes = 0
        self._due_s = 0.0
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of about ``total`` bytes are saved."""
        now_s = self._now_s()
        if self._start_s is None:
            self._start_s = now_s
            self._due_s = now_s + _SHOWN_AFTER_S
        if not self._start_bytes:
            self._start_bytes = done  # what had been saved while the program ran
        if now_s < self._due_s or not os.isatty(self._fd):
            return
        self._due_s = now_s + _SHOWN_EACH_S
        self._shown = True
        self._write(
            f"{_ERASE}ptycassette: saving, {self._left(now_s - self._start_s, done, total)}"
        )

    def _left(self, passed_s: float, done: int, total: int) -> str:
        from ptycassette.keys.quantities import bytes_text

        text = f"{bytes_text(max(0, total - done))} left"
        rate = (done - self._start_bytes) / passed_s
        return f"{text}, {max(1, round((total - done) / rate))} s" if rate > 0 else text

    def close(self) -> None:
        """Remove the line. Idempotent."""
        if self._shown:
            self._shown = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        try:
            os.write(self._fd, text.encode("ascii"))
        except OSError:  # the terminal is gone
            self._shown = False


MAX_SCRIPT_BYTES = 2 << 20


def profile_of(name: str | None, *, program: str | None = None) -> Profile | None:
    """The profile of the harness; None if it has none.

    Args:
        name: the value of ``--harness``.
        program: the first word of the command line; None to take it from the profile.

    Raises:
        CassetteError: it has no profile, and it is a path, names no program, or looks like a
            mistyped name.
    """
    if name is None:
        return None
    from ptycassette.agents.harness.io.files import load_profile, similar_profiles
    from ptycassette.errors import NotFoundError

    try:
        return load_profile(name)
    except NotFoundError:
        if program is None or "/" in name:
            raise
        if similar_profiles(name) and name != Path(program).name:
            raise
        return None


def argv_of(argv: tuple[str, ...], line: str | None, profile: Profile | None) -> tuple[str, ...]:
    """The program to record: ARGV, the words of ``--command``, the harness, or the user's shell."""
    if line is not None:
        if argv:
            raise click.UsageError("give ARGV or --command, not both")
        try:
            argv = tuple(shlex.split(line))
        except ValueError as exc:
            raise click.UsageError(f"--command: {exc}") from exc
        if not argv:
            raise click.UsageError("--command is empty")
        if operator := _shell_operator(line):
            raise click.UsageError(
                f"--command: {operator} needs a shell, and none is run."
                f"\nWrite: ptycassette rec [OPTIONS] NAME.cassette -- sh -c {shlex.quote(line)}"
            )
    if not argv and profile is not None and profile.binaries:
        return (profile.binaries[0], *profile.interactive)
    return argv or (os.environ.get("SHELL") or "/bin/sh",)


def _shell_operator(line: str) -> str | None:
    """The first pipe or redirection outside of quotes, which no shell would interpret."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    with suppress(ValueError):  # quotes as only a shell has them
        return next((word for word in lexer if set(word) <= set("|&;<>()")), None)
    return None


def secret_key_of(name: str | None) -> bytes:
    """The bytes of the key of ``--secret-key``; empty without it."""
    from ptycassette.keys.names import encode_key

    if name is None:
        return b""
    try:
        sent = encode_key(name)
    except ValueError as exc:
        raise click.UsageError(f"--secret-key: {exc}") from exc
    if sent in {b"\r", b"\n", b"\x1b", b"\x7f"} or sent.isspace() or sent.decode().isprintable():
        raise click.UsageError("--secret-key takes a key that types nothing, such as ctrl-] or f12")
    return sent


def submitted_as(
    steps: tuple[ScriptStep, ...] | None, profile: Profile | None, program: str
) -> tuple[ScriptStep, ...] | None:
    """The steps, of which ``submit`` does what the profile of the harness or the program has."""
    if steps is None:
        return None
    from ptycassette.profiles.io import known_profile

    known = profile or known_profile(Path(program).name)
    if known is None:
        return steps
    return tuple(
        msgspec.structs.replace(step, submit=known.submit) if step.kind == "submit" else step
        for step in steps
    )


def steps_of(script: str | None) -> tuple[ScriptStep, ...] | None:
    """The steps of ``--input``; None without it."""
    if script is None:
        return None
    from ptycassette.errors import LimitError, UsageError
    from ptycassette.recording.input_script import parse_script
    from ptycassette.system.files.whole_file import read_plain

    if script.endswith(".tape"):
        raise UsageError(
            "a VHS tape is not an input script",
            where=script,
            hint=f"ptycassette import {script} -o {script.removesuffix('.tape')}.txt",
        )
    try:
        if script == "-":
            text = sys.stdin.read(MAX_SCRIPT_BYTES + 1)
            if len(text) > MAX_SCRIPT_BYTES:
                raise LimitError(f"longer than {MAX_SCRIPT_BYTES} characters", where="stdin")
        else:
            text = read_plain(script, max_bytes=MAX_SCRIPT_BYTES).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise UsageError("the input script is not UTF-8 text", where=script) from exc
    return parse_script(text, name=script)


def sized_by_project(given: RecArguments) -> RecArguments:
    """The options, with the size of the project file if neither they nor a driver set one.

    Raises:
        CassetteError: the file cannot be read, or is wrong.
    """
    from ptycassette.system.pty.terminal import window_size

    size = project().size
    free = not given.sized
    if given.lifeline is not None:  # a shim's recorder has the terminal that the driver made
        free = window_size(1) is None and window_size(0) is None
    return msgspec.structs.replace(given, size=size) if free and size is not None else given


@contextmanager
def base_environment(scenario: str | None) -> Iterator[dict[str, str] | None]:
    """The environment for ``--scenario``; None without it."""
    if scenario is None:
        yield None
        return
    from ptycassette.agents.harness.io.environment_of_scenario import scenario_environment

    with scenario_environment(scenario) as options:
        yield options["base_env"]


def kinds_of(given: RecArguments) -> StreamKinds | None:
    """The kinds of the streams with ``--pipes`` and ``--as-given``; None for a terminal."""
    pipes, as_given = given.pipes, given.as_given
    if not pipes and not as_given:
        return None
    if given.script is not None or given.headless:
        raise click.UsageError("--pipes and --as-given go with neither --input nor --headless")
    from ptycassette.recording.io.given_streams import given_kinds

    kinds = given_kinds(pipes=pipes)
    return None if kinds.only_terminal else kinds


def spec_of(
    given: RecArguments,
    *,
    interactive: bool,
    profile: Profile | None,
    base_env: dict[str, str] | None = None,
) -> RunSpec:
    """How to run and record the program, from the options as click gives them."""
    from ptycassette.recording.io.options import run_spec
    from ptycassette.system.clock import random_id

    environment: dict[str, str] = {}
    at_end = capability = None
    if profile is not None:
        from ptycassette.agents.harness.io.logs import plain_environment, reader_for
        from ptycassette.profiles.profile import capability_of

        environment = plain_environment(profile)
        at_end = reader_for(profile, given.cwd, (base_env or {}).get("HOME"))
        capability = capability_of(profile)
    cassette_id = given.cassette_id
    streams = given.streams
    alone = interactive or given.quiet or streams is not None
    show = None if alone else _show
    spec = run_spec(
        project(),
        size=_size(given, interactive=interactive),
        cwd=given.cwd,
        env={
            **environment,
            **dict(_pair(word, "--env") for word in given.env),
        },
        base_env=base_env,
        clean_env=given.clean_env,
        term=_term(interactive=interactive),
        timeout_s=given.timeout,
        overwrite=given.overwrite,
        title=given.title,
        harness=given.harness if profile is None else profile.name,
        at_end=at_end,
        before_record=_before_record(given.hooks),
        capability=capability,
        account=given.account,
        account_class=given.account_class,
        freshness_window=given.freshness,
        probe_version=given.probe_version,
        require=given.require,
        permission_mode=given.permission_mode,
        meta={name: _value(text) for name, text in (_pair(w, "--meta") for w in given.meta)},
        notes=[_note(text) for text in given.notes],
        frame_policy=given.frame_policy,
        emulator=chosen_emulator(given),
        resolution_ms=given.resolution_ms,
        idle_limit_ms=None if given.idle_limit is None else round(given.idle_limit * 1000),
        durability=given.durability,
        scrub=not given.no_scrub,
        id_source=random_id if cassette_id is None else _fixed(cassette_id),
        show=show,
        tape=_tape(given, profile) or False,
        shared_network=given.shared_network,
        progress=None if given.quiet or streams is not None else SavingLine(),
        terminal=_terminal(given, interactive=interactive),
    )
    return msgspec.structs.replace(spec, streams=streams)


def _tape(given: RecArguments, profile: Profile | None) -> TapeStarter | None:
    """The starter of the proxy; None without ``--tape``."""
    if not given.tape:
        refuse_without("--tape", _ONLY_WITH_TAPE, partial(getattr, given))
        return None
    from ptycassette.recording.io.tape_proxy import tape_starter
    from ptycassette.tape.io.running_proxy import PROVIDER_VARIABLE

    return tape_starter(
        profile=profile,
        provider=given.provider or os.environ.get(PROVIDER_VARIABLE),
        proxy_env=given.proxy_env,
        terms=terms_of(given),
        retries=retries_of(given),
    )


def _before_record(path: str | None) -> BeforeRecord | None:
    if path is None:
        return None
    from ptycassette.recording.io.hooks_file import load_hooks

    return load_hooks(path).before_record


def _fixed(text: str) -> Callable[[], str]:
    import uuid

    try:
        whole = str(uuid.UUID(text))
    except ValueError as exc:
        raise click.UsageError(f"--id: {text!r} is not a UUID") from exc
    return lambda: whole


def _size(given: RecArguments, *, interactive: bool) -> Size:
    from ptycassette.model.screen import Size
    from ptycassette.system.pty.terminal import DEFAULT_SIZE, window_size

    fds = _terminal_fds(given, interactive=interactive)
    size = given.size or next(filter(None, map(window_size, fds)), DEFAULT_SIZE)
    return Size(given.rows or size.rows, given.cols or size.cols)


def _terminal(given: RecArguments, *, interactive: bool) -> TerminalTemplate | None:
    """The settings of the user's terminal; None if it does not show the program."""
    from ptycassette.system.pty.terminal import TerminalTemplate

    fds = _terminal_fds(given, interactive=interactive)
    like = next(filter(None, map(TerminalTemplate.of_terminal, fds)), None)
    if like is not None and given.sized:
        return like.without_pixels()  # they belong to another size
    return like


def _terminal_fds(given: RecArguments, *, interactive: bool) -> list[int]:
    """Our streams that are the user's terminal, and show the program."""
    streams = given.streams
    if streams is None:
        return [1, 0] if interactive else []
    kinds = (streams.stdin, streams.stdout, streams.stderr)
    return [fd for fd, kind in enumerate(kinds) if kind == "terminal"]


def _term(*, interactive: bool) -> str:
    """The user's own terminal type if the user's terminal shows the program."""
    return (os.environ.get("TERM") if interactive else None) or "xterm-256color"


def _pair(word: str, option: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise click.UsageError(f"{option} takes NAME=VALUE")
    return name, value


def _value(text: str) -> Any:
    from ptycassette.model.records import foreign_json, native, storable_text

    try:
        return native(foreign_json(storable_text(text)))
    except (ValueError, RecursionError):
        return text


def _note(text: str) -> Any:
    from ptycassette.model.records import foreign_json, storable_text

    try:
        return foreign_json(storable_text(text))
    except (ValueError, RecursionError) as exc:
        raise click.UsageError(f"--service-event takes JSON: {exc}") from exc


def _show(data: bytes) -> None:
    """Write output to stdout as it comes."""
    with suppress(OSError):  # a reader of our stdout that went away does not end the recording
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(1, rest) :]


# Runs the recorder of ``ptycassette rec``, and prints the place of the recording.


_MASKED_SHOWN = 10


def run_recorder(
    recorder: Recorder,
    steps: tuple[ScriptStep, ...] | None,
    *,
    interactive: bool,
    given: RecArguments,
) -> tuple[int, bool]:
    """Record to the end, with the options as click gives them.

    Returns:
        The exit status, and whether there is a cassette: none if the user stopped the saving.

    Raises:
        CassetteError: as ``Recorder.start`` and ``Recorder.finish``.
    """
    from ptycassette.errors import RunFailedError
    from ptycassette.recording.io.recording import record_headless, record_interactive, shell_status

    quiet = given.quiet
    fixed = given.sized
    try:
        if given.streams is not None:
            from ptycassette.recording.io.given_streams import record_streams  # few have pipes

            with recorder:
                ended = record_streams(
                    recorder,
                    given.streams,
                    passes_signals=given.pass_signals,
                    secret_key=secret_key_of(given.secret_key),
                    keeps_stderr=not quiet,
                )
        elif interactive:
            with recorder:
                if not quiet:
                    _say(f"ptycassette: recording to {_shown(recorder)}; exit the program to stop")
                ended = record_interactive(
                    recorder,
                    fixed_size=fixed,
                    passes_signals=given.pass_signals,
                    secret_key=secret_key_of(given.secret_key),
                )
        else:
            in_fd = 0 if steps is None and not sys.stdin.isatty() else None
            ended = record_headless(recorder, steps, in_fd=in_fd, passes_signals=given.pass_signals)
    except KeyboardInterrupt:
        if not recorder.saving or recorder.status is None:
            raise
        kept = f"the recording is kept: ptycassette recover {_journal(recorder)}"
        _say(f"ptycassette: saving was stopped; {kept}")
        return shell_status(recorder.status), False
    except RunFailedError as exc:
        exc.hint = exc.hint or f"what was recorded: {_shown(recorder)}.diagnostic"
        raise
    finally:
        if isinstance(recorder.plan.progress, SavingLine):
            recorder.plan.progress.close()
    if not quiet and (given.streams is None or os.isatty(2)):
        for line in _summary(recorder, ended):
            _say(f"ptycassette: {line}")
    if ended.signal is not None:
        return 128 + ended.signal, True
    return shell_status(ended.status), True


def say_of_tape(recorder: Recorder, status: int, given: RecArguments) -> int:
    """Report on the tape; returns the exit status, which is another one if something is wrong."""
    lines, own_status = tape_lines(
        recorder.target, tuple(recorder.reports), insists=given.retries is not None
    )
    if recorder.cut_off and status:
        lines.append(
            "the program could reach only its provider; --shared-network lets it reach more"
        )
    for line in lines if not given.quiet else ():
        _say(f"ptycassette: {line}")
    return status if own_status is None else own_status


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        click.echo(line, err=True)


def _shown(recorder: Recorder) -> str:
    from ptycassette.model.visible_text import visible

    path = recorder.target
    with suppress(ValueError):
        path = path.relative_to(path.cwd())
    return visible(str(path))


def _journal(recorder: Recorder) -> str:
    from ptycassette.model.visible_text import visible

    return visible(str(recorder.journal.path))


def _masked_lines(recorder: Recorder) -> Iterator[str]:
    """The inputs that were treated as secrets, because replay may accept other text there."""
    with suppress(OSError):
        if b'"masked":true' not in (recorder.target / "input.jsonl").read_bytes():
            return
    from ptycassette.cassette.io.reader import open_cassette
    from ptycassette.cassette.timeline.match import read_entries

    with open_cassette(recorder.target, check="manifest", allow_unscrubbed=True) as cassette:
        numbers = [entry.number for entry in read_entries(cassette.inputs()) if entry.masked]
    if numbers:
        secrets, inputs = (
            ("secret was", "input") if len(numbers) == 1 else ("secrets were", "inputs")
        )
        shown = ", ".join(map(str, numbers[:_MASKED_SHOWN]))
        more = ", ..." if len(numbers) > _MASKED_SHOWN else ""
        yield f"{len(numbers)} typed {secrets} masked: {inputs} {shown}{more}"


def _summary(recorder: Recorder, ended: RecordingEnded) -> Iterator[str]:
    """The saved files, the masked secrets, and the parts that were left out."""
    from ptycassette.cli._present import time_text

    yield from recorder.cautions
    scrubbed = "" if recorder.plan.scrub else ", NOT scrubbed"
    yield f"saved {_shown(recorder)} ({time_text(ended.duration_us)}{scrubbed})"
    yield from _masked_lines(recorder)
    missing = (ended.manifest.optional or {}).get("binary_version_missing")
    if missing is not None:
        yield f"its version is not in the manifest: {missing}"
