"""Sizes and times of the hot loop, in Python and compiled.

``relay.c`` repeats them; a test compares the two.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BATCH_BYTES",
    "HELD_MS",
    "KEY_BYTES",
    "MOST_OTHERS",
    "READ_BYTES",
    "SMALL_BYTES",
    "UNSHOWN_BYTES",
]

BATCH_BYTES: Final = 16 << 10
"""A burst is drained up to this: small enough that the program, we and the terminal work at the
same time, large enough that it costs few calls; measured (docs/recording.md)."""
READ_BYTES: Final = 32 << 10
"""Room behind a batch, for its last read."""
SMALL_BYTES: Final = 512
"""A read this small has emptied the PTY; asking again would only delay an echo."""
KEY_BYTES: Final = 4 << 10
"""What is read of the user's input at once."""
UNSHOWN_BYTES: Final = 64 << 10
"""While more than this waits for the screen, no more output is read."""
HELD_MS: Final = 10
"""A key waits this long for its answer before the journal gets it alone."""
MOST_OTHERS: Final = 4
"""Descriptors beside the two terminals."""
