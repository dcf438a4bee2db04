"""Recording: the journal, the relay, the saver and the recovery."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.recording.io.async_record import AsyncRecording, arecord
    from ptycassette.recording.io.binary_probe import ask_version, timestamp
    from ptycassette.recording.io.compiled_relay import CompiledRelay
    from ptycassette.recording.io.diagnostic_writer import diagnostic_path
    from ptycassette.recording.io.finalising import Finaliser
    from ptycassette.recording.io.given_streams import given_kinds, let_go_of_streams
    from ptycassette.recording.io.hooks_file import load_hooks
    from ptycassette.recording.io.journal_file import SUFFIX, JournalFile, delete_journal
    from ptycassette.recording.io.journal_follow import JournalFollower, live_journals
    from ptycassette.recording.io.lifeline import END, Lifeline
    from ptycassette.recording.io.options import RecordPlan
    from ptycassette.recording.io.rec_session import (
        Ended,
        record_headless,
        record_interactive,
        shell_status,
    )
    from ptycassette.recording.io.recorder import Recorder
    from ptycassette.recording.io.recording import Recording, record
    from ptycassette.recording.io.recovery import Left, Recovered, left_behind, recover
    from ptycassette.recording.io.rescrub import find_left, scrub_cassette
    from ptycassette.recording.io.saver import ForkedSaver, Saver, StartedSaver, savers_wanted
    from ptycassette.recording.io.saver_process import serve
    from ptycassette.recording.io.stream_session import record_streams
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "async_record": ("AsyncRecording", "arecord"),
            "binary_probe": ("ask_version", "timestamp"),
            "compiled_relay": ("CompiledRelay",),
            "diagnostic_writer": ("diagnostic_path",),
            "finalising": ("Finaliser",),
            "given_streams": ("given_kinds", "let_go_of_streams"),
            "hooks_file": ("load_hooks",),
            "journal_file": ("SUFFIX", "JournalFile", "delete_journal"),
            "journal_follow": ("JournalFollower", "live_journals"),
            "lifeline": ("END", "Lifeline"),
            "options": ("RecordPlan",),
            "rec_session": ("Ended", "record_headless", "record_interactive", "shell_status"),
            "recorder": ("Recorder",),
            "recording": ("Recording", "record"),
            "recovery": ("Left", "Recovered", "left_behind", "recover"),
            "rescrub": ("find_left", "scrub_cassette"),
            "saver": ("ForkedSaver", "Saver", "StartedSaver", "savers_wanted"),
            "saver_process": ("serve",),
            "stream_session": ("record_streams",),
        },
    )

__all__ = [
    "END",
    "SUFFIX",
    "AsyncRecording",
    "CompiledRelay",
    "Ended",
    "Finaliser",
    "ForkedSaver",
    "JournalFile",
    "JournalFollower",
    "Left",
    "Lifeline",
    "RecordPlan",
    "Recorder",
    "Recording",
    "Recovered",
    "Saver",
    "StartedSaver",
    "arecord",
    "ask_version",
    "delete_journal",
    "diagnostic_path",
    "find_left",
    "given_kinds",
    "left_behind",
    "let_go_of_streams",
    "live_journals",
    "load_hooks",
    "record",
    "record_headless",
    "record_interactive",
    "record_streams",
    "recover",
    "savers_wanted",
    "scrub_cassette",
    "serve",
    "shell_status",
    "timestamp",
]
