"""Explain the damage to an invalid cassette, and repair it.

``explained`` adds the cause and the remedy to an error; ``fix_cassette`` restores the bytes that
digests prove, and adds the ``.gitattributes`` that older cassettes lack; ``git_risks`` lists
changes that git would make to a valid cassette.
"""

from __future__ import annotations

import codecs
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from itertools import combinations, pairwise, product
from pathlib import Path

import msgspec

from ptycassette.cassette._lines import LineReader
from ptycassette.cassette.io.staging import StagedFile, Staging, stage_git_attributes
from ptycassette.cassette.layout import (
    CHANGED_HINT,
    GIT_ATTRIBUTES,
    GIT_ATTRIBUTES_TEXT,
    MANIFEST,
    OUTPUT,
    OUTPUT_CODEC,
    OUTPUT_RAW,
    REQUIRED_FILES,
    Artifact,
)
from ptycassette.cassette.manifest import (
    MANIFEST_DIGEST_KEY,
    ManifestPage,
    check_manifest_digest,
    decode_manifest,
)
from ptycassette.errors import (
    CassetteError,
    DiagnosticError,
    InvalidCassetteError,
    LimitError,
    NotFoundError,
    UnsafeFileError,
    UnscrubbedError,
    VersionError,
)
from ptycassette.model.limits import DEFAULT_LIMITS
from ptycassette.model.re2_engine import lazy_pattern
from ptycassette.model.records import OutputRecord
from ptycassette.model.visible_text import visible
from ptycassette.system.files.directory_handle import DirectoryHandle
from ptycassette.system.files.whole_file import read_plain, write_whole
from ptycassette.system.git_questions import WorkTree

# How git and other tools damage the files of a cassette, how to detect it, and how to repair it.
#
# =====================  =====================================================  ================
# damage                 how it is detected                                     repair
# =====================  =====================================================  ================
# CRs removed            the digest fits with CRs put back                      the same
# CRs added              the digest fits without them                           the same
# last newline           the digest fits with one more, or one fewer            the same
# byte order mark,       the digest fits in UTF-8                               the same
# UTF-16
# ``$Id$`` expanded      the digest fits without the expansion                  the same
# pointer of Git LFS,    its first bytes                                        fetch the file
# of git-annex
# conflict markers       its lines                                              take one side
# =====================  =====================================================  ================
#
# Nothing is guessed: bytes count as restored only if they have the pinned digest. Line ends of
# ``output.raw`` may be mixed, so that each could have had a CR or not; there the chunks are
# matched with their digests one after the other.


LINE_ENDS_REMOVED = "CRs of its line ends were removed"
LINE_ENDS_ADDED = "CRs were added to its line ends"
LINE_ENDS_MIXED = "CRs of some line ends were removed or added"
NEWLINE_ADDED = "newlines were added at its end"
NEWLINE_REMOVED = "the newline at its end was removed"
ENCODED = "its encoding was changed"
EXPANDED = "$Id$ in it was expanded"

HEAD_BYTES = 1024
"""So much of a file shows whether it is a pointer."""

_BOM = b"\xef\xbb\xbf"
_UTF16 = {b"\xff\xfe": codecs.utf_16_le_decode, b"\xfe\xff": codecs.utf_16_be_decode}
_EXPANDED = re.compile(rb"\$Id: [0-9a-f]{40,64} ?\$")
_MARKERS = re.compile(rb"^(?:<{7} |>{7} |\|{7} |={7}\r?$)", re.MULTILINE)
_SIDES = tuple(
    re.compile(pattern, re.MULTILINE) for pattern in (rb"^<{7} ", rb"^={7}\r?$", rb"^>{7} ")
)
_MAX_POINTER_BYTES = 1024

Fits = Callable[[bytes], bool]


class Unfetched(msgspec.Struct, frozen=True):
    """A pointer in place of the file: its kind, and the command that fetches the file."""

    what: str
    command: str


def unfetched(head: bytes, *, size: int) -> Unfetched | None:
    """The pointer in a file; None if the file is no pointer.

    The forms are those of git-lfs (docs/spec.md: a first line ``version URL``) and of git-annex
    (unlocked files: a path with ``/annex/objects/``).

    Args:
        head: the first bytes of the file.
        size: the length of the file.
    """
    if size > _MAX_POINTER_BYTES:
        return None
    if re.match(rb"version https?://[^\s/]+/spec/v\d+\r?\n(?:.*\n)*oid sha256:", head):
        return Unfetched("a pointer of Git LFS", "git lfs install --local && git lfs pull")
    if re.match(rb"/annex/objects/\S+\r?\n?\Z", head):
        return Unfetched("a pointer of git-annex", "git annex get .")
    return None


def conflict_line(data: bytes, *, is_json: bool) -> int | None:
    """The number of the first line with a marker of a merge conflict, from 1; None without one.

    Args:
        data: the bytes of the file.
        is_json: no line of it can begin with a marker unless git put it there. Otherwise a
            program may have printed some, so that all three must be there.
    """
    if is_json:
        found = _MARKERS.search(data)
        at = None if found is None else found.start()
    else:
        at, end = None, 0
        for side in _SIDES:
            found = side.search(data, end)
            if found is None:
                return None
            at, end = (found.start() if at is None else at), found.end()
    return None if at is None else data.count(b"\n", 0, at) + 1


def undone(data: bytes, *, size: int | None, fits: Fits) -> tuple[bytes, str] | None:
    """The original bytes of a file, and the change; None if no known change explains it.

    Args:
        data: the current bytes of the file.
        size: the original length, None if that is not known.
        fits: whether bytes are the recorded ones.
    """
    for encoded, first in _encodings(data):
        for ended, second in _line_ends(encoded, size):
            for whole, third in _ends(ended):
                causes = [cause for cause in (first, second, third) if cause]
                if causes and (size is None or len(whole) == size) and fits(whole):
                    return whole, " and ".join(causes)
    return None


def _encodings(data: bytes) -> Iterator[tuple[bytes, str]]:
    yield data, ""
    if data.startswith(_BOM):
        yield data[len(_BOM) :], ENCODED
    decode = _UTF16.get(data[:2])
    if decode is None and len(data) > 1 and 0 in data[:2]:
        decode = codecs.utf_16_le_decode if data[1] == 0 else codecs.utf_16_be_decode
    if decode is not None:
        with suppress(UnicodeError):
            yield decode(data, "strict", True)[0].removeprefix("\ufeff").encode(), ENCODED
    if _EXPANDED.search(data):
        yield _EXPANDED.sub(b"$Id$", data), EXPANDED


def _line_ends(data: bytes, size: int | None) -> Iterator[tuple[bytes, str]]:
    """``data`` with its line ends in each way, if that can make ``size`` bytes."""
    yield data, ""
    lf, crlf = data.count(b"\n"), data.count(b"\r\n")
    ways: tuple[tuple[int, Callable[[], bytes], str], ...] = (
        (lf - crlf, lambda: re.sub(rb"(?<!\r)\n", b"\r\n", data), LINE_ENDS_REMOVED),
        (lf, lambda: data.replace(b"\n", b"\r\n"), LINE_ENDS_REMOVED),
        (-crlf, lambda: data.replace(b"\r\n", b"\n"), LINE_ENDS_ADDED),
    )
    for more, changed, cause in ways:
        if more and (size is None or abs(len(data) + more - size) <= _MOST_NEWLINES):
            yield changed(), cause


_MOST_NEWLINES = 4
"""Editors add one newline, or cut those that are too many, of which terminals print few."""


def _ends(data: bytes) -> Iterator[tuple[bytes, str]]:
    yield data, ""
    for newlines in (b"\n", b"\r\n", b"\n\n", b"\r\n\r\n"):
        yield data + newlines, NEWLINE_REMOVED
    for newlines in (b"\r\n", b"\n"):
        if data.endswith(newlines):
            yield data[: -len(newlines)], NEWLINE_ADDED


def undone_output(
    data: bytes, chunks: Sequence[OutputRecord], *, sha256_hex: str, effort: int
) -> tuple[bytes, str] | None:
    """The bytes that ``output.raw`` had, as ``undone`` does, by the digests of its chunks, too.

    Args:
        data: the current bytes of the file.
        chunks: the output records, in order.
        sha256_hex: the digest of the whole file.
        effort: how much to try at most, in lines and KiB of all ways to put the chunks together;
            a million is about a second.
    """

    def fits(whole: bytes) -> bool:
        return sha256(whole).hexdigest() == sha256_hex

    if fits(data):
        return None
    size = max((record.offset + record.length for record in chunks), default=0)
    found = undone(data, size=size, fits=fits)
    if found is not None:
        return found
    pinned = all(record.sha256 for record in chunks if record.length)
    if not pinned or not all(
        one.offset + one.length == other.offset for one, other in pairwise(chunks)
    ):
        return None
    # One CR is taken from each line end. Each then had none, one, or two (CR CR LF: a program wrote
    # CR LF to a terminal that adds a CR).
    whole = _Pieces(data.replace(b"\r\n", b"\n"), effort).put_together(chunks)
    return (whole, LINE_ENDS_MIXED) if whole is not None and fits(whole) else None


_LIKELY = (1, 0, 2)
"""How many CRs a line end had, the likely numbers first."""


class _Pieces:
    """Puts chunks together from ``base``, in which each LF may lack CRs before it."""

    def __init__(self, base: bytes, effort: int) -> None:
        self._base = base
        self._effort = effort

    def put_together(self, chunks: Sequence[OutputRecord]) -> bytes | None:
        """All chunks, or None: one cannot be found, or only with more effort."""
        made: list[bytes] = []
        at, cut = 0, False  # cut: the last chunk ended with a CR of the LF that is next
        for record in chunks:
            if not record.length:
                continue
            for piece, end, split in self._ways(at, record.length, cut=cut):
                if sha256(piece).hexdigest() == record.sha256:
                    made.append(piece)
                    at, cut = end, split
                    break
            else:
                return None
        return b"".join(made) if at == len(self._base) and not cut else None

    def _ways(self, at: int, length: int, *, cut: bool) -> Iterator[tuple[bytes, int, bool]]:
        """Each way to make ``length`` bytes from ``at``: the bytes, where they end, and ``cut``.

        The likely ones come first: all line ends alike, then few exceptions.
        """
        lines = self._base[at : at + length].split(b"\n")
        for exceptions in range(len(lines) + 1):
            for chosen in combinations(range(len(lines)), exceptions):
                for usual in _LIKELY:
                    others = [number for number in _LIKELY if number != usual]
                    for numbers in product(others, repeat=exceptions):
                        self._effort -= 1 + len(lines) + (length >> 10)
                        if self._effort < 0:
                            return
                        crs = [usual] * len(lines)
                        if cut:
                            crs[0] = 0
                        for line, number in zip(chosen, numbers, strict=True):
                            crs[line] = number
                        way = self._way(lines, at, length, crs)
                        if way is not None:
                            yield way

    def _way(
        self, lines: list[bytes], at: int, length: int, crs: list[int]
    ) -> tuple[bytes, int, bool] | None:
        """``length`` bytes, with ``crs`` CRs at the end of each line; None if there are fewer."""
        parts: list[bytes] = []
        left = length
        for line, number in zip(lines, crs, strict=True):
            if len(line) >= left:
                parts.append(line[:left])
                return b"".join(parts), at + left, False
            left -= len(line)
            at += len(line)
            if self._base[at : at + 1] != b"\n":
                return None
            if number >= left:
                parts += (line, b"\r" * left)
                return b"".join(parts), at, True
            parts += (line, b"\r" * number, b"\n")
            left -= number + 1
            at += 1
            if not left:
                return b"".join(parts), at, False
        return None


_MOST_BYTES = 256 << 20
"""Larger files are not put together again."""

_EFFORT = 10_000_000
"""For ``fix_cassette``: about ten seconds."""

_GLANCE = 200_000
"""For the text of an error."""

_GLANCE_BYTES = 8 << 20

_MOST_GIT_FILE_BYTES = 64 << 10
"""Of a file ``.git``, which is a line with a path."""

_IS_NO_NAME = lazy_pattern(r"\A[-:]|[*?\[\\]")
"""Of a path: git takes it for an option or for a pattern (gitglossary(7), "pathspec")."""
_UNFETCHED = "the folder is that of a submodule of git that was not fetched"

_LOSSLESS = frozenset({"lfs", "annex", "git-crypt"})
"""Filters of git that give each file back as it was, or a pointer."""

_NO_FILTER = frozenset({"unset", "unspecified", "set"})

_AS_IT_IS = (DiagnosticError, LimitError, UnscrubbedError, UnsafeFileError)
"""Errors whose own hint says what to do."""


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """The damage to one file.

    ``cause`` is empty if it is not known; ``remedy`` is the user's next step, empty when
    ``fix_cassette`` does it. ``restored`` has the bytes as they were recorded, None if no digest
    proves them.
    """

    name: str
    cause: str = ""
    remedy: str = ""
    restored: bytes | None = None


class Fixed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of ``fix_cassette``: restored files with the cause, and added files."""

    restored: dict[str, str]
    added: tuple[str, ...] = ()


def explained(error: CassetteError, path: str | os.PathLike[str]) -> CassetteError:
    """The same error; its hint names the damage by git or another tool, if there is any.

    Args:
        error: the error about the cassette.
        path: the cassette.
    """
    if isinstance(error, NotFoundError):
        error.hint = _not_checked_out(Path(path)) or error.hint
    elif isinstance(error, InvalidCassetteError) and not isinstance(error, _AS_IT_IS):
        if isinstance(error, VersionError) and error.hint:  # it is newer
            return error
        with suppress(CassetteError, OSError):
            damages = [*_damages(Path(path), effort=_GLANCE, most_bytes=_GLANCE_BYTES)]
            first = _first(damages)
            if first is not None:
                remedy = f"restore it with 'ptycassette verify --fix {_shown(path)}'"
                error.hint = f"{visible(first.name)}: {first.cause}; {first.remedy or remedy}"
                return error
        error.hint = error.hint or CHANGED_HINT
    return error


def _first(damages: Sequence[Damage]) -> Damage | None:
    """The damage to repair first: damage that others must repair comes before ours."""
    explained_ones = [one for one in damages if one.cause]
    return next((one for one in explained_ones if one.remedy), next(iter(explained_ones), None))


def fix_cassette(path: Path, *, allow_unscrubbed: bool = False) -> Fixed:
    """Restore the files of a cassette from damage that its digests prove, and protect it from git.

    All files that were damaged are restored, or nothing is changed. The restored cassette is
    checked to its end before it replaces the damaged one, in one step.

    Args:
        path: the cassette.
        allow_unscrubbed: also one that was recorded without scrubbing.

    Raises:
        InvalidCassetteError: something cannot be restored; nothing was changed.
        NotFoundError, UnreadableError: it is not there, or cannot be read.
        ExistsError, StorageError: the disk refused; nothing was changed.
    """
    from ptycassette.cassette.io.reader import open_cassette  # noqa: PLC0415 - it imports this

    replaces = _status(path)
    damages = list(_damages(path, effort=_EFFORT, most_bytes=_MOST_BYTES))
    restored = {one.name: one.restored for one in damages if one.restored is not None}
    if len(restored) < len(damages) or not damages:
        try:
            with open_cassette(path, allow_unscrubbed=allow_unscrubbed):
                pass
        except InvalidCassetteError as error:
            first = _first(damages)
            lost = next((one.name for one in damages if one.restored is None), None)
            if first is not None and not first.remedy and lost is not None:
                # The hint was to fix it, and this call tried that.
                error.hint = f"nothing proves what {visible(lost)} was: {CHANGED_HINT}"
            raise
        return Fixed(restored={}, added=protect_from_git(path))
    staging = Staging(path)
    try:
        with DirectoryHandle(path) as directory:
            names = directory.entries()
            for name in sorted(names - {GIT_ATTRIBUTES}):
                _copy(directory, name, staging, restored.get(name))
        stage_git_attributes(staging)
        with open_cassette(staging.content, allow_unscrubbed=allow_unscrubbed):
            pass
        staging.publish(replaces)
    finally:
        staging.remove()
    return Fixed(
        restored={damage.name: damage.cause for damage in damages},
        added=() if GIT_ATTRIBUTES in names else (GIT_ATTRIBUTES,),
    )


def _copy(directory: DirectoryHandle, name: str, staging: Staging, data: bytes | None) -> None:
    copy = StagedFile(staging, name, max_bytes=DEFAULT_LIMITS.max_output_bytes)
    try:
        if data is None:
            with directory.open(name) as source:
                for block in source.blocks():
                    copy.append(block)
        else:
            copy.append(data)
        copy.finish()
    finally:
        copy.close()


def protect_from_git(path: Path) -> tuple[str, ...]:
    """Add the ``.gitattributes`` of a cassette, or what it lacks; the names of changed files.

    Lines of somebody else stay; ours come behind them, so that git follows ours. A directory of
    links stays as it is: git would commit the links.

    Raises:
        UnsafeFileError: it is a link, or no file.
        LimitError: it is too long.
        StorageError: the disk refused.
    """
    with DirectoryHandle(path) as directory:
        theirs = ""
        entries = directory.entries()
        if any((path / name).is_symlink() for name in entries):
            return ()
        if GIT_ATTRIBUTES in entries:
            with directory.open(GIT_ATTRIBUTES) as file:
                theirs = file.read_document().decode(errors="surrogateescape")
    theirs = theirs.replace("\r\n", "\n")
    if theirs.endswith(GIT_ATTRIBUTES_TEXT):
        return ()
    parted = f"{theirs.rstrip()}\n" if theirs.strip() else ""
    data = f"{parted}{GIT_ATTRIBUTES_TEXT}".encode(errors="surrogateescape")
    write_whole(path / GIT_ATTRIBUTES, [data])
    return (GIT_ATTRIBUTES,)


def git_risks(path: Path) -> list[str]:
    """The problems that a valid cassette would have in git, one sentence each.

    Empty outside of git.

    Args:
        path: the cassette.

    Raises:
        CassetteError: the directory cannot be listed.
    """
    if not WorkTree.holds(path):
        return []
    with DirectoryHandle(path) as directory:
        entries = sorted(directory.entries())
    names = [name for name in entries if name != GIT_ATTRIBUTES]
    tree = WorkTree(path)
    fix = f"run 'ptycassette verify --fix {_shown(path)}' and commit"
    values = tree.attributes(names, ("text", "diff"))
    risks = []
    converted = [name for name in names if values.get((name, "text"), "unset") != "unset"]
    if converted and _protected(path):
        risks.append(
            f"git may change the line ends of {_listed(converted)}, because a rule elsewhere goes "
            f"before those of the cassette: remove it from .git/info/attributes"
        )
    elif converted:
        risks.append(f"git may change the line ends of {_listed(converted)}: {fix}")
    elif values.get((OUTPUT_RAW, "diff"), "unset") != "unset":
        risks.append(f"'git am' would remove CRs from {OUTPUT_RAW}: {fix}")
    filters = _filters(tree, names)
    if filters:
        risks.append(
            f"the filter {next(iter(filters.values()))} of git may change {_listed([*filters])}:"
            f" put '{_excluded(path)}' in the .gitattributes of the repository"
        )
    ends = tree.line_ends()
    differ = [name for name in names if _lost(*ends.get(name, ("", ""))) and name not in converted]
    if differ:
        add = f"git add --renormalize {_pathspec(path)}"
        risks.append(
            f"{_listed(differ)} has other line ends in git than here: run '{add}' and commit"
        )
    ignored = tree.ignored([name for name in entries if name not in ends])
    left = [one.name for one in ignored]
    if ends and GIT_ATTRIBUTES in entries and not {GIT_ATTRIBUTES} & {*ends, *left}:
        add = f"git add {_pathspec(path)}"
        risks.append(f"{GIT_ATTRIBUTES} is not committed with the rest: run '{add}' and commit")
    if ignored:
        add = f"git add -f {_pathspec(path)}"
        risks.append(
            f"git leaves out {_listed(left)} "
            f"({visible(ignored[0].rule, limit=200)}): run '{add}' and commit"
        )
    return risks


def _protected(path: Path) -> bool:
    """Whether the cassette has all of its ``.gitattributes``."""
    with suppress(OSError):
        return (path / GIT_ATTRIBUTES).read_bytes().endswith(GIT_ATTRIBUTES_TEXT.encode())
    return False


def _lost(index: str, here: str) -> bool:
    return index in {"lf", "crlf", "mixed"} and here in {"lf", "crlf", "mixed"} and index != here


def _listed(names: list[str]) -> str:
    shown = ", ".join(visible(name, limit=80) for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def _shown(path: str | os.PathLike[str]) -> str:
    return shlex.quote(visible(os.fspath(path)))


def _pathspec(path: str | os.PathLike[str]) -> str:
    """A path as a word of a git command, in which ``*`` and ``:(top)`` are literal."""
    name = os.fspath(path)
    return _shown(f":(literal){name}" if _IS_NO_NAME.search(name) else name)


def _status(path: Path) -> os.stat_result | None:
    with suppress(OSError):
        return path.stat(follow_symlinks=False)
    return None


def _damages(path: Path, *, effort: int, most_bytes: int) -> Iterator[Damage]:
    """The files that differ from the manifest's pins, the manifest first."""
    with DirectoryHandle(path) as directory:
        names = directory.entries()
        missing = [name for name in (MANIFEST, *REQUIRED_FILES) if name not in names]
        if MANIFEST in missing:
            yield _missing(path, MANIFEST, empty=not names)
            return
        damage, page = _manifest(path, directory)
        if damage is not None:
            yield damage
        if page is None:
            return
        pins = dict(page.artifacts or {})
        content = page.manifest.content_digest.sha256
        chunks = b""
        for name in dict.fromkeys((OUTPUT, *pins, OUTPUT_RAW, *REQUIRED_FILES)):
            if name not in names:
                yield _missing(path, name)
                continue
            pin = pins.get(name)
            if name == OUTPUT_RAW:
                pin = Artifact(sha256=content, bytes=-1)
            with directory.open(name) as file:
                head = file.read_at(0, min(file.size, HEAD_BYTES))
                pointer = unfetched(head, size=file.size)
                if pointer is not None:
                    yield _pointer(name, pointer.what, pointer.command)
                    continue
                if file.size > most_bytes:
                    if pin is not None and _digest(file.blocks()) != pin.sha256:
                        yield Damage(name=name)
                    continue
                data = file.read_at(0, file.size)
            damage = _file_damage(name, data, pin, chunks, effort=effort)
            if damage is not None and not damage.cause and pin is not None:
                damage = _filtered(path, name, partial(_has_digest, pin.sha256)) or damage
            if damage is not None:
                yield damage
                data = damage.restored or b""
            if name == OUTPUT and len(data) <= most_bytes // 4:
                chunks = data


def _digest(blocks: Iterable[bytes]) -> str:
    digest = sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _has_digest(sha256_hex: str, data: bytes) -> bool:
    return sha256(data).hexdigest() == sha256_hex


def _filtered(path: Path, name: str, fits: Fits) -> Damage | None:
    """The damage that a filter of git (``filter=`` in gitattributes(5)) did; its smudge is not run.

    Git keeps the output of the filter's ``clean``; if that has the digest, its ``smudge`` did the
    damage.
    """
    if not WorkTree.holds(path):
        return None
    tree = WorkTree(path)
    driver = _filters(tree, [name]).get(name)
    if driver is None:
        return None
    rule = f"'{_excluded(path)}' in the .gitattributes of the repository"
    data = tree.committed_bytes(name, most_bytes=_GLANCE_BYTES)
    if data is None:
        return None
    if fits(data):
        return Damage(
            name=name,
            cause=f"the filter {driver} of git changed it at checkout ({rule} prevents that)",
            restored=data,
        )
    return Damage(
        name=name,
        cause=f"git has it as the filter {driver} made it",
        remedy=f"put {rule}, and commit the file again from where it is whole",
    )


def _filters(tree: WorkTree, names: Sequence[str]) -> dict[str, str]:
    """The filters of git that may change files, by file."""
    return {
        name: visible(driver, limit=80)
        for (name, _), driver in tree.attributes(names, ("filter",)).items()
        if driver not in _LOSSLESS | _NO_FILTER
    }


def _excluded(path: Path) -> str:
    return f"**/{visible(path.absolute().name)}/** -filter"


def _records(data: bytes) -> list[OutputRecord]:
    """The output records, as far as they can be read."""
    reader = LineReader(OUTPUT_CODEC)
    records: list[OutputRecord] = []
    with suppress(CassetteError):
        records.extend(reader.feed(data).records)
        records.extend(reader.finish().records)
    return records


def _file_damage(
    name: str, data: bytes, pin: Artifact | None, chunks: bytes, *, effort: int
) -> Damage | None:
    """The damage to one file; None if it has its digest, or if no digest and no damage is known."""
    wanted = None if pin is None else pin.sha256
    if wanted is not None and sha256(data).hexdigest() == wanted:
        return None
    line = conflict_line(data, is_json=name != OUTPUT_RAW)
    if line is not None:
        return _conflict(name, line)
    if pin is None:
        return None
    if name == OUTPUT_RAW:
        found = undone_output(data, _records(chunks), sha256_hex=pin.sha256, effort=effort)
    else:
        found = undone(data, size=pin.bytes, fits=lambda whole: sha256(whole).hexdigest() == wanted)
    if found is None:
        return Damage(name=name)
    whole, cause = found
    return Damage(name=name, cause=cause, restored=whole)


def _manifest(path: Path, directory: DirectoryHandle) -> tuple[Damage | None, ManifestPage | None]:
    """The damage to the manifest, and its content if that is certain."""
    with directory.open(MANIFEST) as file:
        pointer = unfetched(file.read_at(0, min(file.size, HEAD_BYTES)), size=file.size)
        if pointer is not None:
            return _pointer(MANIFEST, pointer.what, pointer.command), None
        data = file.read_document()
    line = conflict_line(data, is_json=True)
    if line is not None:
        return _conflict(MANIFEST, line), None
    pages: list[ManifestPage] = []

    def fits(whole: bytes) -> bool:
        """Whether it ends as a writer ends it, and matches the digest in it."""
        if not whole.endswith(b"}\n") or b"\r" in whole:
            return False
        with suppress(CassetteError):
            page = decode_manifest(whole)
            if MANIFEST_DIGEST_KEY in (page.manifest.optional or {}):
                check_manifest_digest(page.manifest)
                pages.append(page)
        return bool(pages)

    if fits(data):
        return None, pages[0]
    found = undone(data, size=None, fits=fits)
    if found is not None:
        return Damage(name=MANIFEST, cause=found[1], restored=found[0]), pages[0]
    try:
        page = decode_manifest(data)
        check_manifest_digest(page.manifest)
    except CassetteError:
        damage = _filtered(path, MANIFEST, fits)
        if damage is None:
            raise
        return damage, next(iter(pages), None)
    return None, page


def _pointer(name: str, what: str, command: str) -> Damage:
    return Damage(
        name=name,
        cause=f"it is {what}, and the file itself was not fetched",
        remedy=f"run '{command}' in the repository",
    )


def _conflict(name: str, line: int) -> Damage:
    return Damage(
        name=name,
        cause=f"line {line} is a marker of a merge conflict of git",
        remedy="take all files of one side (git checkout --ours, or --theirs, and the cassette)",
    )


def _missing(path: Path, name: str, *, empty: bool = False) -> Damage:
    """The damage of a file that is missing, with git's reason."""
    if not WorkTree.holds(path):
        return Damage(name=name)
    tree = WorkTree(path)
    if empty and tree.is_submodule():
        return Damage(
            name=name,
            cause=_UNFETCHED,
            remedy=f"run 'git submodule update --init {_pathspec(path)}'",
        )
    committed = tree.committed(name)
    if committed is None:
        return Damage(name=name)
    if not committed:
        ignored = tree.ignored([name])
        rule = f" ({visible(ignored[0].rule, limit=200)})" if ignored else ""
        return Damage(
            name=name,
            cause=f"it was never committed{rule}",
            remedy="run 'git add -f' and commit where the cassette was recorded",
        )
    if any(committed.values()):
        return _sparse(path, name)
    return Damage(
        name=name,
        cause="it was removed here, and git still has it",
        remedy=f"run 'git restore {_pathspec(path)}'",
    )


def _sparse(path: Path, name: str) -> Damage:
    return Damage(
        name=name,
        cause="a sparse checkout of git leaves it out",
        remedy=f"run 'git sparse-checkout add {_shown(path)}', or 'git sparse-checkout disable'",
    )


def _not_checked_out(path: Path) -> str | None:
    """Why the whole cassette is missing, if git or DVC gives a reason.

    Git runs only if a sparse checkout is set up, or the folder is empty and the repository
    has submodules, since a path is often simply not there yet.
    """
    if not path.name:  # an empty path
        return None
    with suppress(OSError, CassetteError):
        if path.with_name(f"{path.name}.dvc").is_file():
            return f"DVC has it: run 'dvc pull {_shown(path)}.dvc'"
        folder = next(each for each in path.absolute().parents if each.is_dir())
        if _may_be_submodule(folder) and WorkTree(folder).is_submodule():
            return f"{_UNFETCHED}: run 'git submodule update --init {_pathspec(folder)}'"
        if not _is_sparse(folder):
            return None
        name = str(path.absolute().relative_to(folder))
        if any((WorkTree(folder).committed(name) or {}).values()):
            damage = _sparse(path, path.name)
            return f"{damage.cause}: {damage.remedy}"
    return None


def _may_be_submodule(folder: Path) -> bool:
    """Whether ``folder`` is empty, below the ``.gitmodules`` of its work tree."""
    above = next((each for each in folder.parents if (each / ".git").exists()), None)
    return above is not None and (above / ".gitmodules").is_file() and not any(folder.iterdir())


def _is_sparse(folder: Path) -> bool:
    """Whether the work tree of ``folder`` has a sparse checkout (git-sparse-checkout(1))."""
    for each in (folder, *folder.parents):
        git = each / ".git"
        if git.is_file():
            text = read_plain(git, max_bytes=_MOST_GIT_FILE_BYTES).decode("utf-8", "replace")
            git = each / text.removeprefix("gitdir: ").strip()
        if git.is_dir():
            return (git / "info" / "sparse-checkout").is_file()
    return False
