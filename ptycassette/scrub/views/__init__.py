"""Views: the texts of a session to be searched. Each maps back to the bytes that it came from."""

from ptycassette.scrub.views._channels import BLOCK, InputChannel, OutputText
from ptycassette.scrub.views._joins import JoinedLines, joined_lines
from ptycassette.scrub.views._lines import Line, panes
from ptycassette.scrub.views._messages import Messages, TrafficChannel
from ptycassette.scrub.views._screen import ScreenReader, Seen, view_of
from ptycassette.scrub.views._streams import StreamText, StreamView, TrafficText
from ptycassette.scrub.views._structured import Joined, rewrite, strings_of
from ptycassette.scrub.views._typed import TypedView
from ptycassette.scrub.views._view import PiecewiseView, View

__all__ = [
    "BLOCK",
    "InputChannel",
    "Joined",
    "JoinedLines",
    "Line",
    "Messages",
    "OutputText",
    "PiecewiseView",
    "ScreenReader",
    "Seen",
    "StreamText",
    "StreamView",
    "TrafficChannel",
    "TrafficText",
    "TypedView",
    "View",
    "joined_lines",
    "panes",
    "rewrite",
    "strings_of",
    "view_of",
]
