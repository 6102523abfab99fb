"""Declares, finds and combines faults: deliberate violations that a mock can commit.

Every start of a mock imports this: what only lists or mistakes need is imported where it is used.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

Peer = TypeVar("Peer", bound=type[Any])


class UnknownName(ValueError):
    """A role or a fault that does not exist; the text says which do."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One violation: `requirement` is the statement it breaks, `summary` one line of what it does.

    `subtle`: it shows only in rare circumstances (the last port, the second session, a split line).
    `needs`: how a run must be set up for it to show at all, such as `{"transport": "tcp"}`.
    """

    name: str
    requirement: str
    summary: str
    subtle: bool
    needs: Mapping[str, str] = field(default_factory=dict)


def fault(
    name: str,
    *,
    violates: str,
    subtle: bool = False,
    needs: Mapping[str, str] | None = None,
) -> Callable[[Peer], Peer]:
    """Declare a subclass of a mock, or of what it is made of, as a fault.

    Its docstring is the summary.
    """

    def declare(peer: Peer) -> Peer:
        summary = (peer.__doc__ or "").strip()
        peer.declared_fault = Fault(name, violates, summary, subtle, needs or {})
        return peer

    return declare


def faults(role: str) -> dict[str, Fault]:
    """The faults of a role such as `vexide/simulator`, by name."""
    return {name: peer.declared_fault for name, peer in _peers(role).items()}


def faulty(role: str, names: Iterable[str]) -> type[Any]:
    """The mock of a role with these faults; with none, the sound mock. Raises UnknownName."""
    sound: type[Any] = role_module(role).PEER
    chosen = list(dict.fromkeys(names))
    if not chosen:
        return sound
    peers = _peers(role)
    for name in chosen:
        if name not in peers:
            raise UnknownName(f"{role} has no fault {name!r}{_hint(name, list(peers))}")
    # A fault that several roles have is declared for what they have in common.
    return type("Faulty", (*(peers[name] for name in chosen), sound), {})


def roles() -> list[str]:
    """Every role that has a mock: the modules that have a module of faults beside them."""
    import pkgutil

    import mocks

    found = []
    for protocol in pkgutil.iter_modules(mocks.__path__):
        if protocol.ispkg:
            package = importlib.import_module(f"mocks.{protocol.name}")
            modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
            roles = sorted(name for name in modules if f"{name}_faults" in modules)
            found += [f"{protocol.name}/{name.replace('_', '-')}" for name in roles]
    return found


def role_module(role: str) -> ModuleType:
    """The module of a role. Raises UnknownName."""
    name = _module_name(role)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not f"{name}.".startswith(f"{error.name}."):
            raise
    else:
        if hasattr(module, "PEER"):
            return module
    raise UnknownName(f"no mock plays {role!r}{_hint(role, roles())}")


def _hint(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(known)}"


def _module_name(role: str) -> str:
    protocol, _, name = role.partition("/")
    return f"mocks.{protocol}.{name.replace('-', '_')}"


def _peers(role: str) -> dict[str, type[Any]]:
    """The classes of a role's faults; those of a module in the order in which they stand there."""
    role_module(role)
    peers: dict[str, type[Any]] = {}
    for module in _fault_modules(f"{_module_name(role)}_faults"):
        for peer in vars(module).values():
            if isinstance(peer, type):
                declared = vars(peer).get("declared_fault")
                if declared is not None and peers.setdefault(declared.name, peer) is not peer:
                    raise ValueError(f"{role} has two faults of the name {declared.name!r}")
    return peers


def _fault_modules(name: str) -> list[ModuleType]:
    """A module of faults, or all modules of a package of faults."""
    import pkgutil

    module = importlib.import_module(name)
    inner = pkgutil.iter_modules(getattr(module, "__path__", ()))
    return [
        module,
        *(importlib.import_module(f"{name}.{entry.name}") for entry in inner),
    ]
