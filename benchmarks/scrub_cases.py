"""Leaks, moved cells, changed lengths in generated cases: ``python -m benchmarks.scrub_cases``.

Each kind of secret is put in each form, scrubbed, and looked for by a judge that
shares no code with the scrubber: it strips sequences from the bytes, renders
every chunk with the default emulator, and decodes what is encoded.
"""

from __future__ import annotations

import argparse
import base64
import html
import importlib.util
import json
import quopri
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, unquote_plus

from ptycassette.model.records import Harness, Noted, Output, Resized, SessionMeta, Typed
from ptycassette.model.screen import Size
from ptycassette.scrub.session import default_scrubber
from ptycassette.terminal.emulator import default_emulator

ROOT = Path(__file__).resolve().parents[1]


def load(path: Path) -> ModuleType:
    """A module that belongs to no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


CASES = load(ROOT / "tests" / "unit" / "scrub" / "secret_cases.py")
"""The generator of cases, which lives with the tests."""
SEQUENCES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_](?:[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
)
MASKED = re.compile("x{8,}")
AWAY = re.compile(
    r"[\s\u2500-\u257f\u2800-\u28ff|>*\x00-\x1f\u2026\u0300-\u036f\ufe0f\u2060\u200b\u202c\U000e0061]+"
)


def meta(case: Any) -> SessionMeta:
    """A session that knows nothing about anybody."""
    return SessionMeta(
        id="00000000-0000-4000-8000-000000000001",
        argv=("agent",),
        size=Size(case.rows, case.cols),
        recorded_at="2026-01-01T00:00:00Z",
        harness=Harness(name="agent"),
    )


def events(case: Any) -> list[Any]:
    """The case as a journal."""
    if case.channel == "input":
        return [Typed(n, chunk) for n, chunk in enumerate(case.chunks)]
    if case.channel == "service":
        return [Noted(n, payload) for n, payload in enumerate(case.payloads)]
    result: list[Any] = []
    for number, chunk in enumerate(case.chunks):
        if number in case.resizes:
            result.append(Resized(number, Size(*case.resizes[number])))
        result.append(Output(number, chunk))
    return result


def screens(case: Any, happened: list[Any]) -> Iterator[tuple[str, ...]]:
    """The rows on the screen after every chunk."""
    emulator = default_emulator(Size(case.rows, case.cols))
    for event in happened:
        if isinstance(event, Resized):
            emulator.resize(event.size)
        else:
            emulator.feed(event.data)
            yield emulator.snapshot().rows


def readings(text: str, depth: int = 2) -> Iterator[str]:
    """A text, and what it says when decoded."""
    yield text
    if not depth:
        return
    yield from readings(unquote(text), depth - 1) if "%" in text else ()
    yield from listed(text)
    if "&#" in text:
        yield from readings(html.unescape(text), depth - 1)
    if "\\" in text:
        plain = re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda m: chr(int(m[1], 16)), text)
        plain = re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), plain)
        plain = re.sub(r"\\U([0-9a-fA-F]{8})", lambda m: chr(int(m[1], 16)), plain)
        plain = re.sub(r"\\x([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), plain)
        yield from readings(re.sub(r"\\(.)", r"\1", plain), depth - 1)
    for run in re.findall(r"[A-Za-z0-9+/_-]{12,}", text):
        for skip in range(4):
            part = run[skip:].replace("-", "+").replace("_", "/")
            part = part[: len(part) // 4 * 4]
            yield from spoken(base64.b64decode(part), depth - 1)
    for run in re.findall(r"(?:[0-9a-fA-F]{2} ?){8,}", text):
        for skip in (0, 1):
            digits = run.replace(" ", "")[skip:]
            raw = bytes.fromhex(digits[: len(digits) // 2 * 2])
            yield from spoken(raw, depth - 1)


def spoken(raw: bytes, depth: int) -> Iterator[str]:
    """What decoded bytes say."""
    for text in dict.fromkeys((raw.decode("latin-1"), raw.decode("utf-8", "ignore"))):
        yield from readings(text, depth)


def listed(text: str) -> Iterator[str]:
    """What lists of numbers and of characters say."""
    for run in re.findall(r"(?:\d{1,3}[\s,]+){6,}\d{1,3}", text):
        yield "".join(chr(int(number)) for number in re.findall(r"\d+", run))
    for run in re.findall(r'(?:"(?:[^"\\]|\\.)"[\s,]+){6,}', text):
        yield "".join(part[-1] for part in re.findall(r'"((?:[^"\\]|\\.))"', run))


def said(raw: bytes) -> Iterator[str]:
    """What the strings of each key of JSON say together, and of those of one index."""
    text = raw.decode("utf-8", "replace")
    strings = re.findall(r'"(\w+)":\s*(?:(\d+)|"((?:[^"\\]|\\.)*)")', text)
    joined: dict[tuple[str, str], str] = {}
    index = ""
    for key, number, value in strings:
        if key == "index":
            index = number
        for name in ((key, ""), (key, f"[{index}]")):
            joined[name] = joined.get(name, "") + value
    yield from joined.values()


def spelt(raw: bytes) -> Iterator[str]:
    """What each field of key sequences spells, pressed and released keys apart."""
    fields: dict[tuple[bool, int], str] = {}
    for keys, event, text in re.findall(rb"\x1b\[([\d:]+)(?:;\d*:?(\d*)(?:;([\d:]*))?)?u", raw):
        for number, code in enumerate((*keys.split(b":"), *(b"" for _ in range(5)))[:5]):
            if code:
                at = (event == b"3", number)
                fields[at] = fields.get(at, "") + chr(int(code))
        for code in filter(None, text.split(b":")):
            fields[False, 9] = fields.get((False, 9), "") + chr(int(code))
    yield from fields.values()


def needles(case: Any) -> set[str]:
    """Pieces that nobody may find again: eight characters, or half of a short secret."""
    value = AWAY.sub("", case.secret.value)
    other = AWAY.sub("", CASES.make_secret(case.kind, random.Random(99)).value)  # noqa: S311
    public = next((i for i, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), 0)
    if case.kind in {"passphrase", "aws-account", "google-client-id"}:  # parts are words, numbers
        return {value}
    if case.kind == "jwt":
        public = value.index(".") + 1
    size = 8 if len(value) >= 16 else max(5, (len(value) + 1) // 2)
    return {value[i : i + size] for i in range(public, len(value) - size + 1)}


def leak(case: Any, scrubbed: list[Any]) -> str:  # noqa: PLR0911 - one for each place
    """Where the secret can still be read, or ""."""
    wanted = needles(case)

    def found(text: str) -> bool:
        text = MASKED.sub("\0", text)  # no end of a secret, though some end so
        return any(needle in text for needle in wanted)

    if case.channel == "service":
        text = json.dumps([event.payload for event in scrubbed])
        joined = "".join(re.findall(r'"(?:text|partial_json)": "((?:[^"\\]|\\.)*)"', text))
        both = (text, joined)
        return "payload" if any(found(AWAY.sub("", r)) for t in both for r in readings(t)) else ""
    raw = b"".join(event.data for event in scrubbed if not isinstance(event, Resized))
    if case.channel == "input":
        small = [needle.lower() for needle in wanted]
        if any(needle in text.lower() for text in spelt(raw) for needle in small):
            return "fields of keys"
        keys = re.sub(rb"\x1b\[(\d+)[:;\d]*u", lambda m: bytes([int(m[1]) & 127]), raw)
        return "keys" if found(raw.decode("latin-1")) or found(keys.decode("latin-1")) else ""
    messages = (reading for text in said(raw) for reading in readings(text, 1))
    # The last letter of a sequence is none of the text behind it.
    text = re.sub(r"\x1b\[[\d;]*[A-Za-z]", "\0", raw.decode("utf-8", "replace"))
    if found(text) or any(found(AWAY.sub("", m)) for m in messages):
        return "bytes"
    if found(AWAY.sub("", SEQUENCES.sub(b"", raw).decode("utf-8", "replace"))):
        return "print stream"
    seen: set[tuple[str, ...]] = set()
    for rows in screens(case, scrubbed):
        if rows not in seen:
            seen.add(rows)
            if found(AWAY.sub("", "".join(rows))):
                return "screen"
    if case.encoded or case.form == "clipboard":
        shown = SEQUENCES.sub(b"", raw).decode("utf-8", "replace") or raw.decode("latin-1")
        if case.form == "clipboard":
            shown = raw.decode("latin-1")
        shown = _as_reported(case.form, shown)
        if any(found(AWAY.sub("", reading)) for reading in readings(shown)):
            return "decoded"
    return ""


def _as_reported(form: str, shown: str) -> str:
    """What somebody reads who knows the form."""
    lines = shown.splitlines()
    if form == "hex-dump":
        return " ".join(line[10:50] for line in lines)
    if form.startswith("base64-lines"):
        return "".join(line for line in lines if re.fullmatch("[A-Za-z0-9+/]{5,}=*", line))
    if form == "hex-lines":
        return "".join(line for line in lines if re.fullmatch("[0-9a-f]+", line))
    if form == "character-dump":
        cells = "".join(
            line[7:] for line in lines if re.match(r"[0-7]{7}(?:   .| [0-7]{3})+$", line)
        )
        octal = re.compile(r" {3}(.)| ([0-7]{3})")
        said = (m[1] or chr(int(m[2], 8)) for m in octal.finditer(cells))
        return "".join(said).encode("latin-1").decode("utf-8", "replace")
    if form.startswith("quoted-"):
        return quopri.decodestring(shown.encode()).decode("utf-8", "replace")
    return unquote_plus(shown) if form.startswith("form-") else shown


def moved(case: Any, before: list[Any], after: list[Any]) -> bool:
    """Whether scrubbing moved anything on any screen: blanks must stay blank, cells cells."""
    for old, new in zip(screens(case, before), screens(case, after), strict=True):
        for a, b in zip(old, new, strict=True):
            if len(a) != len(b) or any((x == " ") != (y == " ") for x, y in zip(a, b, strict=True)):
                return True
    return False


def main() -> None:
    """Run the cases and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rules-only", action="store_true")
    parser.add_argument("--form", action="append")
    parser.add_argument("--kind", action="append")
    options = parser.parse_args()
    totals: Counter[str] = Counter()
    leaks: Counter[str] = Counter()
    where: dict[str, str] = {}
    started = time.perf_counter()
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for form in options.form or CASES.FORMS:
            for kind in options.kind or CASES.KINDS:
                case = CASES.make_case(kind, form, seed)
                before = events(case)
                scrubber = default_scrubber(
                    known=() if options.rules_only else (case.secret.value,),
                )
                after = list(scrubber.events(meta(case), partial(iter, before)))
                totals["cases"] += 1
                place = leak(case, after)
                if place:
                    totals["leaks"] += 1
                    leaks[f"form {form}"] += 1
                    leaks[f"kind {kind}"] += 1
                    where.setdefault(f"form {form}", f"{kind} in {place}")
                    where.setdefault(f"kind {kind}", f"{form} in {place}")
                    print(f"seed {seed}: {kind}, {form}: in {place}", flush=True)
                if case.channel != "service":
                    totals["lengths changed"] += any(
                        len(a.data) != len(b.data)
                        for a, b in zip(before, after, strict=True)
                        if isinstance(a, Output | Typed) and isinstance(b, Output | Typed)
                    )
                if case.channel == "output":
                    totals["cells moved"] += moved(case, before, after)
    took = time.perf_counter() - started
    for name, number in leaks.most_common(40):
        print(f"  {number:5d} {name}: {where[name]}")
    what = "rules only" if options.rules_only else "known values"
    figures = ", ".join(
        f"{totals[name]} {name}" for name in ("cases", "leaks", "lengths changed", "cells moved")
    )
    print(f"{what}: {figures} ({took:.0f} s)")


if __name__ == "__main__":
    main()
