"""Load the table of prices, ``tape/consent/prices.toml``."""

from __future__ import annotations

from pathlib import Path

from ptycassette.tape import consent
from ptycassette.tape.consent.terms import Prices

_PRICES = Path(consent.__file__).parent / "prices.toml"


def load_prices() -> Prices:
    """The highest prices of models."""
    return Prices.parse(_PRICES.read_text(encoding="utf-8"))
