"""Verifies a cassette completely. The result is a value, not an exception."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from ptycassette.cassette.frames import FrameMismatch, rederive
from ptycassette.cassette.io.reader import Cassette, Progress, Verified, open_cassette
from ptycassette.errors import CassetteError, EmulatorPinError, TapeError
from ptycassette.model.ports import EmulatorFactory
from ptycassette.model.screen import Size
from ptycassette.terminal.emulator import available_backends, backend

KEEP_MISMATCHES = 20
"""So many differences are kept; the others are counted."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of checking one cassette.

    ``error`` is the first rule that is broken, None when it is valid.
    ``mismatches`` are the first differences between stored frames and frames
    rendered again, ``mismatch_count`` is how many there are, ``rederived`` how many
    frames were rendered again (None if not requested). ``tape_proved``: the
    fingerprint of the tape was computed again.
    """

    path: str
    error: CassetteError | None = None
    id: str | None = None
    scrub_status: str | None = None
    verified: Verified | None = None
    rederived: int | None = None
    mismatch_count: int = 0
    mismatches: tuple[FrameMismatch, ...] = ()
    tape_proved: bool = False

    @property
    def ok(self) -> bool:
        """Whether all requested checks passed."""
        return self.error is None and self.mismatch_count == 0


def verify_cassette(
    path: str,
    *,
    allow_unscrubbed: bool = False,
    emulator: EmulatorFactory | None = None,
    progress: Progress | None = None,
    stage: Callable[[str], None] | None = None,
    tape: Callable[[Cassette], Sequence[str] | None] | None = None,
) -> Verdict:
    """Check every byte of the cassette at ``path``.

    Args:
        path: its directory.
        allow_unscrubbed: do not object to a cassette that was never scrubbed.
        emulator: make every frame again with it, and compare.
        progress: called now and then with the bytes of output done and their total.
        stage: called with the stage that begins: ``bytes``, ``frames``.
        tape: finds what in the tape is not as it was published, None where that cannot be checked;
            asked where there is a tape.
    """
    verdict = Verdict(path=path)
    try:
        with open_cassette(path, allow_unscrubbed=allow_unscrubbed, check="manifest") as cassette:
            verdict = msgspec.structs.replace(
                verdict,
                id=cassette.manifest.id,
                scrub_status=cassette.scrub_report.status,
            )
            if stage is not None:
                stage("bytes")
            verdict = msgspec.structs.replace(verdict, verified=cassette.verify(progress))
            damage = tape(cassette) if tape is not None and cassette.has_tape else None
            verdict = msgspec.structs.replace(verdict, tape_proved=damage is not None)
            if damage:
                raise TapeError(
                    damage[0],
                    where="tape.jsonl",
                    hint="restore the cassette from where it was recorded, or record it again",
                )
            if emulator is not None:
                if stage is not None:
                    stage("frames")
                verdict = _rederived(cassette, verdict, emulator)
    except CassetteError as error:
        return msgspec.structs.replace(verdict, error=error)
    return verdict


def _rederived(cassette: Cassette, verdict: Verdict, emulator: EmulatorFactory) -> Verdict:
    """``verdict`` with the frames made again and compared.

    Uses the emulator that made them, if it is another one and installed here.

    Raises:
        EmulatorPinError: another emulator made the frames; differences would mean nothing.
        UsageError: the emulator that made them is installed, but cannot be loaded.
    """
    terminal = cassette.manifest.terminal
    size = Size(rows=terminal.initial_rows, cols=terminal.initial_cols)
    ours = emulator(size).identity
    if ours.name != terminal.emulator.name and terminal.emulator.name in available_backends():
        emulator = backend(terminal.emulator.name)
        ours = emulator(size).identity
    if ours != terminal.emulator:
        pinned = terminal.emulator
        raise EmulatorPinError(
            f"the frames were made by {pinned.name} {pinned.version}, "
            f"this is {ours.name} {ours.version}",
            where="manifest.json",
            hint="verify without --rederive, or with the version that recorded it",
        )
    found = rederive(cassette.events(), size=size, emulator=emulator)
    kept = tuple(islice(found, KEEP_MISMATCHES))
    return msgspec.structs.replace(
        verdict,
        rederived=verdict.verified.frames if verdict.verified is not None else 0,
        mismatches=kept,
        mismatch_count=len(kept) + sum(1 for _ in found),
    )
