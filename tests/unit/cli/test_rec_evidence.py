"""Which questions of a recording went wrong in the end."""

from __future__ import annotations

from typing import Any

from ptycassette.cli._rec_evidence import unanswered
from ptycassette.cli._reports import TapeLine


def line(entry: int, key: str, **more: Any) -> TapeLine:
    """A question that was answered with 200, unless it says otherwise."""
    fields: dict[str, Any] = dict.fromkeys(TapeLine.__struct_fields__)
    fields |= {"sent_bytes": 1, "received_bytes": 1, "chunks": 1, "tools": (), "detail": ""}
    return TapeLine(
        **{**fields, "kind": "http", "entry": entry, "key": key, "status": 200, "seq": entry,
           "t_us": 0, "outcome": "complete", **more}
    )  # fmt: skip


def test_a_question_that_was_answered_later_is_none() -> None:
    """Asked again with success; of the one that was not, the last attempt counts."""
    lines = [line(1, "a", status=429), line(2, "a"), line(3, "b"), line(4, "b", status=503)]

    assert [one.entry for one in unanswered(lines)] == [4]


def test_each_question_that_was_not_sent_is_one() -> None:
    """Nothing of them is kept, so they have one key."""
    lines = [line(number, "same", outcome="refused", status=403) for number in (1, 2, 3)]

    assert [one.entry for one in unanswered(lines)] == [1, 2, 3]
