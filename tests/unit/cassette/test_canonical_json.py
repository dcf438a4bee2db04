"""The canonical text of a JSON value."""

from __future__ import annotations

import pytest

from ptycassette.cassette.manifest import canonical_json


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, b"{}"),
        ([], b"[]"),
        ({"b": [1, "x"], "a": None}, b'{"a":null,"b":[1,"x"]}'),
        ((True, False), b"[true,false]"),
        ('\u20ac$\x0f\n\\"/', b'"\xe2\x82\xac$\\u000f\\n\\\\\\"/"'),
        (2**63 - 1, b"9223372036854775807"),
        ({"\U0001f600": 1, "\ufb33": 2}, b'{"\xf0\x9f\x98\x80":1,"\xef\xac\xb3":2}'),
    ],
)
def test_values_have_one_text(value: object, text: bytes) -> None:
    """Sorted by UTF-16 code units (RFC 8785, 3.2.3), nothing escaped that need not be."""
    assert canonical_json(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, b"0"),
        (-0.0, b"0"),
        (5e-324, b"5e-324"),
        (-1.7976931348623157e308, b"-1.7976931348623157e+308"),
        (9007199254740992.0, b"9007199254740992"),
        (295147905179352830000.0, b"295147905179352830000"),
        (9.999999999999997e22, b"9.999999999999997e+22"),
        (1e21, b"1e+21"),
        (999999999999999700000.0, b"999999999999999700000"),
        (333333333.3333333, b"333333333.3333333"),
        (0.000001, b"0.000001"),
        (1e-7, b"1e-7"),
        (-0.0000033333333333333333, b"-0.0000033333333333333333"),
        (1.5, b"1.5"),
    ],
)
def test_numbers_are_written_as_ecmascript_does(value: float, text: bytes) -> None:
    """The table in RFC 8785, appendix B."""
    assert canonical_json(value) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    """No canonical text for what is no JSON."""
    with pytest.raises(ValueError, match=r"finite|surrogates"):
        canonical_json(value)


@pytest.mark.parametrize("value", [b"x", {1: 2}, object()])
def test_other_types_are_misuse(value: object) -> None:
    """Only what JSON has."""
    with pytest.raises(TypeError, match=r"not text|not a JSON"):
        canonical_json(value)
