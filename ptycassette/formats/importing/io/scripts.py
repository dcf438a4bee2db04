"""Import files with keys to type as input scripts of ``rec``."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from ptycassette.errors import UnreadableError, UsageError
from ptycassette.formats.importing.registry import ImportFormat
from ptycassette.formats.importing.session import BadImportError
from ptycassette.model.visible_text import visible
from ptycassette.recording.input_script import parse_script
from ptycassette.system.files.whole_file import read_plain, write_whole

MAX_SCRIPT_SOURCE_BYTES = 2 << 20


class ImportedSteps(msgspec.Struct, frozen=True, kw_only=True):
    """The result of importing a script. ``command`` is the command line that records with it."""

    script: str
    source: str
    format: str
    steps: int
    command: tuple[str, ...]
    skipped: dict[str, int]


def import_script(
    path: Path, target: Path, *, by: ImportFormat, overwrite: bool = False
) -> ImportedSteps:
    """Write the input script that does the same as a file. Nothing in the file is run.

    Args:
        path: the file.
        target: the path of the script.
        by: the file's format.
        overwrite: replace the file that is there.

    Raises:
        NotFoundError, UnreadableError, UnsafeFileError, LimitError: the file cannot be read, or
            is not of the format; the message has the place.
        ExistsError, StorageError: nothing was written.
    """
    data = read_plain(path, max_bytes=MAX_SCRIPT_SOURCE_BYTES)
    try:
        made = by.read_script(data)
        parse_script("\n".join(made.steps), name=str(path))
    except (BadImportError, UsageError) as exc:
        raise UnreadableError(
            f"not a valid {by.name} file: {exc}",
            where=str(path),
            hint="choose another --format, or repair the file",
        ) from exc
    command = (
        "ptycassette",
        "rec",
        "--headless",
        "--input",
        str(target),
        *made.options,
        f"{target.stem}.cassette",
        "--",
        *made.argv,
    )
    head = (
        f"# made of {visible(path.name)} ({by.name}); record it:",
        f"# {visible(shlex.join(command))}",
    )
    text = "\n".join((*head, *made.steps, ""))
    write_whole(target, [text.encode()], overwrite=overwrite)
    return ImportedSteps(
        script=str(target),
        source=str(path),
        format=by.name,
        steps=len(made.steps),
        command=command,
        skipped=dict(made.skipped),
    )
