"""The session of ``rec`` over the streams that it was given itself: pipes, files, a terminal."""

from __future__ import annotations

import os

from ptycassette.model.events import ExitStatus
from ptycassette.model.streams import StreamKinds
from ptycassette.recording.io._saving_signals import SavingSignals
from ptycassette.recording.io._stream_relay import StreamRelay
from ptycassette.recording.io._user_signals import Streams
from ptycassette.recording.io.given_streams import GivenStreams
from ptycassette.recording.io.rec_session import RecordingEnded
from ptycassette.recording.io.recorder import Recorder
from ptycassette.system.priority import raised_priority
from ptycassette.system.pty.terminal import UserTerminal


def record_streams(
    recorder: Recorder,
    kinds: StreamKinds,
    *,
    passes_signals: bool = False,
    secret_key: bytes = b"",
    keeps_stderr: bool = False,
) -> RecordingEnded:
    """Record a program whose stdin, stdout and stderr are of the same kinds as ours.

    From the start of the program our own are ``/dev/null``, so that our output cannot mix with the
    program's.

    Args:
        recorder: entered.
        kinds: the kinds of the streams.
        passes_signals: signals are passed to the program instead of ending it.
        secret_key: as for ``record_interactive``.
        keeps_stderr: restore our stderr at the end of the program, for messages. Its reader
            sees the end only when we end.

    Raises:
        CassetteError: as ``Recorder.start`` and ``Recorder.finish``.
    """
    stderr = os.dup(2) if keeps_stderr else -1
    given = GivenStreams.take(kinds)
    with SavingSignals(recorder) as signals:
        try:
            relay, status = _relayed(
                recorder, given, signals, passes_signals=passes_signals, secret_key=secret_key
            )
        finally:
            given.close()
            if stderr >= 0:
                os.dup2(stderr, 2)
                os.close(stderr)
        if relay.stdin_offset is not None:
            recorder.set_final(stdin_offset=relay.stdin_offset)
        t_us = relay.ended_us
        manifest = recorder.finish(t_us=t_us, status=status, failure=relay.failure)
    return RecordingEnded(status=status, manifest=manifest, duration_us=t_us, signal=relay.ended_by)


def _relayed(
    recorder: Recorder,
    given: GivenStreams,
    signals: SavingSignals,
    *,
    passes_signals: bool,
    secret_key: bytes,
) -> tuple[StreamRelay, ExitStatus]:
    """Run the program to its end."""
    plan = recorder.plan
    stdin = given.given[0]
    with recorder.start(streams=given.for_program, lingers=True) as child:
        given.started()
        signals.hold()  # the relay has handlers of its own, and gives these back
        relay = StreamRelay(
            child,
            recorder.journal,
            given,
            clock=plan.clock,
            start_us=recorder.begin_now(),
            size=plan.size,
            streams=Streams(
                in_fd=stdin,
                terminal=UserTerminal(stdin) if given.kinds.stdin == "terminal" else None,
                channel=recorder.channel,
                secret_key=secret_key,
                fixed_size=True,
                on_terminal=given.kinds.with_terminal,
                passes_signals=passes_signals,
            ),
            timeout_s=plan.timeout_s,
        )
        with raised_priority():
            return relay, relay.run()
