"""Session logs become typed events and the fields of the final record."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ptycassette.profiles import LogSource, read_rows
from ptycassette.profiles.session_log import to_number


def source(*events: dict[str, Any], **more: Any) -> LogSource:
    """A log with these rules."""
    return msgspec.convert({"glob": "x", "events": list(events), **more}, LogSource)


USAGE = {"type": "usage", "fields": {"id": "id", "input_tokens": "in", "cost_usd": "cost"}}


def test_rules_pick_rows_and_fields() -> None:
    """By equality, by existence; paths go through objects and lists."""
    rule = {
        "type": "message",
        "where": {"kind": "m", "a.b": 1},
        "exists": ["parts.0.text"],
        "fields": {"role": "=assistant", "text": "parts.0.text", "model": "nothing.there"},
    }
    rows = [
        {"kind": "m", "a": {"b": 1}, "parts": [{"text": "hi"}]},
        {"kind": "m", "a": {"b": 2}, "parts": [{"text": "other"}]},
        {"kind": "m", "a": {"b": 1}, "parts": []},
        {"kind": "m", "a": {"b": 1}, "parts": "text"},
    ]
    facts = read_rows(source(rule), rows)

    assert facts.events == ({"type": "message", "role": "assistant", "text": "hi"},)
    assert facts.final_text == "hi"


def test_a_list_makes_one_event_per_element() -> None:
    """Tool calls often lie together in one row."""
    rule = {"type": "tool-call", "each": "calls", "fields": {"call_id": "id", "name": "name"}}
    rows = [{"calls": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}, {"calls": None}]
    facts = read_rows(source(rule), rows)

    assert [event["name"] for event in facts.events] == ["a", "b"]


def test_an_element_with_none_of_the_fields_is_no_event() -> None:
    """Lists of parts hold texts and calls side by side; a fixed text is not found anywhere."""
    text = {"type": "message", "each": "parts", "fields": {"role": "=assistant", "text": "text"}}
    call = {"type": "tool-call", "each": "parts", "fields": {"call_id": "id", "name": "name"}}
    row = {"parts": [{"text": "hi"}, {"id": "1", "name": "read"}, "torn"]}
    facts = read_rows(source(text, call), [row])

    assert facts.events == (
        {"type": "message", "role": "assistant", "text": "hi"},
        {"type": "tool-call", "call_id": "1", "name": "read"},
    )


def test_the_rows_of_a_document_are_a_list_in_it() -> None:
    """Named by its path; a document that is a list needs no name."""
    rule = {"type": "message", "fields": {"text": "text"}}
    rows = [{"text": "a"}, {"text": "b"}]
    inside = read_rows(source(rule, format="json", rows="of.it"), [{"of": {"it": rows}}])

    assert [event["text"] for event in inside.events] == ["a", "b"]
    assert read_rows(source(rule), [rows]) == inside
    with pytest.raises(msgspec.ValidationError, match="together and rows belong to"):
        source(rule, format="text", regex="x", rows="of.it")


def test_a_count_may_be_a_sum() -> None:
    """Of the paths that are there; of none it is none."""
    rule = {"type": "usage", "fields": {"input_tokens": "t.in + t.cached", "output_tokens": "o"}}
    rows = [{"t": {"in": 5, "cached": 2}}, {"t": {"in": 1}}, {"o": 3}]
    facts = read_rows(source(rule), rows)

    assert [event.get("input_tokens") for event in facts.events] == [7, 1, None]
    assert facts.usage == {"input_tokens": 8, "output_tokens": 3}


def test_usage_adds_up_and_rewritten_rows_count_once() -> None:
    """The last of the rows with one id; rows without an id each count."""
    rows = [
        {"id": "1", "in": 5, "cost": 0.1},
        {"id": "1", "in": 7, "cost": 0.2},
        {"in": 10, "cost": 0.3},
        {"in": 10},
    ]
    facts = read_rows(source(USAGE), rows)

    assert facts.usage == {"input_tokens": 27}
    assert facts.cost_usd == 0.5


def test_totals_in_the_log_are_not_added_again() -> None:
    """``total = "last"``: the log counts for itself."""
    facts = read_rows(source(USAGE, total="last"), [{"in": 5}, {"in": 12}])

    assert facts.usage == {"input_tokens": 12}
    assert facts.cost_usd is None


def test_an_empty_log_tells_nothing() -> None:
    """No facts, and no zeros in their place."""
    facts = read_rows(source(USAGE), [])

    assert (facts.events, facts.usage, facts.cost_usd, facts.final_text) == ((), None, None, None)


def test_the_model_is_the_last_one_told() -> None:
    """Models change in the middle of a session."""
    rule = {"type": "message", "fields": {"role": "=assistant", "model": "m"}}

    assert read_rows(source(rule), [{"m": "a"}, {"m": "b"}, {"m": None}]).model == "b"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (6131, 6131),
        (0.5, 0.5),
        ("6,131", 6131),
        ("2.6k", 2600),
        ("1.25M", 1250000),
        ("$0.0065", 0.0065),
        (" 12 ", 12),
        ("twelve", None),
        ("", None),
        (None, None),
        (True, None),
        (float("inf"), None),
    ],
)
def test_numbers_as_clis_write_them(text: Any, number: Any) -> None:
    """With separators, suffixes, currency; anything else is no number."""
    assert to_number(text) == number
