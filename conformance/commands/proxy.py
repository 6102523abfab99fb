"""Relay between two real peers, and record and judge both while they talk.

Clients connect to --listen ADDR. The proxy passes all bytes on to --connect ADDR, unchanged and at
once. If a server has several ports, give their addresses with commas. Violations are printed when
they happen. The proxy ends on SIGINT, SIGTERM or SIGHUP, or with --once when its first connections
have ended. At the end it writes a report about each side.

ADDR is HOST:PORT, unix:PATH, or zmq:HOST:PORT for ZeroMQ. The options that disturb connections have
no effect on ZeroMQ. https://HOST:PORT connects to the server by TLS. The certificate in --trust
FILE is then accepted, in addition to the system's certificates. With --tls FILE clients connect by
TLS; FILE has the certificate and its key.

With `-- COMMAND` the proxy is itself a program that can replace COMMAND, a peer that uses standard
input and output. Give the proxy to a frontend as its simulator. The proxy ends when COMMAND exits,
and writes its reports shortly after.

Peers without a wire share memory. With --look, the proxy attaches to this memory, read-only, and
judges its contents. The buffers of `runtime` are listed in the file of --look catalog=FILE. If
their layout is not that of a C compiler, --look layout=FILE describes the layout of each type as a
JSON object. The pattern of their names is --look names='rt-{type}-{uid}'.

Exit codes: 1 if either side violated a must; 3 if no side sent any message, or a connection was not
judged to its end; else 0. With COMMAND the exit code is that of COMMAND.
"""

import argparse
import asyncio
import contextlib
import math
import os
import shlex
import stat
from pathlib import Path

from conformance.configuration import ConfigurationError
from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol
from conformance.harness import links
from conformance.live import memory_watch, session
from conformance.live.judged_session import JudgedSession
from conformance.live.relay import Relay
from conformance.live.sides import Side, sides
from conformance.live.tls import security
from conformance.live.watch import watch_session
from conformance.live.zeromq import PREFIX
from conformance.running import interruption

REPORT = "conformance-report"


def options(parser: argparse.ArgumentParser) -> None:
    add_common(parser)
    parser.add_argument(
        "--listen", metavar="ADDR", default="", help="address to listen at for clients"
    )
    parser.add_argument("--connect", metavar="ADDR", default="", help="address of the server")
    parser.add_argument(
        "--look",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="judge peers that share memory",
    )
    parser.add_argument("--verdict", metavar="FILE", type=Path, help="write the exit code to FILE")
    parser.add_argument(
        "--client", metavar="NAME", default="", help="name of the client in reports"
    )
    parser.add_argument(
        "--tls", metavar="FILE", type=Path, help="certificate and key for clients, in PEM"
    )
    parser.add_argument(
        "--trust", metavar="FILE", type=Path, help="accept this certificate of a server"
    )
    parser.add_argument(
        "--once", action="store_true", help="end when the first connections have ended"
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options that proxy and pair share."""
    parser.add_argument("protocol", metavar="PROTOCOL[/ROLE]")
    parser.add_argument(
        "--record", metavar="FILE", type=Path, help="also write the capture to FILE"
    )
    parser.add_argument("--report", metavar="DIR", default=REPORT, help=f"default: {REPORT}")
    parser.add_argument(
        "--delay", metavar="S", type=float, default=0.0, help="delay all bytes by S seconds"
    )
    parser.add_argument(
        "--chop", metavar="BYTES", type=int, default=0, help="pass bytes on in pieces of this size"
    )
    parser.add_argument(
        "--cut",
        metavar="BYTES",
        type=int,
        default=0,
        help="close a connection after this many bytes",
    )
    parser.add_argument(
        "--stall",
        metavar="BYTES:S",
        type=_stall,
        default=(0, 0.0),
        help="pause a direction for S seconds after it has passed BYTES",
    )


def _stall(text: str) -> tuple[int, float]:
    passed, _, seconds = text.partition(":")
    try:
        found = int(passed), float(seconds)
    except ValueError:
        found = (-1, 0.0)
    if found[0] < 0 or not 0 <= found[1] < math.inf:
        raise argparse.ArgumentTypeError(
            f"expected BYTES:SECONDS, such as 1000:0.5; received {text!r}"
        )
    return found


def protocol_and_ports(name: str) -> tuple[Protocol, list[Side]]:
    """Return the protocol of ``PROTOCOL[/ROLE]``, and the ports of that pair of peers."""
    protocol_name, _, role = name.partition("/")
    protocol = protocols.load(protocol_name)
    if role:
        protocol.role(role)
    return protocol, sides(protocol, role)


def execute(args: argparse.Namespace) -> int:
    if args.look:
        return _look(args)
    protocol, ports = protocol_and_ports(args.protocol)
    if bool(args.rest) == bool(args.listen or args.connect) or bool(args.listen) != bool(
        args.connect
    ):
        raise ConfigurationError("give --listen ADDR and --connect ADDR, or -- COMMAND")
    between = ["--listen", args.listen, "--connect", args.connect]
    words = ["--", *args.rest] if args.rest else between
    invocation = shlex.join(["conformance", "proxy", args.protocol, *words])
    named = {ports[0].server: shlex.join(args.rest) or args.connect}
    named |= {side.client: args.client for side in ports}
    kind = _transport(ports[0], args)
    judged = JudgedSession(protocol, ports, kind, args, invocation, named, args.verdict)
    if args.rest:
        return asyncio.run(_run_in_place(judged, ports[0], args))
    with interruption.stop_at_signal():
        with watch_session(judged.watch):
            interruption.run(_relay(judged, args))
        return judged.conclude().code


def _look(args: argparse.Namespace) -> int:
    """Judge two peers without a wire by looking at the memory that they share."""
    name, _, role = args.protocol.partition("/")
    protocol = protocols.load(name)
    entry = protocol.role(role)
    if entry.transports != ("none",):
        raise ConfigurationError(f"--look: {entry.name} has a wire; give --listen and --connect")
    options = dict(each.partition("=")[::2] for each in args.look)
    parties = (entry.name, entry.peer) if entry.serves else (entry.peer, entry.name)
    words = shlex.join(word for each in args.look for word in ("--look", each))
    invocation = f"conformance proxy {args.protocol} {words}"
    begun = session.begin(protocol, parties, args, invocation, {})
    return memory_watch.watch(
        memory_watch.looker(protocol, options), protocol, begun, args.once
    ).code


def _transport(side: Side, args: argparse.Namespace) -> str:
    if args.rest:
        kind = "stdio"
    elif args.connect.startswith(PREFIX):
        kind = "zmq"
    else:
        address = links.parse_address(args.connect.split(",")[0])
        plain = next((kind for kind in side.transports if kind in ("tcp", "udp")), "tcp")
        kind = "unix" if isinstance(address, str) else plain
    if kind not in side.transports:
        raise ConfigurationError(
            f"{side.server} and {side.client} speak over {' or '.join(side.transports)}, not {kind}"
        )
    return kind


async def _relay(judged: JudgedSession, args: argparse.Namespace) -> None:
    listen, connect = args.listen.split(","), args.connect.split(",")
    for given, option in ((listen, "--listen"), (connect, "--connect")):
        if len(given) != len(judged.ports):
            names = ",".join(side.channel or "ADDR" for side in judged.ports)
            raise ConfigurationError(f"{option}: expected {len(judged.ports)} addresses: {names}")
    secured = security(args.tls, args.trust)
    async with contextlib.AsyncExitStack() as stack:
        relays = [
            Relay(side, target, judged.watch, judged.disturbance, secured)
            for side, target in zip(judged.ports, connect, strict=True)
        ]
        for relay, address in zip(relays, listen, strict=True):
            try:
                await stack.enter_async_context(relay.listen(address, judged.transport))
            except OSError as error:
                why = links.reason(error)
                raise ConfigurationError(f"cannot listen at {address}: {why}") from error
        print(f"listening at {','.join(relay.address for relay in relays)}", flush=True)
        await (_wait_until_closed(relays) if args.once else asyncio.Event().wait())


async def _wait_until_closed(relays: list[Relay]) -> None:
    """Wait until a client has connected, and all connections have ended."""
    await asyncio.wait(
        [asyncio.create_task(relay.used.wait()) for relay in relays],
        return_when=asyncio.FIRST_COMPLETED,
    )
    for relay in relays:
        await relay.wait_until_idle()


async def _run_in_place(judged: JudgedSession, side: Side, args: argparse.Namespace) -> int:
    """Run the real program in our place, and pass its standard streams on."""
    for number, name in enumerate(("input", "output")):
        mode = os.fstat(number).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(number)):
            raise ConfigurationError(f"-- COMMAND: expected a pipe or a socket as standard {name}")
    if args.verdict:
        args.verdict.touch()
    try:
        process = await asyncio.create_subprocess_exec(
            *args.rest, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 18
        )
    except OSError as error:
        raise ConfigurationError(f"{args.rest[0]} cannot be started: {error.strerror}") from error
    assert process.stdin and process.stdout
    loop = asyncio.get_running_loop()

    relay = Relay(side, "", judged.watch, judged.disturbance)

    def terminate() -> None:
        relay.excuse_disconnects()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()

    for number in interruption.signals():
        loop.add_signal_handler(number, terminate)
    ours = await links.pipes(0, 1)
    theirs = links.Link(process.stdout, process.stdin)
    with contextlib.suppress(asyncio.CancelledError):
        await relay.join(ours, theirs)
    code = await process.wait()
    # The peer that started the proxy expects it to exit together with the program.
    judged.watch.leave()
    return code if code >= 0 else 128 - code  # as a shell reports a signal
