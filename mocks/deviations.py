"""Declares, finds and combines what a mock can do otherwise: faults, and lawful variants.

They stand in `mocks/<protocol>/faults/` and `mocks/<protocol>/variants/`, a module a topic. Each is
a subclass of a mock, or of a class that mocks are made of, and belongs to every role whose mock is
made of all that it derives from; `roles` narrows that where a role could have it and does not.

Every start of a mock imports this: what only lists or mistakes need is imported where it is used.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

Peer = TypeVar("Peer", bound=type[Any])

FAULTS, VARIANTS, LENIENT = "faults", "variants", "lenient"
COMPANY = 3  # other requirements that a fault may violate, where it does not declare how many


class UnknownName(ValueError):
    """A role, a fault or a variant that does not exist; the text says which do."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One way in which a mock can differ from the usual one.

    A fault violates `requirement`; a variant does lawfully what `requirement` leaves open, or does
    what it asks in another way. `summary` is one line of what it does.
    `subtle`: it shows only in rare circumstances (the last port, the second session, a split line).
    `needs`: how a run must be set up for it to show at all: its `transport`, and IXIT values.
    `roles`: those that can have it, where they are not all whose mocks are made alike.
    `company`: how many other requirements a fault may violate besides.
    """

    name: str
    requirement: str
    summary: str
    subtle: bool = False
    needs: Mapping[str, str] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    company: int = COMPANY


def fault(
    name: str,
    *,
    violates: str,
    subtle: bool = False,
    needs: Mapping[str, str] | None = None,
    roles: tuple[str, ...] = (),
    company: int = COMPANY,
) -> Callable[[Peer], Peer]:
    """Declare a subclass of a mock, or of what it is made of, as a fault.

    Its docstring is the summary.
    """
    return _declare(name, violates, subtle, needs, roles, company)


def variant(
    name: str,
    *,
    of: str,
    needs: Mapping[str, str] | None = None,
    roles: tuple[str, ...] = (),
) -> Callable[[Peer], Peer]:
    """Declare a subclass of a mock, or of what it is made of, as a lawful variant.

    Its docstring is the summary.
    """
    return _declare(name, of, False, needs, roles)


def lenient(name: str, *, of: str, roles: tuple[str, ...] = ()) -> Callable[[Peer], Peer]:
    """Declare a subclass of a mock that forgives its peers what violates a requirement.

    Its docstring is the summary. Each time it tells what it has forgiven.
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
    """The faults of a role such as `vexide/simulator`, by name."""
    return {name: peer.deviation for name, peer in _peers(role, FAULTS).items()}


def variants(role: str) -> dict[str, Deviation]:
    """The lawful variants of a role, by name."""
    return {name: peer.deviation for name, peer in _peers(role, VARIANTS).items()}


def leniencies(role: str) -> dict[str, Deviation]:
    """What the mock of a role can forgive, by name."""
    return {name: peer.deviation for name, peer in _peers(role, LENIENT).items()}


def deviating(
    role: str,
    faults: Iterable[str] = (),
    variants: Iterable[str] = (),
    forgives: Iterable[str] = (),
) -> type[Any]:
    """A class of its own: the mock of a role with these faults, variants and leniencies.

    Raises UnknownName.
    """
    # What several roles can have is declared for what these have in common.
    return type("Deviating", _made(role, faults, variants, forgives), {})


def change(
    peer: type[Any],
    role: str,
    faults: Iterable[str],
    variants: Iterable[str],
    forgives: Iterable[str] = (),
) -> None:
    """Give such a class, and with it all that are of it, others instead.

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
        raise UnknownName(f"{module.__file__}: PEER is missing, the class that plays {role}")
    from conformance.definitions import protocols

    raise UnknownName(f"no mock plays {role!r}{_hint(role, protocols.roles())}")


def _hint(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(known)}"


def _module_name(role: str) -> str:
    protocol, _, name = role.partition("/")
    return f"mocks.{protocol}.{name.replace('-', '_')}"


def _peers(role: str, kind: str) -> dict[str, type[Any]]:
    """The classes of a role's faults or variants; those of a module in the order of its lines."""
    usual: type[Any] = role_module(role).PEER
    package = f"mocks.{role.partition('/')[0]}.{kind}"
    peers: dict[str, type[Any]] = {}
    for module in _modules(package):
        for peer in vars(module).values():
            declared = vars(peer).get("deviation") if isinstance(peer, type) else None
            if declared is None or peer.__module__ != module.__name__:
                continue
            named = not declared.roles or role.partition("/")[2] in declared.roles
            if named and all(issubclass(usual, base) for base in _made_of(peer, package)):
                if declared.name in peers:
                    raise ValueError(f"{role} has two {kind} of the name {declared.name!r}")
                peers[declared.name] = peer
    return peers


def _made_of(peer: type[Any], package: str) -> Iterator[type[Any]]:
    """The classes of a protocol's mocks that one of their faults or variants derives from."""
    protocol = package.rpartition(".")[0]
    for base in peer.__mro__:
        module = f"{base.__module__}."
        if module.startswith(f"{protocol}.") and not module.startswith(f"{package}."):
            yield base


def _modules(name: str) -> Iterator[ModuleType]:
    """A package and all modules below it; none where it does not exist."""
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
