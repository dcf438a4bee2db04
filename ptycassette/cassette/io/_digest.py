"""The digest of a large file, computed in a thread beside the reading of it.

``output.raw`` is hashed twice over: as a whole and chunk by chunk. SHA-256
releases the interpreter lock for large blocks, so the first of the two costs
no time on a machine with a second core.
"""

from __future__ import annotations

import threading
from hashlib import sha256
from queue import SimpleQueue

from ptycassette.system.closing import Closing

_WORTH_A_THREAD_BYTES = 8 << 20
_BLOCKS_AHEAD = 4


class WholeDigest(Closing):
    """SHA-256 of a file whose blocks are handed in in order. Use it in a ``with``.

    Args:
        size: how long the file is; short ones get no thread.
    """

    def __init__(self, size: int) -> None:
        self._hash = sha256()
        self._room = threading.Semaphore(_BLOCKS_AHEAD)
        self._blocks: SimpleQueue[memoryview | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        if size >= _WORTH_A_THREAD_BYTES:
            self._thread = threading.Thread(target=self._run, name="sha256", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (block := self._blocks.get()) is not None:
            self._hash.update(block)
            self._room.release()

    def update(self, block: memoryview) -> None:
        """Take the next block; it must not change afterwards."""
        if self._thread is None:
            self._hash.update(block)
        else:
            self._room.acquire()  # so that few blocks are in memory at once
            self._blocks.put(block)

    def hexdigest(self) -> str:
        """The digest of all blocks; nothing can be handed in afterwards."""
        self.close()
        return self._hash.hexdigest()

    def close(self) -> None:
        """Wait for the thread; does nothing the second time."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._blocks.put(None)
            thread.join()
