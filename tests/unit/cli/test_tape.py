"""``ptycassette tape``: the model traffic of a cassette, for people and as JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
TAPE = FIXTURES / "v1" / "tape"


def test_each_question_is_a_line(run: Callable[..., Any]) -> None:
    """With what was asked, the status, and how it ended."""
    ran = run("tape", TAPE)
    rows = ran.text.splitlines()

    assert ran.status == 0
    assert len(rows) == 4
    assert "POST /v1/responses" in rows[1]
    assert "200" in rows[1]
    assert rows[2].endswith("provider-gone: reset by peer")
    assert "over 2" in rows[3]


def test_an_entry_is_shown_with_its_bodies(run: Callable[..., Any]) -> None:
    """Headers, the question and the answer."""
    ran = run("tape", TAPE, "--entry", "1")

    assert "content-type: application/json" in ran.text
    assert '{"model":"m","input":"hi"}' in ran.text
    assert "answer 200  3 chunks" in ran.text


def test_json_holds_the_bytes(run: Callable[..., Any]) -> None:
    """And the chunks with their times."""
    listed = json.loads(run("tape", TAPE, "--json").text)
    whole = json.loads(run("tape", TAPE, "--entry", "1", "--json").text)

    assert [entry["kind"] for entry in listed["entries"]] == ["http", "websocket", "message"]
    assert base64.b64decode(whole["question"]["data"]) == b'{"model":"m","input":"hi"}'
    assert [chunk["bytes"] for chunk in whole["chunks"]] == [35, 0, 37]


def test_without_a_tape_it_says_so(run: Callable[..., Any]) -> None:
    """With what to do."""
    ran = run("tape", FIXTURES / "v1" / "minimal")

    assert ran.status == 4
    assert "rec --tape" in ran.err


def test_an_entry_that_is_not_there_is_an_error(run: Callable[..., Any]) -> None:
    """It says how many there are."""
    ran = run("tape", TAPE, "--entry", "9")

    assert ran.status == 2
    assert "there are 3 entries" in ran.err


def test_info_verify_and_events_know_the_tape(run: Callable[..., Any]) -> None:
    """Each in its own way."""
    assert "3 questions to providers" in run("info", TAPE).text
    assert "3 entries, all bodies whole" in run("verify", TAPE).text
    assert "model-request  entry=1" in run("events", TAPE).text
