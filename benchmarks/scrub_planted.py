"""Whether verification finds a planted leak in every view: ``python -m benchmarks.scrub_planted``.

Every case is handed to the verification as if it had been scrubbed.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from functools import partial

from benchmarks.scrub_cases import CASES, events, meta
from ptycassette.scrub.session import default_scrubber


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", type=int, default=20)
    parser.add_argument("--rules-only", action="store_true")
    options = parser.parse_args()
    missed: Counter[str] = Counter()
    total = 0
    for form in CASES.FORMS:
        rng = random.Random(form)  # noqa: S311 - the same kinds every time
        for kind in rng.sample(CASES.KINDS, options.kinds):
            case = CASES.make_case(kind, form, 11)
            known = () if options.rules_only else (case.secret.value,)
            happened = events(case)
            total += 1
            found = default_scrubber(known=known).verify(meta(case), partial(iter, happened))
            if not found:
                missed[f"{form}: {kind}"] += 1
            elif any(case.secret.value in line for line in found):
                missed[f"{form}: {kind} (says the value)"] += 1
    for name in missed:
        print(f"  missed {name}")
    print(f"{len(CASES.FORMS)} views, {total} planted leaks, {sum(missed.values())} missed")


if __name__ == "__main__":
    main()
