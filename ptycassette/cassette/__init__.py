"""Bytes to model and back: the layout of version 1, JSON lines, digests, limits.

``FORMAT.md`` beside this file is the published specification.
"""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.cassette._tape_lines import TAPE_KEY, TAPE_VERSION
    from ptycassette.cassette.documents import encode_document
    from ptycassette.cassette.frames import FrameMaker, frame_of
    from ptycassette.cassette.framing import (
        MARK,
        MAX_RECORD_BYTES,
        EmptyJournalError,
        RecordDecoder,
        RecordEncoder,
    )
    from ptycassette.cassette.freshness import age_problem, age_text, window_of
    from ptycassette.cassette.layout import DIAGNOSTIC, MANIFEST, OPTIONAL_FILES, REQUIRED_FILES
    from ptycassette.cassette.strict_json import check_value, parse_strict
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "_tape_lines": ("TAPE_KEY", "TAPE_VERSION"),
            "documents": ("encode_document",),
            "frames": ("FrameMaker", "frame_of"),
            "framing": (
                "MARK",
                "MAX_RECORD_BYTES",
                "EmptyJournalError",
                "RecordDecoder",
                "RecordEncoder",
            ),
            "freshness": ("age_problem", "age_text", "window_of"),
            "layout": ("DIAGNOSTIC", "MANIFEST", "OPTIONAL_FILES", "REQUIRED_FILES"),
            "strict_json": ("check_value", "parse_strict"),
        },
    )

__all__ = [
    "DIAGNOSTIC",
    "MANIFEST",
    "MARK",
    "MAX_RECORD_BYTES",
    "OPTIONAL_FILES",
    "REQUIRED_FILES",
    "TAPE_KEY",
    "TAPE_VERSION",
    "EmptyJournalError",
    "FrameMaker",
    "RecordDecoder",
    "RecordEncoder",
    "age_problem",
    "age_text",
    "check_value",
    "encode_document",
    "frame_of",
    "parse_strict",
    "window_of",
]
