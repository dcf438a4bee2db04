"""Running the real program again: network, tape server, typing."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .isolation import isolate_network as isolate_network
    from .rerunning import RerunOptions as RerunOptions
    from .rerunning import rerun as rerun
    from .tape_server import TapeServer as TapeServer
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "isolation": "isolate_network",
            "rerunning": "RerunOptions rerun",
            "tape_server": "TapeServer",
        },
    )
