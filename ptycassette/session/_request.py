"""What a caller in another thread wants done by the pump, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Request(Generic[T]):
    """Something that a caller wants done by the pump."""

    def __init__(self, action: Callable[[], T]) -> None:
        self.action = action
        self.done: Future[T] = Future()

    def run(self) -> None:
        """Do it, unless the caller has given up."""
        if not self.done.set_running_or_notify_cancel():
            return
        try:
            result = self.action()
        except Exception as exc:  # noqa: BLE001 - it belongs to the caller, who gets it
            self.done.set_exception(exc)
        else:
            self.done.set_result(result)
