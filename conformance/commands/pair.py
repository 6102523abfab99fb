"""Start two implementations against each other, through a proxy that judges both.

    conformance pair PROTOCOL[/ROLE] -- SERVER... ---- CLIENT...

SERVER is told by {port} (or {socket}, or {agent_port} and {monitor_port}) where to listen, CLIENT
by {host} and {port} (or {socket}, {url}, {agent_port} and {monitor_port}) where to connect. On
standard streams CLIENT starts {simulator}, which is SERVER with the proxy in front of it. The
session ends when CLIENT has ended, or after --max-time. Exit codes are those of `proxy`.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from conformance.commands import proxy
from conformance.configuration import ConfigurationError, expand
from conformance.harness import links
from conformance.harness.process import Process
from conformance.live.relay import Relay
from conformance.live.sides import Side
from conformance.live.watch import watching
from conformance.reporting.summary import terminal_summary

LOOPBACK = "127.0.0.1"
DIVIDER = "----"
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTEN = "0A"  # the state of a socket that listens, as these tables have it
_POLL = 0.01  # seconds between two looks whether the server listens
_STARTUP = 20.0  # seconds that the server may take until it listens
_LAST = 1.0  # seconds in which the server may react to the end of its client


def options(parser: argparse.ArgumentParser) -> None:
    proxy.add_common(parser)
    parser.add_argument("--max-time", metavar="S", type=float, default=60.0)


def execute(args: argparse.Namespace) -> int:
    protocol, ports = proxy.meant(args.protocol)
    if args.rest.count(DIVIDER) != 1:
        raise ConfigurationError(f"give two commands: -- SERVER... {DIVIDER} CLIENT...")
    place = args.rest.index(DIVIDER)
    server, client = args.rest[:place], args.rest[place + 1 :]
    if not server or not client:
        raise ConfigurationError(f"give two commands: -- SERVER... {DIVIDER} CLIENT...")
    args.report = str(Path(args.report).resolve())
    args.record = args.record and args.record.resolve()
    bridge = next((entry.bridge for entry in protocol.roles.values() if entry.bridge), "")
    if bridge and f"{{{bridge}}}" in " ".join(client):
        return asyncio.run(_on_streams(bridge, server, client, args))
    kind = "unix" if "{socket}" in " ".join(server) else _network(ports[0])
    invocation = shlex.join(["conformance", "pair", args.protocol, "--", *args.rest])
    names = {ports[0].server: shlex.join(server), ports[0].client: shlex.join(client)}
    judged = proxy.Judged(protocol, ports, kind, args, invocation, names)
    with watching(judged.watch):
        asyncio.run(_over_sockets(judged, server, client, args.max_time))
    return judged.conclude()


def _network(side: Side) -> str:
    return next((kind for kind in side.transports if kind in ("tcp", "udp")), "tcp")


async def _over_sockets(
    judged: proxy.Judged, server: Sequence[str], client: Sequence[str], longest: float
) -> None:
    with tempfile.TemporaryDirectory(prefix="conformance-pair-") as folder:
        async with contextlib.AsyncExitStack() as stack, contextlib.AsyncExitStack() as listening:
            targets = [_target(judged.transport, folder, stack) for _ in judged.ports]
            relays = []
            for number, (side, target) in enumerate(zip(judged.ports, targets, strict=True)):
                own = f"unix:{folder}/client-{number}"
                address = own if judged.transport == "unix" else f"{LOOPBACK}:0"
                relay = Relay(side, target, judged.watch, judged.disturbance)
                relays.append(
                    await listening.enter_async_context(relay.listening(address, judged.transport))
                )
            serving = await stack.enter_async_context(_started(server, _filled(judged, targets)))
            if judged.transport != "udp":
                await _listening(targets, serving)
            addresses = [relay.address for relay in relays]
            playing = await stack.enter_async_context(_started(client, _filled(judged, addresses)))
            if await playing.wait(longest):
                await serving.wait(_LAST)
            # Before the programs are made to end: how they take that is not their peers' business.
            await listening.aclose()


def _target(kind: str, folder: str, stack: contextlib.AsyncExitStack) -> str:
    """An address at which the server is to listen."""
    if kind == "unix":
        return f"unix:{folder}/server"
    of = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
    return f"{LOOPBACK}:{stack.enter_context(links.reserved_port(of))}"


def _filled(judged: proxy.Judged, addresses: Sequence[str]) -> Mapping[str, str]:
    """What the placeholders of a command stand for, where these are its addresses."""
    values = {"host": LOOPBACK}
    for side, address in zip(judged.ports, addresses, strict=True):
        if address.startswith("unix:"):
            values["socket"] = address.removeprefix("unix:")
            continue
        values[f"{side.channel}_port" if side.channel else "port"] = address.rpartition(":")[2]
        values.setdefault("port", address.rpartition(":")[2])
        values.setdefault("url", f"http://{address}")
    return values


@contextlib.asynccontextmanager
async def _started(command: Sequence[str], values: Mapping[str, str]) -> AsyncIterator[Process]:
    """A program that is ended with all its offspring when the block is left."""
    argv = [expand(word, values) for word in command]
    process = await Process.start(argv, env={}, cwd="", standard=False)
    try:
        yield process
    finally:
        await process.end()
        if said := process.stderr.text:
            print(f"{argv[0]} said last:\n{said[-2000:]}", file=sys.stderr)


async def _listening(addresses: Sequence[str], process: Process) -> None:
    """Wait until the server listens at each of these addresses. Raises ConfigurationError."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _STARTUP
    for address in addresses:
        # No event tells that a program has begun to listen, and to connect would disturb it.
        while not _listens(address):
            if loop.time() > deadline or process.exit:
                why = f"; it {process.exit}" if process.exit else f" within {_STARTUP:g} s"
                raise ConfigurationError(f"the server does not listen at {address}{why}")
            await asyncio.sleep(_POLL)


def _listens(address: str) -> bool:
    where = links.parse_address(address)
    if isinstance(where, str):
        return os.path.exists(where)
    known = [table for table in _TABLES if table.is_file()]
    lines = (line.split() for table in known for line in table.read_text("ascii").splitlines())
    ending = f":{where[1]:04X}"
    return any(words[1].endswith(ending) and words[3] == _LISTEN for words in lines)


async def _on_streams(
    bridge: str, server: Sequence[str], client: Sequence[str], args: argparse.Namespace
) -> int:
    """The client starts the server itself: what it starts is the proxy in front of it."""
    with tempfile.TemporaryDirectory(prefix="conformance-pair-") as folder:
        executable, code = Path(folder) / bridge, Path(folder) / "code"
        words = [sys.executable, "-m", "conformance", "proxy", args.protocol]
        words += ["--report", args.report]
        words += ["--record", str(args.record)] if args.record else []
        words += ["--delay", str(args.delay), "--chop", str(args.chop), "--cut", str(args.cut)]
        words += ["--verdict", str(code), "--", *server]
        executable.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        executable.chmod(0o755)
        argv = [expand(word, {bridge: str(executable)}) for word in client]
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, env={**os.environ}, start_new_session=True
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(args.max_time):
                await process.wait()
        if process.returncode is None:
            process.terminate()
            await process.wait()
        return _told_by_proxy(Path(args.report), code, f"{client[0]} did not start {{{bridge}}}")


def _told_by_proxy(folder: Path, code: Path, otherwise: str) -> int:
    """Show what the proxy has reported; the exit code that it has left."""
    if not code.is_file():
        raise ConfigurationError(otherwise)
    for report in sorted(folder.glob("*/report.json")):
        print(terminal_summary(json.loads(report.read_text("utf-8")), report.parent))
    return int(code.read_text())
