"""The names of the files of a cassette, version 1, and which of them must exist.

Other names may be in a cassette only when the manifest pins them in
``optional.artifacts`` (see ``_artifacts``).
"""

from __future__ import annotations

import re

FORMAT_VERSION = 1

KNOWN_FEATURES: frozenset[str] = frozenset()
"""What ``required_features`` may name. Version 1 knows none."""

MANIFEST = "manifest.json"
INPUT = "input.jsonl"
OUTPUT_RAW = "output.raw"
OUTPUT = "output.jsonl"
FRAMES = "frames.jsonl"
SERVICE_EVENTS = "service-events.jsonl"
FINAL = "final.json"
SCRUB_REPORT = "scrub-report.json"
QUOTA = "quota.json"
DISCOVERY = "discovery.json"

DIAGNOSTIC = "diagnostic.json"
"""Marks the diagnostic directory of a failed run, which no reader accepts."""

STREAMS = (INPUT, OUTPUT, FRAMES, SERVICE_EVENTS)
"""The files of one record a line, in the order in which they are reported."""

DOCUMENTS = (FINAL, SCRUB_REPORT, QUOTA, DISCOVERY)
"""The files of one JSON object each, the manifest apart."""

REQUIRED_FILES = (
    INPUT,
    OUTPUT_RAW,
    OUTPUT,
    FRAMES,
    SERVICE_EVENTS,
    FINAL,
    SCRUB_REPORT,
)
"""What must exist besides the manifest, even when it is empty."""

OPTIONAL_FILES = (QUOTA, DISCOVERY)
"""What exists when it was probed."""

GIT_ATTRIBUTES = ".gitattributes"
"""Tells git to keep the files of the cassette byte for byte.

It is not part of the recording: no manifest pins it and no seal names it, so that it can be added
to a cassette that exists. Readers ignore what is in it.
"""

_LITTER = re.compile(
    r"\.ds_store|\._.+|\.localized|icon\r|(ehthumbs|thumbs)(_vista)?\.db|desktop\.ini|\.directory"
    r"|\..+\.sw[a-z]|.+~|#.+#|\.#.+|\..+\.kate-swp|\.~lock\..+#|\.nfs[0-9a-f]+|\.fuse_hidden[0-9a-f]+",
    re.IGNORECASE | re.DOTALL,
)


def is_litter(name: str) -> bool:
    """Whether a file was put beside others by a file manager, an editor or a file system.

    Readers ignore it: it says nothing about the recording. ``verify`` names it, ``verify-scrub``
    searches it.
    """
    return _LITTER.fullmatch(name) is not None


GIT_ATTRIBUTES_TEXT = """\
# Written by ptycassette: git must keep these files byte for byte.
* -text -working-tree-encoding -ident -export-subst -merge -whitespace -diff
*.json diff=cassette
*.jsonl diff=cassette
.gitattributes diff
"""
"""``-text`` switches the conversion of line ends off, whatever the repository's own settings are.

Without ``-diff`` the patch of a file of bytes is text, and ``git am`` removes CRs from text.
``-merge``: two recordings are never mixed line by line. See gitattributes(5).
"""

MAX_GIT_ATTRIBUTES_BYTES = 64 << 10
"""A longer ``.gitattributes`` in a cassette is refused."""
