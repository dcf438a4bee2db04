"""Masked values: which live value is which recorded one, by the digests that a tape keeps."""

from __future__ import annotations

from ptycassette.tape.matching._recorded import Recorded
from ptycassette.tape.matching.question import MOST_DIGESTS, masked_digest
from ptycassette.tape.matching.rules import SECRET


class MaskedValues:
    """Recognises the masked values of a tape.

    Computes at most ``4 * MOST_DIGESTS`` digests, so that no cassette makes its reader compute for
    ever. After that no value is recognised.

    Args:
        recorded: the tape.
        key: of the cassette.
        compared: if not, it is as if the tape had no digests.
    """

    def __init__(self, recorded: Recorded, *, key: bytes, compared: bool) -> None:
        self._key = key
        self._names: dict[tuple[str, str], int] = {}
        self._fixed: set[int] = set()
        self._types: set[str] = set()
        self._computed: dict[bytes, str] = {}
        for exchange in recorded.exchanges if compared else ():
            for one in exchange.entry.digests:
                self._names.setdefault((one.type, one.digest), one.name)
                self._types.add(one.type)
                if one.type == SECRET:
                    self._fixed.add(one.name)

    def is_fixed(self, type_: str, name: int) -> bool:
        """Whether a name stands for one secret alone, which is recognised."""
        return type_ == SECRET and name in self._fixed

    def name(self, type_: str, value: bytes) -> int | None:
        """The name of a value; None if it is not known to be one of the recorded ones."""
        if type_ not in self._types:
            return None
        if value not in self._computed:
            if len(self._computed) >= 4 * MOST_DIGESTS:
                return None
            self._computed[value] = masked_digest(self._key, value)
        return self._names.get((type_, self._computed[value]))
