"""The configuration of an IUT (IXIT and ICS), and of a run.

The IXIT says how to reach and drive the IUT. The ICS says what the IUT supports.
"""

import datetime
import json
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from conformance import untrusted_files
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol, Role, UnknownName
from conformance.definitions.schemas import Schema
from conformance.exits import WrongUsage
from conformance.running.selection import Selection

FILE = "conformance.toml"


class ConfigurationError(WrongUsage):
    """A configuration with an error; the text is one line that says what was expected."""


@dataclass(frozen=True)
class KnownFailure:
    """A requirement that is known to fail.

    - ``message``: a part of the expected failure's text; empty for any text
    - ``until``: the last date on which the entry is valid; empty if it does not expire
    - ``tests``: the only tests of the requirement that can fail; None for any test
    """

    reason: str
    message: str = ""
    until: str = ""
    tests: Sequence[str] | None = None


@dataclass(frozen=True)
class Configuration:
    """The settings of one IUT and one run. Times are in seconds; empty means not declared.

    - ``command`` starts the IUT, and still contains placeholders.
    - ``connect`` and ``listen`` are addresses of an IUT that a user starts, or fixed addresses.
    - ``programs``, ``procedures`` and ``hooks`` map names to values.
    - ``ixit`` has every other declared value.
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
    """The number of instances tested in parallel; `auto`: the suite measures it."""
    report: str = ""
    strict: bool = False
    selection: Selection = field(default_factory=Selection)
    isolate: bool = True
    """Experiments look for the messages that end sessions."""
    without: tuple[str, ...] = ()
    """Labels of messages that the suite does not send."""
    baseline: str = ""
    """The report of an earlier run; the run fails if a result is worse than there."""
    invocation: str = ""
    """The command line of this run, without the options that select tests."""

    @property
    def has_fixed_address(self) -> bool:
        """True if only one instance of the IUT can take part at a time.

        The suite starts this IUT at a fixed address, or the IUT connects to a fixed address.
        """
        return bool(self.listen or (self.command and self.connect))

    @property
    def runs_already(self) -> bool:
        """True if the user starts the IUT, so that one process serves all tests."""
        return not self.command

    @property
    def protocol(self) -> Protocol:
        return protocols.load(self.role.protocol)

    def declared(self, timing: str) -> float | None:
        """Return a declared timing in seconds, else the protocol's default or None."""
        default = self.protocol.timings[timing].default
        return self.timing.get(timing, None if default is None else float(default))

    def seconds(self, timing: str) -> float:
        """Return a timing in seconds; `max_wait` if undeclared."""
        seconds = self.declared(timing)
        return self.max_wait if seconds is None else seconds

    def total(self, *within: float | str) -> float:
        """Return the sum of seconds and of named timings."""
        return sum(self.seconds(each) if isinstance(each, str) else each for each in within)

    def value(self, name: str) -> str:
        """Return another declared IXIT value, or the protocol's default for it."""
        setting = self.protocol.ixit[name]
        return self.ixit.get(name, str(setting.default or ""))

    def reason_to_leave_out(self, requirement: str) -> str:
        """Return the declared reason why the IUT does not support a requirement, or empty."""
        for claim, reason in self.unsupported.items():
            if requirement in (claim, *self.protocol.features.get(claim, ())):
                return reason
        return ""

    def unsent_messages(self, party: str) -> set[str]:
        """Return a party's messages of features that the IUT does not support."""
        if not self.unsupported:
            return set()
        own = (each for each in self.protocol.messages.values() if each.sender == party)
        return {message.name for message in own if message.feature in self.unsupported}

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "role": str(self.role)})

    @classmethod
    def from_json(cls, text: str) -> "Configuration":
        raw = json.loads(text)
        known = {key: KnownFailure(**entry) for key, entry in raw["known_failures"].items()}
        decoded = {
            "role": protocols.role(raw["role"]),
            "command": tuple(raw["command"]),
            "without": tuple(raw["without"]),
            "known_failures": known,
            "selection": Selection.from_json(raw["selection"]),
        }
        return cls(**{**raw, **decoded})


def load(path: Path, role: Role | None = None) -> Configuration:
    """Read a configuration file; ``role`` is the role if the file has none.

    Raises ConfigurationError.
    """
    try:
        raw = untrusted_files.read_toml(untrusted_files.text(path))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from error
    iut = raw.setdefault("iut", {}) if role else raw.get("iut")
    if role and isinstance(iut, dict):
        iut.setdefault("role", str(role))
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
    return KnownFailure(**{**raw, "until": str(raw.get("until", ""))})


def mock_configuration(role: Role) -> Configuration:
    """Return the configuration of the reference mock of a role. Raises ConfigurationError."""
    try:
        folder = resources.files(f"mocks.{role.protocol}")
    except ModuleNotFoundError:
        folder = None
    file = folder and folder / f"{role.name.replace('-', '_')}.toml"
    if not file or not file.is_file():
        raise ConfigurationError(
            f"{role} has no reference mock; give the command of an IUT after --"
        )
    return replace(load(Path(str(file))), cwd="")


def split(command: str) -> tuple[str, ...]:
    """Split a command like a shell. Raises ConfigurationError."""
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise ConfigurationError(f"the command {command!r} cannot be split: {error}") from error


def check_configuration(configuration: Configuration) -> Configuration:
    """Return the configuration if its names, values and combinations are valid.

    Raises ConfigurationError.
    """
    try:
        role, protocol = configuration.role, configuration.protocol
        _check_names("timing", configuration.timing, protocol.timings)
        _check_names("hook", configuration.hooks, role.hooks)
        _check_names("program", configuration.programs, role.programs)
        _check_names("procedure", configuration.procedures, role.procedures)
        _check_names("IXIT value", configuration.ixit, protocol.ixit)
        _check_names(
            "requirement (known-failures)", configuration.known_failures, protocol.requirements
        )
        optional = [r.id for r in protocol.requirements_for(role) if r.level != "must"]
        _check_names(
            "optional feature (unsupported)",
            configuration.unsupported,
            [*protocol.features, *optional],
        )
    except UnknownName as error:
        raise ConfigurationError(str(error)) from error
    for name, value in configuration.ixit.items():
        values = protocol.ixit[name].values
        if values and value not in values:
            raise ConfigurationError(f"{name} is {value!r}; expected {' or '.join(values)}")
    limits = {"max-wait": configuration.max_wait, "max-time": configuration.max_time}
    for name, seconds in {**configuration.timing, **limits}.items():
        if not 0 < seconds < math.inf:
            raise ConfigurationError(f"{name} is {seconds:g}; expected a number of seconds above 0")
    for command in configuration.hooks.values():
        split(command)
    for requirement, known in configuration.known_failures.items():
        _date(f"known-failures.{requirement}.until", known.until)
    if configuration.connect and configuration.listen:
        raise ConfigurationError("give connect or listen, not both")
    if not (configuration.command or configuration.connect or configuration.listen):
        raise ConfigurationError("no way to reach the IUT is given: command, connect or listen")
    if configuration.connect and not role.serves:
        raise ConfigurationError(f"{role} is a client: use --listen, not --connect")
    if configuration.listen and role.serves:
        raise ConfigurationError(f"{role} is a server: use --connect, not --listen")
    return configuration


def _check_names(kind: str, given: Mapping[str, Any], known: Any) -> None:
    for name in given:
        if name not in known:
            raise UnknownName(kind, name, list(known) or ["none"])


def _date(where: str, text: str) -> None:
    if text:
        try:
            datetime.date.fromisoformat(text)
        except ValueError:
            raise ConfigurationError(
                f"{where}: expected a date such as 2026-12-31; received {text!r}"
            ) from None


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace the known placeholders; leave other braces unchanged."""
    for name, value in {"python": sys.executable, **values}.items():
        text = text.replace(f"{{{name}}}", value)
    return text
