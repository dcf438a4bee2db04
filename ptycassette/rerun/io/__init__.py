"""Running the real program again: network, tape server, typing."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .driving import DrivenRerun as DrivenRerun
    from .driving import Proof as Proof
    from .driving import RunOf as RunOf
    from .driving import TapeOnlyRun as TapeOnlyRun
    from .driving import driven_rerun as driven_rerun
    from .driving import rerun_error as rerun_error
    from .driving import run_tape_only as run_tape_only
    from .options import RerunOptions as RerunOptions
    from .preparing import PreparedRerun as PreparedRerun
    from .preparing import admit as admit
    from .preparing import prepared_rerun as prepared_rerun
    from .rerunning import proof as proof
    from .rerunning import rerun as rerun
    from .rerunning import rerun_cassette as rerun_cassette
    from .tape_server import TapeServer as TapeServer
    from .typist import PAUSE_S as PAUSE_S
    from .version_now import changed_version as changed_version
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "driving": "DrivenRerun Proof RunOf TapeOnlyRun driven_rerun rerun_error run_tape_only",
            "options": "RerunOptions",
            "preparing": "PreparedRerun admit prepared_rerun",
            "rerunning": "proof rerun rerun_cassette",
            "tape_server": "TapeServer",
            "typist": "PAUSE_S",
            "version_now": "changed_version",
        },
    )
