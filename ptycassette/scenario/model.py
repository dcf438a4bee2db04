"""What a scenario file says: pins, normalisers, groups of predicates. Strict: nothing unknown.

The names of the seventeen reference predicates and of their fields are those of the
reference implementation; what is marked "extension" is ours.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "TEMPORARY",
    "AltScreen",
    "Clipboard",
    "Compare",
    "Cursor",
    "EmulatorPin",
    "EnvironmentPolicy",
    "ExitStatusIs",
    "FinalMetadata",
    "FrameContains",
    "FrameEventuallyContains",
    "FrameNeverContains",
    "FrameStableFor",
    "InputBytes",
    "InputText",
    "Link",
    "Normaliser",
    "PasteBoundary",
    "Predicate",
    "RawOutputOrder",
    "Region",
    "ResizeOrder",
    "Scenario",
    "ServiceJson",
    "SizeEventually",
    "SizeIs",
    "StyleIs",
    "TerminalSize",
    "TextQuery",
    "TimeoutCancelStatus",
    "TimingGap",
    "Title",
]

TEMPORARY = "temporary"
"""A folder that is made for one run, empty."""

JsonValue = Any
Kind = str


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Region(_Strict, frozen=True, kw_only=True):
    """A rectangle of the screen, rows and columns from 0, ends not included (extension)."""

    top: int = 0
    left: int = 0
    bottom: int | None = None
    right: int | None = None


class Base(_Strict, frozen=True, kw_only=True, tag_field="type"):
    """What every predicate may have.

    ``name`` is shown in reports. ``negate`` (written ``not``, extension) turns the
    outcome around. ``at_ms`` is a time of the recording, or, with ``exchange``
    (extension), the time since that input was sent.
    """

    name: str = ""
    negate: bool = msgspec.field(name="not", default=False)
    at_ms: int | None = None
    exchange: int | None = None


class TextQuery(Base, frozen=True, kw_only=True):
    """Where and how text is looked for. All but ``text`` is an extension.

    ``regex`` instead of ``text``; ``row`` (negative from the bottom) or ``region``
    instead of the whole screen; ``normalise`` names normalisers to apply first.
    """

    text: str | None = None
    regex: str | None = None
    ignore_case: bool = False
    row: int | None = None
    region: Region | None = None
    normalise: tuple[str, ...] = ()


class FrameContains(TextQuery, frozen=True, kw_only=True, tag="frame_contains"):
    """Some frame, or the one at ``at_ms``, contains the text."""


class FrameNeverContains(TextQuery, frozen=True, kw_only=True, tag="frame_never_contains"):
    """No frame (from ``at_ms`` on, for ``within_ms``) contains the text."""

    within_ms: int | None = None


class FrameEventuallyContains(
    TextQuery, frozen=True, kw_only=True, tag="frame_eventually_contains"
):
    """A frame between ``at_ms`` and ``within_ms`` later (the end, by default) contains it."""

    within_ms: int | None = None


class FrameStableFor(TextQuery, frozen=True, kw_only=True, tag="frame_stable_for"):
    """The text stands for ``stable_for_ms`` from ``at_ms``; without text, nothing changes."""

    stable_for_ms: int


class Cursor(Base, frozen=True, kw_only=True, tag="cursor"):
    """The cursor at ``at_ms``; only what is given is compared."""

    cursor_row: int | None = None
    cursor_col: int | None = None
    cursor_visible: bool | None = None


class SizeIs(Base, frozen=True, kw_only=True, tag="size"):
    """The size of the frame at ``at_ms``."""

    rows: int
    cols: int


class SizeEventually(Base, frozen=True, kw_only=True, tag="size_eventually"):
    """A frame of that size between ``at_ms`` and ``within_ms`` later."""

    rows: int
    cols: int
    within_ms: int | None = None


class StyleIs(Base, frozen=True, kw_only=True, tag="style"):
    """Text painted so at ``at_ms``. Colours are palette numbers or ``#rrggbb``.

    The attributes are an extension.
    """

    text: str
    fg: int | str | None = None
    bg: int | str | None = None
    bold: bool | None = None
    dim: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    reverse: bool | None = None
    strike: bool | None = None


class AltScreen(Base, frozen=True, kw_only=True, tag="alt_screen"):
    """Whether the alternate screen is shown at ``at_ms`` (extension)."""

    equals: bool = True


class Title(Base, frozen=True, kw_only=True, tag="title"):
    """The window title at ``at_ms``, or of any frame (extension)."""

    text: str | None = None
    regex: str | None = None


class Clipboard(Base, frozen=True, kw_only=True, tag="clipboard"):
    """Something was put into the clipboard with OSC 52 that contains it (extension)."""

    text: str | None = None
    regex: str | None = None


class Link(Base, frozen=True, kw_only=True, tag="link"):
    """A hyperlink (OSC 8) was shown whose address contains it (extension)."""

    text: str | None = None
    regex: str | None = None


class RawOutputOrder(Base, frozen=True, kw_only=True, tag="raw_output_order"):
    """Output chunks are in the order of ``seq``, time and offset."""


class InputBytes(Base, frozen=True, kw_only=True, tag="input_bytes"):
    """These bytes were sent (as one record, or as several in a row), or that key was."""

    bytes_hex: str = ""
    key: str = ""


class PasteBoundary(Base, frozen=True, kw_only=True, tag="paste_boundary"):
    """These bytes, paste brackets included, were sent as records of their own."""

    bytes_hex: str = ""
    key: str = ""


class InputText(Base, frozen=True, kw_only=True, tag="input_text"):
    """A line with that text was sent, editing keys applied (extension)."""

    text: str | None = None
    regex: str | None = None


class ResizeOrder(Base, frozen=True, kw_only=True, tag="resize_order"):
    """Every resize has an event of one kind before it and of another behind it."""

    before_kind: Kind = ""
    after_kind: Kind = ""


class Compare(Base, frozen=True, kw_only=True):
    """How a JSON value is judged. All but ``equals`` is an extension; all given must hold."""

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


class ServiceJson(Compare, frozen=True, kw_only=True, tag="service_json"):
    """Some service event has such a value at ``json_path`` (RFC 9535)."""

    json_path: str


class FinalMetadata(Compare, frozen=True, kw_only=True, tag="final_metadata"):
    """The final record's metadata has such a value, and its final text contains ``text``."""

    metadata_key: str = ""
    text: str = ""


class ExitStatusIs(Base, frozen=True, kw_only=True, tag="exit_status"):
    """How the program ended. ``signal`` is an extension."""

    exit_code: int | None = None
    signaled: bool | None = None
    signal: str | None = None


class TimeoutCancelStatus(Base, frozen=True, kw_only=True, tag="timeout_cancel_status"):
    """How a program that was timed out or cancelled ended."""

    exit_code: int | None = None
    signaled: bool | None = None
    signal: str | None = None


class TimingGap(Base, frozen=True, kw_only=True, tag="timing_gap"):
    """All gaps between events of a kind are within the bounds."""

    kind: Kind = ""
    min_ms: int | None = None
    max_ms: int | None = None


Predicate = (
    FrameContains
    | FrameNeverContains
    | FrameEventuallyContains
    | FrameStableFor
    | Cursor
    | SizeIs
    | SizeEventually
    | StyleIs
    | AltScreen
    | Title
    | Clipboard
    | Link
    | RawOutputOrder
    | InputBytes
    | PasteBoundary
    | InputText
    | ResizeOrder
    | ServiceJson
    | FinalMetadata
    | ExitStatusIs
    | TimeoutCancelStatus
    | TimingGap
)


class TerminalSize(_Strict, frozen=True, kw_only=True):
    """The size at the start of the recording."""

    rows: int
    cols: int


class EmulatorPin(_Strict, frozen=True, kw_only=True):
    """The emulator that must have made the frames."""

    name: str
    version: str = ""


class EnvironmentPolicy(_Strict, frozen=True, kw_only=True):
    """The environment that the recording is to be made in; ``check`` and replay run nothing.

    ``home`` and ``config_root`` (XDG_CONFIG_HOME): ``temporary`` for an empty folder, or a
    folder beside the scenario, of which the program gets a copy. ``allowlist`` names what it
    gets of the caller's variables; ``variables`` are its own.
    """

    home: str | None = None
    config_root: str | None = None
    allowlist: tuple[str, ...] = ()
    variables: dict[str, str] = msgspec.field(default_factory=dict)


class Normaliser(_Strict, frozen=True, kw_only=True):
    """A rewrite of volatile text, for comparison alone (extension)."""

    pattern: str
    replace: str = ""


class Scenario(_Strict, frozen=True, kw_only=True):
    """A scenario file.

    ``cassette_path`` is relative to the file. ``expected_manifest_id`` and
    ``expected_content_digest`` bind it to one recording.
    """

    name: str
    groups: dict[str, tuple[Predicate, ...]]
    cassette_path: str | None = None
    expected_manifest_id: str | None = None
    expected_content_digest: str | None = None
    required_emulator: EmulatorPin | None = None
    replay_mode: str = "collapsed"
    replay_scale: float | None = None
    terminal_size: TerminalSize | None = None
    environment: EnvironmentPolicy | None = None
    expected_artifacts: tuple[str, ...] = ()
    resolution_ms: int | None = None
    normalisers: dict[str, Normaliser] = msgspec.field(default_factory=dict)
