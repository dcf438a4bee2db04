"""Cassettes on disk: read, checked, written."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .listing import ListedCassette as ListedCassette
    from .listing import listed_in as listed_in
    from .migrating import Migrated as Migrated
    from .migrating import migrate_cassette as migrate_cassette
    from .pending import PendingRecordings as PendingRecordings
    from .pending import hold_pending as hold_pending
    from .pending import published_path as published_path
    from .pending import refuse_unwanted as refuse_unwanted
    from .pending import remove_abandoned_recordings as remove_abandoned_recordings
    from .published import published_manifest as published_manifest
    from .raw_output import write_all as write_all
    from .raw_output import write_raw as write_raw
    from .reader import Cassette as Cassette
    from .reader import open_cassette as open_cassette
    from .repair import Fixed as Fixed
    from .repair import fix_cassette as fix_cassette
    from .repair import git_risks as git_risks
    from .repair import protect_from_git as protect_from_git
    from .replacing import reason_to_keep as reason_to_keep
    from .staging import Staging as Staging
    from .staging import disk_errors as disk_errors
    from .staging import fsync_directory as fsync_directory
    from .tape import RecordedExchange as RecordedExchange
    from .tape import Tape as Tape
    from .target import check_target as check_target
    from .verdict import Verdict as Verdict
    from .verdict import verify_cassette as verify_cassette
    from .verify import Verified as Verified
    from .writer import CassetteWriter as CassetteWriter
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "listing": "ListedCassette listed_in",
            "migrating": "Migrated migrate_cassette",
            "pending": (
                "PendingRecordings hold_pending published_path refuse_unwanted"
                " remove_abandoned_recordings"
            ),
            "published": "published_manifest",
            "raw_output": "write_all write_raw",
            "reader": "Cassette open_cassette",
            "repair": "Fixed fix_cassette git_risks protect_from_git",
            "replacing": "reason_to_keep",
            "staging": "Staging disk_errors fsync_directory",
            "tape": "RecordedExchange Tape",
            "target": "check_target",
            "verdict": "Verdict verify_cassette",
            "verify": "Verified",
            "writer": "CassetteWriter",
        },
    )
