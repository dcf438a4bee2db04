"""Makes ready to run a recorded program again: a place, the tape's server, the guard.

Every way to run what a cassette names passes through here, and one gate: first the seal that the
project demands, then the digests of every file, then trust. Nothing is started before that.

Who drives it is left to the caller: the recorded keys, a test, or another program.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ptycassette.cassette._tape_lines import tape_facts
from ptycassette.cassette.edits import refuse_in_process
from ptycassette.cassette.io.reader import Cassette
from ptycassette.cassette.io.tape import RecordedExchange
from ptycassette.errors import NotFoundError, RefusedError, UsageError
from ptycassette.harness.io.files import load_profile
from ptycassette.model.geometry import Size
from ptycassette.model.json_values import native_text
from ptycassette.model.visible_text import visible
from ptycassette.profiles.profile import Profile
from ptycassette.rerun._tape_desk import TapeDesk
from ptycassette.rerun.gates import Gates
from ptycassette.rerun.io._pointed import pointed_at, recorded_pointing, tape_server
from ptycassette.rerun.io.clock_pin import ClockPin, clock_pin
from ptycassette.rerun.io.options import RerunOptions
from ptycassette.rerun.io.place import (
    RerunPlace,
    copy_folder,
    in_the_way,
    left_behind,
    located,
    placed,
)
from ptycassette.rerun.io.tape_server import TapeServer
from ptycassette.rerun.script import RerunScript, script_of
from ptycassette.scrub.session import default_scrubber
from ptycassette.seal.io.policy import require_seal
from ptycassette.system.files.state_dirs import current_dir
from ptycassette.system.ownership import owned_context
from ptycassette.tape._facts import called_tools
from ptycassette.tape.draws import DrawnValues, drawn_in
from ptycassette.tape.io.draw_log import served_draws
from ptycassette.tape.io.matching_rules import load_matching_rules
from ptycassette.timeline.match import SecretsPolicy, secrets_named

_SECRETS_VARIABLE = "PTYCASSETTE_SECRETS"


class PreparedRerun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is ready to be started; over when its block is left.

    ``argv`` is the program as it is named, ``place.argv`` what to start. ``lacking`` says
    what to do if the program ends too early, ``in_the_way`` if it asks something else; empty where
    nothing is known.
    """

    argv: tuple[str, ...]
    profile: Profile | None
    script: RerunScript
    clock: str
    drawn: DrawnValues
    size: Size
    term: str | None
    place: RerunPlace
    lacking: str
    in_the_way: str
    server: TapeServer
    desk: TapeDesk

    def session_options(self) -> dict[str, Any]:
        """Options of a session, or a recording, of ``place.argv``."""
        return {
            "size": self.size,
            "cwd": self.place.cwd,
            "env": self.place.environment,
            "clean_env": True,
            "guard": self.place.network,
            **({"term": self.term} if self.term else {}),
        }


def admit(cassette: Cassette) -> None:
    """Let a cassette pass whose command is to be run, or refuse it. Trust is asked for later.

    Raises:
        SealError: the project demands a seal, and the cassette does not have it.
        InvalidCassetteError: its bytes are not those that its manifest pins.
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
    """Make ready to run the recorded program with the tape as its only provider.

    Args:
        cassette: with a tape.
        options: how.
        typed: the server learns when inputs are sent. If not, no piece of an answer waits for
            one.
        recorded: the new run is recorded, too: so its draws are known, and part of the proof.
        server_of: makes the server, as ``TapeServer`` does.
        tapeless: take a recording without a tape, too, as one whose tape is empty. One with draws
            is always taken: they are served, and all that is asked of a provider is refused.

    Raises:
        SealError: the project demands a seal, and the cassette does not have it.
        InvalidCassetteError: its bytes are not those that its manifest pins.
        RefusedError: nobody said that the cassette is trusted.
        MissingFileError: there is neither a tape nor a draw in the cassette.
        UsageError: the recording says no command line.
        NotFoundError: the profile or its mode is not there.
        SpawnError: the program is not there.
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
            size=Size(terminal.initial_rows, terminal.initial_cols),
            term=terminal.term,
            place=place,
            lacking=left_behind(argv, options),
            in_the_way=in_the_way(cassette.path, options),
            server=server,
            desk=server.desk,
        )


def _given_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A program that is given by a path is the one in the current folder, wherever it works."""
    if argv and "/" in argv[0]:
        return str(Path(argv[0]).absolute()), *argv[1:]
    return argv


def _recorded_argv(cassette: Cassette) -> tuple[str, ...]:
    """What was run, with the program where it is on this machine."""
    program, *rest = map(native_text, cassette.manifest.command.argv or ("",))
    if not program:
        refuse_in_process(cassette.manifest, cassette.path)
        raise UsageError("the recording names no program", hint="name it: -- ARGV")
    return located(program, current_dir()), *rest


def _clock(cassette: Cassette, argv: Sequence[str], options: RerunOptions) -> ClockPin:
    """How the program's clock is set."""
    if not options.faketime:
        return ClockPin({}, "")
    moment = datetime.fromisoformat(cassette.manifest.provenance.recorded_at)
    return clock_pin(argv[0], moment, path=options.environment.get("PATH"))


def _untrusted(
    cassette: Cassette, argv: Sequence[str], exchanges: Iterable[RecordedExchange]
) -> RefusedError:
    """The refusal, with what would be done: by the answers, since nothing checks service events."""
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
    """Whether masked values of questions are compared, as the environment has it.

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
