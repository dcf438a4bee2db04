"""``python -m fuzz [--seconds N] [TARGET...]``: every target, or some, for a while each.

A target is a module of ``targets/`` or a row of ``readers.READERS``. It begins with the corpus of
the repository or the seeds of its row, and with what former runs found in ``.fuzz/``, which git
ignores. What ends a target, or takes it longer than ten seconds, is left in
``.fuzz/found/``: make a test of it, mend the reader, and put the input into the corpus.
"""

from __future__ import annotations

import argparse
import pkgutil
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from fuzz import targets
from fuzz.readers import READERS

MODULES = tuple(sorted(module.name for module in pkgutil.iter_modules(targets.__path__)))
TARGETS = (*MODULES, *READERS)
HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
WORK = HERE.parent / ".fuzz"
_LIMITS = ("-timeout=10", "-rss_limit_mb=1500", "-max_len=2000", "-print_final_stats=1")


def fuzz(name: str, seconds: int) -> bool:
    """One target, for so long; whether it held. Says how many inputs it tried."""
    corpus, found = WORK / "corpus" / name, WORK / "found" / name
    for place in (corpus, found):
        place.mkdir(parents=True, exist_ok=True)
    if name in READERS:
        for number, seed in enumerate(READERS[name].seeds()):
            (corpus / f"seed-{number}").write_bytes(seed)
    kept = [str(CORPUS / name)] if name in MODULES else []
    command = [
        sys.executable, "-m", "fuzz.running", name, f"-max_total_time={seconds}", *_LIMITS,
        f"-artifact_prefix={found}/", str(corpus), *kept,
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=HERE.parent, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False
    )
    output = done.stdout.decode("utf-8", "replace")
    tried = re.search(r"number_of_executed_units: (\d+)", output)
    covered = re.findall(r"cov: (\d+)", output)
    held = done.returncode == 0
    print(
        f"{name:22} {tried[1] if tried else '?'} inputs, {covered[-1] if covered else '?'} "
        f"branches, {'held' if held else 'DID NOT HOLD'}",
        flush=True,
    )
    if not held:
        print("\n".join(output.splitlines()[-40:]), flush=True)
    return held


def main() -> int:
    """Fuzz what is named, everything when nothing is; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=30, help="for each (%(default)s)")
    options = parser.parse_args()
    if unknown := sorted({*options.targets} - {*TARGETS}):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    if find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install '.[fuzz]'")
    held = [fuzz(name, options.seconds) for name in options.targets or TARGETS]
    return 0 if all(held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
