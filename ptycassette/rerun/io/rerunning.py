"""``rerun``: the real program, offline, held against its recording."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.model.events import ExitStatus
from ptycassette.profiles.profile import ExitMessage
from ptycassette.rerun.exit_messages import from_farewell, without_exit_messages
from ptycassette.rerun.io.options import RerunOptions
from ptycassette.rerun.io.preparing import PreparedRerun, prepared_rerun
from ptycassette.rerun.io.running import RunOutcome, rows_above, run_again
from ptycassette.rerun.io.version_now import changed_version
from ptycassette.rerun.report import RerunReport, ScreenChange, version_change, version_notes
from ptycassette.rerun.screens import MASKED_ADDRESS, ScreenJudge
from ptycassette.rerun.script import RerunScript
from ptycassette.tape.draws import draw_differences


def rerun(cassette: Cassette, options: RerunOptions) -> RerunReport:
    """Run the recorded program again, typed at by the recorded keys, and compare.

    Raises:
        RefusedError: nobody said that the cassette is trusted. Nothing was started.
        MissingFileError: there is neither a tape nor a draw in the cassette.
        UsageError: the recording says no command line.
        NotFoundError: the profile or its mode is not there.
        SpawnError: the program cannot be started.
    """
    with prepared_rerun(cassette, options) as prepared:
        profile = prepared.profile
        judge = ScreenJudge(options.normalise, profile.screens.volatile if profile else ())
        ran = run_again(prepared, cassette, judge, options.patience_s)
        report = _report(prepared, cassette, ran, judge)
        return msgspec.structs.replace(
            report,
            clock=prepared.clock,
            draws=len(prepared.drawn.draws),
            draw_changes=tuple(draw_differences(prepared.drawn, ran.drawn)),
        )


def rerun_cassette(
    path: str | os.PathLike[str], argv: Sequence[str] = (), *, trusted: bool, **options: Any
) -> RerunReport:
    """Run a recorded program again, offline, with its tape as its only provider.

    Args:
        path: a cassette with a tape, or with draws.
        argv: another version or configuration of the program; as recorded when empty.
        trusted: that whoever made the cassette may say what this machine does: its command line
            is run, and the answers of its tape make an agent call tools.
        **options: the other fields of ``RerunOptions``.

    Returns:
        The report: ``passed``, and everything that differs.

    Raises:
        TypeError: there is no such option.
        RefusedError: it is not trusted. Nothing was started.
        CassetteError: the cassette cannot be opened, or has neither tape nor draws, or the program
            is not there.
    """
    chosen = RerunOptions(argv=tuple(argv), trusted=trusted, **options)
    with open_cassette(path, check="manifest") as cassette:  # the gate checks the rest
        return rerun(cassette, chosen)


def proof(
    prepared: PreparedRerun,
    cassette: Cassette,
    exit_status: ExitStatus | None,
    *,
    note: str = "",
) -> RerunReport:
    """What the tape proves of a run that somebody else drove: its requests, and its end.

    Args:
        prepared: the run, which is over.
        cassette: the recording.
        exit_status: how the program ended.
        note: for the report.
    """
    report = _requests(
        prepared,
        expected_exit=cassette.final.exit,
        exit=exit_status,
        notes=(*((note,) if note else ()), *prepared.desk.notes()),
        fingerprint=prepared.desk.fingerprint(),
    )
    if report.passed:
        return report
    return msgspec.structs.replace(report, version=changed_version(cassette, prepared.place))


def _requests(prepared: PreparedRerun, **more: Any) -> RerunReport:
    desk = prepared.desk
    return RerunReport(
        argv=prepared.argv,
        guard=prepared.place.guard,
        entries=desk.entries,
        matched=desk.asked - len(desk.misses),
        damage=tuple(desk.damage),
        misses=tuple(desk.misses),
        unasked=tuple(desk.unasked()),
        expected_fingerprint=desk.expected_fingerprint,
        **more,
    )


def _report(
    prepared: PreparedRerun, cassette: Cassette, ran: RunOutcome, judge: ScreenJudge
) -> RerunReport:
    profile = prepared.profile
    messages = profile.screens.at_exit if profile else ()
    above = (rows_above(cassette, prepared.script, prepared.profile), ran.above)
    pairs, left_out = _screens(prepared.script, ran.script, messages, above)
    if profile is not None and pairs and pairs[-1][0] == 0:
        pairs[-1] = (0, *from_farewell(*pairs[-1][1:], profile.screens.farewell))
    server = prepared.server.url.removeprefix("http://")
    names = [*prepared.desk.names(), (server, MASKED_ADDRESS)]
    notes = [f"the screen before input {number} did not come in time" for number in ran.late]
    notes += [f"not compared on the last screen: {message}" for message in left_out]
    expected_text = cassette.final.final_text
    recorded_version = cassette.manifest.harness.binary_version
    notes += version_notes(recorded_version, ran.version)
    notes += prepared.desk.notes()
    if ran.problem:
        notes.append(ran.problem)
    imported = "imported" in (cassette.manifest.optional or {})
    if cassette.final.exit is None:
        notes.append("the recording does not hold how the program ended; it is not compared")
    if prepared.lacking and ran.final.exit != cassette.final.exit:
        notes.append(prepared.lacking)
    if prepared.in_the_way and prepared.desk.misses:
        notes.append(prepared.in_the_way)
    return _requests(
        prepared,
        inputs=ran.typed,
        recorded_inputs=len(prepared.script.steps),
        screens=len(pairs),
        changes=tuple(
            ScreenChange(number=number, expected=tuple(old), got=tuple(new))
            for number, old, new in pairs
            # It was seen when the input was sent; what was painted in between is of no account.
            if number not in ran.met and not judge.same(old, new, names)
        ),
        expected_exit=cassette.final.exit,
        exit=ran.final.exit,
        expected_text=expected_text,
        final_text=None if imported and expected_text is None else ran.final.final_text,
        fingerprint=prepared.desk.fingerprint(ran.drawn.draws),
        version=version_change(recorded_version, ran.version),
        notes=tuple(notes),
    )


def _screens(
    recorded: RerunScript,
    now: RerunScript,
    messages: Sequence[ExitMessage],
    above: tuple[Sequence[str], Sequence[str]],
) -> tuple[list[tuple[int, Sequence[str], Sequence[str]]], list[str]]:
    """Pairs of screens before each input that both have, and at the end (number 0).

    The last ones are without ``messages``, which may begin in the rows ``above`` them (of the
    recording, and of now); the second value says which were there.
    """
    pairs: list[tuple[int, Sequence[str], Sequence[str]]] = []
    for old, new in zip(recorded.steps, now.steps, strict=False):
        if old.screen is not None and not old.follows:
            pairs.append((old.number, old.screen, new.screen or ()))
    if recorded.last_screen is None:
        return pairs, []
    old_rows, in_old = without_exit_messages(recorded.last_screen, messages, above[0])
    new_rows, in_new = without_exit_messages(now.last_screen or (), messages, above[1])
    said = [f"{name} (recorded)" for name in in_old] + [f"{name} (now)" for name in in_new]
    return [*pairs, (0, old_rows, new_rows)], said
