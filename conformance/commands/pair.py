"""Start two implementations against each other, through a proxy that judges both.

    conformance pair PROTOCOL[/ROLE] -- SERVER... ---- CLIENT...
    conformance pair PROTOCOL[/ROLE] --matrix FILE.toml

SERVER is told by {port} (or {socket}, or {agent_port} and {monitor_port}) where to listen, CLIENT
by {host} and {port} (or {socket}, {url}, {agent_port} and {monitor_port}) where to connect. On
standard streams CLIENT starts {simulator}, which is SERVER with the proxy in front of it. The
session ends when CLIENT has ended, after --max-time, or with SIGINT or SIGTERM.

With --matrix each server of a file meets each of its clients, one pair after another; the tables
[servers] and [clients] have a name and a command a line, and the page in the report's folder says
who violates what with whom. Exit codes are those of `proxy`; of a matrix that of its worst pair.
"""

import argparse
import itertools
import json
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.commands import proxy
from conformance.configuration import ConfigurationError, expand
from conformance.exits import CONFORMANT, INCONCLUSIVE, INTERRUPTED, NONCONFORMANT, SUITE_FAILED
from conformance.live import overview, programs
from conformance.live.judged import Judged
from conformance.live.overview import Met
from conformance.live.sides import Side
from conformance.live.watch import watching
from conformance.reporting.summary import terminal_summary
from conformance.running import interruption

DIVIDER = "----"


def options(parser: argparse.ArgumentParser) -> None:
    proxy.add_common(parser)
    parser.add_argument("--max-time", metavar="S", type=float, default=60.0)
    parser.add_argument("--matrix", metavar="FILE", type=Path, help="several of each side")


def execute(args: argparse.Namespace) -> int:
    args.report = str(Path(args.report).resolve())
    args.record = args.record and args.record.resolve()
    if args.matrix:
        if args.rest or args.record:
            raise ConfigurationError("--matrix: neither commands nor --record were expected")
        return _matrix(args)
    place = args.rest.index(DIVIDER) if args.rest.count(DIVIDER) == 1 else 0
    server, client = args.rest[:place], args.rest[place + 1 :]
    if not server or not client:
        raise ConfigurationError(f"give two commands: -- SERVER... {DIVIDER} CLIENT...")
    with interruption.orderly():
        met, _ = _meet(args, server, client)
    return met.code


def _meet(
    args: argparse.Namespace, server: Sequence[str], client: Sequence[str]
) -> tuple[Met, bool]:
    """What came of it, and whether it went to its end; else it was interrupted."""
    protocol, ports = proxy.meant(args.protocol)
    bridge = next((entry.bridge for entry in protocol.roles.values() if entry.bridge), "")
    if bridge and f"{{{bridge}}}" in " ".join(client):
        return _on_streams(bridge, server, client, args)
    kind = "unix" if "{socket}" in " ".join(server) else _network(ports[0])
    words = [*server, DIVIDER, *client]
    invocation = shlex.join(["conformance", "pair", args.protocol, "--", *words])
    names = {ports[0].server: shlex.join(server)}
    names |= {side.client: shlex.join(client) for side in ports}
    judged = Judged(protocol, ports, kind, args, invocation, names)
    with watching(judged.watch):
        whole = interruption.run(programs.meet(judged, server, client, args.max_time))
    return judged.conclude(), whole


def _network(side: Side) -> str:
    return next((kind for kind in side.transports if kind in ("tcp", "udp")), "tcp")


def _on_streams(
    bridge: str, server: Sequence[str], client: Sequence[str], args: argparse.Namespace
) -> tuple[Met, bool]:
    """The client starts the server itself: what it starts is the proxy in front of it."""
    with tempfile.TemporaryDirectory(prefix="conformance-pair-") as folder:
        executable, code = Path(folder) / bridge, Path(folder) / "code"
        words = [sys.executable, "-m", "conformance", "proxy", args.protocol]
        words += ["--report", args.report, "--client", shlex.join(client)]
        words += ["--record", str(args.record)] if args.record else []
        words += ["--delay", str(args.delay), "--chop", str(args.chop), "--cut", str(args.cut)]
        words += ["--stall", ":".join(map(str, args.stall))]
        words += ["--verdict", str(code), "--", *server]
        executable.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        executable.chmod(0o755)
        argv = [expand(word, {bridge: str(executable)}) for word in client]
        whole = interruption.run(programs.play(argv, code, args.max_time))
        if not code.is_file():
            raise ConfigurationError(f"{client[0]} did not start {{{bridge}}}")
        if not (verdict := code.read_text()):
            raise ConfigurationError(f"{server[0]} did not end, and no report was written")
        reports = _reports(Path(args.report))
        return Met(shlex.join(server), shlex.join(client), int(verdict), reports), whole


def _reports(folder: Path) -> dict[str, Any]:
    """The reports that the proxy has written, by role; each is summed up."""
    reports = {}
    for path in sorted(folder.glob("*/report.json")):
        reports[path.parent.name] = json.loads(path.read_text("utf-8"))
        print(terminal_summary(reports[path.parent.name], path.parent))
    return reports


# Several of each side


def _matrix(args: argparse.Namespace) -> int:
    servers, clients = _programs(args.matrix)
    folder = Path(args.report)
    met = []
    whole = True
    with interruption.orderly():
        for name, other in itertools.product(servers, clients):
            if not whole:
                break
            below = f"{name}-with-{other}"
            args.report = str(folder / below)
            try:
                pair, whole = _meet(args, servers[name], clients[other])
                met.append(Met(name, other, pair.code, pair.reports, below))
            except ConfigurationError as error:
                met.append(Met(name, other, INCONCLUSIVE, trouble=str(error)))
            print(f"{name} with {other}: {met[-1].line}", flush=True)
    overview.write(folder / "index.html", f"{args.protocol}: who violates what with whom", met)
    print(f"Page: {folder / 'index.html'}")
    codes = {each.code for each in met}
    if not whole:
        return INTERRUPTED
    worst = (SUITE_FAILED, NONCONFORMANT, INCONCLUSIVE)
    return next((code for code in worst if code in codes), CONFORMANT)


def _programs(path: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The commands of the servers and of the clients, by their names. Raises ConfigurationError."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from error
    if set(raw) != {"servers", "clients"}:
        raise ConfigurationError(f"{path}: the tables [servers] and [clients] were expected")
    return _commands(path, raw, "servers"), _commands(path, raw, "clients")


def _commands(path: Path, raw: dict[str, Any], table: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    entries = raw[table] if isinstance(raw[table], dict) else {}
    for name, command in entries.items():
        words = shlex.split(command) if isinstance(command, str) else command
        if not (isinstance(words, list) and words and all(isinstance(w, str) for w in words)):
            raise ConfigurationError(f"{path}: {table}.{name}: a command was expected")
        if not re.fullmatch(r"[\w.+-]+", name):
            raise ConfigurationError(f"{path}: {table}.{name}: a name of letters was expected")
        found[name] = words
    if not found:
        raise ConfigurationError(f"{path}: [{table}]: at least one command was expected")
    return found
