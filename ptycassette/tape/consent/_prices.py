"""What models cost and how much they take, from a dated table; upper bounds, not bills."""

from __future__ import annotations

import re
from datetime import date

from ptycassette.profiles.checked import StrictTable, read_checked

_VERSION = re.compile(r"(-latest|-preview|-exp|@|-)?[-\d]*$")
_MILLION = 1_000_000


class Model(StrictTable, frozen=True, kw_only=True):
    """A model: US dollars for a million tokens at most, and the tokens that it takes and gives."""

    input: float
    output: float
    context: int
    max_output: int

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost at most."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION


class Prices(StrictTable, frozen=True, kw_only=True):
    """The table."""

    version: int
    date: date
    models: dict[str, Model]

    @classmethod
    def parse(cls, text: str, *, where: str = "prices.toml") -> Prices:
        """Read and check the table.

        Raises:
            UsageError: what is wrong.
        """
        return read_checked(text, cls, where=where, known=(Model,))

    def model(self, name: str) -> Model | None:
        """A model by its name, with or without a vendor before it or a date behind it."""
        name = name.rpartition("/")[2]
        for one in (name, _VERSION.sub("", name)):
            if one in self.models:
                return self.models[one]
        longest = max(
            (
                known
                for known in self.models
                if re.fullmatch(rf"{re.escape(known)}[-@]\d{{4}}.*", name)
            ),
            key=len,
            default=None,
        )
        return None if longest is None else self.models[longest]
