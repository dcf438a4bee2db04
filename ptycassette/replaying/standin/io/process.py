"""Runs a stand-in: opens the cassette, drives the engine, writes the report, ends.

The heavy parts (the emulator for the screen of a divergence) are loaded only when
they are needed; imports inside functions are for that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ptycassette.cassette.edits import refuse_in_process
from ptycassette.cassette.io.reader import Cassette, open_cassette
from ptycassette.errors import CassetteError, UsageError
from ptycassette.model.events import Event, ExitStatus, OutputRecord
from ptycassette.model.geometry import Size
from ptycassette.model.streams import streams_of
from ptycassette.model.visible_text import visible
from ptycassette.replaying.standin._report import StandinReport, report_lines
from ptycassette.replaying.standin.decisions import Halt, Listen, Play, RunEnded
from ptycassette.replaying.standin.engine import StandinEngine
from ptycassette.replaying.standin.io._newlines import UnixNewlines
from ptycassette.replaying.standin.io._process_end import end_process
from ptycassette.replaying.standin.io._standin_io import (
    Data,
    DriverPort,
    Happening,
    InputEnded,
    TerminalResized,
    now_us,
)
from ptycassette.replaying.standin.io.options import StandinSettings, parse_settings
from ptycassette.replaying.standin.io.report_file import write_report
from ptycassette.seal.io.policy import require_seal
from ptycassette.timeline.match_secrets import read_secrets

if TYPE_CHECKING:
    from ptycassette.replaying.standin.io._recorded_screens import RecordedScreens

_PINNED_BYTES = 64 << 20
"""Of files that are hashed before they are played: some 40 ms."""

FAILED = 125
"""The stand-in's own exit status, as ``env`` and ``docker run`` use it."""


class Started(Protocol):
    """What start-up already did (``boot.Handover``)."""

    written: int
    checked: frozenset[str]
    early: bytes
    saved: list[object] | None
    size: tuple[int, int] | None


def run(args: Sequence[str], started: Started | None = None) -> int:
    """Run a stand-in with ``args``; ends the process when the recording was played to its end.

    Returns:
        125 when something diverged or failed, 2 when the arguments are wrong.
    """
    fallback = os.environ.get("PTYCASSETTE_REPORT", "")
    try:
        settings = parse_settings(args, report=fallback)
        if settings.fault:
            from ptycassette.replaying.io.faults import fault_in_force  # noqa: PLC0415 - few need it

            fault_in_force(settings.fault, {})
    except UsageError as wrong:
        _complain(wrong)
        return wrong.exit_status
    return play(settings, started)


def play(settings: StandinSettings, started: Started | None = None) -> int:
    """Play a cassette as the recorded program, by ``settings``. See ``run``."""
    report = StandinReport(
        result="running", cassette=settings.name or settings.cassette, argv=settings.argv,
        pid=os.getpid(),
    )  # fmt: skip
    try:
        settings.matching()
        require_seal(settings.cassette)
        with open_cassette(
            settings.cassette,
            expect_id=settings.expect_id,
            expect_sha256=settings.expect_sha256,
            allow_unscrubbed=settings.allow_unscrubbed,
            check="manifest",
        ) as cassette:
            refuse_in_process(cassette.manifest, settings.cassette)
            cassette.check_pins(
                most_bytes=_PINNED_BYTES, checked=started.checked if started else frozenset()
            )
            report = msgspec.structs.replace(
                report, cassette_id=cassette.manifest.id, fault=_fault_text(settings)
            )
            write_report(settings.report, report)
            report = _Run(cassette, settings, started).report(report)
        write_report(settings.report, report)
        if report.result == "diverged" and not (settings.report or settings.lenient):
            _tell(report)
    except CassetteError as failed:
        report = msgspec.structs.replace(report, result="failed", error=str(failed))
        with suppress(CassetteError):  # it may be what failed
            write_report(settings.report, report)
        _complain(failed)
        return FAILED
    return end_process(report.exit or ExitStatus(code=FAILED, exited=True, signaled=False))


class _Run:
    def __init__(
        self, cassette: Cassette, settings: StandinSettings, started: Started | None
    ) -> None:
        self._cassette = cassette
        self._settings = settings
        self._skip = started.written if started else 0
        saved = started.saved if started else None
        kinds = streams_of(cassette.manifest)
        early = started.early if started else b""
        self._port = DriverPort(early=early, saved=saved, kinds=kinds)
        terminal = cassette.manifest.terminal
        at_terminal = self._port.is_terminal and kinds.with_terminal
        compare = at_terminal and not settings.ignore_size
        recorded = _size(terminal.initial_rows, terminal.initial_cols) if compare else None
        size = self._port.size if compare else None
        self._inputs = tuple(cassette.inputs())
        self._signals = frozenset(
            record.signal for record in self._inputs if record.kind == "signal" and record.signal
        )
        # A driver may set its size after we started; not if sizes are ignored.
        self._minds_sizes = not settings.ignore_size or any(
            record.kind == "resize" for record in self._inputs
        )
        self._fault_met = False
        self._engine = self._made_engine(
            options=msgspec.structs.replace(
                settings.engine_options(),
                recorded_size=recorded,
                stdin_is_stream=kinds.stdin != "terminal",
            ),
            matching=settings.matching(),
            size=_size(*started.size) if compare and started and started.size else size,
            screen=self._screen,
            secrets=read_secrets(cassette.manifest, where=str(cassette.path)),
        )
        if size is not None:
            self._engine.resized(size, now_us())
        self._port.most_input = self._engine.most_input
        self._shape = self._output_shape()
        self._screens: RecordedScreens | None = None

    def _made_engine(self, **options: Any) -> StandinEngine:
        """The engine, with its fault if one was asked for, whose modules few need."""
        if not _fault_text(self._settings):
            return StandinEngine(self._cassette.events(), self._inputs, **options)
        from ptycassette.replaying.io.faults import fault_in_force, faulty_engine_of  # noqa: PLC0415

        spec = fault_in_force(self._settings.fault, os.environ)
        return faulty_engine_of(self._cassette, spec, self._note_met, options)

    def _note_met(self) -> None:
        self._fault_met = True

    def report(self, report: StandinReport) -> StandinReport:
        """Play to the end; returns the report."""
        port = self._port
        port.start(self._signals)
        try:
            finished = self._loop(report)
            return self._judge(report, finished)
        finally:
            port.close()

    def _loop(self, report: StandinReport) -> RunEnded:
        engine, port = self._engine, self._port
        while True:
            todo = engine.step(now_us())
            match todo:
                case Play(event=event):
                    self._play(event)
                    if port.gone:
                        engine.stop()
                case Listen(us=us):
                    if engine.diverged:
                        port.most_input = None  # other lines have other lengths
                    if engine.awaits_kill and not engine.diverged:
                        killed = msgspec.structs.replace(report, result="passed", killed_by="kill")
                        write_report(self._settings.report, killed)
                    self._take(port.wait(us))
                case Halt(signal=name):
                    port.stop(name)
                case RunEnded():
                    return todo

    def _play(self, event: Event) -> None:
        port, record = self._port, event.record
        assert isinstance(record, OutputRecord)  # noqa: S101 - the engine plays outputs only
        data = self._unwritten(event)
        port.queue(self._shape(data) if record.stream is None else data, record.stream)
        while not port.flushed:
            self._take(port.wait(None))
        if record.eof:
            port.close_stream(record.stream)

    def _take(self, happenings: Iterator[Happening]) -> None:
        engine, port = self._engine, self._port
        for happening in happenings:
            at_us = now_us()  # not before: it is here that the port waits
            match happening:
                case Data(data=data, cooked=cooked):
                    engine.feed(data, at_us, cooked=cooked)
                case InputEnded(gone=gone):
                    engine.input_ended(of_pipe=not gone and not port.takes_keys)
                case TerminalResized(size=size):
                    if self._minds_sizes:
                        engine.resized(size, at_us)
                case _:
                    # A terminal that is closed sends HUP as well, which is not the driver's signal.
                    if happening.name == "hup" and "hup" not in self._signals and port.hung_up:
                        engine.input_ended()
                    else:
                        engine.signalled(happening.name, at_us)

    def _unwritten(self, event: Event) -> bytes:
        """The bytes of an event that start-up has not written."""
        data = event.data
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        return data[skipped:]

    def _output_shape(self) -> Callable[[bytes], bytes]:
        """How output is written: as recorded, or with the line ends of a pipe."""
        how = self._settings.newlines
        mode = self._cassette.manifest.terminal.pty_mode or {}
        at_terminal = mode.get("kind") != "pipe"
        kinds = streams_of(self._cassette.manifest)
        # A terminal without keys is not set raw, so it makes CR LF itself.
        cooked = kinds.with_terminal and kinds.stdin != "terminal"
        if how == "unix" or (
            how == "auto" and at_terminal and (cooked or not self._port.is_terminal)
        ):
            return UnixNewlines()
        return bytes

    def _judge(self, report: StandinReport, finished: RunEnded) -> StandinReport:
        engine, port = self._engine, self._port
        unplayed = engine.unplayed()
        result = "diverged" if engine.diverged else "unplayed" if unplayed else "passed"
        return msgspec.structs.replace(
            report,
            result=result,
            divergences=tuple(engine.divergences),
            notes=tuple(engine.notes),
            unplayed=unplayed,
            early_eof=port.gone and not finished.complete,
            killed_by=finished.killed_by,
            exit=self._exit(finished),
            fault_met=self._fault_met,
        )

    def _exit(self, finished: RunEnded) -> ExitStatus:
        """The exit of the process."""
        tolerated = self._settings.lenient or not self._engine.diverged
        if tolerated and finished.complete:
            return finished.exit or ExitStatus(code=0, exited=True, signaled=False)
        if tolerated and finished.killed_by:
            return ExitStatus(code=-1, signal=finished.killed_by, exited=False, signaled=True)
        return ExitStatus(code=FAILED, exited=True, signaled=False)

    def _screen(self, seq: int) -> tuple[str, ...]:
        """The rows after event ``seq``, rendered from the output."""
        if self._screens is None:
            from ptycassette.replaying.standin.io import _recorded_screens  # noqa: PLC0415 - pyte

            self._screens = _recorded_screens.RecordedScreens(self._cassette)
        return self._screens.rows_at(seq)


def _fault_text(settings: StandinSettings) -> str:
    """The fault that was asked for, as it was written."""
    return settings.fault or os.environ.get("PTYCASSETTE_FAULT", "")


def _size(rows: int, cols: int) -> Size:
    return Size(rows=rows, cols=cols)


def _tell(report: StandinReport) -> None:
    """Print what differs on a stderr that is not the terminal, where nobody asked for a report."""
    with suppress(OSError, ValueError):
        if not os.isatty(2):
            sys.stderr.write("".join(f"ptycassette: {line}\n" for line in report_lines(report)))
            sys.stderr.flush()


def _complain(failed: CassetteError) -> None:
    """Print the error on stderr, where the driver would see one of a real program."""
    for number, line in enumerate(str(failed).split("\n")):
        sys.stderr.write(f"{'  ' if number else 'ptycassette: '}{visible(line)}\r\n")
