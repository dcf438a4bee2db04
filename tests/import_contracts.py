"""Our own contracts of import-linter.

Pure: what lies outside of an ``io`` is free of I/O and clocks. A module of a domain that reads a
file, a clock or a socket lies in the domain's ``io`` package (or in its one module of that name).
Every other module reaches none of these, not even over others, so that it can be tested with lists
of events.

Private: a module whose name begins with an underscore is imported by its own package alone.
"""

from __future__ import annotations

from typing import Any

from importlinter import Contract, ContractCheck, fields, output

__all__ = ["PrivateContract", "PureContract"]

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


class PrivateContract(Contract):  # type: ignore[misc]
    """Options: ``root``, and ``exempt_packages``, whose code may import anything."""

    root = fields.StringField()
    exempt_packages = fields.SetField(subfield=fields.StringField(), required=False)

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """Look at every import of a private module by one that is not in its package."""
        del verbose
        private = {
            module
            for module in graph.modules
            if module.startswith(f"{self.root}.") and _name_of(module).startswith("_")
        }
        past = [
            (importer, module)
            for module in sorted(private)
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if not _is_within(importer, _package_of(module))
            and not any(_is_within(importer, one) for one in self.exempt_packages or ())
        ]
        return ContractCheck(kept=bool(private) and not past, metadata={"past": past})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print which module imports what from where."""
        past = check.metadata["past"]
        if not past:
            output.print_error(f"There are no private modules below {self.root}.")
        for importer, module in past[:_MOST_SHOWN]:
            output.print_error(f"{importer} imports {module}, which is private")
        if len(past) > _MOST_SHOWN:
            output.print_error(f"and {len(past) - _MOST_SHOWN} more")


def _package_of(module: str) -> str:
    return module.rpartition(".")[0]


def _name_of(module: str) -> str:
    return module.rpartition(".")[2]


def _is_within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")
