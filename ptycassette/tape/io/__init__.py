"""The proxy between an agent CLI and its provider, its journal; rules of matching; draws."""

from __future__ import annotations

from ptycassette._faces import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._peer import belongs_to_another_user as belongs_to_another_user
    from ._proxy_messages import ProxyPlan as ProxyPlan
    from .draw_log import MachineDraws as MachineDraws
    from .draw_log import open_draws as open_draws
    from .draw_log import served_draws as served_draws
    from .journal_file import TapeJournalFile as TapeJournalFile
    from .journal_file import TapeJournalReader as TapeJournalReader
    from .journal_file import TapeSink as TapeSink
    from .matching_rules import load_matching_rules as load_matching_rules
    from .matching_rules import published_damage as published_damage
    from .price_table import load_prices as load_prices
    from .proxy import Proxy as Proxy
    from .running_proxy import PROVIDER_VARIABLE as PROVIDER_VARIABLE
    from .running_proxy import RunningProxy as RunningProxy
    from .running_proxy import base_url_variables as base_url_variables
    from .running_proxy import point_at_provider as point_at_provider
    from .running_proxy import proxy_variables as proxy_variables
    from .running_proxy import refuse_network as refuse_network
    from .running_proxy import start_proxy as start_proxy
    from .tunnels import Tunnels as Tunnels
else:
    __getattr__, __all__ = face(
        __name__,
        {
            "_peer": "belongs_to_another_user",
            "_proxy_messages": "ProxyPlan",
            "draw_log": "MachineDraws open_draws served_draws",
            "journal_file": "TapeJournalFile TapeJournalReader TapeSink",
            "matching_rules": "load_matching_rules published_damage",
            "price_table": "load_prices",
            "proxy": "Proxy",
            "running_proxy": (
                "PROVIDER_VARIABLE RunningProxy base_url_variables point_at_provider "
                "proxy_variables refuse_network start_proxy"
            ),
            "tunnels": "Tunnels",
        },
    )
