"""The table of imports: name, suffixes, and the function that reads each format.

A new import is a module of this package and a row of ``IMPORTS``. The functions are named, not
imported, so that listing the imports loads none of them.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from ptycassette.errors import UsageError
from ptycassette.formats.importing.session import ImportedScript, ImportedSession


class ImportFormat(msgspec.Struct, frozen=True, kw_only=True):
    """One import.

    ``endings`` are the file suffixes that select it; ``reads`` describes the content, for the docs.
    ``reader`` names the function that reads, as ``module:function`` in this package: from the bytes
    of the whole file to an ``ImportedSession``; it raises ``BadImportError``.

    ``begins`` are the first bytes of such files, if the suffix is not enough. ``partial``: the
    reader can read up to a fault (keyword ``partial``). ``beside`` names the other files that
    belong to this one (keyword ``beside``). ``makes`` is the kind of result. ``whose``: the reader
    takes the file's path and, as ``harness``, the CLI that wrote it. ``terminal``: the file is a
    terminal session, whose size can be given; ``raw``: its output is bytes, whose charset can be
    given. ``json``: the file is JSON. ``calls``: it contains calls of models or tools.
    """

    name: str
    endings: tuple[str, ...]
    reads: str
    reader: str
    begins: bytes = b""
    partial: bool = False
    beside: tuple[str, ...] = ()
    makes: Literal["cassette", "script"] = "cassette"
    whose: bool = False
    terminal: bool = False
    raw: bool = False
    json: bool = False
    calls: bool = False

    @property
    def row(self) -> str:
        """The row in the table of the docs, as Markdown."""
        endings = ", ".join(f"`{ending}`" for ending in self.endings)
        return f"| `{self.name}` | {endings} | {self.reads} |"

    def read(
        self, data: bytes, *, partial: bool = False, beside: Mapping[str, bytes] | None = None
    ) -> ImportedSession:
        """Read a file.

        Args:
            data: the file.
            partial: read a broken file up to the fault.
            beside: the other files that belong to it, by name.

        Raises:
            BadImportError: it is not of this format.
            UsageError: a required library is not installed, or the format has no such option.
        """
        self.check_options(partial=partial, beside=beside)
        options: dict[str, Any] = {"partial": True} if partial else {}
        if self.beside:
            options["beside"] = beside or {}
        session: ImportedSession = self._reader()(data, **options)
        return session

    def read_script(self, data: bytes) -> ImportedScript:
        """The script in a file (``makes`` is ``script``).

        Raises:
            BadImportError: it is not of this format.
        """
        script: ImportedScript = self._reader()(data)
        return script

    def read_whose(self, path: str, harness: str | None) -> ImportedSession:
        """Read the file of a CLI (``whose``); with None as harness the content decides which CLI.

        Raises:
            BadImportError: it is not of this format.
            CassetteError: it cannot be read, or the CLI is unknown.
        """
        session: ImportedSession = self._reader()(path, harness=harness)
        return session

    def _reader(self) -> Callable[..., Any]:
        module, _, function = self.reader.partition(":")
        reader: Callable[..., Any] = getattr(
            importlib.import_module(f"ptycassette.formats.importing.{module}"), function
        )
        return reader

    def check_options(
        self,
        *,
        partial: bool,
        beside: Mapping[str, object] | None,
        size: bool = False,
        charset: bool = False,
    ) -> None:
        """Refuse options that have no meaning for this format.

        Raises:
            UsageError: an option does not apply.
        """
        if partial:
            self._refuse_unless("--partial", able=self.partial)
        if size:
            self._refuse_unless("--size", able=self.terminal)
        if charset:
            self._refuse_unless("--charset", able=self.raw)
        for name in beside or ():
            self._refuse_unless(f"--{name.replace('_', '-')}", able=name in self.beside)

    def _refuse_unless(self, flag: str, *, able: bool) -> None:
        if not able:
            raise UsageError(f"{self.name} takes no {flag}", hint="leave the option out")


IMPORTS = (
    ImportFormat(
        name="har",
        calls=True,
        json=True,
        endings=(".har",),
        reads="an HTTP archive, with messages of WebSockets as Chrome writes them",
        reader="har:read_har",
    ),
    ImportFormat(
        name="vcr",
        calls=True,
        endings=(".yaml", ".yml"),
        reads="a cassette of vcrpy, in YAML or JSON",
        reader="vcr:read_vcr",
    ),
    ImportFormat(
        name="cendor",
        calls=True,
        json=True,
        endings=(".cendor.json",),
        reads="a cassette of cendor-cassette, version 1 or 2",
        reader="cendor:read_cendor",
        begins=rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"entries"\s*:\s*\[',
    ),
    ImportFormat(
        name="asciicast",
        json=True,
        terminal=True,
        endings=(".cast",),
        reads="an asciicast, version 1, 2 or 3",
        reader="asciicast:read_asciicast",
        begins=rb'\s*\{[^{}\[\]]*"version"\s*:\s*[123]\s*[,}]',
        partial=True,
    ),
    ImportFormat(
        name="ttyrec",
        terminal=True,
        raw=True,
        endings=(".ttyrec",),
        reads="a ttyrec",
        reader="ttyrec:read_ttyrec",
        begins=rb"(?s).{6}[\0-\x0f]\0.{3}\0",  # less than a second of microseconds; a length
        partial=True,
    ),
    ImportFormat(
        name="typescript",
        terminal=True,
        raw=True,
        endings=(".typescript",),
        reads="a typescript of script(1), with `--timing`, and `--input-log` if there is one",
        reader="typescript:read_typescript",
        begins=rb"Script started on ",
        partial=True,
        beside=("timing", "input_log"),
    ),
    ImportFormat(
        name="tui-test",
        terminal=True,
        endings=(".tui-trace",),
        reads="a trace of Microsoft's tui-test",
        reader="tui_test:read_tui_test",
        begins=rb"(?s)\x78[\x01\x5e\x9c\xda]",
        partial=True,
    ),
    ImportFormat(
        name="vhs",
        endings=(".tape",),
        reads="a tape of VHS, which becomes an input script",
        reader="vhs:read_vhs",
        makes="script",
    ),
    ImportFormat(
        name="session-log",
        calls=True,
        json=True,
        endings=(".db",),
        reads="the log that an agent CLI keeps of a session",
        reader="io.session_logs:read_session_log",
        whose=True,
    ),
    ImportFormat(
        name="otel",
        calls=True,
        json=True,
        endings=(".otlp.json", ".otlp.jsonl"),
        reads="calls of models in OpenTelemetry's GenAI conventions, in OTLP JSON",
        reader="otel:read_otel",
    ),
    ImportFormat(
        name="trace",
        calls=True,
        json=True,
        endings=(".jsonl",),
        reads="a trace of calls, one in JSON on each line",
        reader="trace:read_trace",
    ),
    ImportFormat(
        name="mitmproxy",
        calls=True,
        endings=(".flow", ".flows", ".mitm"),
        reads="flows that mitmproxy has saved; it must be installed",
        reader="io.mitmproxy_flows:read_flows",
    ),
)


def import_named(name: str) -> ImportFormat:
    """The import with this name.

    Raises:
        KeyError: there is no such import.
    """
    return {one.name: one for one in IMPORTS}[name]


def import_of_file(name: str, begin: bytes = b"") -> ImportFormat:
    """The import for the suffix of a file's name, in upper or lower case, or for its content.

    Args:
        name: the file name.
        begin: its first bytes.

    Raises:
        UsageError: neither determines the format.
    """
    for one in IMPORTS:
        if name.lower().endswith(one.endings):
            return one
    for one in IMPORTS:
        if one.begins and re.match(one.begins, begin):
            return one
    names = ", ".join(one.name for one in IMPORTS)
    raise UsageError(
        "the format is not clear from the name or the content",
        where=name,
        hint=f"choose it with --format: {names}",
    )
