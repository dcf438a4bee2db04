"""Traffic with a provider, scrubbed as bytes: as many chunks, each as long as it was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise

from ptycassette.scrub._patches import Patches
from ptycassette.scrub._whole_json import whole_json
from ptycassette.scrub.search import Searcher
from ptycassette.scrub.tally import Tally
from ptycassette.scrub.views import TrafficChannel

_PROVIDER = "provider"


def scrubbed_traffic(searcher: Searcher, tally: Tally, chunks: Sequence[bytes]) -> list[bytes]:
    """``chunks`` with their secrets masked; JSON stays JSON."""
    patches = Patches()
    for by_rules in (True, False):
        channel = TrafficChannel()
        for view in chain.from_iterable([*map(channel.feed, chunks), channel.rest()]):
            for match in searcher.search(view.text, by_rules=by_rules):
                if patches.cover(view.masks(match.stretches, match.form)):
                    tally.count(_PROVIDER, match.rule, form=match.form)
            searcher.adopt()
    if not len(patches):
        return list(chunks)
    whole = b"".join(chunks)
    masked = patches.apply(whole, 0).decode("latin-1")
    scrubbed = whole_json(whole.decode("latin-1"), masked).encode("latin-1")
    ends = [*accumulate(map(len, chunks), initial=0)]
    return [scrubbed[start:end] for start, end in pairwise(ends)]
