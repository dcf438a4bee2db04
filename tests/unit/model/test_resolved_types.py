"""Types that msgspec describes in one thread at a time."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import ptycassette

ROOT = Path(ptycassette.__file__).parent
TYPE_ARGUMENT = {"convert": 1, "decode": 1, "Decoder": 0}  # its position

TWO_THREADS = """
import threading, time
import msgspec
from ptycassette.model.resolved_types import resolved

def read_slowly():
    inside.set()
    time.sleep(0.2)
    return int

class Inner(msgspec.Struct):
    number: "read_slowly()"

class Outer(msgspec.Struct):
    inner: Inner
    text: str

def decode():
    print(msgspec.json.decode(b'{"inner": {"number": 1}, "text": "a"}', type=resolved(Outer)))

inside = threading.Event()
first, second = threading.Thread(target=decode), threading.Thread(target=decode)
first.start()
inside.wait()
second.start()
first.join()
second.join()
"""


def test_two_threads_may_use_a_type_for_the_first_time() -> None:
    """The second comes while annotations are read: msgspec alone dies of a NULL pointer there."""
    run = subprocess.run(
        [sys.executable, "-c", TWO_THREADS],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (run.returncode, run.stdout.count("Outer(inner=Inner(number=1), text='a')")) == (0, 2)


def test_every_type_that_msgspec_gets_is_resolved() -> None:
    """In the whole package: ``msgspec.convert(value, resolved(Kind))``."""
    sources = {path: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    kinds = {
        f"{path.name}:{call.lineno}": ast.unparse(kind)
        for path, source in sources.items()
        if "msgspec" in source and path.name != "resolved_types.py"
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and (kind := _type_argument(call)) is not None
    }

    assert len(kinds) > 20
    assert {at: kind for at, kind in kinds.items() if not kind.startswith("resolved(")} == {}


def _type_argument(call: ast.Call) -> ast.expr | None:
    module, _, name = ast.unparse(call.func).rpartition(".")
    if name not in TYPE_ARGUMENT or module.partition(".")[0] != "msgspec":
        return None
    named = [keyword.value for keyword in call.keywords if keyword.arg == "type"]
    return next(iter([*call.args[TYPE_ARGUMENT[name] :][:1], *named]), None)
