"""What is a secret: rules as data, and the judges of values.

Rules are in TOML files beside this module; ``docs/scrubbing.md`` says how to add one.
"""

from ptycassette.scrub.rules._config import ScrubConfig, config_of, parse_config
from ptycassette.scrub.rules._load import credential_files, default_rules, secret_rules
from ptycassette.scrub.rules._names import (
    WORDS,
    declares_a_secret,
    is_ordinary,
    is_public_name,
    secret_name,
)
from ptycassette.scrub.rules._rule_set import Found, Rule, RuleSet
from ptycassette.scrub.rules._spelling import seems_by_chance, spelt_by_chance
from ptycassette.scrub.rules._values import (
    generated_parts,
    is_plain_data,
    is_random,
    looks_generated,
    looks_torn_off,
)

__all__ = [
    "WORDS",
    "Found",
    "Rule",
    "RuleSet",
    "ScrubConfig",
    "config_of",
    "credential_files",
    "declares_a_secret",
    "default_rules",
    "generated_parts",
    "is_ordinary",
    "is_plain_data",
    "is_public_name",
    "is_random",
    "looks_generated",
    "looks_torn_off",
    "parse_config",
    "secret_name",
    "secret_rules",
    "seems_by_chance",
    "spelt_by_chance",
]
