"""What is closed when a ``with`` block ends."""

from __future__ import annotations

from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing:
    """A context manager that gives itself and is closed at the end, whatever happened."""

    def close(self) -> None:
        """Close it; does nothing the second time."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
