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

import msgspec

from ptycassette.errors import UsageError
from ptycassette.model.re2_engine import PatternError
from ptycassette.model.resolved_types import resolved
from ptycassette.model.toml_text import parse_toml
from ptycassette.scrub.rules._rule_set import Rule, RuleFields

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")


class _Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    volatile: bool = False
    preserve: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    known_env: tuple[str, ...] = ()
    known_files: tuple[str, ...] = ()


class _Table(_Settings, frozen=True, kw_only=True):
    """The table ``[scrub]``."""

    rules: tuple[RuleFields, ...] = ()


class ScrubConfig(_Settings, frozen=True, kw_only=True):
    """What a user configured. Names of variables and files, never values."""

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
        tables = parse_toml(text)
    except ValueError as exc:
        raise UsageError(f"not TOML: {exc}", where=where) from exc
    return config_of(tables.get("scrub", {}), where=where)


def config_of(scrub: object, *, where: str) -> ScrubConfig:
    """The configuration in the table ``scrub``. Raises as ``parse_config``."""
    try:
        table = msgspec.convert(scrub, resolved(_Table))
    except msgspec.ValidationError as exc:
        raise UsageError(f"[scrub]: {exc}", where=where, hint="see docs/scrubbing.md") from exc
    rules = tuple(_rule(rule, where) for rule in table.rules)
    return ScrubConfig(**{**msgspec.structs.asdict(table), "rules": rules})


def _rule(fields: RuleFields, where: str) -> Rule:
    anchors = tuple(anchor.lower() for anchor in fields.anchors)
    rule = Rule(**{**msgspec.structs.asdict(fields), "anchors": anchors, "linear": True})
    if not _NAME.match(rule.name):
        raise UsageError(
            f"a rule is named {rule.name!r}",
            where=where,
            hint="use lower-case letters, digits and hyphens",
        )
    try:
        rule.check()
    except PatternError as exc:
        raise UsageError(f"rule {rule.name}: {exc}", where=where) from exc
    if "" in anchors or rule.lead < 0 or rule.reach < 1:
        raise UsageError(
            f"rule {rule.name}: anchors must not be empty, lead not negative, reach at least 1",
            where=where,
        )
    return rule
