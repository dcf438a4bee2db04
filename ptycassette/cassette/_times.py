"""What a time looks like in a cassette: RFC 3339."""

from __future__ import annotations

import re
from datetime import datetime

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)")


def is_time(text: str) -> bool:
    """Whether a text is a time with its zone (RFC 3339, section 5.6), and such a day exists."""
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(f"{text[:10]}T00:00:00+00:00")
    except ValueError:
        return False
    return True
