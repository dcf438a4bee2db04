"""Views: the texts of a session to be searched. Each maps back to the bytes that it came from."""

from ptycassette.scrub.views._channels import BLOCK, Blocks
from ptycassette.scrub.views._joined_lines import JoinedLines, joined_lines
from ptycassette.scrub.views._lines import Line, line_of_text, panes
from ptycassette.scrub.views._messages import Messages
from ptycassette.scrub.views._printed import printed_views
from ptycassette.scrub.views._screen import ScreenReader, ScreenView, Seen, view_of
from ptycassette.scrub.views._shown import WIDEST, lines_of, pane_views, shown_views
from ptycassette.scrub.views._streams import FoundInBody, StreamText, StreamView, TrafficText
from ptycassette.scrub.views._structured import Joined, Names, members_of, rewrite, strings_of
from ptycassette.scrub.views._typed import TypedView, input_views
from ptycassette.scrub.views._view import RunsView, View

__all__ = [
    "BLOCK",
    "WIDEST",
    "Blocks",
    "FoundInBody",
    "Joined",
    "JoinedLines",
    "Line",
    "Messages",
    "Names",
    "RunsView",
    "ScreenReader",
    "ScreenView",
    "Seen",
    "StreamText",
    "StreamView",
    "TrafficText",
    "TypedView",
    "View",
    "input_views",
    "joined_lines",
    "line_of_text",
    "lines_of",
    "members_of",
    "pane_views",
    "panes",
    "printed_views",
    "rewrite",
    "shown_views",
    "strings_of",
    "view_of",
]
