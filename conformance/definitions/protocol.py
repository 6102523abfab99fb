"""The definition of a protocol: roles, transports, messages and requirements."""

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
DECIDED_BY = ("test", "judge")
TRANSPORTS = ("stdio", "tcp", "unix", "udp", "zmq", "none")
"""The ways to reach a role; ``none`` is a role without a wire, only with an upper tester."""
DATAGRAMS = ("udp", "zmq")
"""The transports that preserve message boundaries."""

_ID = re.compile("[a-z0-9]+(-[a-z0-9]+)*[.][a-z0-9]+(-[a-z0-9]+)*")


class UnknownName(WrongUsage):
    """A name is unknown; the text lists the known names."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


@dataclass(frozen=True)
class Requirement:
    """A normative statement.

    - ``id`` is ``area.slug`` and never changes.
    - ``level`` is must, should or may.
    - ``binds`` names the roles that have to obey the statement.
    - ``section`` names the section of the specification, ``text`` states the requirement.
    - ``origin`` is ``spec``, ``reading`` or ``suite``. A reading interprets an open text; its
      ``note`` says what the text says and how it is read. ``suite`` is a statement about
      robustness. Readings and suite statements are never above should.
    - ``tested`` is ``wire``, ``hook`` or ``no``; ``no`` has a ``why``.
    - ``needs`` is the IXIT that a test needs.
    - ``presumes`` names the prerequisites of its tests.
    - ``decided_by`` is ``judge`` if codec, schema or oracle decide it in the sessions of all tests,
      so that it needs no test of its own.
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
    decided_by: str = "test"

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"the id {self.id!r} is not of the form area.slug")
        for name, known in (("level", LEVELS), ("origin", ORIGINS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{self.id}: {UnknownName(name, getattr(self, name), [*known])}")
        if not self.binds:
            raise ValueError(f"{self.id}: binds names no role")
        if self.origin != "spec" and self.level == "must":
            raise ValueError(f"{self.id}: only a statement of the specification can be a must")
        if self.origin == "reading" and not self.note:
            raise ValueError(
                f"{self.id}: a reading has a note: what the text says, and how it is read"
            )
        if self.decided_by not in DECIDED_BY:
            wrong = UnknownName("decided_by", self.decided_by, [*DECIDED_BY])
            raise ValueError(f"{self.id}: {wrong}")
        if self.tested not in ("wire", "hook", "no") or (self.tested == "no") != bool(self.why):
            raise ValueError(f"{self.id}: tested is wire or hook, or no with a why")

    @property
    def area(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class MessageType:
    """A message of a protocol: its sender, and the schema file of its decoded form.

    - ``paces``: a replay waits for this message before it continues.
    - ``feature``: an optional part of the protocol. The message is never sent to an implementation
      without this part.
    - ``handled``: the requirement that a receiver violates if it cannot take this message
    - ``to``: the receivers of the message, if not all peers of its sender
    - ``shown_by``: the programs, hooks and procedures by which a user can cause the message, such
      as ``programs.draw``
    """

    name: str
    sender: str
    schema: str
    paces: bool = False
    feature: str = ""
    handled: str = ""
    to: tuple[str, ...] = ()
    shown_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """An IXIT value that a configuration can contain: a timing in seconds or a choice."""

    name: str
    description: str
    default: Any = None
    values: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    """Names of the roles that the setting concerns; empty for all roles."""


@dataclass(frozen=True)
class Operation:
    """An operation of the upper tester: its effect and the names of its arguments.

    If the arguments vary, the only name is ``args``, which represents all of them.
    """

    name: str
    description: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Role:
    """A side of a protocol, as an IUT plays it; each role is one object.

    - ``serves``: the IUT waits for a connection, or for input on its standard input.
    - ``url``: the command receives its address as ``{url}`` instead of host and port.
    - ``bridge``: placeholder of an executable that the IUT starts as its peer, if it does so.
    - ``channels``: names of its ports if it has several (``{agent_port}``), else empty.
    - ``ports``: the default port of each channel, if the specification defines them.
    - ``upper_tester``: ``stdio`` if operations use the IUT's standard streams by default.
    - ``procedures``: procedures that the IUT offers over the wire, by their default names.
    - ``next_connection``: the requirement that a server violates if it cannot take a further
      connection, if there is one.
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
    next_connection: str = ""

    def __str__(self) -> str:
        return f"{self.protocol}/{self.name}"

    @property
    def package(self) -> str:
        """The package of this role's own test cases and smoke session."""
        return f"conformance.{self.protocol}.{self.name.replace('-', '_')}"

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages with test cases for this role: its own, and the shared one."""
        shared = f"conformance.{self.protocol}.both"
        return (self.package, *([shared] if importlib.util.find_spec(shared) else []))


@dataclass(frozen=True, eq=False)
class Protocol:
    """All facts about one protocol that are known without running anything."""

    name: str
    title: str
    address: str
    """The URL of the specification, or an empty text if none is known."""
    schema_requirement: str
    segmentation_requirement: str
    """The requirement that a receiver violates if segmentation changes its behaviour.

    The text is empty if no transport is a stream.
    """
    roles: Mapping[str, Role]
    timings: Mapping[str, Setting]
    ixit: Mapping[str, Setting]
    features: Mapping[str, tuple[str, ...]]
    messages: Mapping[tuple[str, str], MessageType]
    groups: Mapping[str, tuple[str, ...]]
    """Groups of message names, by the name of the group."""
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
        """All possible parties: the roles, and peers that no requirement binds."""
        peers = (role.peer for role in self.roles.values())
        return tuple(dict.fromkeys((*self.roles, *peers)))

    def decoder(self, party: str, transport: str = "") -> Decoder:
        """Return a decoder for the bytes of one party; the default is its first transport.

        The codec's ``decoder(party)`` is used if the decoding depends on the party, else its
        ``Decoder()``. Raises StopIteration if the protocol has no such party.
        """
        role = next(role for role in self.roles.values() if party in (role.name, role.peer))
        make = getattr(self.codec, "decoder", None)
        decoder: Callable[[], Decoder] = partial(make, party) if make else self.codec.Decoder
        is_datagrams = (transport or role.transports[0]) in DATAGRAMS
        return Datagrams(decoder) if is_datagrams else decoder()

    def conversation(self, running: bool = False) -> Any:
        """Return the state that the oracles of one IUT's sessions share, else None.

        ``running``: the IUT was started before, and can have had other sessions.
        """
        shared = getattr(self.oracle, "Conversation", None)
        return shared(running) if shared else None

    @cached_property
    def _prerequisites(self) -> dict[str, tuple[str, ...]]:
        return {}

    def prerequisites(self, requirement: str) -> tuple[str, ...]:
        """The ids of a requirement's prerequisites, direct ones first, then indirect ones."""
        known = self._prerequisites
        if requirement not in known:
            found: list[str] = []
            left = [requirement]
            while left:
                entry = self.requirements.get(left.pop())
                new = [name for name in (entry.presumes if entry else ()) if name not in found]
                found += new
                left += new
            known[requirement] = tuple(name for name in found if name != requirement)
        return known[requirement]

    def label(self, name: str, value: Any) -> str:
        """The label of a message's kind: its name, or the codec's ``label(name, value)``."""
        of_codec = getattr(self.codec, "label", None)
        return str(of_codec(name, value)) if of_codec else name

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

    def settings_for(self, role: Role, settings: Mapping[str, Setting]) -> list[Setting]:
        """Return the timings or IXIT values that a configuration of this role can contain."""
        return [each for each in settings.values() if not each.roles or role.name in each.roles]

    def requirements_for(self, role: Role) -> list[Requirement]:
        """Return the requirements that bind a role, in the order of the specification."""
        return [entry for entry in self.requirements.values() if role.name in entry.binds]
