"""Whether chunking changes what is scrubbed: ``python -m benchmarks.scrub_rechunk``.

The same bytes are cut at random and scrubbed; the scrubbed bytes must not differ.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from benchmarks.scrub_cases import CASES, events, meta
from ptycassette.model.records import Output, Resized, Typed
from ptycassette.scrub.session import default_scrubber


def cut(rng: random.Random, happened: list[Any]) -> list[Any]:
    """The same bytes in other chunks; resizes stay where they are between the bytes."""
    result: list[Any] = []
    for event in happened:
        if isinstance(event, Resized):
            result.append(event)
            continue
        data, at = event.data, 0
        while at < len(data):
            step = rng.choice((1, 2, 3, 7, 50, 400))
            result.append(type(event)(event.t_us, data[at : at + step]))
            at += step
    return result


def scrubbed(case: Any, happened: list[Any]) -> bytes:
    """All scrubbed bytes of the channel."""
    scrubber = default_scrubber(known=(case.secret.value,))
    after = scrubber.events(meta(case), lambda: iter(happened))
    return b"".join(event.data for event in after if isinstance(event, Output | Typed))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)  # noqa: S311 - the same cuts every time
    forms = [form for form in CASES.FORMS if form not in CASES.SERVICE_FORMS]
    started = time.perf_counter()
    done = different = 0
    while done < options.times:
        case = CASES.make_case(rng.choice(CASES.KINDS), rng.choice(forms), done)
        happened = events(case)
        whole = scrubbed(case, happened)
        for _ in range(10):
            done += 1
            different += scrubbed(case, cut(rng, happened)) != whole
    took = time.perf_counter() - started
    print(f"{done} re-chunkings, {different} gave other bytes ({took:.0f} s)")


if __name__ == "__main__":
    main()
