"""Bytes of keys, edited lines, and the text of times and sizes: each read and written once."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .quantities import LONGEST_S as LONGEST_S
    from .quantities import TIME_EXAMPLES as TIME_EXAMPLES
    from .quantities import bytes_text as bytes_text
    from .quantities import clock_text as clock_text
    from .quantities import parse_bytes as parse_bytes
    from .quantities import parse_size as parse_size
    from .quantities import parse_time as parse_time
    from .quantities import time_text as time_text
    from .quantities import window_text as window_text
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "quantities": (
                "LONGEST_S TIME_EXAMPLES bytes_text clock_text parse_bytes parse_size parse_time"
                " time_text window_text"
            ),
        },
    )
