"""Session logs become typed events and the fields of the final record."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ptycassette.profiles.session_log import LogSource, read_rows, to_number


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


def test_conditions_may_be_lists_and_beginnings() -> None:
    """Any of a list; a beginning after ``~``; what ``unless`` names is left out."""
    rule = {
        "type": "message",
        "where": {"kind": ["a", "b"]},
        "unless": {"meta": True, "text": "~<context>"},
        "fields": {"text": "text"},
    }
    rows = [
        {"kind": "a", "text": "1"},
        {"kind": "b", "text": "2 <context>"},
        {"kind": "c", "text": "3"},
        {"kind": "a", "text": "4", "meta": True},
        {"kind": "a", "text": "<context>5"},
    ]
    facts = read_rows(source(rule), rows)

    assert [event["text"] for event in facts.events] == ["1", "2 <context>"]
    assert facts.unread == {"rows of kind c": 1, "rows of kind a": 2}
    with pytest.raises(msgspec.ValidationError, match="need each"):
        source({**rule, "each_where": {"a": 1}})


PARTS = [
    {"type": "message", "each": "parts", "each_where": {"type": "text"},
     "fields": {"id": "/id", "role": "/who", "text": "text"}},
    {"type": "thinking", "each": "parts", "each_where": {"type": "thought"},
     "fields": {"id": "/id", "text": "thought"}},
    {"type": "tool-call", "each": "parts", "each_where": {"type": "call"},
     "fields": {"call_id": "id", "name": "name"}},
    {"type": "attachment", "each": "parts", "each_where": {"type": "image"},
     "fields": {"kind": "type", "name": "url"}},
]  # fmt: skip


def test_every_part_of_a_row_is_an_event_or_counted() -> None:
    """Fields of the row are there too; a part of an unknown kind is named."""
    parts = [
        {"type": "text", "text": "first"},
        {"type": "thought", "thought": "hm"},
        {"type": "call", "id": "1", "name": "read"},
        {"type": "call", "id": "2", "name": "write"},
        {"type": "image", "url": "data:image/png;base64," + "A" * 4000},
        {"type": "text", "text": "second"},
        {"type": "hologram"},
    ]
    row = {"id": "r", "who": "assistant", "parts": parts}
    facts = read_rows(source(*PARTS), [row, row])  # a log that rewrites its rows

    assert [event["type"] for event in facts.events] == [
        "message", "message", "thinking", "tool-call", "tool-call", "attachment", "attachment",
    ]  # fmt: skip
    assert [event.get("text") for event in facts.events[:2]] == ["first", "second"]
    assert facts.events[-1]["name"] == "data:image/png;base64,... (4022 characters)"
    assert facts.unread == {"parts of kind hologram": 2}


def test_a_text_in_place_of_parts_is_one_part() -> None:
    """As prompts often are; an empty one is nothing."""
    rows = [{"who": "user", "parts": "go"}, {"who": "user", "parts": ""}]
    facts = read_rows(source(*PARTS), rows)

    assert facts.events == ({"type": "message", "role": "user", "text": "go"},)


def test_running_totals_are_events_of_their_increase() -> None:
    """A total that was written again adds nothing; one that fell began anew."""
    rows = [{"in": 5}, {"in": 5}, {"in": 12}, {"in": 3}]
    facts = read_rows(source(USAGE, total="last"), rows)

    assert [event["input_tokens"] for event in facts.events] == [5, 7, 3]
    assert facts.usage == {"input_tokens": 15}


def _uuid7(ms: int) -> str:
    return f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7000-8000-000000000000"


@pytest.mark.parametrize("with_turns", [True, False])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("stamped", [True, False])
def test_a_fork_does_not_count_what_it_copied(with_turns: bool, named: bool, stamped: bool) -> None:
    """The copy is marked; its end is known by the ids of turns, or by the clock."""

    def moment(ms: int) -> str:
        return f"2026-03-01T10:00:{ms // 1000:02}.{ms % 1000:03}Z"

    begun = 1_772_359_200_000  # 2026-03-01T10:00:00Z
    fork = {"parent": "old"} if named else {}
    rows: list[dict[str, Any]] = [
        {"at": moment(9000), "meta": 1, "id": _uuid7(begun + 9000), **fork},
        {"at": moment(9001), "meta": 1, "id": _uuid7(begun)},
        {"at": moment(9002 if stamped else 100), "turn": _uuid7(begun + 10)},
        {"at": moment(9002 if stamped else 200), "text": "old"},
        {"at": moment(9002 if stamped else 300), "in": 3000},
        {"at": moment(15000), "turn": _uuid7(begun + 15000)},
        {"at": moment(15001), "text": "new"},
        {"at": moment(16000), "in": 3100},
    ]
    if not with_turns:
        rows = [row for row in rows if "turn" not in row]
    forked = {"head": {"meta": 1}, "id": "id", "parent": "parent", "turn": "turn"}
    text = {"type": "message", "exists": ["text"], "fields": {"role": "=user", "text": "text"}}
    usage = {**USAGE, "exists": ["in"]}
    facts = read_rows(source(text, usage, total="last", time="at", forked=forked), rows)

    assert facts.usage == {"input_tokens": 100}
    assert [(one.get("text"), one.get("inherited")) for one in facts.events] == [
        ("old", True), ("new", None), (None, None),
    ]  # fmt: skip


def test_a_session_that_was_resumed_is_no_fork() -> None:
    """Its head is written again, with its own id."""
    forked = {"head": {"meta": 1}, "id": "id", "parent": "parent", "turn": "turn"}
    rows = [{"meta": 1, "id": "a", "at": 1}, {"in": 5, "at": 2}, {"meta": 1, "id": "a", "at": 3},
            {"in": 7, "at": 4}]  # fmt: skip
    usage = {**USAGE, "exists": ["in"]}
    facts = read_rows(source(usage, total="last", time="at", forked=forked), rows)

    assert facts.usage == {"input_tokens": 7}


def test_rows_of_another_session_are_marked() -> None:
    """By a member that only copies have; their tokens are counted where they were spent."""
    text = {"type": "message", "exists": ["text"], "fields": {"text": "text"}}
    rows = [{"text": "a", "from": {}}, {"in": 5, "from": {}}, {"in": 7}]
    facts = read_rows(source(text, {**USAGE, "exists": ["in"]}, copied="from"), rows)

    assert (facts.usage, facts.events[0]["inherited"]) == ({"input_tokens": 7}, True)


def test_a_subagent_has_not_the_last_word() -> None:
    """Its events are marked, and its tokens are counted."""
    text = {"type": "message", "exists": ["text"], "fields": {"role": "=assistant", "text": "text"}}
    rows = [
        {"text": "mine"},
        {"text": "of a helper", "side": True, "name": "h"},
        {"side": True, "in": 5},
    ]
    logs = source(text, {**USAGE, "exists": ["in"]}, common={"sidechain": "side", "agent": "name"})
    facts = read_rows(logs, rows)

    assert (facts.final_text, facts.usage) == ("mine", {"input_tokens": 5})
    assert facts.events[1] == {
        "type": "message", "role": "assistant", "text": "of a helper", "sidechain": True,
        "agent": "h",
    }  # fmt: skip
    assert "sidechain" not in facts.events[0]


def test_what_two_rows_say_counts_once() -> None:
    """A ``fallback`` is for logs that have the message in that row alone."""
    text = {"type": "message", "where": {"k": 1}, "fields": {"role": "=user", "text": "text"}}
    again = {**text, "where": {"k": 2}, "fallback": True}
    rows = [{"k": 1, "text": "go"}, {"k": 2, "text": "go"}, {"k": 2, "text": "on"}]
    facts = read_rows(source(text, again), rows)

    assert [event["text"] for event in facts.events] == ["go", "on"]
    assert facts.unread == {}


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
