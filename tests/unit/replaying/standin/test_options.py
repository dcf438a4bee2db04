"""The stand-in's own parser: one table, and every mistake said."""

from __future__ import annotations

import pytest

from ptycassette.errors import UsageError
from ptycassette.replaying.standin.io.options import STANDIN_OPTIONS, parse_settings


def test_everything_can_be_said() -> None:
    """Each option once, with a value of its own or after an equals sign."""
    settings = parse_settings(
        ["--match", "exact", "--match=2=any", "--threshold", "0.5", "--speed", "4", "--lenient",
         "--report", "r", "--input-timeout", "3", "--timing-tolerance", "50", "--ignore-size",
         "--expect-id", "i", "--expect-sha256", "d", "--allow-unscrubbed", "--newlines", "unix",
         "--name", "n", "c.cassette", "--", "claude", "-p"],
    )  # fmt: skip

    assert (settings.cassette, settings.argv) == ("c.cassette", ("claude", "-p"))
    assert settings.matching().strategy == "exact"
    assert (settings.mode, settings.scale, settings.lenient) == ("scaled", 0.25, True)
    assert (settings.input_timeout_us, settings.timing_tolerance_us) == (3_000_000, 50_000)
    assert (settings.report, settings.newlines, settings.name) == ("r", "unix", "n")
    assert settings.ignore_size
    assert settings.allow_unscrubbed
    assert (settings.expect_id, settings.expect_sha256) == ("i", "d")


def test_the_defaults_are_fast_and_strict() -> None:
    """No recorded pause, prompt comparison, a minute for the driver."""
    settings = parse_settings(["c"], report="fallback")

    assert (settings.mode, settings.lenient) == ("collapsed", False)
    assert settings.input_timeout_us == 60_000_000
    assert (settings.report, settings.matching().strategy) == ("fallback", "prompt")


def test_no_timeout_is_for_ever() -> None:
    """As a real program waits."""
    assert parse_settings(["--input-timeout", "0", "c"]).input_timeout_us is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "CASSETTE is missing"),
        (["--", "x"], "CASSETTE is missing"),
        (["--metch", "exact", "c"], "no such option: --metch"),
        (["--match"], "--match needs a value"),
        (["c", "claude"], "unexpected argument 'claude'.*\n.*own behind --"),
        (["c", "--report", "r"], "come before the cassette"),
        (["c", "--match=any"], "come before the cassette"),
        (["--speed", "0", "c"], "not a number that makes sense"),
        (["--speed", "fast", "c"], "not a number that makes sense"),
        (["--threshold", "nan", "c"], "not a number that makes sense"),
        (["--input-timeout", "-1", "c"], "not a time; write 90, 1.5s"),
        (["--newlines", "dos", "c"], "--newlines is unix or recorded"),
    ],
)
def test_a_mistake_is_said(words: list[str], message: str) -> None:
    """Before anything is opened."""
    with pytest.raises(UsageError, match=message):
        parse_settings(words)


@pytest.mark.parametrize("word", ["promt", "x=any", "1=promt"])
def test_a_wrong_strategy_is_said(word: str) -> None:
    """With the strategies there are, or what the number should be."""
    with pytest.raises(UsageError, match="--match"):
        parse_settings(["--match", word, "c"]).matching()


def test_every_option_has_help() -> None:
    """The table is what ``--help`` shows."""
    assert all(len(option.help) > 10 for option in STANDIN_OPTIONS)
