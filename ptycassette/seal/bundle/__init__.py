"""Bundles of agent-rerun, version 0.1: what one step of an agent was given, and what came back.

A bundle holds hashes, sampling parameters, how exact a replay must be, and a signature. It is
checked against an *actual record*, which holds the plain inputs and the output of a replay.
"""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .exporting import Closeness as Closeness
    from .exporting import Exported as Exported
    from .exporting import capture_bundle as capture_bundle
    from .exporting import exported as exported
    from .schema import read_object as read_object
    from .transcripts import AskedCall as AskedCall
    from .transcripts import ModelAnswer as ModelAnswer
    from .transcripts import answer_of as answer_of
    from .verifying import BundleResult as BundleResult
    from .verifying import Demands as Demands
    from .verifying import apply_bundle as apply_bundle
    from .verifying import verify_bundle as verify_bundle
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "exporting": "Closeness Exported capture_bundle exported",
            "schema": "read_object",
            "transcripts": "ModelAnswer AskedCall answer_of",
            "verifying": "BundleResult Demands apply_bundle verify_bundle",
        },
    )
