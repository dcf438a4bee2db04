"""Turns the options of ``ptycassette rec`` into a plan of the recorder."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ptycassette.cli._rec_emulator import chosen_emulator
from ptycassette.cli._rec_tape import refuse_without_tape, retries_of, terms_of
from ptycassette.cli._saving_line import SavingLine

if TYPE_CHECKING:
    from ptycassette.model.streams import StreamKinds
    from ptycassette.profiles.profile import Profile
    from ptycassette.recording.input_script import ScriptStep


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
    from ptycassette.errors import NotFoundError
    from ptycassette.harness.io.files import load_profile, similar_profiles

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
    import msgspec

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
    from ptycassette.system.files.plain_file import read_plain

    if script.endswith(".tape"):
        raise UsageError(
            "a tape of VHS is no input script yet",
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


def fill_from_project(given: dict[str, Any]) -> None:
    """Fill in the project file's settings for options that are not given.

    Raises:
        CassetteError: the file cannot be read, or is wrong.
    """
    from ptycassette.system.files.project_file import find_project
    from ptycassette.system.pty.terminal import window_size

    project = find_project()
    free = all(given[name] is None for name in ("size", "cols", "rows"))
    if given["lifeline"] is not None:  # a shim's recorder has the terminal that the driver made
        free = window_size(1) is None and window_size(0) is None
    if free and project.size is not None:
        given["size"] = project.size
    if given["idle_limit"] is None:
        given["idle_limit"] = project.idle_limit_s


@contextmanager
def base_environment(scenario: str | None) -> Iterator[dict[str, str] | None]:
    """The environment for ``--scenario``; None without it."""
    if scenario is None:
        yield None
        return
    from ptycassette.harness.io.environment_of_scenario import scenario_environment

    with scenario_environment(scenario) as options:
        yield options["base_env"]


def kinds_of(given: dict[str, Any]) -> StreamKinds | None:
    """The kinds of the streams with ``--pipes`` and ``--as-given``; None for a terminal."""
    pipes, as_given = given["pipes"], given["as_given"]
    if not pipes and not as_given:
        return None
    if given["script"] is not None or given["headless"]:
        raise click.UsageError("--pipes and --as-given go with neither --input nor --headless")
    from ptycassette.recording.io.given_streams import given_kinds

    kinds = given_kinds(pipes=pipes)
    return None if kinds.only_terminal else kinds


def plan_of(
    given: dict[str, Any],
    *,
    interactive: bool,
    profile: Profile | None,
    base_env: dict[str, str] | None = None,
) -> Any:
    """The plan of the recorder, from the options as click gives them."""
    from ptycassette.recording.io.options import RecordPlan
    from ptycassette.system.clock import random_id

    environment: dict[str, str] = {}
    at_end = capability = None
    if profile is not None:
        from ptycassette.harness.io.record import plain_environment, reader_for
        from ptycassette.profiles.capability import capability_of

        environment = plain_environment(profile)
        at_end = reader_for(profile, given["cwd"], (base_env or {}).get("HOME"))
        capability = capability_of(profile)
    cassette_id = given["cassette_id"]
    streams = given["streams"]
    alone = interactive or given["quiet"] or streams is not None
    show = None if alone else _show
    return RecordPlan(
        size=_size(given, interactive=interactive),
        cwd=given["cwd"],
        env={
            **environment,
            **dict(_pair(word, "--env") for word in given["env"]),
        },
        base_env=base_env,
        clean_env=given["clean_env"],
        term=_term(interactive=interactive),
        timeout_s=given["timeout"],
        overwrite=given["overwrite"],
        title=given["title"],
        harness=given["harness"] if profile is None else profile.name,
        at_end=at_end,
        before_record=_before_record(given["hooks"]),
        capability=capability,
        account=given["account"],
        account_class=given["account_class"],
        freshness_window=given["freshness"],
        probe_version=given["probe_version"],
        require=given["require"],
        permission_mode=given["permission_mode"],
        meta={name: _value(text) for name, text in (_pair(w, "--meta") for w in given["meta"])},
        notes=[_note(text) for text in given["notes"]],
        frame_policy=given["frame_policy"],
        emulator=chosen_emulator(given),
        resolution_ms=given["resolution_ms"],
        idle_limit_ms=None if given["idle_limit"] is None else round(given["idle_limit"] * 1000),
        durability=given["durability"],
        scrub=not given["no_scrub"],
        id_source=random_id if cassette_id is None else _fixed(cassette_id),
        show=show,
        streams=streams,
        tape=_tape(given, profile),
        shared_network=given["shared_network"],
        progress=None if given["quiet"] or streams is not None else SavingLine(),
        terminal=_terminal(given, interactive=interactive),
    )


def _tape(given: dict[str, Any], profile: Profile | None) -> Any:
    """What starts the proxy; None without ``--tape``."""
    if not given["tape"]:
        refuse_without_tape(given)
        return None
    from ptycassette.recording.io.tape_proxy import tape_starter
    from ptycassette.tape.io.running_proxy import PROVIDER_VARIABLE

    return tape_starter(
        profile=profile,
        provider=given["provider"] or os.environ.get(PROVIDER_VARIABLE),
        proxy_env=given["proxy_env"],
        terms=terms_of(given),
        retries=retries_of(given),
    )


def _before_record(path: str | None) -> Any:
    if path is None:
        return None
    from ptycassette.recording.io.hooks_file import load_hooks

    return load_hooks(path).before_record


def _fixed(text: str) -> Callable[[], str]:
    import uuid

    try:
        whole = str(uuid.UUID(text))
    except ValueError as exc:
        raise click.UsageError(f"--id: {text!r} is no UUID") from exc
    return lambda: whole


def _size(given: dict[str, Any], *, interactive: bool) -> Any:
    from ptycassette.model.geometry import Size
    from ptycassette.system.pty.terminal import DEFAULT_SIZE, window_size

    fds = _terminal_fds(given, interactive=interactive)
    size = given["size"] or next(filter(None, map(window_size, fds)), DEFAULT_SIZE)
    return Size(given["rows"] or size.rows, given["cols"] or size.cols)


def _terminal(given: dict[str, Any], *, interactive: bool) -> Any:
    """The settings of the user's terminal; None if it does not show the program."""
    from ptycassette.system.pty.modes import TerminalTemplate

    fds = _terminal_fds(given, interactive=interactive)
    like = next(filter(None, map(TerminalTemplate.of_terminal, fds)), None)
    if like is not None and any(given[name] is not None for name in ("size", "cols", "rows")):
        return like.without_pixels()  # they belong to another size
    return like


def _terminal_fds(given: dict[str, Any], *, interactive: bool) -> list[int]:
    """Our streams that are the user's terminal, and show the program."""
    streams = given["streams"]
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
    from ptycassette.model.json_values import foreign_json, native, storable_text

    try:
        return native(foreign_json(storable_text(text)))
    except (ValueError, RecursionError):
        return text


def _note(text: str) -> Any:
    from ptycassette.model.json_values import foreign_json, storable_text

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
