"""Loads what a protocol is: its roles, messages and requirements, from ``schemas/<protocol>/``.

The form of its two files is checked here, their references to others in ``conformance.checking``.
"""

import difflib
import importlib
import importlib.util
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from conformance import locate
from conformance.codec import Datagrams, Decoder
from conformance.exits import WrongUsage
from conformance.schemas import Schema, Schemas

LEVELS = ("must", "should", "may")
ORIGINS = ("spec", "reading", "suite")
TRANSPORTS = ("stdio", "tcp", "unix", "udp", "zmq", "none")
"""How a role can be reached; ``none`` is that of a role without a wire, only an upper tester."""
DATAGRAMS = ("udp", "zmq")
"""The transports that preserve message boundaries."""


_ID = re.compile("[a-z0-9]+(-[a-z0-9]+)*[.][a-z0-9]+(-[a-z0-9]+)*")
# A mock reads these files at each start, and the loader in Python takes a quarter of a second.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnknownName(WrongUsage):
    """An unknown name; the text says which are known."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


class BrokenProtocol(WrongUsage, ValueError):
    """Files of a protocol that are wrong, alone or together; the text says which, and where."""


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

    def binding(self, role: Role) -> list[Requirement]:
        """The requirements that bind a role, in the order of the specification."""
        return [entry for entry in self.requirements.values() if role.name in entry.binds]


def names() -> list[str]:
    """The names of all protocols that can be found."""
    return [
        entry.name for entry in locate.folders("schemas") if (entry / "protocol.yaml").is_file()
    ]


checks: set[Callable[[Protocol], None]] = set()
"""Further checks of each protocol that is loaded: commands add ``conformance.checking.check``;
mocks, of which a run starts hundreds, do not."""


@cache
def load(name: str) -> Protocol:
    """Load one protocol by its name. Raises UnknownName or BrokenProtocol."""
    folder = locate.folder("schemas", name)
    if folder is None or not (folder / "protocol.yaml").is_file():
        raise UnknownName("protocol", name, names())
    raw = _yaml(folder / "protocol.yaml")
    schema = json.loads(Path(__file__).with_name("protocol.schema.json").read_text("utf-8"))
    if wrong := Schema.of(schema).errors(raw):
        raise BrokenProtocol(f"{folder / 'protocol.yaml'}: {wrong[0].message}")
    protocol = Protocol(
        name=name,
        title=raw["title"],
        schema_requirement=raw["schema_requirement"],
        roles={role: _role(name, role, entry) for role, entry in raw["roles"].items()},
        timings=_settings(raw["timings"]),
        ixit=_settings(raw.get("ixit", {})),
        features={key: tuple(ids) for key, ids in raw.get("features", {}).items()},
        messages={
            (entry["from"], entry["name"]): MessageType(
                entry["name"],
                entry["from"],
                entry["schema"],
                entry.get("paces", False),
                entry.get("feature", ""),
            )
            for entry in raw["messages"]
        },
        requirements=_requirements(folder / "requirements.yaml"),
        folder=folder,
    )
    for check in checks:
        check(protocol)
    return protocol


def role(path: str) -> Role:
    """The role named ``PROTOCOL/ROLE``. Raises UnknownName."""
    protocol, _, name = path.partition("/")
    return load(protocol).role(name)


def _yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise BrokenProtocol(f"{path}: {error.strerror or error}") from error
    except (ValueError, yaml.YAMLError) as error:
        # What YAML says comes in several lines.
        raise BrokenProtocol(f"{path}: not YAML: {' '.join(str(error).split())}") from error


def _role(protocol: str, name: str, raw: dict[str, Any]) -> Role:
    return Role(
        protocol=protocol,
        name=name,
        title=raw["title"],
        peer=raw["peer"],
        serves=raw["serves"],
        transports=tuple(raw["transports"]),
        bridge=raw.get("bridge", ""),
        channels=tuple(raw.get("channels", ())),
        ports=tuple(raw.get("ports", ())),
        upper_tester=raw.get("upper_tester", ""),
        hooks={
            key: Operation(key, entry["description"], tuple(entry.get("arguments", ())))
            for key, entry in raw.get("hooks", {}).items()
        },
        programs=raw.get("programs", {}),
        procedures=raw.get("procedures", {}),
    )


def _settings(raw: dict[str, Any]) -> dict[str, Setting]:
    return {
        key: Setting(
            key, entry["description"], entry.get("default"), tuple(entry.get("values", ()))
        )
        for key, entry in raw.items()
    }


def _requirements(path: Path) -> dict[str, Requirement]:
    entries = _yaml(path)
    if not isinstance(entries, list):
        raise BrokenProtocol(f"{path}: a list of requirements was expected")
    found: dict[str, Requirement] = {}
    for number, raw in enumerate(entries):
        try:
            entry = _requirement(raw)
            if entry.id in found:
                raise ValueError(f"{entry.id} stands twice")
        except ValueError as error:
            where = raw.get("id", number) if isinstance(raw, dict) else number
            text = str(error).removeprefix(f"{where}: ")
            raise BrokenProtocol(f"{path}: {where}: {text}") from error
        found[entry.id] = entry
    return found


def _requirement(raw: Any) -> Requirement:
    """One entry. Raises ValueError, or UnknownName for a word that no entry has."""
    if not isinstance(raw, dict):
        raise ValueError("an entry of a requirement was expected")
    known = {member.name: member for member in fields(Requirement)}
    for key, value in raw.items():
        if key not in known:
            raise ValueError(str(UnknownName("word", str(key), list(known))))
        many = key in ("binds", "presumes")
        texts = value if many and isinstance(value, list) else [value]
        # YAML 1.1 reads a bare `no` as false, and a section may be a number.
        plain = str | int | float if key == "section" else str
        if many != isinstance(value, list) or not (
            all(isinstance(text, plain) for text in texts) or (key == "tested" and value is False)
        ):
            raise ValueError(
                f"{key} is {value!r}; {'a list of names' if many else 'a text'} was expected"
            )
    for key, member in known.items():
        if key not in raw and member.default is MISSING:
            raise ValueError(f"{key!r} is missing")
    tested = "no" if raw.get("tested") is False else raw.get("tested", "wire")
    lists = {key: tuple(raw.get(key, ())) for key in ("binds", "presumes")}
    return Requirement(**{**raw, **lists, "section": str(raw["section"]), "tested": tested})
