"""Cassettes on disk: read, checked, written."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.cassette.io.listing import ListedCassette, listed_in
    from ptycassette.cassette.io.pending import (
        PendingRecordings,
        published_path,
        refuse_unwanted,
        remove_abandoned_recordings,
    )
    from ptycassette.cassette.io.published import published_manifest
    from ptycassette.cassette.io.raw_output import write_all, write_raw
    from ptycassette.cassette.io.reader import Cassette, open_cassette
    from ptycassette.cassette.io.replacing import reason_to_keep
    from ptycassette.cassette.io.staging import disk_errors, fsync_directory
    from ptycassette.cassette.io.tape import RecordedExchange, Tape
    from ptycassette.cassette.io.target import check_target
    from ptycassette.cassette.io.verdict import Verdict, verify_cassette
    from ptycassette.cassette.io.verify import Verified
    from ptycassette.cassette.io.writer import CassetteWriter
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "tape": ("RecordedExchange", "Tape"),
            "listing": ("ListedCassette", "listed_in"),
            "pending": (
                "PendingRecordings",
                "refuse_unwanted",
                "remove_abandoned_recordings",
                "published_path",
            ),
            "published": ("published_manifest",),
            "raw_output": ("write_all", "write_raw"),
            "reader": ("Cassette", "open_cassette"),
            "replacing": ("reason_to_keep",),
            "staging": ("disk_errors", "fsync_directory"),
            "target": ("check_target",),
            "verdict": ("Verdict", "verify_cassette"),
            "verify": ("Verified",),
            "writer": ("CassetteWriter",),
        },
    )

__all__ = [
    "Cassette",
    "CassetteWriter",
    "ListedCassette",
    "PendingRecordings",
    "RecordedExchange",
    "Tape",
    "Verdict",
    "Verified",
    "check_target",
    "disk_errors",
    "fsync_directory",
    "listed_in",
    "open_cassette",
    "published_manifest",
    "published_path",
    "reason_to_keep",
    "refuse_unwanted",
    "remove_abandoned_recordings",
    "verify_cassette",
    "write_all",
    "write_raw",
]
