"""Running the real program again: network, tape server, typing."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.rerun.io.isolation import isolate_network
    from ptycassette.rerun.io.rerunning import RerunOptions, rerun
    from ptycassette.rerun.io.tape_server import TapeServer
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "isolation": ("isolate_network",),
            "rerunning": ("RerunOptions", "rerun"),
            "tape_server": ("TapeServer",),
        },
    )

__all__ = ["RerunOptions", "TapeServer", "isolate_network", "rerun"]
