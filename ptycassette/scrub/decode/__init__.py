"""Text that is encoded, decoded: what rules and known values are looked for in besides.

``Decoder`` reads whatever decodes to text (one module of the room for each kind of encoding, one
row of its table for each decoder), ``Sought`` finds known values that are too short or too
foreign for it, ``dump_columns`` the characters beside the bytes of a dump. All text is canonical
(see ``ptycassette.scrub.match``). Each gives ``Decoded`` texts, which lead back to where
they came from.
"""

from ptycassette.scrub.decode._decoded import Decoded, Pieces, Run
from ptycassette.scrub.decode._decoder import PLUGS, Decoder
from ptycassette.scrub.decode._dumps import dump_columns
from ptycassette.scrub.decode._plug import DecoderRow, Plug
from ptycassette.scrub.decode._sought import Sought

__all__ = [
    "PLUGS",
    "Decoded",
    "Decoder",
    "DecoderRow",
    "Pieces",
    "Plug",
    "Run",
    "Sought",
    "dump_columns",
]
