"""Extracts facts from captured screens, or reports exactly why that is not possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ptycassette.harness.probe import Accounted, Discovery, Fact, Quota, Window
from ptycassette.model.file_patterns import file_pattern
from ptycassette.model.screen import Screen
from ptycassette.profiles.session_log import to_number

Screens = Mapping[str, Screen]


class LayoutError(Exception):
    """A captured screen does not have the layout that the probe expects.

    Args:
        message: which expression failed, and how.
        capture: the name of the screen.
    """

    def __init__(self, message: str, capture: str) -> None:
        super().__init__(message)
        self.message = message
        self.capture = capture


class QuotaFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``quota.json``."""

    windows: tuple[dict[str, Any], ...]
    account_class: str | None
    metadata: dict[str, Any]


def find_quota(quota: Quota, screens: Screens) -> QuotaFacts:
    """Find usage windows, account class and metadata.

    Raises:
        LayoutError: something required is missing, or something cannot be
            read.
    """
    windows: list[dict[str, Any]] = []
    read_rows: list[str] = []
    for window in quota.windows:
        found = list(_all(window.regex, screens[window.screen]))
        if not found and window.required:
            label = window.name or window.regex
            raise LayoutError(
                f"no window {label!r}: nothing matches '{window.regex}'", window.screen
            )
        windows += [_window(window, match) for match in found]
        read_rows += [match.group() for match in found]
    if quota.accounted is not None:
        _check_accounted(quota.accounted, screens, read_rows)
    account = quota.account_class
    values = _values(account, screens) if account is not None else []
    metadata = {name: _first(fact, screens) for name, fact in quota.metadata.items()}
    return QuotaFacts(
        windows=tuple(windows),
        account_class=str(values[0]) if values else None,
        metadata={name: value for name, value in metadata.items() if value is not None},
    )


def find_discovery(discovery: Discovery, screens: Screens) -> tuple[tuple[str, ...], ...]:
    """Find models and reasoning levels.

    Raises:
        LayoutError: something required is missing.
    """
    facts = (discovery.models, discovery.reasoning_levels)
    return tuple(
        tuple(dict.fromkeys(str(value) for value in _values(fact, screens))) if fact else ()
        for fact in facts
    )


def _window(window: Window, match: Any) -> dict[str, Any]:
    """One window; percentages must be between 0 and 100, otherwise the layout is unknown."""
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    fields: dict[str, Any] = {"name": window.name or groups.pop("name", "").strip()}
    for name in ("used_percent", "left_percent"):
        if name in groups:
            other = "left_percent" if name == "used_percent" else "used_percent"
            value = to_number(groups.pop(name))
            if value is None or not 0 <= value <= 100:
                raise LayoutError(f"{name} is not a percentage in {match.group()!r}", window.screen)
            fields[name], fields[other] = value, 100 - value
    fields |= {name: text.strip() for name, text in groups.items() if name != "name"}
    if window.window_minutes is not None:
        fields["window_minutes"] = window.window_minutes
    return fields


def _check_accounted(accounted: Accounted, screens: Screens, read_rows: list[str]) -> None:
    """Check that every row that looks like a window was read as one."""
    pattern = file_pattern(accounted.regex)
    for row in screens[accounted.screen].rows:
        if pattern.found(row) and not any(
            row.strip() in read or read.strip() in row for read in read_rows
        ):
            raise LayoutError(
                f"{row.strip()!r} looks like a window, but no window's regex reads it",
                accounted.screen,
            )


def _values(fact: Fact, screens: Screens) -> list[Any]:
    """All values of a fact."""
    found: list[Any] = []
    for name in fact.screens:
        for match in _all(fact.regex, screens[name]):
            text = match["value"].strip()
            value: Any = fact.map.get(text, text)
            if fact.kind == "number":
                value = to_number(value)
                if value is None:
                    raise LayoutError(f"no number in {match.group()!r}", name)
            found.append(value)
    if not found and fact.required:
        raise LayoutError(f"nothing matches '{fact.regex}'", fact.screens[0])
    return found


def _all(regex: str, screen: Screen) -> Iterator[Any]:
    """Every match on a screen; ``^`` and ``$`` match at rows."""
    return file_pattern(regex, multiline=True).matches(screen.text)


def _first(fact: Fact, screens: Screens) -> Any:
    """The first value of a fact; None where there is none."""
    return next(iter(_values(fact, screens)), None)
