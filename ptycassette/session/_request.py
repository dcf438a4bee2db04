"""Requests of other threads to the pump, with their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


class Request(Generic[T]):
    """A request to the pump."""

    def __init__(self, action: Callable[[], T]) -> None:
        from concurrent.futures import Future  # noqa: PLC0415 - it loads logging

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
