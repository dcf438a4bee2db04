"""Input scripts: every step, and every mistake with its line."""

from __future__ import annotations

import pytest

from ptycassette.errors import UsageError
from ptycassette.model.screen import Size
from ptycassette.recording.input_script import STEPS, parse_script, parse_size

SCRIPT = """
# a comment, then an empty line

type  echo  hi
type "  with\\tspaces\\n"
key enter ctrl-c
paste two words
submit go
wait-text $
wait-regex ^a.b$
wait-stable
wait-stable 1.5s
timeout 2m
wait-exit
resize 100x30
signal term
note {"a": [1]}
wait-idle
wait-idle 2s
secret: typed and hidden
secret-env TOKEN
secret-file: ~/.token
pace 50ms
pause 2s
"""


def test_every_step_is_understood() -> None:
    """Kinds in order, with their arguments as they stand or as JSON strings say."""
    steps = parse_script(SCRIPT)

    assert [step.kind for step in steps] == [
        "type", "type", "key", "paste", "submit", "wait-text", "wait-regex", "wait-stable",
        "wait-stable", "wait-exit", "resize", "signal", "note", "wait-idle", "wait-idle",
        "secret", "secret-env", "secret-file", "pause",
    ]  # fmt: skip
    assert [step.text for step in steps[:4]] == [
        "echo  hi",
        "  with\tspaces\n",
        "enter ctrl-c",
        "two words",
    ]
    assert {step.kind for step in steps} | {"timeout", "pace"} == set(STEPS)


def test_values_are_parsed() -> None:
    """Times in seconds, sizes, JSON; a timeout holds from its line on."""
    steps = {step.line: step for step in parse_script(SCRIPT)}

    assert (steps[11].seconds, steps[12].seconds) == (0.2, 1.5)
    assert (steps[18].seconds, steps[19].seconds) == (0.5, 2.0)
    assert (steps[12].timeout_s, steps[14].timeout_s) == (10.0, 120.0)
    assert (steps[24].seconds, steps[24].pace_s, steps[22].pace_s) == (2.0, 0.05, 0.0)
    assert (steps[15].size, steps[17].payload) == (Size(30, 100), {"a": [1]})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sleep 1", "no such step: sleep"),
        ("type", "type needs a value"),
        ("key nosuchkey", "nosuchkey"),
        ("wait-regex [", "not a regular expression"),
        ("wait-stable soon", "is not a time"),
        ("wait-idle soon", "is not a time"),
        ("wait-exit now", "takes nothing"),
        ("resize 30", "is not a size"),
        ("resize 0x10", "is not a size"),
        ("note {", "not JSON"),
        ('type "open', "not a JSON string"),
        ("timeout", "is not a time"),
    ],
)
def test_a_mistake_is_told_with_its_line(line: str, said: str) -> None:
    """And with the steps that there are."""
    with pytest.raises(UsageError, match=said) as caught:
        parse_script(f"type a\n{line}\n", name="s.txt")

    assert "s.txt line 2" in str(caught.value)
    assert "wait-stable" in str(caught.value)


def test_a_size_is_columns_by_rows() -> None:
    """As asciinema writes it."""
    assert parse_size("80x24") == Size(24, 80)
