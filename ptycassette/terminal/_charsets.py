"""Character sets that programs designate with ``ESC ( F`` and its kin (ISO 2022).

Only sets that replace ASCII characters one for one. They apply in UTF-8 too,
because ncurses and dialog use line drawing there. Sources: the VT220 and VT510
manuals on the DEC special graphics and national replacement sets; which cells
of the special graphics set change is as xterm does it.
"""

from __future__ import annotations

from typing import Final

Charset = dict[int, str]

_GRAPHICS: Final = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"


def _national(replaced: str, by: str) -> Charset:
    return {ord(old): new for old, new in zip(replaced, by, strict=True)}


_FINNISH: Final = _national("[\\]^`{|}~", "ÄÖÅÜéäöåü")
_NORWEGIAN: Final = _national("@[\\]^`{|}~", "ÄÆØÅÜäæøåü")
_SWEDISH: Final = _national("@[\\]^`{|}~", "ÉÄÖÅÜéäöåü")
_FRENCH_CANADIAN: Final = _national("@[\\]^`{|}~", "àâçêîôéùèû")

CHARSETS: Final[dict[str, Charset | None]] = {
    # final character: its replacements; None is ASCII
    "B": None,
    "0": {ord("`") + offset: char for offset, char in enumerate(_GRAPHICS)},
    "A": {ord("#"): "£"},
    "4": _national("#@[\\]{|}~", "£¾ĳ½|¨f¼´"),  # noqa: RUF001
    "C": _FINNISH,
    "5": _FINNISH,
    "R": _national("#@[\\]{|}~", "£à°ç§éùè¨"),
    "Q": _FRENCH_CANADIAN,
    "K": _national("@[\\]{|}~", "§ÄÖÜäöüß"),
    "Y": _national("#@[\\]`{|}~", "£§°çéùàòèì"),
    "E": _NORWEGIAN,
    "6": _NORWEGIAN,
    "Z": _national("#@[\\]{|}", "£§¡Ñ¿°ñç"),
    "H": _SWEDISH,
    "7": _SWEDISH,
    "=": _national("#@[\\]^_`{|}~", "ùàéçêîèôäöüû"),
}
