"""The proxy between an agent CLI and its provider, in a process of its own, and its journal."""

from __future__ import annotations

from ptycassette._faces import loads_on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptycassette.tape.io._proxy_messages import ProxyPlan
    from ptycassette.tape.io.journal_file import TapeJournalFile, TapeJournalReader, TapeSink
    from ptycassette.tape.io.proxy import Proxy
    from ptycassette.tape.io.running_proxy import RunningProxy, base_url_variables, start_proxy
else:
    __getattr__ = loads_on_first_use(
        __name__,
        {
            "journal_file": ("TapeJournalFile", "TapeJournalReader", "TapeSink"),
            "_proxy_messages": ("ProxyPlan",),
            "proxy": ("Proxy",),
            "running_proxy": ("RunningProxy", "base_url_variables", "start_proxy"),
        },
    )

__all__ = [
    "Proxy",
    "ProxyPlan",
    "RunningProxy",
    "TapeJournalFile",
    "TapeJournalReader",
    "TapeSink",
    "base_url_variables",
    "start_proxy",
]
