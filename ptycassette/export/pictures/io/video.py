"""Films through ``ffmpeg``, from an animated PNG.

An animated PNG says when each frame is due, so that a pause costs nothing, and holds only what
changes. It lies in a temporary folder, because ffmpeg cannot read it from a pipe. No word of the
command comes from a recording, and ffmpeg may read nothing but files.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from ptycassette.errors import StorageError, UsageError
from ptycassette.export.pictures.io.png import apng_pieces
from ptycassette.export.pictures.painter import Painter, Patch
from ptycassette.system.files.abandoned import temporary_folder
from ptycassette.system.files.whole_file import write_whole
from ptycassette.system.interpreter import program_of_ours

Container = Literal["mp4", "webm"]

_CODECS: dict[Container, tuple[str, ...]] = {
    "mp4": (
        "-c:v", "libx264", "-preset", "veryfast", "-tune", "animation", "-crf", "18",
        "-pix_fmt", "yuv420p", "-movflags", "+faststart",
    ),
    "webm": (
        "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "7", "-row-mt", "1",
        "-crf", "24", "-b:v", "0", "-pix_fmt", "yuv420p",
    ),
}  # fmt: skip
_COLORS = (
    "-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709",
    "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv",
)  # fmt: skip
"""What players expect of a video of this size; ffmpeg would take the colours of old television."""
_TIMES = ("-fps_mode", "vfr", "-enc_time_base", "1:1000")
_PIECE = 1 << 20
_TAIL_US = 100_000


def video_pieces(
    painter: Painter, durations_us: list[int], container: Container
) -> Iterator[bytes]:
    """A film in pieces.

    Raises:
        UsageError: ffmpeg is not installed, or was built without the codec.
        StorageError: there is no room for the film in the temporary folder.
    """
    program = program_of_ours("ffmpeg")
    if program is None:
        raise UsageError(
            f"{container} is made by ffmpeg, which is not installed",
            hint="install it (Debian: apt install ffmpeg; macOS: brew install ffmpeg), or write"
            " .gif, .webp or .apng",
        )
    with temporary_folder() as folder:
        animation, film = folder / "film.png", folder / f"film.{container}"
        write_whole(animation, _animation(painter, durations_us), durable=False)
        command = [
            program, "-hide_banner", "-nostdin", "-loglevel", "error", "-protocol_whitelist",
            "file", "-f", "apng", "-i", str(animation), *_CODECS[container], *_COLORS, *_TIMES,
            "-map_metadata", "-1", "-f", container, str(film),
        ]  # fmt: skip
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise _failed(done.stderr, done.returncode, container, folder)
        with film.open("rb") as made:
            while piece := made.read(_PIECE):
                yield piece


def _animation(painter: Painter, durations_us: list[int]) -> Iterator[bytes]:
    """The animated PNG, with the last frame once more at its end, so that it stays that long."""
    *most, last = durations_us
    shown = [*most, last - _TAIL_US, _TAIL_US]
    return apng_pieces(painter.size, _held(painter.patches()), shown, level=1)


def _held(patches: Iterable[Patch]) -> Iterator[Patch]:
    patch = None
    for patch in patches:
        yield patch
    if patch is not None:
        yield patch


def _failed(
    notes: str, status: int, container: Container, folder: Path
) -> UsageError | StorageError:
    said = " ".join(notes.split())[-400:] or f"it ended with {status}"
    if "No space left" in notes:
        return StorageError(
            f"ffmpeg could not write the film: {said}",
            where=str(folder),
            hint="make room there, or name another folder in XDG_CACHE_HOME",
        )
    return UsageError(
        f"ffmpeg made no {container}: {said}",
        hint="ffmpeg -codecs shows what it was built with; .gif, .webp and .apng need no ffmpeg",
    )
