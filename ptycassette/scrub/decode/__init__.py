"""Text that is encoded, decoded: what rules and known values are looked for in besides.

``decoded_views`` reads whatever decodes to text (a row of the table for each decoder).
``EncodedSearch`` finds known values that are too short or too foreign for it. All text is canonical
(see ``ptycassette.scrub.match``). Each gives ``Decoded`` texts, which lead back to where they came
from.
"""

from ptycassette.scrub.decode._decoded import Decoded
from ptycassette.scrub.decode._decoder import DECODERS, DecoderRow, decoded_views
from ptycassette.scrub.decode._encoded_search import EncodedSearch

__all__ = ["DECODERS", "Decoded", "DecoderRow", "EncodedSearch", "decoded_views"]
