"""Edits on disk: cassettes in, a published cassette out."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .editing import Edited as Edited
    from .editing import Operation as Operation
    from .editing import edit_cassettes as edit_cassettes
    from .editing import take_of as take_of
    from .masking import mask_cassette as mask_cassette
    from .masking import preview_mask as preview_mask
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "editing": "Edited Operation edit_cassettes take_of",
            "masking": "mask_cassette preview_mask",
        },
    )
