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
    from ptycassette.recording.io.given_streams import given_kinds, release_streams
    from ptycassette.recording.io.hooks_file import load_hooks
    from ptycassette.recording.io.journal_file import JournalFile
    from ptycassette.recording.io.journal_follower import JournalFollower, live_journals
    from ptycassette.recording.io.journal_name import JOURNAL_SUFFIX, delete_journal
    from ptycassette.recording.io.lifeline import LIFELINE_END, Lifeline
    from ptycassette.recording.io.options import RecordOptions, RecordPlan
    from ptycassette.recording.io.rec_session import (
        RecordingEnded,
        record_headless,
        record_interactive,
        shell_status,
    )
    from ptycassette.recording.io.recorder import Recorder
    from ptycassette.recording.io.recording import Recording, record
    from ptycassette.recording.io.recovery import LeftJournal, Recovered, left_journals, recover
    from ptycassette.recording.io.rescrub import find_secrets_left, scrub_cassette
    from ptycassette.recording.io.saver import ForkedSaver, Saver, StartedSaver, savers_wanted
    from ptycassette.recording.io.saver_process import serve_saver
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
            "given_streams": ("given_kinds", "release_streams"),
            "hooks_file": ("load_hooks",),
            "journal_file": ("JournalFile",),
            "journal_follower": ("JournalFollower", "live_journals"),
            "journal_name": ("JOURNAL_SUFFIX", "delete_journal"),
            "lifeline": ("LIFELINE_END", "Lifeline"),
            "options": ("RecordOptions", "RecordPlan"),
            "rec_session": (
                "RecordingEnded",
                "record_headless",
                "record_interactive",
                "shell_status",
            ),
            "recorder": ("Recorder",),
            "recording": ("Recording", "record"),
            "recovery": ("LeftJournal", "Recovered", "left_journals", "recover"),
            "rescrub": ("find_secrets_left", "scrub_cassette"),
            "saver": ("ForkedSaver", "Saver", "StartedSaver", "savers_wanted"),
            "saver_process": ("serve_saver",),
            "stream_session": ("record_streams",),
        },
    )

__all__ = [
    "JOURNAL_SUFFIX",
    "LIFELINE_END",
    "AsyncRecording",
    "CompiledRelay",
    "Finaliser",
    "ForkedSaver",
    "JournalFile",
    "JournalFollower",
    "LeftJournal",
    "Lifeline",
    "RecordOptions",
    "RecordPlan",
    "Recorder",
    "Recording",
    "RecordingEnded",
    "Recovered",
    "Saver",
    "StartedSaver",
    "arecord",
    "ask_version",
    "delete_journal",
    "diagnostic_path",
    "find_secrets_left",
    "given_kinds",
    "left_journals",
    "live_journals",
    "load_hooks",
    "record",
    "record_headless",
    "record_interactive",
    "record_streams",
    "recover",
    "release_streams",
    "savers_wanted",
    "scrub_cassette",
    "serve_saver",
    "shell_status",
    "timestamp",
]
