"""Plain data and ports. No I/O, no clock, nothing but msgspec."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import LATENCY_US as LATENCY_US
    from .answers import AnswerExpectation as AnswerExpectation
    from .answers import AnswerReader as AnswerReader
    from .answers import is_answer as is_answer
    from .events import EVENTS_VARIABLE as EVENTS_VARIABLE
    from .events import Event as Event
    from .events import EventKind as EventKind
    from .events import ExitStatus as ExitStatus
    from .events import FinalRecord as FinalRecord
    from .events import FrameRecord as FrameRecord
    from .events import InputRecord as InputRecord
    from .events import OutputRecord as OutputRecord
    from .events import OutputStream as OutputStream
    from .events import ServiceEventRecord as ServiceEventRecord
    from .events import TimedRecord as TimedRecord
    from .events import moment_us as moment_us
    from .file_patterns import FilePattern as FilePattern
    from .file_patterns import FilePatterns as FilePatterns
    from .file_patterns import TooManyPatternsError as TooManyPatternsError
    from .file_patterns import file_pattern as file_pattern
    from .geometry import Cursor as Cursor
    from .geometry import Size as Size
    from .journal import Begun as Begun
    from .journal import Finished as Finished
    from .journal import HeadSecret as HeadSecret
    from .journal import JournalEvent as JournalEvent
    from .journal import Noted as Noted
    from .journal import Output as Output
    from .journal import Probed as Probed
    from .journal import Resized as Resized
    from .journal import SessionMeta as SessionMeta
    from .journal import Signalled as Signalled
    from .journal import TapeMoment as TapeMoment
    from .journal import Traffic as Traffic
    from .journal import Typed as Typed
    from .json_values import NOT_JSON as NOT_JSON
    from .json_values import as_msgpack as as_msgpack
    from .json_values import decoded_json as decoded_json
    from .json_values import foreign_json as foreign_json
    from .json_values import from_msgpack as from_msgpack
    from .json_values import native as native
    from .json_values import native_text as native_text
    from .json_values import objects_in as objects_in
    from .json_values import storable as storable
    from .json_values import storable_text as storable_text
    from .json_values import without_halves as without_halves
    from .lazy_regex import lazy_pattern as lazy_pattern
    from .limits import DEFAULT_LIMITS as DEFAULT_LIMITS
    from .limits import INT64_MAX as INT64_MAX
    from .limits import INT64_MIN as INT64_MIN
    from .limits import UINT16_MAX as UINT16_MAX
    from .limits import Limits as Limits
    from .limits import check_density as check_density
    from .limits import check_line_density as check_line_density
    from .manifest import Command as Command
    from .manifest import ContentDigest as ContentDigest
    from .manifest import EmulatorId as EmulatorId
    from .manifest import Harness as Harness
    from .manifest import Manifest as Manifest
    from .manifest import Provenance as Provenance
    from .manifest import Terminal as Terminal
    from .manifest import Timing as Timing
    from .manifest import same_version as same_version
    from .ports import AsyncSleeper as AsyncSleeper
    from .ports import BodySink as BodySink
    from .ports import CassetteSink as CassetteSink
    from .ports import Clock as Clock
    from .ports import Emulator as Emulator
    from .ports import EmulatorFactory as EmulatorFactory
    from .ports import EntrySink as EntrySink
    from .ports import EventSource as EventSource
    from .ports import IdSource as IdSource
    from .ports import Scrubber as Scrubber
    from .ports import ScrubberFactory as ScrubberFactory
    from .ports import ScrubStep as ScrubStep
    from .ports import Secret as Secret
    from .ports import SecretWatch as SecretWatch
    from .ports import SessionTap as SessionTap
    from .ports import Sleeper as Sleeper
    from .ports import StepScrubber as StepScrubber
    from .re2_engine import EngineMissingError as EngineMissingError
    from .re2_engine import PatternError as PatternError
    from .re2_engine import compile_re2 as compile_re2
    from .records import SCRUB_STATUSES as SCRUB_STATUSES
    from .records import DiscoveryRecord as DiscoveryRecord
    from .records import QuotaRecord as QuotaRecord
    from .records import ScrubReport as ScrubReport
    from .resolved_types import resolved as resolved
    from .screen import DEFAULT_STYLE as DEFAULT_STYLE
    from .screen import Screen as Screen
    from .screen import Style as Style
    from .screen import StyleRun as StyleRun
    from .stored_screen import MAX_SIDE as MAX_SIDE
    from .stored_screen import screen_of as screen_of
    from .streams import STREAMS_KEY as STREAMS_KEY
    from .streams import StreamKind as StreamKind
    from .streams import StreamKinds as StreamKinds
    from .streams import painted_bytes as painted_bytes
    from .streams import painted_lines as painted_lines
    from .streams import streams_of as streams_of
    from .tape import TAPE as TAPE
    from .tape import TAPE_BODIES as TAPE_BODIES
    from .tape import BodyPlace as BodyPlace
    from .tape import Chunk as Chunk
    from .tape import ExchangeOutcome as ExchangeOutcome
    from .tape import MaskedDigest as MaskedDigest
    from .tape import TapeAnswer as TapeAnswer
    from .tape import TapeEntry as TapeEntry
    from .tape import VolatileToken as VolatileToken
    from .toml_text import MAX_TOML_BYTES as MAX_TOML_BYTES
    from .toml_text import fill_variables as fill_variables
    from .toml_text import parse_toml as parse_toml
    from .toml_text import read_toml as read_toml
    from .toml_text import suggest as suggest
    from .visible_text import has_active as has_active
    from .visible_text import printable as printable
    from .visible_text import visible as visible
    from .visible_text import visible_bytes as visible_bytes
    from .visible_text import visible_json as visible_json
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "answers": "AnswerExpectation AnswerReader LATENCY_US is_answer",
            "events": (
                "EVENTS_VARIABLE Event EventKind ExitStatus FinalRecord FrameRecord InputRecord "
                "OutputRecord OutputStream ServiceEventRecord TimedRecord moment_us"
            ),
            "file_patterns": "FilePattern FilePatterns TooManyPatternsError file_pattern",
            "geometry": "Cursor Size",
            "journal": (
                "Finished JournalEvent Noted Output Probed Resized SessionMeta "
                "Signalled Begun HeadSecret TapeMoment Traffic Typed"
            ),
            "json_values": (
                "NOT_JSON as_msgpack decoded_json foreign_json from_msgpack native native_text "
                "objects_in storable storable_text without_halves"
            ),
            "lazy_regex": "lazy_pattern",
            "limits": (
                "DEFAULT_LIMITS INT64_MAX INT64_MIN Limits UINT16_MAX check_density "
                "check_line_density"
            ),
            "manifest": (
                "Command ContentDigest EmulatorId Harness Manifest Provenance Terminal Timing"
                " same_version"
            ),
            "ports": (
                "AsyncSleeper BodySink CassetteSink Clock Emulator EmulatorFactory "
                "EntrySink EventSource IdSource ScrubStep Scrubber ScrubberFactory "
                "Secret SecretWatch SessionTap Sleeper StepScrubber"
            ),
            "re2_engine": "EngineMissingError PatternError compile_re2",
            "records": "DiscoveryRecord QuotaRecord SCRUB_STATUSES ScrubReport",
            "resolved_types": "resolved",
            "screen": "DEFAULT_STYLE Screen Style StyleRun",
            "stored_screen": "MAX_SIDE screen_of",
            "streams": (
                "STREAMS_KEY StreamKind StreamKinds painted_bytes painted_lines streams_of"
            ),
            "tape": (
                "BodyPlace Chunk ExchangeOutcome MaskedDigest TAPE TAPE_BODIES TapeAnswer "
                "TapeEntry VolatileToken"
            ),
            "toml_text": "MAX_TOML_BYTES fill_variables parse_toml read_toml suggest",
            "visible_text": "has_active printable visible visible_bytes visible_json",
        },
    )
