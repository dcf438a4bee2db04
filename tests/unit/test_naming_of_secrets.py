"""Names of cassettes hold no secret that a test's parameters hold."""

from __future__ import annotations

from pathlib import Path

from ptycassette.pytest_plugin._runs import cassette_path

TOKENS = [
    "".join(["gh", "p_", letter * 2, "3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z0"]) for letter in "ABcd"
]


def test_parameters_that_are_secret_are_masked_and_told_apart() -> None:
    """Each keeps a place of its own."""
    places = [cassette_path(Path(), "test_x", f"test_tok[{token}]") for token in TOKENS]

    assert len(set(places)) == len(TOKENS)
    assert not any(token in str(place) for token in TOKENS for place in places)
