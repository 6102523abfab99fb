"""Start two implementations against each other, through a proxy that judges both.

    conformance pair PROTOCOL[/ROLE] -- SERVER... ---- CLIENT...
    conformance pair PROTOCOL[/ROLE] --matrix FILE.toml

In SERVER, {port}, {socket}, or {agent_port} and {monitor_port} say where to listen. In CLIENT,
{host} and {port}, {socket}, {url}, or {agent_port} and {monitor_port} say where to connect. On
standard streams, CLIENT itself starts the server: {simulator} is an executable that runs SERVER
behind the proxy. The session ends when CLIENT exits, after --max-time, or on SIGINT or SIGTERM.

With --matrix, each server of a file meets each client, one pair at a time. The file has the tables
[servers] and [clients], with a name and a command in each line. A page in the report's folder shows
the violations of each pair. The exit codes are those of `proxy`; a matrix returns its worst code.
"""

import argparse
import itertools
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance import untrusted_files
from conformance.commands import proxy
from conformance.configuration import ConfigurationError, expand
from conformance.exits import CONFORMANT, INCONCLUSIVE, INTERRUPTED, NONCONFORMANT, SUITE_FAILED
from conformance.harness import abandoned, strays
from conformance.live import overview, programs
from conformance.live.judged_session import JudgedSession
from conformance.live.overview import PairResult
from conformance.live.sides import Side
from conformance.live.watch import watch_session
from conformance.reporting.summary import terminal_summary
from conformance.running import interruption

DIVIDER = "----"


def options(parser: argparse.ArgumentParser) -> None:
    proxy.add_common(parser)
    parser.add_argument("--max-time", metavar="S", type=float, default=60.0)
    parser.add_argument(
        "--matrix",
        metavar="FILE",
        type=Path,
        help="run each pair of the servers and clients in FILE",
    )


def execute(args: argparse.Namespace) -> int:
    args.report = str(Path(args.report).resolve())
    args.record = args.record and args.record.resolve()
    if args.matrix:
        if args.rest or args.record:
            raise ConfigurationError("--matrix: give no commands and no --record")
        return _matrix(args)
    place = args.rest.index(DIVIDER) if args.rest.count(DIVIDER) == 1 else 0
    server, client = args.rest[:place], args.rest[place + 1 :]
    if not server or not client:
        raise ConfigurationError(f"give two commands: -- SERVER... {DIVIDER} CLIENT...")
    with interruption.stop_at_signal(), abandoned.temporary(), strays.clean_up("a program"):
        met, _ = _meet(args, server, client)
    return met.code


def _meet(
    args: argparse.Namespace, server: Sequence[str], client: Sequence[str]
) -> tuple[PairResult, bool]:
    """Run one pair; return its result, and False if the run was interrupted."""
    protocol, ports = proxy.protocol_and_ports(args.protocol)
    bridge = next((entry.bridge for entry in protocol.roles.values() if entry.bridge), "")
    if bridge and f"{{{bridge}}}" in " ".join(client):
        return _run_on_streams(bridge, server, client, args)
    kind = "unix" if "{socket}" in " ".join(server) else _network(ports[0])
    words = [*server, DIVIDER, *client]
    invocation = shlex.join(["conformance", "pair", args.protocol, "--", *words])
    names = {ports[0].server: shlex.join(server)}
    names |= {side.client: shlex.join(client) for side in ports}
    judged = JudgedSession(protocol, ports, kind, args, invocation, names)
    with watch_session(judged.watch):
        whole = interruption.run(programs.meet(judged, server, client, args.max_time))
    return judged.conclude(), whole


def _network(side: Side) -> str:
    return next((kind for kind in side.transports if kind in ("tcp", "udp")), "tcp")


def _run_on_streams(
    bridge: str, server: Sequence[str], client: Sequence[str], args: argparse.Namespace
) -> tuple[PairResult, bool]:
    """Let the client start the server: the client's executable runs the proxy and the server."""
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
            raise ConfigurationError(f"{server[0]} did not exit, so no report was written")
        reports = _reports(Path(args.report))
        return PairResult(shlex.join(server), shlex.join(client), int(verdict), reports), whole


def _reports(folder: Path) -> dict[str, Any]:
    """Print a summary of each report that the proxy has written; return reports by role."""
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
    with interruption.stop_at_signal():
        for name, other in itertools.product(servers, clients):
            if not whole:
                break
            below = f"{name}-with-{other}"
            args.report = str(folder / below)
            try:
                pair, whole = _meet(args, servers[name], clients[other])
                met.append(PairResult(name, other, pair.code, pair.reports, below))
            except ConfigurationError as error:
                met.append(PairResult(name, other, INCONCLUSIVE, trouble=str(error)))
            print(f"{name} with {other}: {met[-1].line}", flush=True)
    overview.write(folder / "index.html", f"{args.protocol}: violations of each pair", met)
    print(f"Page: {folder / 'index.html'}")
    codes = {each.code for each in met}
    if not whole:
        return INTERRUPTED
    worst = (SUITE_FAILED, NONCONFORMANT, INCONCLUSIVE)
    return next((code for code in worst if code in codes), CONFORMANT)


def _programs(path: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the commands of servers and clients by name. Raises ConfigurationError."""
    try:
        raw = untrusted_files.read_toml(untrusted_files.text(path))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from error
    if set(raw) != {"servers", "clients"}:
        raise ConfigurationError(f"{path}: expected the tables [servers] and [clients]")
    return _commands(path, raw, "servers"), _commands(path, raw, "clients")


def _commands(path: Path, raw: dict[str, Any], table: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    entries = raw[table] if isinstance(raw[table], dict) else {}
    for name, command in entries.items():
        words = shlex.split(command) if isinstance(command, str) else command
        if not (isinstance(words, list) and words and all(isinstance(w, str) for w in words)):
            raise ConfigurationError(f"{path}: {table}.{name}: expected a command")
        if not re.fullmatch(r"[\w.+-]+", name):
            raise ConfigurationError(
                f"{path}: {table}.{name}: expected a name of letters, digits and ._+-"
            )
        found[name] = words
    if not found:
        raise ConfigurationError(f"{path}: [{table}]: expected at least one command")
    return found
