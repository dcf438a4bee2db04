"""The table of the kinds of divergence: name, condition, message, advice.

A new kind is a row of this table, used where it is found (``standin/_findings.py`` for a running
stand-in, ``drifts.py`` for two recordings). Reports, exceptions, JUnit files and the tables of the
docs read the table.
"""

from __future__ import annotations

import msgspec


class DivergenceKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind.

    ``when`` is the condition, for the docs. ``says`` is the message; the ``{names}`` in it are
    filled in where it is found. ``hint`` says what to do next.
    """

    name: str
    when: str
    says: str
    hint: str


INPUT_CHANGED = DivergenceKind(
    name="input-changed",
    when="other input than was recorded",
    says="input {number} is not what was recorded (compared as '{strategy}')",
    hint="if the new input is meant, record again (mode rerecord shows what else changes)",
)
_LOOSER = {
    "exact": "if other keys may type the same line, compare it with 'prompt'",
    "prompt": "if only white space differs, compare it with 'normalised'; if any input will do, "
    "with 'any'",
    "normalised": "if other words will do, compare it with 'semantic' or 'any'",
    "semantic": "if it means the same, lower the threshold; if any input will do, compare it "
    "with 'any'",
}
"""What else can be done about ``input-changed``, by the comparison in use."""


COMPARED_BY_TEXT = frozenset({INPUT_CHANGED.name})
"""Where expected and actual text are worth a look character by character."""


def changed_hint(strategy: str) -> str:
    """The hint of ``input-changed``, for the comparison in use."""
    looser = _LOOSER.get(strategy)
    return f"{INPUT_CHANGED.hint}; {looser}" if looser else INPUT_CHANGED.hint


SECRET_CHANGED = msgspec.structs.replace(
    INPUT_CHANGED,
    says="input {number} differs only in its secret from what was recorded "
    "(compared as '{strategy}')",
    hint="send the secret that was recorded, or the masks as the recording shows them; where "
    "another secret will do, set PTYCASSETTE_SECRETS=any (or --secrets any, "
    "Matching(secrets='any'))",
)
"""How ``input-changed`` is worded where all but a secret is as recorded."""
STDIN_CHANGED = msgspec.structs.replace(
    INPUT_CHANGED,
    says="stdin is not what was recorded, from byte {offset} on (compared as '{strategy}')",
)
"""How ``input-changed`` is worded of a stdin that is not a terminal."""
INPUT_EXTRA = DivergenceKind(
    name="input-extra",
    when="input, or a signal, where the recording has none left",
    says="the driver sent input where the recording has none left",
    hint="the recording has no input here; send less, wait for the screen before "
    "sending, or record again",
)
SIGNAL_EXTRA = msgspec.structs.replace(
    INPUT_EXTRA, says="the driver sent signal {signal}, which was not recorded"
)
"""How ``input-extra`` is worded of a signal."""
INPUT_MISSING = DivergenceKind(
    name="input-missing",
    when="the driver closed its terminal, or did nothing for `--input-timeout` (60 s; 0 waits "
    "for ever)",
    says="the driver {did} where the recording has input",
    hint="send the recorded input, or record again; where the rest is not needed, allow it to "
    "stay unplayed; where the driver is slow, raise the input timeout",
)
RESIZE_CHANGED = DivergenceKind(
    name="resize-changed",
    when="another size, or a resize where none was recorded",
    says="the driver resized the terminal differently",
    hint="give the terminal the recorded sizes at the recorded places, or record again",
)
SIZE_MISMATCH = DivergenceKind(
    name="size-mismatch",
    when="the terminal has not the recorded size (`--ignore-size`)",
    says="the terminal has not the size of the recording",
    hint="start the terminal at the recorded size, or record at the size you use",
)
TIMING = DivergenceKind(
    name="timing",
    when="a pause before input differs by more than `--timing-tolerance` ms (with `--speed`)",
    says="the pause before this input is not the recorded one",
    hint="widen the timing tolerance, or leave timing unchecked (the default)",
)
EXIT_CHANGED = DivergenceKind(
    name="exit-changed",
    when="the program ends differently (recordings compared, mode `rerecord`)",
    says="the program ends differently",
    hint="if the new exit status is meant, record again",
)
EMULATOR_CHANGED = DivergenceKind(
    name="emulator-changed",
    when="another emulator made the frames (recordings compared)",
    says="another emulator made the frames",
    hint="derive the frames again with this emulator, or require the recorded one",
)
BINARY_CHANGED = DivergenceKind(
    name="binary-changed",
    when="another binary was run (recordings compared)",
    says="another binary was run",
    hint="the program was updated since; record again to test against the new version",
)
CALL_CHANGED = DivergenceKind(
    name="call-changed",
    when="a call of a model or a tool that the recording does not have (`use_tape`)",
    says="{what} is not in the recording",
    hint="if the new call is meant, record again (mode rerecord shows what else changes)",
)
CALL_MISSING = DivergenceKind(
    name="call-missing",
    when="a recorded call of a model or a tool that was never made (`use_tape`)",
    says="{what} was recorded and never made",
    hint="make the recorded calls, record again, or allow calls to be left out "
    "(allow_unplayed=True)",
)
CALL_ORDER = DivergenceKind(
    name="call-order",
    when="a call that came before one that had ended before it in the recording (`use_tape`)",
    says="{what} came too early",
    hint="make the calls in the recorded order, record again, or compare no order (order='loose')",
)
TOOL_CHANGED = DivergenceKind(
    name="tool-changed",
    when="a tool that ran again with another result (`use_tape`)",
    says="tool {what} has another result than in the recording",
    hint="if the new result is meant, record again; where it varies, serve the recorded one "
    "(replay='serve')",
)

KINDS = (
    INPUT_CHANGED,
    INPUT_EXTRA,
    INPUT_MISSING,
    RESIZE_CHANGED,
    SIZE_MISMATCH,
    TIMING,
    EXIT_CHANGED,
    EMULATOR_CHANGED,
    BINARY_CHANGED,
    CALL_CHANGED,
    CALL_MISSING,
    CALL_ORDER,
    TOOL_CHANGED,
)


def kind_named(name: str) -> DivergenceKind:
    """The kind of that name.

    Raises:
        ValueError: there is none.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise ValueError(f"no kind of divergence: {name}")
