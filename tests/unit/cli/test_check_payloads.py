"""``check`` on service events of any JSON: texts, lists, numbers."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ptycassette.model.records import Noted, Output
from ptycassette.testing import write_cassette
from tests.unit.cli.conftest import Run

TEXTS = ["", "plain", "[INFO] started", '"quoted"', '{"type": "x"}', "{", "\x1b[31mred"]
PAYLOADS: list[Any] = [
    *TEXTS,
    0,
    -1.5,
    2**62,
    True,
    None,
    [],
    ["["],
    [[1], {}],
    {},
    {"type": ["x"]},
]
PATHS = ["$", "$.type", "$..type", "$[0]", "$[*]", "$[?@.type]", "$.type | $"]
COMPARISONS: list[dict[str, Any]] = [
    {"equals": "x"}, {"not_equals": None}, {"less_than": 1}, {"at_least": 0}, {"contains": "x"},
    {"matches": "x.*"}, {"one_of": ["x", 1]}, {"exists": True}, {"exists": False},
]  # fmt: skip


@pytest.mark.parametrize("payload", PAYLOADS, ids=repr)
def test_each_comparison_holds_or_fails(run: Run, tmp_path: Path, payload: Any) -> None:
    """With an exit status that is documented, at every path."""
    write_cassette(tmp_path / "c", Output(0, b"hi\r\n"), Noted(1, payload))
    checks = [
        {"type": "service_json", "json_path": path, **comparison}
        for path, comparison in product(PATHS, COMPARISONS)
    ]
    groups = {f"g{number}": [check] for number, check in enumerate(checks)}
    scenario = {"name": "t", "cassette_path": "c", "groups": groups}
    (tmp_path / "t.scenario.json").write_text(json.dumps(scenario))
    ran = run("check", "--cassette", tmp_path / "c", tmp_path / "t.scenario.json")

    assert ran.status in {0, 1}, ran.err


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_itself_and_not_the_json_in_it(run: Run, tmp_path: Path, text: str) -> None:
    """What looks like an object has no members."""
    write_cassette(tmp_path / "c", Noted(0, text))
    groups = {
        "itself": [{"type": "service_json", "json_path": "$", "equals": text}],
        "no member": [{"type": "service_json", "json_path": "$.type", "exists": False}],
    }
    scenario = {"name": "t", "cassette_path": "c", "groups": groups}
    (tmp_path / "t.scenario.json").write_text(json.dumps(scenario))

    ran = run("check", "--cassette", tmp_path / "c", tmp_path / "t.scenario.json")

    assert ran.status == 0, ran.text
