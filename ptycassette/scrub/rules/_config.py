"""The user's own rules, secrets and exceptions: the table ``[scrub]`` of ``ptycassette.toml``.

::

    [scrub]
    volatile = false                      # also scrub clocks, PIDs, durations
    preserve = ["support@corp.example"]   # stays on purpose; the report names it
    without = ["account-id"]              # rules that are not applied
    known_env = ["DEPLOY_PHRASE"]         # variables whose values are secret
    known_files = ["~/.config/corp/key"]  # files of which every line is secret

    [[scrub.rules]]
    name = "corp-token"
    pattern = "corp_[a-z0-9]{20,}"
    anchors = ["corp_"]                   # strings of which one is in every match
    placeholder = "<corp-token>"
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.toml_bounds import check_dotted_keys
from ptycassette.scrub.match import Pattern, PatternError
from ptycassette.scrub.rules._rule import Kind, Rule

__all__ = ["ScrubConfig", "parse_config"]

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")


class _RuleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of ``[[scrub.rules]]``."""

    name: str
    pattern: str
    anchors: tuple[str, ...] = ()
    kind: Kind = "secret"
    placeholder: str = "<secret>"
    lead: int = 0
    reach: int = 400
    edge: bool = True
    learn: bool = True


class _ScrubTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[scrub]``."""

    volatile: bool = False
    preserve: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    known_env: tuple[str, ...] = ()
    known_files: tuple[str, ...] = ()
    rules: tuple[_RuleTable, ...] = ()


class ScrubConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a user configured. Names of variables and files, never values."""

    volatile: bool = False
    preserve: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    known_env: tuple[str, ...] = ()
    known_files: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()


def parse_config(text: str, *, where: str) -> ScrubConfig:
    """The configuration in ``text`` (TOML); other tables than ``[scrub]`` are not looked at.

    Args:
        text: the file.
        where: its name, for errors.

    Raises:
        UsageError: not TOML, an unknown key, a wrong type, a pattern that is no regular expression.
    """
    try:
        check_dotted_keys(text)
        document: dict[str, Any] = msgspec.toml.decode(text)
        table = msgspec.convert(document.get("scrub", {}), _ScrubTable)
    except msgspec.ValidationError as exc:
        raise UsageError(f"[scrub]: {exc}", where=where, hint="see docs/scrubbing.md") from exc
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        raise UsageError(f"not TOML: {exc}", where=where) from exc
    return ScrubConfig(
        volatile=table.volatile,
        preserve=table.preserve,
        without=table.without,
        known_env=table.known_env,
        known_files=table.known_files,
        rules=tuple(_rule(rule, where) for rule in table.rules),
    )


def _rule(table: _RuleTable, where: str) -> Rule:
    if not _NAME.match(table.name):
        raise UsageError(
            f"a rule is named {table.name!r}",
            where=where,
            hint="use lower-case letters, digits and hyphens",
        )
    try:
        Pattern(table.pattern).check()
    except PatternError as exc:
        raise UsageError(f"rule {table.name}: {exc}", where=where) from exc
    if any(not anchor for anchor in table.anchors) or table.lead < 0 or table.reach < 1:
        raise UsageError(
            f"rule {table.name}: anchors must not be empty, lead not negative, reach at least 1",
            where=where,
        )
    anchors = tuple(anchor.lower() for anchor in table.anchors)
    return Rule(**{**msgspec.structs.asdict(table), "anchors": anchors})
