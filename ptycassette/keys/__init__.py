"""Bytes of keys, edited lines, and the text of times and sizes: each read and written once."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .lines import Line as Line
    from .lines import TypedText as TypedText
    from .lines import edited_text as edited_text
    from .lines import typed_text as typed_text
    from .names import PASTE_END as PASTE_END
    from .names import PASTE_START as PASTE_START
    from .names import Keyboard as Keyboard
    from .names import canonical_key as canonical_key
    from .names import encode_key as encode_key
    from .names import encode_paste as encode_paste
    from .names import encode_text as encode_text
    from .quantities import LONGEST_S as LONGEST_S
    from .quantities import TIME_EXAMPLES as TIME_EXAMPLES
    from .quantities import bytes_text as bytes_text
    from .quantities import clock_text as clock_text
    from .quantities import parse_bytes as parse_bytes
    from .quantities import parse_size as parse_size
    from .quantities import parse_time as parse_time
    from .quantities import time_text as time_text
    from .quantities import window_text as window_text
    from .reader import REMOVING as REMOVING
    from .reader import Key as Key
    from .reader import KeyReader as KeyReader
    from .reader import read_keys as read_keys
    from .reader import typed_keys as typed_keys
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "lines": "Line TypedText edited_text typed_text",
            "names": (
                "PASTE_END PASTE_START Keyboard canonical_key encode_key encode_paste encode_text"
            ),
            "quantities": (
                "LONGEST_S TIME_EXAMPLES bytes_text clock_text parse_bytes parse_size parse_time"
                " time_text window_text"
            ),
            "reader": "REMOVING Key KeyReader read_keys typed_keys",
        },
    )
