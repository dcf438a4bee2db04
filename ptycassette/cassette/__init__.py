"""Bytes to model and back: the layout of version 1, JSON lines, digests, limits.

``FORMAT.md`` beside this file is the published specification.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._artifacts import Artifact as Artifact
    from ._canonical_json import canonical_json as canonical_json
    from ._tape_lines import TAPE_KEY as TAPE_KEY
    from ._tape_lines import TAPE_VERSION as TAPE_VERSION
    from ._tape_lines import tape_facts as tape_facts
    from .documents import encode_document as encode_document
    from .edits import EDITED_KEY as EDITED_KEY
    from .edits import edits_of as edits_of
    from .edits import event_without_old_digests as event_without_old_digests
    from .edits import refuse_in_process as refuse_in_process
    from .edits import without_old_digests as without_old_digests
    from .frames import FrameMaker as FrameMaker
    from .frames import frame_of as frame_of
    from .framing import MARK as MARK
    from .framing import MAX_RECORD_BYTES as MAX_RECORD_BYTES
    from .framing import EmptyJournalError as EmptyJournalError
    from .framing import RecordDecoder as RecordDecoder
    from .framing import RecordEncoder as RecordEncoder
    from .freshness import age_problem as age_problem
    from .freshness import age_text as age_text
    from .freshness import window_of as window_of
    from .ladder import LADDER as LADDER
    from .ladder import MIGRATED_KEY as MIGRATED_KEY
    from .ladder import NEWEST as NEWEST
    from .layout import DIAGNOSTIC as DIAGNOSTIC
    from .layout import GIT_ATTRIBUTES as GIT_ATTRIBUTES
    from .layout import MANIFEST as MANIFEST
    from .layout import OPTIONAL_FILES as OPTIONAL_FILES
    from .layout import REQUIRED_FILES as REQUIRED_FILES
    from .layout import SCRUB_REPORT as SCRUB_REPORT
    from .layout import is_litter as is_litter
    from .pinned import check_pinned as check_pinned
    from .secret_digests import LEAST_BITS as LEAST_BITS
    from .secret_digests import digest_of as digest_of
    from .secret_digests import guessing_bits as guessing_bits
    from .strict_json import check_value as check_value
    from .strict_json import parse_strict as parse_strict
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_artifacts": "Artifact",
            "_canonical_json": "canonical_json",
            "_tape_lines": "TAPE_KEY TAPE_VERSION tape_facts",
            "documents": "encode_document",
            "edits": (
                "EDITED_KEY edits_of event_without_old_digests refuse_in_process"
                " without_old_digests"
            ),
            "frames": "FrameMaker frame_of",
            "framing": "EmptyJournalError MARK MAX_RECORD_BYTES RecordDecoder RecordEncoder",
            "freshness": "age_problem age_text window_of",
            "ladder": "LADDER MIGRATED_KEY NEWEST",
            "layout": (
                "DIAGNOSTIC GIT_ATTRIBUTES MANIFEST OPTIONAL_FILES REQUIRED_FILES SCRUB_REPORT "
                "is_litter"
            ),
            "pinned": "check_pinned",
            "secret_digests": "LEAST_BITS digest_of guessing_bits",
            "strict_json": "check_value parse_strict",
        },
    )
