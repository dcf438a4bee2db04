"""``rerun``: the real program, offline, held against its recording."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import msgspec

from ptycassette.cassette import TAPE_KEY
from ptycassette.cassette.io import Cassette
from ptycassette.errors import NotFoundError, RefusedError, UsageError
from ptycassette.harness.io import load_profile
from ptycassette.model import visible
from ptycassette.profiles import Profile
from ptycassette.rerun._tape_desk import TapeDesk, asked_providers
from ptycassette.rerun.gates import Gates
from ptycassette.rerun.io.clock_pin import ClockPin, clock_pin
from ptycassette.rerun.io.running import RunOutcome, RunPlan, run_again
from ptycassette.rerun.io.tape_server import TapeServer
from ptycassette.rerun.report import RerunReport, ScreenChange
from ptycassette.rerun.screens import VOLATILE, ScreenJudge
from ptycassette.rerun.script import RerunScript, script_of
from ptycassette.scrub import default_scrubber, masked_places
from ptycassette.tape import draw_differences, drawn_in
from ptycassette.tape.io import load_matching_rules, served_draws
from ptycassette.tape.matching import Rules


class RerunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to run the program again.

    Attributes:
        trusted: whether whoever made the cassette may say what this machine does: its command
            line is run, and the answers of its tape make an agent call tools.
        argv: what to run; as recorded when empty.
        harness: the profile's name or path; that of the recording when None.
        mode: one of the profile's modes; its usual one when None.
        model: the model to ask for; the one of the profile when empty.
        cwd: the work folder; an empty one in the temporary home when None.
        files: files of an empty work folder, by name.
        environment: variables to add to the program's environment.
        normalise: names of the normalisers that screens are compared with.
        patience_s: how long to wait for the screen of an input, and for the end, beyond twice
            the time that it took in the recording.
        faketime: give the program a clock that starts when the recording did, by libfaketime.
        guard: what keeps the program off the network; None for proxies that refuse.
    """

    trusted: bool = False
    argv: tuple[str, ...] = ()
    harness: str | None = None
    mode: str | None = None
    model: str = ""
    cwd: Path | None = None
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    normalise: tuple[str, ...] = VOLATILE
    patience_s: float = 20.0
    faketime: bool = False
    guard: str | None = None


def rerun(cassette: Cassette, options: RerunOptions) -> RerunReport:
    """Run the recorded program again with the tape as its only provider.

    Raises:
        RefusedError: nobody said that the cassette is trusted. Nothing was started.
        MissingFileError: there is no tape in the cassette.
        UsageError: the recording says no command line.
        NotFoundError: the program, its profile or the mode is not there.
        SpawnError: the program cannot be started.
    """
    tape = cassette.tape()
    exchanges = list(tape)
    argv = options.argv or _recorded_argv(cassette)
    if not options.trusted:
        raise _untrusted(cassette, argv)
    profile = _profile(cassette, options.harness)
    script = script_of(cassette.events())
    clock = _clock(cassette, argv, options)
    drawn = drawn_in(event.payload for event in cassette.service_events())
    gates = Gates([step.t_us for step in script.steps])
    judge = ScreenJudge(options.normalise)
    rules = load_matching_rules((profile.name,) if profile else ())

    def begin(home: Path, cwd: Path) -> None:
        server.desk = TapeDesk(
            exchanges,
            rules,
            key=bytes.fromhex(tape.key),
            declared={"home": str(home), "cwd": str(cwd), "tmp": tempfile.gettempdir()},
            secrets=_secret_places,
            fingerprint=_published_fingerprint(cassette, rules),
            draws=drawn.draws,
        )

    with (
        served_draws(drawn.draws) as draws,
        _server(cassette, gates, options) as (server, ca_file),
    ):
        real = asked_providers([one.entry for one in exchanges]) if ca_file else (server.url, "")
        ran = run_again(
            RunPlan(
                argv=argv,
                profile=profile,
                url=real[0],
                openai_url=real[1],
                proxy=server.proxy,
                ca_file=ca_file,
                isolated=options.guard is not None,
                mode=options.mode or _usual_mode(profile),
                model=options.model,
                cwd=options.cwd,
                files=options.files,
                environment={**draws, **clock.environment, **options.environment},
                patience_s=options.patience_s,
            ),
            cassette,
            judge,
            begin,
            server.sent,
        )
    if server.desk is None:
        raise RuntimeError("it ran without a desk")
    report = _report(cassette, script, ran, server.desk, judge, argv=argv, guard=options.guard)
    return msgspec.structs.replace(
        report,
        clock=clock.said,
        draws=len(drawn.draws),
        draw_changes=tuple(draw_differences(drawn, ran.drawn)),
    )


def _recorded_argv(cassette: Cassette) -> tuple[str, ...]:
    """What was run, with the program where it is on this machine."""
    program, *rest = cassette.manifest.command.argv or ("",)
    if not program:
        raise UsageError("the recording does not say what was run", hint="say it: -- ARGV")
    for name, place in (("$PWD", Path.cwd()), ("$HOME", Path.home())):  # as the scrubber names them
        if program.startswith(f"{name}/"):
            program = str(place) + program.removeprefix(name)
    return program, *rest


def _clock(cassette: Cassette, argv: Sequence[str], options: RerunOptions) -> ClockPin:
    """How the program's clock is set."""
    if not options.faketime:
        return ClockPin({}, "")
    moment = datetime.fromisoformat(cassette.manifest.provenance.recorded_at)
    return clock_pin(argv[0], moment, path=options.environment.get("PATH"))


@contextmanager
def _server(
    cassette: Cassette, gates: Gates, options: RerunOptions
) -> Iterator[tuple[TapeServer, str]]:
    """The tape's server, and where it is an HTTP proxy, as the recorder was, the certificate."""
    said = (cassette.manifest.optional or {}).get(TAPE_KEY, {}).get("pointed") or {}
    if not said.get("proxy_env"):
        with TapeServer(gates, hold_s=options.patience_s) as server:
            yield server, ""
        return
    with tempfile.TemporaryDirectory(prefix="ptycassette-ca-") as folder:
        ca_file = Path(folder, "ca.pem")
        with TapeServer(gates, hold_s=options.patience_s, ca_file=ca_file) as server:
            yield server, str(ca_file)


def _untrusted(cassette: Cassette, argv: Sequence[str]) -> RefusedError:
    """The refusal, which says what would be done."""
    tools: dict[str, int] = {}
    for event in cassette.service_events():
        if isinstance(event.payload, dict) and event.payload.get("type") == "tool-call":
            name = str(event.payload.get("name", ""))
            tools[name] = tools.get(name, 0) + 1
    calls = ", ".join(f"{visible(name, limit=40)} ({count})" for name, count in tools.items())
    return RefusedError(
        f"would run: {visible(shlex.join(argv), limit=500)}; its tape makes it call tools:"
        f" {visible(calls, limit=500) or 'none'}",
        where=visible(str(cassette.path)),
        hint="if you trust whoever made it: --trust (trusted=True in Python)",
    )


def _secret_places(body: bytes) -> tuple[tuple[int, int], ...]:
    """Where the scrubber masks a body, as it did when the tape was saved."""
    [masked] = default_scrubber().traffic([body])
    return masked_places(body, masked)


def _published_fingerprint(cassette: Cassette, rules: Rules) -> str:
    """The tape's fingerprint by these rules; empty where it is not known."""
    said = (cassette.manifest.optional or {}).get(TAPE_KEY, {})
    return str(said.get("fingerprint", "")) if said.get("rules_digest") == rules.digest else ""


def _profile(cassette: Cassette, name: str | None) -> Profile | None:
    if name is not None:
        return load_profile(name)
    with suppress(NotFoundError):
        return load_profile(cassette.manifest.harness.name)
    return None


def _usual_mode(profile: Profile | None) -> str:
    if profile is None or "key" in profile.modes or not profile.modes:
        return "key"
    return next(iter(profile.modes))


def _report(
    cassette: Cassette,
    script: RerunScript,
    ran: RunOutcome,
    desk: TapeDesk,
    judge: ScreenJudge,
    *,
    argv: tuple[str, ...],
    guard: str | None,
) -> RerunReport:
    pairs = _screens(script, ran.script)
    names = desk.names()
    notes = [f"the screen before input {number} did not come in time" for number in ran.late]
    if ran.problem:
        notes.append(ran.problem)
    return RerunReport(
        argv=argv,
        guard=guard or "proxy variables that point at a port where nobody listens",
        entries=desk.entries,
        matched=desk.asked - len(desk.misses),
        damage=tuple(desk.damage),
        misses=tuple(desk.misses),
        unasked=tuple(desk.unasked()),
        inputs=ran.typed,
        recorded_inputs=len(script.steps),
        screens=len(pairs),
        changes=tuple(
            ScreenChange(number=number, expected=tuple(old), got=tuple(new))
            for number, old, new in pairs
            if not judge.same(old, new, names)
        ),
        expected_exit=cassette.final.exit,
        exit=ran.final.exit,
        expected_text=cassette.final.final_text,
        final_text=ran.final.final_text,
        expected_fingerprint=desk.expected_fingerprint,
        fingerprint=desk.fingerprint(ran.drawn.draws),
        notes=tuple(notes),
    )


def _screens(
    recorded: RerunScript, now: RerunScript
) -> list[tuple[int, Sequence[str], Sequence[str]]]:
    """Pairs of screens before each input that both have, and at the end (number 0)."""
    pairs: list[tuple[int, Sequence[str], Sequence[str]]] = []
    for old, new in zip(recorded.steps, now.steps, strict=False):
        if old.screen is not None and not old.follows:
            pairs.append((old.number, old.screen, new.screen or ()))
    if recorded.last_screen is not None:
        pairs.append((0, recorded.last_screen, now.last_screen or ()))
    return pairs
