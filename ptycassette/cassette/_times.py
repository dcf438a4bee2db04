"""Times in a cassette: RFC 3339."""

from __future__ import annotations

import re
from datetime import datetime

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)")


def is_time(text: str) -> bool:
    """Whether ``text`` is an existing date and time, with a zone (RFC 3339, section 5.6)."""
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(f"{text[:10]}T00:00:00+00:00")
    except ValueError:
        return False
    return True
