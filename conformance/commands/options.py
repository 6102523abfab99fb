"""The options of run and replay that select the IUT and how to reach it."""

import argparse
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from conformance import configuration
from conformance.configuration import Configuration, ConfigurationError
from conformance.definitions.protocol import TRANSPORTS, Role, UnknownName
from conformance.harness.transports import transport

_OF_THE_MOCK = ("mock", "fault", "variant", "mutant", "transport")
"""The options that imply ``--mock``."""

# Addresses that make a mock use a transport other than its default.
_ADDRESSES = {"tcp": "{host}:{port}", "unix": "unix:{socket}", "zmq": "zmq:{host}:{port}"}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options that select an IUT; ``iut_configuration`` evaluates them."""
    parser.add_argument(
        "--connect",
        metavar="ADDR",
        help="the IUT listens there, started by hand or by COMMAND",
    )
    parser.add_argument(
        "--listen", metavar="ADDR", help="the IUT connects there, started by hand or by COMMAND"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="default: ./conformance.toml, if it exists"
    )
    parser.add_argument(
        "--hook",
        metavar="NAME=COMMAND",
        action="append",
        default=[],
        help="the command that runs an operation; can be repeated",
    )
    parser.add_argument(
        "--timing",
        metavar="NAME=SECONDS",
        action="append",
        default=[],
        help="a timing of the IUT (see: list --settings); can be repeated",
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="another value that the suite needs (see: list --settings)",
    )
    parser.add_argument(
        "--max-wait",
        type=float,
        default=Configuration.max_wait,
        metavar="S",
        help="skip tests that would wait for longer than S seconds",
    )
    parser.add_argument("--mock", action="store_true", help="test the reference mock")
    parser.add_argument(
        "--fault",
        metavar="NAME",
        action="append",
        default=[],
        help="test the reference mock with this fault",
    )
    parser.add_argument(
        "--variant", metavar="NAME", help="test the reference mock with this lawful variant"
    )
    parser.add_argument(
        "--mutant", metavar="JSON", help="test the reference mock with a mutant of prove"
    )
    parser.add_argument(
        "--transport", choices=TRANSPORTS, help="test the reference mock over this transport"
    )


def iut_configuration(
    args: argparse.Namespace, role: Role | None, command: Sequence[str]
) -> Configuration:
    """Return the configuration of the IUT to test.

    The IUT is given by the command line, the configuration file or, if the options ask for it, the
    reference mock. Options override the file. Raises ConfigurationError or UnknownName for wrong
    usage.
    """
    file = Path(args.config or configuration.FILE)
    reached = bool(command or args.connect or args.listen)
    base: Configuration | None = None
    other = ""
    if args.config or file.is_file():
        found = configuration.load(file, role)
        if role in (None, found.role):
            base = found
        elif args.config:
            raise ConfigurationError(f"{file} is for {found.role}, not for {role}")
        else:
            other = f" (./{file} is for {found.role})"
    chosen_role = role or (base.role if base else None)
    if chosen_role is None:
        raise ConfigurationError(
            f"say which role to test (PROTOCOL/ROLE), or write {configuration.FILE} "
            "(conformance init PROTOCOL/ROLE)"
        )
    if given := [word for word in _OF_THE_MOCK if getattr(args, word)]:
        if reached:
            raise ConfigurationError(
                f"--{given[0]} works with the reference mock, not with your own implementation"
            )
        base = _mock(chosen_role, args)
    elif base is None:
        base = Configuration(chosen_role)
        if not reached:
            raise ConfigurationError(f"{_missing_iut_message(chosen_role)}{other}")
    if reached:
        base = replace(base, command=(), connect="", listen="")
    values = _values(base, args.set)
    found = configuration.check_configuration(
        replace(
            base,
            command=tuple(command) or base.command,
            connect=args.connect or base.connect,
            listen=args.listen or base.listen,
            timing={**base.timing, **_timings(args.timing)},
            hooks={**base.hooks, **_pairs("--hook", args.hook)},
            programs=values["programs"],
            procedures=values["procedures"],
            ixit=values["ixit"],
            max_wait=args.max_wait,
        )
    )
    _check_placeholders(found)
    transport(found)
    _check_executable(found)
    return found


def _missing_iut_message(role: Role) -> str:
    """Return the message for a command line that names no implementation."""
    ways = [f"its command, as in `-- ./my-{role.name}`"]
    if role.transports != ("none",):
        address = "--connect ADDR" if role.serves else "--listen ADDR"
        ways.append(f"{address} for a program that you start by hand")
    return f"name the implementation of {role}: {', '.join(ways)}, or --mock for the reference mock"


def repeat_command(args: argparse.Namespace, command: Sequence[str], *words: str) -> str:
    """Return the command line that tests the same IUT again.

    ``words`` begin the command line; the options and the IUT's command follow.
    """
    again = [*words, *(["--mock"] if args.mock else [])]
    for option in ("config", "connect", "listen", "variant", "mutant", "transport"):
        if value := getattr(args, option):
            again += [f"--{option}", value]
    for option in ("protocols", "fault", "hook", "timing", "set"):
        for value in getattr(args, option) or ():
            again += [f"--{option}", value]
    if args.max_wait != Configuration.max_wait:
        again += ["--max-wait", f"{args.max_wait:g}"]
    text = shlex.join(again)
    return f"{text} -- {shlex.join(command)}" if command else text


def _mock(role: Role, args: argparse.Namespace) -> Configuration:
    """Return the reference mock with the chosen fault or variant.

    If the fault or variant is visible over one transport only, the mock uses this transport.
    """
    from mocks import deviations

    base = configuration.mock_configuration(role)
    command, over = base.command, args.transport
    chosen = [("fault", name) for name in args.fault]
    chosen += [("variant", args.variant)] if args.variant else []
    for kind, name in chosen:
        known = getattr(deviations, f"{kind}s")(str(role))
        if name not in known:
            raise UnknownName(kind, name, list(known))
        command = (*command, f"--{kind}", name)
        needs = dict(known[name].needs)
        shows_over = needs.pop("transport", None)
        over = over or shows_over
        base = replace(base, ixit={**base.ixit, **needs})
    if args.mutant:
        command = (*command, "--mutant", args.mutant)
    if over and over != transport(base):
        if over not in role.transports:
            raise ConfigurationError(
                f"{role} speaks over {' or '.join(role.transports)}, not {over}"
            )
        bridge = f"{{{role.bridge}}}"
        if role.bridge and bridge in command:
            place = command.index(bridge)
            command = (*command[: place - 1], *command[place + 1 :])
        option = "--listen" if role.serves else "--connect"
        command = (*command, option, _ADDRESSES[over]) if over in _ADDRESSES else command
        if over == "zmq":
            base = replace(base, ixit={**base.ixit, "binding": over})
    return replace(base, command=command)


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not name or not equals:
            raise ConfigurationError(f"{option} {entry}: expected NAME=VALUE")
        pairs[name] = value
    return pairs


def _timings(given: Sequence[str]) -> dict[str, float]:
    timings = {}
    for name, value in _pairs("--timing", given).items():
        try:
            timings[name] = float(value)
        except ValueError:
            raise ConfigurationError(f"--timing {name}={value}: expected seconds") from None
        if not timings[name] > 0:
            raise ConfigurationError(f"--timing {name}={value}: expected more than 0 seconds")
    return timings


def _values(base: Configuration, given: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return programs, procedures and all other IXIT values.

    ``given`` has ``programs.NAME=VALUE``, ``procedures.NAME=VALUE`` or ``NAME=VALUE``.
    """
    tables = {"programs": dict(base.programs), "procedures": dict(base.procedures)}
    ixit = dict(base.ixit)
    for name, value in _pairs("--set", given).items():
        table, dot, key = name.partition(".")
        if dot and table in tables:
            tables[table][key] = value
        else:
            ixit[name] = value
    return {**tables, "ixit": ixit}


def _check_placeholders(found: Configuration) -> None:
    """Raise UnknownName if the command has a placeholder that does not exist."""
    known = [name.strip("{}") for name in placeholders(found.role)]
    for word in found.command:
        # Nested braces, or spaces in braces, belong to the program's own arguments.
        match = re.fullmatch(r"[^{}$\s]*\{([a-z_]+)\}[^{}\s]*", word)
        if match and match[1] not in (*known, "python"):
            raise UnknownName(f"placeholder of {found.role}", match[1], known)


def placeholders(role: Role) -> list[str]:
    """Return the placeholders that this role's command can have, with braces."""
    names = [role.bridge] if role.bridge else []
    if {"tcp", "udp"} & set(role.transports):
        names += [f"{channel}_port" for channel in role.channels] or ["port"]
        names += ["host", "url"]
    names += ["socket"] if "unix" in role.transports else []
    names += ["program"] if role.programs else []
    return [f"{{{name}}}" for name in [*names, "directory"]]


def _check_executable(found: Configuration) -> None:
    """Raise ConfigurationError if the command cannot be started."""
    if not found.command:
        return
    program = configuration.expand(found.command[0], {})
    # Use an absolute path, because which() must not search PATH for ./NAME.
    folder = Path(found.cwd or ".").resolve()
    if not folder.is_dir():
        raise ConfigurationError(f"the IUT's folder {folder} does not exist")
    path = found.env.get("PATH", os.environ.get("PATH"))
    if "{" not in program and not shutil.which(
        folder / program if "/" in program else program, path=path
    ):
        if (folder / program).is_file():
            raise ConfigurationError(
                f"the IUT's command {program!r} is a file without its execute bit: "
                f"chmod +x {program}, or put its interpreter before it"
            )
        where = f" in {folder}" if "/" in program else ""
        raise ConfigurationError(
            f"the IUT's command {program!r} was not found, or is not executable{where}"
        )
