"""The snippets of the pages, as one script a page: what a reader would type, in the page's order.

Sybil reads the blocks. The script runs them in a shell, because ``cd`` and files carry over from
one block to the next. What a page needs but does not show is in comments, which neither the site
nor GitHub shows::

    <!-- skip: next "why it does not run" -->
    <!-- file: hello.toml -->              the next block is the content of that file
    <!-- keys                              what is typed into each command of the next block:
    wait-text name?                        an input script of ``ptycassette rec``
    submit Ada
    -->
    <!-- invisible-code-block: console    commands that run, too
    $ cp -r "$REPOSITORY/fixtures" .
    -->

``console`` blocks hold commands behind ``$``, and the output of the command above; ``text`` blocks
without a file hold output. Every line of output must have been printed, whatever its numbers.
``python`` blocks run, in one process as long as no command is between them. Blocks of other
languages are files. ``python -m tests.snippets`` lists what runs and what does not.

The pages that people read first (``FIRST``) need nothing but what they show: nothing in them is
hidden, and they are also typed as they are, the installation included, into a shell in a clone.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sybil import Document, Region
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer, RawFencedCodeBlockLexer

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "ptycassette" / "cassette" / "FORMAT.md",
]
FIRST = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
LANGUAGES = {"console", "python", "text", "toml", "yaml", "json"}
_MARK = "@@ block of line "
_LEXERS = (
    RawFencedCodeBlockLexer(re.compile(r"(?P<arguments>[^\n]*)\n")),
    *(DirectiveInHTMLCommentLexer(name) for name in ("skip", "file", "keys")),
    DirectiveInHTMLCommentLexer("invisible-code-block", arguments=".+"),
)


@dataclass(frozen=True)
class Block:
    """A block of a page, and what the comments before it say about it."""

    line: int
    language: str
    source: str
    skip: str | None
    file: str | None
    keys: str | None
    hidden: bool = False
    """In a comment: a reader does not see it."""

    def commands(self) -> Iterator[str]:
        """The commands of a console block, each with its here-document and continued lines."""
        if self.language == "console":
            yield from (command for command, _ in self._parts() if command)

    def shown(self) -> list[str]:
        """The lines of output that the block shows."""
        if self.language == "text":
            return [] if self.file else self.source.splitlines()
        if self.language != "console":
            return []
        return [line for _, output in self._parts() for line in output]

    def _parts(self) -> list[tuple[str, list[str]]]:
        """Commands with the output below each; the first may be none."""
        parts: list[tuple[str, list[str]]] = [("", [])]
        until: str | None = None
        for line in self.source.splitlines():
            command, output = parts[-1]
            if until is not None:
                parts[-1] = (f"{command}\n{line}", output)
                until = None if line == until else until
            elif command.endswith("\\") and not output:
                parts[-1] = (f"{command}\n{line}", output)
            elif line.startswith("$ "):
                parts.append((line.removeprefix("$ "), []))
            else:
                output.append(line)
            begun = re.search(r"<<'(\w+)'", line) if line.startswith("$ ") else None
            until = begun[1] if begun else until
        return parts


def blocks(page: Path) -> list[Block]:
    """All blocks of a page in order. Comments that no block follows are an error."""
    document = Document(page.read_text(encoding="utf-8"), str(page))
    regions = sorted((r for lexer in _LEXERS for r in lexer(document)), key=lambda r: r.start)
    found: list[Block] = []
    said: dict[str, str] = {}
    for region in regions:
        directive = region.lexemes.get("directive")
        if directive in {"skip", "file", "keys"}:
            said[str(directive)] = _said(region)
            continue
        line = document.text.count("\n", 0, region.start) + 1
        language, source = region.lexemes["arguments"].strip(), str(region.lexemes["source"])
        before = (said.pop(key, None) for key in ("skip", "file", "keys"))
        found.append(Block(line, language, source, *before, hidden=directive is not None))
    if said:
        raise ValueError(f"{page}: no block follows {said}")
    return found


def _said(region: Region) -> str:
    """What a comment says: the reason of a skip, the name of a file, an input script."""
    if region.lexemes["directive"] == "keys":
        return str(region.lexemes["source"])
    arguments = region.lexemes["arguments"].strip()
    if region.lexemes["directive"] == "file":
        return str(arguments)
    reason = re.fullmatch(r'next "(.+)"', arguments)
    if reason is None:
        raise ValueError(f'a skip gives its reason, skip: next "reason", and not {arguments!r}')
    return str(reason[1])


def script(page: Path, shell: str) -> str:
    """The page as a script for a shell (a path), which has a folder for our files in ``$STORY``."""
    lines: list[str] = []
    python: list[Block] = []
    for block in blocks(page):
        if block.skip or (block.language == "text" and not block.file):
            continue
        if block.language == "python" and not block.file:
            python.append(block)
            continue
        lines += _run_python(python)
        lines.append(f"echo {shlex.quote(_MARK + str(block.line))}")
        if block.file:
            lines += _here(shlex.quote(block.file), block.source)
        elif block.keys is not None:
            lines += _typed(block, shell)
        else:
            lines += map(_checked, block.commands())
    return "\n".join([*lines, *_run_python(python)]) + "\n"


def _checked(command: str) -> str:
    """A command whose status counts: shells go on behind ``! COMMAND``, whatever came of it."""
    return f"if {command[2:]}; then false; fi" if command.startswith("! ") else command


def _run_python(waiting: list[Block]) -> list[str]:
    """The Python blocks that were met, as one program."""
    if not waiting:
        return []
    program = f'"$STORY"/line_{waiting[0].line}.py'
    mark = f"echo {shlex.quote(_MARK + str(waiting[0].line))}"
    source = "\n".join(block.source for block in waiting)
    waiting.clear()
    return [mark, *_here(program, source), f"python {program}"]


def _typed(block: Block, shell: str) -> Iterator[str]:
    """Each command on a terminal of its own, where the keys are typed by our own recorder."""
    keys = f'"$STORY"/keys_{block.line}'
    yield from _here(keys, block.keys or "")
    for command in block.commands():
        yield (
            f"ptycassette rec --headless -q --overwrite --size 100x30 --input {keys}"
            f' "$STORY"/typed.cassette -- {shell} -c {shlex.quote(_checked(command))}'
        )
        yield 'ptycassette cat "$STORY"/typed.cassette'


def _here(name: str, text: str) -> list[str]:
    """Write a file."""
    return [f"cat > {name} <<'END_OF_BLOCK'", text.rstrip("\n"), "END_OF_BLOCK"]


def not_printed(page: Path, output: str) -> list[str]:
    """Lines that the page shows as output and that were not printed, each with its line number.

    A line of a console block must be in what that block printed, one of a text block anywhere.
    """
    by_line = {
        int(line): printed
        for line, _, printed in (part.partition("\n") for part in output.split(_MARK)[1:])
    }
    missing: list[str] = []
    for block in blocks(page):
        if block.skip:
            continue
        printed = output if block.language == "text" else by_line.get(block.line, "")
        lines = {_alike(line) for line in printed.splitlines()}
        missing += [
            f"{page.name}:{block.line}: {line}"
            for line in block.shown()
            if not _is_in(_alike(line), lines)
        ]
    return missing


def _is_in(line: str, printed: set[str]) -> bool:
    """Whether a line was printed, within a line at least; what it leaves out is ``...``."""
    pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
    return not line or any(pattern.search(other) for other in printed)


def _alike(line: str) -> str:
    """A line without its numbers, its indentation and pytest's margin."""
    return re.sub(r"\d[\d.:T-]*Z?", "0", " ".join(re.sub(r"^E +", "", line).split()))


def main() -> int:
    """List for each page how many blocks run, and those that do not."""
    run = skipped = 0
    for page in PAGES:
        all_blocks = blocks(page)
        left = [block for block in all_blocks if block.skip]
        run, skipped = run + len(all_blocks) - len(left), skipped + len(left)
        print(f"{page.relative_to(ROOT)}: {len(all_blocks) - len(left)} run, {len(left)} do not")
        for block in left:
            print(f"  line {block.line}, {block.language}: {block.skip}")
    print(f"all: {run} run, {skipped} do not")
    return 0


if __name__ == "__main__":
    sys.exit(main())
