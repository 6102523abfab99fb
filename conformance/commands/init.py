"""Write a commented conformance.toml for an implementation of a role.

The file lists every setting of this role. Optional settings, and settings with a default, are
comments. Replace the command with your own.
"""

import argparse
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

from conformance import configuration
from conformance.configuration import ConfigurationError
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol, Role

_WIDTH = 96  # characters of a comment line, so that no line exceeds 100

ADAPTER = """\
import json, sys

OPERATIONS = {"NAME": lambda **arguments: None}  # the operations of this program

for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"], "ok": True}
    try:
        if asked["op"] in OPERATIONS:
            answer["result"] = OPERATIONS[asked["op"]](**asked["args"])
        else:
            answer |= {"ok": False, "offered": False}
    except Exception as error:
        answer |= {"ok": False, "error": str(error)}
    print(json.dumps(answer), flush=True)
"""
"""A complete operations adapter for standard input and output; README shows the same code."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", metavar="PROTOCOL/ROLE")
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        default=Path(configuration.FILE),
        help="default: ./%(default)s",
    )


def execute(args: argparse.Namespace) -> int:
    role = protocols.role(args.role)
    text = "\n".join(_lines(protocols.load(role.protocol), role)) + "\n"
    try:
        with args.output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigurationError(f"{args.output} exists already and was not changed") from None
    except OSError as error:
        raise ConfigurationError(f"{args.output}: {error.strerror}") from error
    print(f"wrote {args.output}: replace the command, then type: conformance run")
    return 0


def _lines(protocol: Protocol, role: Role) -> Iterator[str]:
    yield from _comment(
        f"An implementation of {role} ({protocol.title}) under test. "
        f"Its role: {role.title}. `conformance run` in this folder uses this file."
    )
    yield from ("", "[iut]", 'name = "my implementation"', f"role = {_string(str(role))}", "")
    yield from _start_entries(role)
    yield from _section("timing", "Times in seconds.")
    for setting in protocol.settings_for(role, protocol.timings):
        seconds = 1.0 if setting.default is None else setting.default
        yield from _entry(setting.name, json.dumps(seconds), setting.description)
    yield from _program_entries(role)
    if role.hooks:
        yield from _operations(role)
    if ixit := protocol.settings_for(role, protocol.ixit):
        yield from _section("ixit", "Other values that the suite needs.")
        for setting in ixit:
            choice = f" One of: {', '.join(setting.values)}." if setting.values else ""
            value = _string(str(setting.default or ""))
            yield from _entry(setting.name, value, f"{setting.description}{choice}")
    yield from _excuse_entries(protocol, role)


def _start_entries(role: Role) -> Iterator[str]:
    """Yield the entries for starting or reaching the implementation."""
    yield from _comment(
        "The command that starts the implementation: a string, split as in a shell, or a list."
    )
    for placeholder, meaning in _placeholders(role):
        yield from _comment(f"  {placeholder}: {meaning}")
    yield f"command = {_string(_command(role))}"
    if role.transports == ("none",):
        yield from _comment(
            "This role has no wire. The suite uses only its operations (see [hooks])."
        )
    elif role.serves:
        yield from _comment(
            "Or, instead of a command, the address where the implementation listens:"
        )
        yield f"# connect = {_string(_address(role))}"
    else:
        yield from _comment(
            "Or, instead of a command, the address where the suite waits for the implementation:"
        )
        yield f"# listen = {_string(_address(role))}"
    yield from _comment(
        "The working folder of the command (default: the folder of this file), and variables. TZ "
        "is by default a zone far from UTC, so that a confusion of local time and UTC shows:"
    )
    yield '# cwd = "."'
    yield '# env = { LOG_LEVEL = "debug" }'
    yield from _comment(
        "The number of instances tested in parallel; by default the suite finds a good number:"
    )
    yield "# workers = 1"
    if role.hooks:
        yield from _comment(
            "stdio if the implementation takes operations on its standard input and output "
            "(see [hooks]), otherwise none:"
        )
        yield f"# upper_tester = {_string(role.upper_tester or 'none')}"


def _program_entries(role: Role) -> Iterator[str]:
    """Yield the programs and procedures that the implementation must provide."""
    if role.programs:
        yield from _section(
            "programs",
            "The values of {program} in the command. Tests that need an undeclared program are "
            "not exercised. Tests that work with any program use the first.",
        )
        for name, description in role.programs.items():
            yield from _entry(name, _string(name), description)
    if role.procedures:
        yield from _section(
            "procedures",
            "The names of the implementation's procedures, if they differ. An empty name means "
            "that the procedure does not exist. Tests that need the procedure are not exercised.",
        )
        for name, description in role.procedures.items():
            yield from _entry(name, _string(name), description)


def _operations(role: Role) -> Iterator[str]:
    """Yield the operations of the implementation's user or of a local program."""
    yield from _section(
        "hooks",
        "Commands that act as the implementation's user or as a local program. Each command "
        "runs once per operation; {pid} is the process under test. If a hook prints JSON, this "
        "is the operation's result.",
    )
    for hook in role.hooks.values():
        words = " ".join(["./hook", hook.name, *(f"{{{name}}}" for name in hook.arguments)])
        yield from _entry(hook.name, _string(words), hook.description)
    yield from _comment(
        'With upper_tester = "stdio", no command is run. The implementation reads one JSON object '
        'a line on its standard input, {"id", "op", "args"}. It answers with one object a line, in '
        'any order: {"id", "ok": true, "result"} after success, {"id", "ok": false, "error"} after '
        'a failure, and {"id", "ok": false, "offered": false} if it does not have the operation, '
        'whose tests are then not exercised. An answer can also have "warnings": [...]; a hook '
        'with warnings prints {"result", "warnings"}. The end of input means: shut down. A whole '
        "adapter in Python:"
    )
    for line in ADAPTER.splitlines():
        yield f"#     {line}".rstrip()


def _excuse_entries(protocol: Protocol, role: Role) -> Iterator[str]:
    """Yield the entries for missing optional parts and for known failures."""
    yield from _section(
        "unsupported",
        "Optional parts that the implementation does not have, and why. Their requirements are "
        "then not applicable. A name is a feature, or a requirement of level should or may "
        f"(conformance list {role} --requirements).",
    )
    bound = [requirement.id for requirement in protocol.requirements_for(role)]
    for feature, ids in protocol.features.items():
        if bound_ids := [name for name in ids if name in bound]:
            yield from _entry(feature, '"why it is missing"', f"Covers {', '.join(bound_ids)}.")
    yield from _section(
        "known-failures",
        "Requirements that are known to fail, and why. The run fails if a listed requirement "
        "passes, fails with another message or in another test, or has expired.",
    )
    example = bound[0]
    yield f'# {_string(example)} = "why"'
    limits = '{ reason = "why", message = "part of its text", until = 2030-12-31 }'
    yield f"# {_string(example)} = {limits}"


def _placeholders(role: Role) -> Iterator[tuple[str, str]]:
    """Yield the placeholders that a command of this role can have, and their meanings."""
    does = "listen on" if role.serves else "connect to"
    if role.bridge:
        yield f"{{{role.bridge}}}", f"the executable to start as the {role.bridge}"
    elif "stdio" in role.transports:
        yield "without a port or socket", "standard input and output are the wire"
    if {"tcp", "udp"} & set(role.transports):
        over = "UDP" if "udp" in role.transports else "TCP"
        for channel in role.channels:
            yield f"{{{channel}_port}}", f"the {over} port to {does} for {channel}s"
        if not role.channels:
            if role.url:
                yield "{url}", f"the address to {does}, such as http://…"
            yield "{host} {port}", f"the {over} address to {does}"
    if "unix" in role.transports:
        yield "{socket}", f"the path of the unix socket to {does}"
    if role.programs:
        yield "{program}", "the program to run, see [programs]"
    yield "{directory}", "a new empty folder, deleted afterwards"


def _command(role: Role) -> str:
    words = [f"./my-{role.name}"]
    if role.bridge:
        words.append(f"{{{role.bridge}}}")
    elif not {"stdio", "none"} & set(role.transports):
        ports = [f"--{channel}-port {{{channel}_port}}" for channel in role.channels]
        address = "{url}" if role.url else "{port}" if role.serves else "{host}:{port}"
        words += ports or [address]
    return " ".join(words)


def _address(role: Role) -> str:
    return ",".join(f"127.0.0.1:{5000 + number}" for number, _ in enumerate(role.channels or ("",)))


def _section(name: str, comment: str) -> Iterator[str]:
    yield from ("", f"[{name}]")
    yield from _comment(comment)


def _entry(name: str, value: str, description: str) -> Iterator[str]:
    yield ""
    yield from _comment(description)
    yield f"# {name} = {value}"


def _comment(text: str) -> Iterator[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    lines = textwrap.wrap(text.strip(), _WIDTH - len(indent), break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield f"# {indent}{'  ' if number and indent else ''}{line}"


def _string(text: str) -> str:
    """Return a TOML basic string; every JSON string is one."""
    return json.dumps(text, ensure_ascii=False)
