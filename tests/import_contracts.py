"""A contract of import-linter: what lies outside of an ``io`` is free of I/O and clocks.

A module of a domain that reads a file, a clock or a socket lies in the domain's ``io`` package (or
in its one module of that name). Every other module reaches none of these, not even over others, so
that it can be tested with lists of events.
"""

from __future__ import annotations

from typing import Any

from importlinter import Contract, ContractCheck, fields, output

__all__ = ["PureContract"]

_MOST_SHOWN = 10


class PureContract(Contract):  # type: ignore[misc]
    """Options: ``root``, ``forbidden_modules`` and ``exempt_packages``, all of whose code may."""

    root = fields.StringField()
    forbidden_modules = fields.SetField(subfield=fields.StringField())
    exempt_packages = fields.SetField(subfield=fields.StringField())

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """Follow every import from the modules that must be pure."""
        del verbose
        pure = {
            module
            for module in graph.modules
            if module.startswith(f"{self.root}.")
            and "io" not in module.split(".")
            and not any(f"{module}.".startswith(f"{one}.") for one in self.exempt_packages)
        }
        chains = [
            graph.find_shortest_chain(importer=module, imported=forbidden)
            for forbidden in sorted(self.forbidden_modules & graph.modules)
            for module in sorted(pure & graph.find_downstream_modules(forbidden))
        ]
        return ContractCheck(
            kept=bool(pure) and not chains,
            metadata={"chains": chains, "checked": len(pure)},
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print how each module reaches what it must not."""
        if not check.metadata["checked"]:
            output.print_error(f"There are no modules below {self.root}.")
        chains = check.metadata["chains"]
        for chain in chains[:_MOST_SHOWN]:
            output.print_error(" -> ".join(chain))
        if len(chains) > _MOST_SHOWN:
            output.print_error(f"and {len(chains) - _MOST_SHOWN} more")
