"""Comparisons of a JSON value; all that the scenario gives must hold."""

from __future__ import annotations

import operator
from typing import Any

import msgspec

from ptycassette.model.file_patterns import file_pattern
from ptycassette.scenario._predicate import Base, PredicateContext, bad_pattern

JsonValue = Any


class Compare(Base, frozen=True, kw_only=True):
    """Comparisons of a JSON value; all given must hold. All but ``equals`` are extensions."""

    equals: JsonValue | msgspec.UnsetType = msgspec.UNSET
    not_equals: JsonValue | msgspec.UnsetType = msgspec.UNSET
    less_than: float | None = None
    at_most: float | None = None
    greater_than: float | None = None
    at_least: float | None = None
    contains: JsonValue | msgspec.UnsetType = msgspec.UNSET
    matches: str | None = None
    one_of: tuple[JsonValue, ...] | None = None
    exists: bool | None = None

    def problem(self, known: PredicateContext) -> str | None:
        if self.matches is None or (bad := bad_pattern(self.matches, known.patterns)) is None:
            return None
        return f"matches: {bad}"


def compares(predicate: Compare, value: Any) -> bool:
    """Whether all comparisons of the predicate hold for the value."""
    checks: list[bool] = []
    if predicate.equals is not msgspec.UNSET:
        checks.append(_same(value, predicate.equals))
    if predicate.not_equals is not msgspec.UNSET:
        checks.append(not _same(value, predicate.not_equals))
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    for bound, holds in (
        (predicate.less_than, operator.lt),
        (predicate.at_most, operator.le),
        (predicate.greater_than, operator.gt),
        (predicate.at_least, operator.ge),
    ):
        if bound is not None:
            checks.append(number is not None and bool(holds(number, bound)))
    if predicate.contains is not msgspec.UNSET:
        checks.append(isinstance(value, str | list | dict) and _contains(value, predicate.contains))
    if predicate.matches is not None:
        checks.append(isinstance(value, str) and file_pattern(predicate.matches).found(value))
    if predicate.one_of is not None:
        checks.append(any(_same(value, option) for option in predicate.one_of))
    if predicate.exists is not None:
        checks.append(predicate.exists)
    # Without any comparison the reference compares with null.
    return all(checks) if checks else value is None


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _contains(value: Any, part: Any) -> bool:
    return part in value if not isinstance(value, str) else isinstance(part, str) and part in value
