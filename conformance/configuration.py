"""What the user declares of an IUT: how to reach it (IXIT), what it claims (ICS), how to run."""

import datetime
import json
import math
import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol, Role, UnknownName
from conformance.definitions.schemas import Schema
from conformance.exits import WrongUsage
from conformance.running.selection import Selection

FILE = "conformance.toml"


class ConfigurationError(WrongUsage):
    """A configuration that makes no sense; one line that says what was expected."""


@dataclass(frozen=True)
class KnownFailure:
    """A requirement that is known to fail, why, with which message (any, if empty), until when."""

    reason: str
    message: str = ""
    until: str = ""


@dataclass(frozen=True)
class Configuration:
    """One IUT and one run. Times are in seconds; empty means not declared.

    ``command`` starts the IUT, with placeholders still in it; ``connect`` and ``listen`` are
    addresses of an IUT that is started by hand, or has them compiled in. ``programs``,
    ``procedures`` and ``hooks`` are looked up by name, ``ixit`` holds every other declared value.
    """

    role: Role
    name: str = ""
    command: tuple[str, ...] = ()
    connect: str = ""
    listen: str = ""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    upper_tester: str = ""
    timing: Mapping[str, float] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    procedures: Mapping[str, str] = field(default_factory=dict)
    ixit: Mapping[str, str] = field(default_factory=dict)
    unsupported: Mapping[str, str] = field(default_factory=dict)
    known_failures: Mapping[str, KnownFailure] = field(default_factory=dict)
    seed: int = 0
    examples: int = 10
    max_wait: float = 30.0
    max_time: float = 3600.0
    workers: str = "auto"
    """How many of its instances are tested at a time; `auto`: found out by a trial."""
    report: str = ""
    strict: bool = False
    selection: Selection = field(default_factory=Selection)
    allure: str = ""
    """A folder for Allure results, if they are to be written."""
    baseline: str = ""
    """The report of an earlier run, from which this one must not be worse."""
    invocation: str = ""
    """The words that started this run, without those that select tests."""

    @property
    def fixed(self) -> bool:
        """It is started by us and has its address compiled in, so that there is one at a time."""
        return bool(self.command and (self.connect or self.listen))

    @property
    def protocol(self) -> Protocol:
        return protocols.load(self.role.protocol)

    def declared(self, timing: str) -> float | None:
        """A declared timing, or the protocol's default; None where it has neither."""
        default = self.protocol.timings[timing].default
        return self.timing.get(timing, None if default is None else float(default))

    def seconds(self, timing: str) -> float:
        """The same, for a test that waits that long; the longest allowed where it is unknown."""
        seconds = self.declared(timing)
        return self.max_wait if seconds is None else seconds

    def total(self, *within: float | str) -> float:
        """Seconds, and those of timings, one after the other."""
        return sum(self.seconds(each) if isinstance(each, str) else each for each in within)

    def value(self, name: str) -> str:
        """Any other declared IXIT value, or the protocol's default for it."""
        setting = self.protocol.ixit[name]
        return self.ixit.get(name, str(setting.default or ""))

    def leaves_out(self, requirement: str) -> str:
        """Why the IUT leaves a requirement out, if it claims so; else empty."""
        for claim, reason in self.unsupported.items():
            if requirement in (claim, *self.protocol.features.get(claim, ())):
                return reason
        return ""

    def unsent(self, party: str) -> set[str]:
        """The names of a party's messages that are for optional parts which the IUT leaves out."""
        if not self.unsupported:
            return set()
        mine = (one for one in self.protocol.messages.values() if one.sender == party)
        return {message.name for message in mine if message.feature in self.unsupported}

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "role": str(self.role)})

    @classmethod
    def from_json(cls, text: str) -> "Configuration":
        raw = json.loads(text)
        known = {key: KnownFailure(**entry) for key, entry in raw["known_failures"].items()}
        decoded = {
            "role": protocols.role(raw["role"]),
            "command": tuple(raw["command"]),
            "known_failures": known,
            "selection": Selection.from_json(raw["selection"]),
        }
        return cls(**{**raw, **decoded})


def load(path: Path) -> Configuration:
    """Read a configuration file. Raises ConfigurationError."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from error
    schema = json.loads(Path(__file__).with_name("configuration.schema.json").read_text())
    for wrong in Schema.of(schema).errors(raw):
        raise ConfigurationError(f"{path}: {wrong.message}")
    try:
        return _from_toml(path, raw)
    except UnknownName as error:
        raise ConfigurationError(f"{path}: iut.role: {error}") from error


def _from_toml(path: Path, raw: dict[str, Any]) -> Configuration:
    iut = raw["iut"]
    command = iut.get("command", ())
    if isinstance(command, str):
        command = split(command)
    directory = path.parent.resolve()
    return Configuration(
        role=protocols.role(iut["role"]),
        name=iut.get("name", ""),
        command=tuple(command),
        connect=iut.get("connect", ""),
        listen=iut.get("listen", ""),
        cwd=str(directory / iut["cwd"]) if "cwd" in iut else str(directory),
        env=iut.get("env", {}),
        upper_tester=iut.get("upper_tester", ""),
        workers=str(iut.get("workers", "auto")),
        timing={key: float(value) for key, value in raw.get("timing", {}).items()},
        hooks=raw.get("hooks", {}),
        programs=raw.get("programs", {}),
        procedures=raw.get("procedures", {}),
        ixit=raw.get("ixit", {}),
        unsupported=raw.get("unsupported", {}),
        known_failures={
            key: _known_failure(entry) for key, entry in raw.get("known-failures", {}).items()
        },
    )


def _known_failure(raw: Any) -> KnownFailure:
    if isinstance(raw, str):
        return KnownFailure(raw)
    return KnownFailure(raw["reason"], raw.get("message", ""), str(raw.get("until", "")))


def embedded(role: Role) -> Configuration:
    """The configuration under which this project's own mock of a role is the IUT."""
    try:
        folder = resources.files(f"mocks.{role.protocol}")
    except ModuleNotFoundError:
        folder = None
    file = folder and folder / f"{role.name.replace('-', '_')}.toml"
    if not file or not file.is_file():
        raise ConfigurationError(
            f"{role} has no embedded mock: give the command of an IUT after --"
        )
    return replace(load(Path(str(file))), cwd="")


def split(command: str) -> tuple[str, ...]:
    """A command written as one string, split as a shell splits words."""
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise ConfigurationError(f"the command {command!r} cannot be split: {error}") from error


def checked(configuration: Configuration) -> Configuration:
    """The same configuration, once every name and combination in it was found valid."""
    try:
        role, protocol = configuration.role, configuration.protocol
        _known("timing", configuration.timing, protocol.timings)
        _known("hook", configuration.hooks, role.hooks)
        _known("program", configuration.programs, role.programs)
        _known("procedure", configuration.procedures, role.procedures)
        _known("IXIT value", configuration.ixit, protocol.ixit)
        _known("requirement (known-failures)", configuration.known_failures, protocol.requirements)
        optional = [r.id for r in protocol.binding(role) if r.level != "must"]
        _known(
            "optional feature (unsupported)",
            configuration.unsupported,
            [*protocol.features, *optional],
        )
    except UnknownName as error:
        raise ConfigurationError(str(error)) from error
    for name, value in configuration.ixit.items():
        values = protocol.ixit[name].values
        if values and value not in values:
            raise ConfigurationError(f"{name} is {value!r}; it can be {' or '.join(values)}")
    limits = {"max-wait": configuration.max_wait, "max-time": configuration.max_time}
    for name, seconds in {**configuration.timing, **limits}.items():
        if not 0 < seconds < math.inf:
            raise ConfigurationError(f"{name} is {seconds:g}; expected a number of seconds above 0")
    for command in configuration.hooks.values():
        split(command)
    for requirement, known in configuration.known_failures.items():
        _date(f"known-failures.{requirement}.until", known.until)
    if configuration.connect and configuration.listen:
        raise ConfigurationError("give one way to reach the IUT, not connect and listen")
    if not (configuration.command or configuration.connect or configuration.listen):
        raise ConfigurationError("nothing says how to reach the IUT: command, connect or listen")
    if configuration.connect and not role.serves:
        raise ConfigurationError(f"{role} connects to the suite: use --listen, not --connect")
    if configuration.listen and role.serves:
        raise ConfigurationError(f"{role} waits to be connected to: use --connect, not --listen")
    return configuration


def _known(kind: str, given: Mapping[str, Any], known: Any) -> None:
    for name in given:
        if name not in known:
            raise UnknownName(kind, name, list(known) or ["none"])


def _date(where: str, text: str) -> None:
    if text:
        try:
            datetime.date.fromisoformat(text)
        except ValueError:
            raise ConfigurationError(
                f"{where}: {text!r} is not a date of the form 2026-12-31"
            ) from None


def expand(text: str, values: Mapping[str, str]) -> str:
    """Fill in the known placeholders; any other brace is left as it is."""
    for name, value in {"python": sys.executable, **values}.items():
        text = text.replace(f"{{{name}}}", value)
    return text
