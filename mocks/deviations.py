"""Declare, find and combine the deviations of mocks: faults, lawful variants, leniencies.

Deviations are in `mocks/<protocol>/faults/`, `variants/` and `lenient/`, a module for each topic.
Each one is a subclass of a mock, or of a class that mocks inherit from. A deviation belongs to each
role whose mock inherits from all of its bases; `roles` restricts it to some of these roles.

Most deviations only change a step or two (`mocks.steps`). They stand in a `Table`, by requirement
and name. Other deviations are classes with a decorator: `fault`, `variant` or `lenient`.

Every mock imports this module when it starts. Modules that are needed only for lists or errors are
imported where they are used.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

from mocks.steps import Change, with_changes

Peer = TypeVar("Peer", bound=type[Any])

FAULTS, VARIANTS, LENIENT = "faults", "variants", "lenient"
COMPANY = 3  # further requirements that a fault can violate if it declares no number


class UnknownName(ValueError):
    """A role, fault or variant that does not exist; the text names the existing ones."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A way in which a mock differs from the sound mock.

    `requirement`: the id that a fault violates. A variant shows a lawful behaviour that this
    requirement leaves open, or meets the requirement in a second way. `summary`: one line that
    describes the behaviour. `subtle`: visible only in rare circumstances (the last port, the second
    session, a split line). `needs`: settings of a run in which the deviation is visible:
    `transport`, and IXIT values. `roles`: the roles that can have the deviation; empty for all
    roles with the same bases. `company`: how many other requirements a fault can violate in
    addition.
    """

    name: str
    requirement: str
    summary: str
    subtle: bool = False
    needs: Mapping[str, str] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    company: int = COMPANY


class Entry:
    """A deviation that changes steps of a mock; see `Deviation` for the other fields."""

    subtle = False

    def __init__(
        self,
        summary: str,
        *changes: Change,
        needs: Mapping[str, str] | None = None,
        roles: tuple[str, ...] = (),
        company: int = COMPANY,
    ) -> None:
        self.summary = summary
        self.changes = changes
        self.needs = needs or {}
        self.roles = roles
        self.company = company


class Fault(Entry):
    """A violation of the requirement."""


class Subtle(Fault):
    """A fault that is visible only in rare circumstances."""

    subtle = True


class Variant(Entry):
    """A lawful behaviour that the requirement leaves open, or a second way to meet it."""


class Table:
    """The simple deviations of a mock, or of a base class of mocks: `peers`.

    `table[requirement] = {name: Fault(…)}` adds deviations: faults in the package `faults`, and
    variants in `variants`. A later change of the same step is made around the earlier ones.
    """

    def __init__(self, base: type[Any]) -> None:
        self._base = base
        self.peers: list[type[Any]] = []

    def __setitem__(self, requirement: str, deviations: Mapping[str, Entry]) -> None:
        for name, one in deviations.items():
            peer = type(self._base.__name__, (self._base,), {"__doc__": one.summary})
            peer = with_changes(peer, one.changes)
            told = (one.summary, one.subtle, one.needs, one.roles, one.company)
            peer.deviation = Deviation(name, requirement, *told)
            self.peers.append(peer)


def fault(
    name: str,
    *,
    violates: str,
    subtle: bool = False,
    needs: Mapping[str, str] | None = None,
    roles: tuple[str, ...] = (),
    company: int = COMPANY,
) -> Callable[[Peer], Peer]:
    """Declare a subclass of a mock, or of one of its bases, as a fault.

    The docstring of the class is the summary.
    """
    return _declare(name, violates, subtle, needs, roles, company)


def variant(
    name: str,
    *,
    of: str,
    needs: Mapping[str, str] | None = None,
    roles: tuple[str, ...] = (),
) -> Callable[[Peer], Peer]:
    """Declare a subclass of a mock, or of its bases, as a lawful variant.

    The docstring of the class is the summary.
    """
    return _declare(name, of, False, needs, roles)


def lenient(name: str, *, of: str, roles: tuple[str, ...] = ()) -> Callable[[Peer], Peer]:
    """Declare a subclass of a mock that forgives its peers a violation of a requirement.

    The docstring of the class is the summary. The mock reports each violation that it forgives.
    """
    return _declare(name, of, False, None, roles)


def _declare(
    name: str,
    requirement: str,
    subtle: bool,
    needs: Mapping[str, str] | None,
    roles: tuple[str, ...],
    company: int = COMPANY,
) -> Callable[[Peer], Peer]:
    def declare(peer: Peer) -> Peer:
        summary = (peer.__doc__ or "").strip()
        peer.deviation = Deviation(name, requirement, summary, subtle, needs or {}, roles, company)
        return peer

    return declare


def faults(role: str) -> dict[str, Deviation]:
    """Return the faults of a role such as `vexide/simulator`, by name."""
    return {name: peer.deviation for name, peer in _peers(role, FAULTS).items()}


def variants(role: str) -> dict[str, Deviation]:
    """Return the lawful variants of a role, by name."""
    return {name: peer.deviation for name, peer in _peers(role, VARIANTS).items()}


def leniencies(role: str) -> dict[str, Deviation]:
    """Return the leniencies of a role's mock, by name."""
    return {name: peer.deviation for name, peer in _peers(role, LENIENT).items()}


def deviating(
    role: str,
    faults: Iterable[str] = (),
    variants: Iterable[str] = (),
    forgives: Iterable[str] = (),
) -> type[Any]:
    """Make a new class: the mock of a role with these faults, variants and leniencies.

    Raises UnknownName.
    """
    # Each caller gets its own class, because `change` replaces the bases of a class in place.
    return type("Deviating", _made(role, faults, variants, forgives), {})


def change(
    peer: type[Any],
    role: str,
    faults: Iterable[str],
    variants: Iterable[str],
    forgives: Iterable[str] = (),
) -> None:
    """Replace the deviations of a class made by `deviating`, and so of all its instances.

    Raises UnknownName.
    """
    peer.__bases__ = _made(role, faults, variants, forgives)


def _made(
    role: str, faults: Iterable[str], variants: Iterable[str], forgives: Iterable[str]
) -> tuple[type[Any], ...]:
    chosen = ((FAULTS, faults), (VARIANTS, variants), (LENIENT, forgives))
    peers = [peer for kind, names in chosen for peer in _chosen(role, kind, names)]
    usual: type[Any] = role_module(role).PEER
    return (*peers, usual)


def _chosen(role: str, kind: str, names: Iterable[str]) -> list[type[Any]]:
    wanted = list(dict.fromkeys(names))
    peers = _peers(role, kind) if wanted else {}
    for name in wanted:
        if name not in peers:
            what = kind.removesuffix("s")
            raise UnknownName(f"{role} has no {what} {name!r}{_hint(name, list(peers))}")
    return [peers[name] for name in wanted]


def role_module(role: str) -> ModuleType:
    """Return the module of a role. Raises UnknownName."""
    name = _module_name(role)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not f"{name}.".startswith(f"{error.name}."):
            raise
    else:
        if hasattr(module, "PEER"):
            return module
        raise UnknownName(f"{module.__file__}: PEER is missing: the class of the mock of {role}")
    from conformance.definitions import protocols

    raise UnknownName(f"there is no mock of {role!r}{_hint(role, protocols.roles())}")


def _hint(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known)
    return f"; did you mean {' or '.join(near)}?" if near else f"; known: {', '.join(known)}"


def _module_name(role: str) -> str:
    protocol, _, name = role.partition("/")
    return f"mocks.{protocol}.{name.replace('-', '_')}"


def _peers(role: str, kind: str) -> dict[str, type[Any]]:
    """Return the classes of a role's faults or variants, in the order of their modules."""
    usual: type[Any] = role_module(role).PEER
    package = f"mocks.{role.partition('/')[0]}.{kind}"
    peers: dict[str, type[Any]] = {}
    for module in _modules(package):
        for peer in _declared_in(module):
            declared = peer.deviation
            named = not declared.roles or role.partition("/")[2] in declared.roles
            if named and all(issubclass(usual, base) for base in _made_of(peer, package)):
                if declared.name in peers:
                    raise ValueError(f"{role} has two {kind} with the name {declared.name!r}")
                peers[declared.name] = peer
    return peers


def _declared_in(module: ModuleType) -> Iterator[type[Any]]:
    for value in vars(module).values():
        if isinstance(value, Table):
            yield from value.peers
        elif getattr(value, "__module__", "") == module.__name__ and "deviation" in vars(value):
            yield value


def _made_of(peer: type[Any], package: str) -> Iterator[type[Any]]:
    """Yield the classes of a protocol's mocks that a fault or variant inherits from."""
    protocol = package.rpartition(".")[0]
    for base in peer.__mro__:
        module = f"{base.__module__}."
        if module.startswith(f"{protocol}.") and not module.startswith(f"{package}."):
            yield base


def _modules(name: str) -> Iterator[ModuleType]:
    """Yield a package and all modules below it; nothing if the package does not exist."""
    import pkgutil

    try:
        package = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return
    yield package
    for entry in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
        yield importlib.import_module(entry.name)
