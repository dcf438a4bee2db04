"""Where the rules of matching lie: beside ``tape/rules``, and the user's own.

The user's own are in ``$XDG_CONFIG_HOME/ptycassette/tape-rules``. All of them apply; one that is
named like a built-in one takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ptycassette.cassette._tape_lines import tape_facts
from ptycassette.cassette.io.reader import Cassette
from ptycassette.errors import UsageError
from ptycassette.model.toml_text import MAX_TOML_BYTES
from ptycassette.profiles.io import own_folder
from ptycassette.system.files.plain_file import read_plain
from ptycassette.tape.matching.checking import tape_damage
from ptycassette.tape.matching.rules import Rules

_BUILT_IN = Path(__file__).parent.parent / "rules"
_ALWAYS = ("common", "anthropic", "google", "openai")
"""Of any provider: a CLI may talk to several."""


def load_matching_rules(
    names: Iterable[str] = (),
    *,
    tape: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> Rules:
    """The rules of all providers, those of some CLIs, and the user's own.

    Args:
        names: of CLIs, as their profiles have them; for those without rules nothing is added.
        tape: what the manifest says of a tape (``optional.tape``): one that was imported may not
            have all headers, and only those that it has are compared.
        env: where the user's own are looked for; this process's environment when None.

    Raises:
        UsageError: a file is wrong.
        UnreadableError, UnsafeFileError, LimitError: it cannot be read.
    """
    folder = own_folder("tape-rules", os.environ if env is None else env)
    own = {path.name: path for path in sorted(folder.glob("*.toml"))}
    wanted = [f"{name}.toml" for name in (*_ALWAYS, *dict.fromkeys(names))]
    built_in = [_BUILT_IN / name for name in wanted if (_BUILT_IN / name).is_file()]
    paths = [path for path in built_in if path.name not in own] + list(own.values())
    rules = _parsed(*((_text(path), str(path)) for path in paths))
    compared = (tape or {}).get("compared_headers")
    return rules if compared is None else rules.comparing(map(str, compared))


def published_damage(cassette: Cassette) -> list[str] | None:
    """What in the tape of a cassette is not as it was published (see ``tape_damage``).

    None where the rules of matching are others than those that it was published by, or where it
    was not checked to its end then.
    """
    tape, facts = cassette.tape(), tape_facts(cassette.manifest)
    harness = facts.get("harness") or cassette.manifest.harness.name
    rules = load_matching_rules((str(harness),), tape=facts)
    return tape_damage(list(tape), rules, key=bytes.fromhex(tape.key), facts=facts)


@lru_cache(maxsize=8)
def _parsed(*files: tuple[str, str]) -> Rules:
    """The rules of these files. A test run opens many tapes with the same ones."""
    return Rules.parse(*files)


def _text(path: Path) -> str:
    try:
        return read_plain(path, max_bytes=MAX_TOML_BYTES).decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise UsageError("the rules are not UTF-8 text", where=str(path)) from wrong
