"""Our canonical JSON against another implementation of RFC 8785, and its own examples."""

from __future__ import annotations

import json
import struct

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from ptycassette.cassette.manifest import canonical_json

EXACT = 2**53 - 1
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
def test_it_is_what_another_implementation_writes(value: object) -> None:
    """But for integers beyond 2^53, which that one refuses."""
    assert canonical_json(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(st.integers(0, 2**64 - 1))
def test_every_double_is_written_as_another_implementation_does(bits: int) -> None:
    """Drawn by their bits, so that all exponents come up."""
    (number,) = struct.unpack("<d", struct.pack("<Q", bits))
    if number - number == 0:
        assert canonical_json(number) == rfc8785.dumps(number)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_a_number_of_the_standard_is_written_as_it_says(bits: str, text: str) -> None:
    """RFC 8785, appendix B."""
    assert canonical_json(struct.unpack(">d", bytes.fromhex(bits))[0]).decode() == text


def test_keys_are_sorted_by_utf16() -> None:
    """RFC 8785, section 3.2.3."""
    given_object = json.loads(
        '{"\\u20ac": 1, "\\r": 2, "\\ufb33": 3, "1": 4, "\\ud83d\\ude00": 5, "\\u0080": 6, '
        '"\\u00f6": 7}'
    )

    assert [json.loads(canonical_json(given_object))[key] for key in json.loads(
        canonical_json(given_object)
    )] == [2, 4, 6, 7, 1, 5, 3]  # fmt: skip
