"""What a protocol is: its roles and how each is reached, its messages, and its requirements."""

import difflib
import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.codec import Datagrams, Decoder
from conformance.definitions.schemas import Schemas
from conformance.exits import WrongUsage

LEVELS = ("must", "should", "may")
ORIGINS = ("spec", "reading", "suite")
TRANSPORTS = ("stdio", "tcp", "unix", "udp", "zmq", "none")
"""How a role can be reached; ``none`` is that of a role without a wire, only an upper tester."""
DATAGRAMS = ("udp", "zmq")
"""The transports that preserve message boundaries."""

_ID = re.compile("[a-z0-9]+(-[a-z0-9]+)*[.][a-z0-9]+(-[a-z0-9]+)*")


class UnknownName(WrongUsage):
    """An unknown name; the text says which are known."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


@dataclass(frozen=True)
class Requirement:
    """One normative statement.

    ``id`` is ``area.slug`` and never changes; ``level`` is must, should or may; ``binds`` names
    roles; ``origin`` is ``spec``, ``reading`` (the text is open, and ``note`` says what it says and
    how it is taken) or ``suite`` (robustness), the last two never above should; ``tested`` is
    ``wire``, ``hook`` or ``no``, the last with ``why``; ``needs`` is the IXIT that a test needs;
    ``presumes`` names the requirements that its tests rest on.
    """

    id: str
    level: str
    binds: tuple[str, ...]
    section: str
    text: str
    origin: str = "spec"
    tested: str = "wire"
    needs: str = ""
    note: str = ""
    why: str = ""
    presumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"the id {self.id!r} is not of the form area.slug")
        for name, known in (("level", LEVELS), ("origin", ORIGINS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{self.id}: {UnknownName(name, getattr(self, name), [*known])}")
        if not self.binds:
            raise ValueError(f"{self.id}: binds names no role")
        if self.origin != "spec" and self.level == "must":
            raise ValueError(f"{self.id}: only what the specification says is a must")
        if self.origin == "reading" and not self.note:
            raise ValueError(
                f"{self.id}: a reading has a note: what the text says, how it is taken"
            )
        if self.tested not in ("wire", "hook", "no") or (self.tested == "no") != bool(self.why):
            raise ValueError(f"{self.id}: tested is wire or hook, or no with a why")

    @property
    def area(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class MessageType:
    """One message of a protocol: who sends it and the schema file of its decoded form.

    ``paces``: a replayed capture waits for this message before it goes on. ``feature``: it is never
    sent to an implementation that leaves out this optional part.
    """

    name: str
    sender: str
    schema: str
    paces: bool = False
    feature: str = ""


@dataclass(frozen=True)
class Setting:
    """One IXIT value that a configuration may give: a timing in seconds or a choice."""

    name: str
    description: str
    default: Any = None
    values: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    """The names of those that it concerns, if not all."""


@dataclass(frozen=True)
class Operation:
    """One operation of the upper tester: what it does and the names of its arguments.

    Where these are not always the same, there is one name, ``args``: it stands for all of them.
    """

    name: str
    description: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Role:
    """One side of a protocol, as an IUT plays it; there is one object of each.

    ``serves``: it waits to be connected to (or to be spoken to on its standard input).
    ``url``: its command is given the address as ``{url}`` rather than as host and port.
    ``bridge``: placeholder of an executable that the IUT starts as its peer, if it does so.
    ``channels``: names of its ports where it has more than one (``{agent_port}``), else empty.
    ``ports``: the default port of each channel, where the specification names them.
    ``upper_tester``: ``stdio`` where operations go over the IUT's own standard streams by default.
    ``procedures``: what it can be asked to run over the wire, by the name that it has by default.
    """

    protocol: str
    name: str
    title: str
    peer: str
    serves: bool
    transports: tuple[str, ...]
    url: bool = False
    bridge: str = ""
    channels: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    upper_tester: str = ""
    hooks: Mapping[str, Operation] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    procedures: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.protocol}/{self.name}"

    @property
    def package(self) -> str:
        """The package of this role's own test cases, and of its smoke session."""
        return f"conformance.{self.protocol}.{self.name.replace('-', '_')}"

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages in which test cases of this role stand: its own, and that of all roles."""
        shared = f"conformance.{self.protocol}.both"
        return (self.package, *([shared] if importlib.util.find_spec(shared) else []))


@dataclass(frozen=True)
class Protocol:
    """Everything that is known of one protocol without running anything."""

    name: str
    title: str
    schema_requirement: str
    segmentation_requirement: str
    """What a receiver violates for which it matters how a stream is cut; empty for no stream."""
    roles: Mapping[str, Role]
    timings: Mapping[str, Setting]
    ixit: Mapping[str, Setting]
    features: Mapping[str, tuple[str, ...]]
    messages: Mapping[tuple[str, str], MessageType]
    requirements: Mapping[str, Requirement]
    folder: Path

    @cached_property
    def schemas(self) -> Schemas:
        return Schemas(self.folder)

    @cached_property
    def codec(self) -> ModuleType:
        return importlib.import_module(f"conformance.{self.name}.codec")

    @cached_property
    def oracle(self) -> ModuleType:
        return importlib.import_module(f"conformance.{self.name}.oracle")

    @cached_property
    def parties(self) -> tuple[str, ...]:
        """All that may take part: the roles, and peers that no requirement binds."""
        peers = (role.peer for role in self.roles.values())
        return tuple(dict.fromkeys((*self.roles, *peers)))

    def decoder(self, party: str, transport: str = "") -> Decoder:
        """A decoder of one party's bytes, by default over the first of its transports.

        Where it matters whose bytes they are, it is the codec's ``decoder(party)``, otherwise
        its ``Decoder()``. Raises StopIteration for nobody of this protocol.
        """
        role = next(role for role in self.roles.values() if party in (role.name, role.peer))
        told = getattr(self.codec, "decoder", None)
        decoder: Callable[[], Decoder] = partial(told, party) if told else self.codec.Decoder
        apart = (transport or role.transports[0]) in DATAGRAMS
        return Datagrams(decoder) if apart else decoder()

    def conversation(self, running: bool = False) -> Any:
        """What the oracles of one IUT's sessions share; None where each session stands alone.

        ``running``: the IUT has been running before, and may have had other sessions.
        """
        shared = getattr(self.oracle, "Conversation", None)
        return shared(running) if shared else None

    def role(self, name: str) -> Role:
        try:
            return self.roles[name]
        except KeyError:
            known = [f"{self.name}/{role}" for role in self.roles]
            raise UnknownName("role", f"{self.name}/{name}", known) from None

    def requirement(self, name: str) -> Requirement:
        try:
            return self.requirements[name]
        except KeyError:
            raise UnknownName("requirement", name, list(self.requirements)) from None

    def concerning(self, role: Role, settings: Mapping[str, Setting]) -> list[Setting]:
        """Those of its timings or IXIT values that a configuration of that role can need."""
        return [each for each in settings.values() if not each.roles or role.name in each.roles]

    def binding(self, role: Role) -> list[Requirement]:
        """The requirements that bind a role, in the order of the specification."""
        return [entry for entry in self.requirements.values() if role.name in entry.binds]
