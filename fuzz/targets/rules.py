"""Rules of scrubbing: refused as wrong usage, or a scrubber can work by them."""

from __future__ import annotations

from fuzz.plain import is_plain
from ptycassette.errors import UsageError
from ptycassette.model.records import Harness, SessionMeta, Typed
from ptycassette.model.screen import Size
from ptycassette.scrub.rules.rule_set import parse_config
from ptycassette.scrub.session import default_scrubber

_META = SessionMeta(
    id="", argv=("sh",), size=Size(5, 30), recorded_at="", harness=Harness(name="sh")
)
_TEXT = b"corp_abcdefghij0123456789 plain words, a token=aB3x9aB3x9 and \xe4\xb8\xad\r"


def check(data: bytes) -> None:
    """Read them and scrub a line by them."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    try:
        config = parse_config(text, where="fuzz")
    except UsageError as exc:
        assert is_plain(str(exc)), "the error acts on a terminal"
        return
    scrubber = default_scrubber(
        rules=config.rules, preserved=config.preserve, without=config.without
    )
    done = list(scrubber.events(_META, lambda: iter([Typed(0, _TEXT)])))
    assert [len(event.data) for event in done if isinstance(event, Typed)] == [len(_TEXT)]
