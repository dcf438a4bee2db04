"""Recording: the journal, the relay, the saver and the recovery."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._cassette_session import cassette_session as cassette_session
    from ._cassette_session import refuse_unknown_files as refuse_unknown_files
    from ._preflight import check_network as check_network
    from ._running_tape import RunningTape as RunningTape
    from ._running_tape import TapeStarter as TapeStarter
    from ._tape_again import TapeAgain as TapeAgain
    from .async_record import AsyncRecording as AsyncRecording
    from .async_record import arecord as arecord
    from .binary_probe import VersionQuestion as VersionQuestion
    from .binary_probe import architecture as architecture
    from .binary_probe import ask_version as ask_version
    from .binary_probe import installed_version as installed_version
    from .binary_probe import locale_of as locale_of
    from .binary_probe import path_digest as path_digest
    from .binary_probe import system as system
    from .binary_probe import timestamp as timestamp
    from .binary_probe import version_arguments as version_arguments
    from .compiled_relay import CompiledRelay as CompiledRelay
    from .diagnostic_writer import diagnostic_path as diagnostic_path
    from .finalising import Finaliser as Finaliser
    from .given_streams import given_kinds as given_kinds
    from .given_streams import release_streams as release_streams
    from .hooks_file import load_hooks as load_hooks
    from .journal_file import JournalFile as JournalFile
    from .journal_follower import JournalFollower as JournalFollower
    from .journal_follower import live_journals as live_journals
    from .journal_name import JOURNAL_SUFFIX as JOURNAL_SUFFIX
    from .journal_name import delete_journal as delete_journal
    from .lifeline import LIFELINE_END as LIFELINE_END
    from .lifeline import Lifeline as Lifeline
    from .options import RecordOptions as RecordOptions
    from .options import RecordPlan as RecordPlan
    from .options import provider_without_proxy as provider_without_proxy
    from .rec_session import RecordingEnded as RecordingEnded
    from .rec_session import record_headless as record_headless
    from .rec_session import record_interactive as record_interactive
    from .rec_session import shell_status as shell_status
    from .recorder import Recorder as Recorder
    from .recording import Recording as Recording
    from .recording import record as record
    from .recovery import LeftJournal as LeftJournal
    from .recovery import Recovered as Recovered
    from .recovery import discard as discard
    from .recovery import left_journals as left_journals
    from .recovery import recover as recover
    from .rescrub import scrub_cassette as scrub_cassette
    from .saver import ForkedSaver as ForkedSaver
    from .saver import Saver as Saver
    from .saver import StartedSaver as StartedSaver
    from .saver import savers_wanted as savers_wanted
    from .saver_process import serve_saver as serve_saver
    from .script_steps import perform as perform
    from .script_steps import submit_as as submit_as
    from .script_steps import wait_for_echo as wait_for_echo
    from .secrets_left import find_secrets_left as find_secrets_left
    from .stream_session import record_streams as record_streams
    from .tape_proxy import tape_starter as tape_starter
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_cassette_session": "cassette_session refuse_unknown_files",
            "_preflight": "check_network",
            "_running_tape": "RunningTape TapeStarter",
            "_tape_again": "TapeAgain",
            "async_record": "AsyncRecording arecord",
            "binary_probe": (
                "VersionQuestion architecture ask_version installed_version locale_of path_digest"
                " system timestamp version_arguments"
            ),
            "compiled_relay": "CompiledRelay",
            "diagnostic_writer": "diagnostic_path",
            "finalising": "Finaliser",
            "given_streams": "given_kinds release_streams",
            "hooks_file": "load_hooks",
            "journal_file": "JournalFile",
            "journal_follower": "JournalFollower live_journals",
            "journal_name": "JOURNAL_SUFFIX delete_journal",
            "lifeline": "LIFELINE_END Lifeline",
            "options": "RecordOptions RecordPlan provider_without_proxy",
            "rec_session": ("RecordingEnded record_headless record_interactive shell_status"),
            "script_steps": "perform submit_as wait_for_echo",
            "recorder": "Recorder",
            "recording": "Recording record",
            "recovery": "LeftJournal Recovered discard left_journals recover",
            "rescrub": "scrub_cassette",
            "saver": "ForkedSaver Saver StartedSaver savers_wanted",
            "saver_process": "serve_saver",
            "secrets_left": "find_secrets_left",
            "stream_session": "record_streams",
            "tape_proxy": "tape_starter",
        },
    )
