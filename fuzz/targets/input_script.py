"""An input script: refused as wrong usage with the line, or steps that a recorder can take."""

from __future__ import annotations

import json

from fuzz.plain import is_plain
from ptycassette.errors import UsageError
from ptycassette.recording.input_script import parse_script

_DAY_S = 86_400


def check(data: bytes) -> None:
    """Read it; what of it goes on the record must be JSON."""
    try:
        steps = parse_script(data.decode("utf-8", "replace"))
    except UsageError as exc:
        assert is_plain(str(exc)), "the error acts on a terminal"
        return
    for step in steps:
        json.dumps(step.payload, allow_nan=False).encode("utf-8")
        assert 0 <= step.seconds <= _DAY_S, "nobody waits so long"
        assert 0 <= step.timeout_s <= _DAY_S, "nobody waits so long"
        step.text.encode("utf-8", "surrogateescape")
