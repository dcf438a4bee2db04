"""What a session shows, as texts to search: each leads back to the bytes that it came from."""

from ptycassette.scrub.views._channels import BLOCK, InputChannel, OutputText
from ptycassette.scrub.views._editing import edited_view, typed_view
from ptycassette.scrub.views._joins import JoinedLines, joined_lines
from ptycassette.scrub.views._keys import KILL_LINE, KILL_WORD, RUBOUT, typed_keys
from ptycassette.scrub.views._lines import Line, panes
from ptycassette.scrub.views._messages import Messages, TrafficChannel
from ptycassette.scrub.views._screen import ScreenReader, Seen, view_of
from ptycassette.scrub.views._structured import Joined, rewrite, strings_of
from ptycassette.scrub.views._view import PiecewiseView, View

__all__ = [
    "BLOCK",
    "KILL_LINE",
    "KILL_WORD",
    "RUBOUT",
    "InputChannel",
    "Joined",
    "JoinedLines",
    "Line",
    "Messages",
    "OutputText",
    "PiecewiseView",
    "ScreenReader",
    "Seen",
    "TrafficChannel",
    "View",
    "edited_view",
    "joined_lines",
    "panes",
    "rewrite",
    "strings_of",
    "typed_keys",
    "typed_view",
    "view_of",
]
