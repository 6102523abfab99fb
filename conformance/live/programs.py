"""Start two programs with a judging relay between them."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from pathlib import Path

from conformance.configuration import ConfigurationError, expand
from conformance.harness import links
from conformance.harness.children import Child
from conformance.harness.process import Process, process_ids, sweep
from conformance.live.judged_session import JudgedSession
from conformance.live.relay import Relay
from conformance.reporting.text import one_line
from conformance.verdicts import Unreachable

LOOPBACK = "127.0.0.1"
_POLL = 0.01  # seconds between two checks that the server listens
_STARTUP = 20.0  # seconds until the server must listen
_OUTPUT_LINES = 20  # lines of a program's last output that are printed
_REACTION = 1.0  # seconds for the server to react to the end of its client
_CONCLUDING = 60.0  # seconds to judge the remaining bytes and write the reports
_MARK = "CONFORMANCE_PAIR"


async def meet(
    judged: JudgedSession, server: Sequence[str], client: Sequence[str], longest: float
) -> None:
    """Start both programs; end them after the client has ended, or after ``longest`` seconds.

    Raises ConfigurationError if a program cannot start or the server does not listen.
    """
    with tempfile.TemporaryDirectory(prefix="conformance-pair-") as folder:
        async with contextlib.AsyncExitStack() as stack, contextlib.AsyncExitStack() as listening:
            targets = [_target(judged.transport, folder, stack) for _ in judged.ports]
            relays = []
            for number, (side, target) in enumerate(zip(judged.ports, targets, strict=True)):
                own = f"unix:{folder}/client-{number}"
                address = own if judged.transport == "unix" else f"{LOOPBACK}:0"
                relay = Relay(side, target, judged.watch, judged.disturbance)
                relays.append(
                    await listening.enter_async_context(relay.listen(address, judged.transport))
                )
            serving = await stack.enter_async_context(
                _running_program(server, _placeholder_values(judged, targets))
            )
            await _wait_until_listening(targets, serving, judged.transport)
            addresses = [relay.address for relay in relays]
            playing = await stack.enter_async_context(
                _running_program(client, _placeholder_values(judged, addresses))
            )
            if await playing.wait(longest):
                await serving.wait(_REACTION)
            # Disconnect before the programs are stopped: their reaction to the stop is not judged.
            await listening.aclose()


async def play(argv: Sequence[str], verdict: Path, longest: float) -> None:
    """Start a client that starts its own server, with the judge between them.

    The client is stopped after ``longest`` seconds. The judge creates the file ``verdict`` empty at
    its start, and writes to it at its end. Raises ConfigurationError if the client cannot start.
    """
    mark, before = uuid.uuid4().hex, process_ids()
    try:
        process = Child(
            argv, env={**os.environ, _MARK: mark}, cwd="", streams=(subprocess.DEVNULL, 1, 2)
        )
    except OSError as error:
        raise ConfigurationError(f"{argv[0]} cannot be started: {error.strerror}") from error
    try:
        await _await_within(longest, process.wait())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        await _await_within(_REACTION, process.wait())
        await _await_within(_CONCLUDING, _wait_until_written(verdict))
        sweep(_MARK, mark, before)
        await process.wait()


async def _await_within(seconds: float, work: Awaitable[object]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work


async def _wait_until_written(path: Path) -> None:
    """Wait until a file is not empty; return immediately if there is no file."""
    # No exit event: the process that writes the file is not our child.
    while _empty(path):  # noqa: ASYNC110
        await asyncio.sleep(_POLL)


def _empty(path: Path) -> bool:
    return path.is_file() and not path.stat().st_size


def _target(kind: str, folder: str, stack: contextlib.AsyncExitStack) -> str:
    """Return an address for the server."""
    if kind == "unix":
        return f"unix:{folder}/server"
    of = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
    return f"{LOOPBACK}:{stack.enter_context(links.reserved_port(of))}"


def _placeholder_values(judged: JudgedSession, addresses: Sequence[str]) -> Mapping[str, str]:
    """Return the values of a command's placeholders for these addresses."""
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
async def _running_program(
    command: Sequence[str], values: Mapping[str, str]
) -> AsyncIterator[Process]:
    """Start a program; stop it and its children at the end of the block."""
    argv = [expand(word, values) for word in command]
    try:
        process = await Process.start(argv, env={}, cwd="", standard=False)
    except Unreachable as error:
        raise ConfigurationError(str(error)) from error
    try:
        yield process
    finally:
        await process.end()
        if output := process.stderr.text.splitlines()[-_OUTPUT_LINES:]:
            print(f"last output of {argv[0]}:", file=sys.stderr)
            print(*(one_line(line) for line in output), sep="\n", file=sys.stderr)


async def _wait_until_listening(addresses: Sequence[str], process: Process, transport: str) -> None:
    """Wait until the server listens at all addresses. Raises ConfigurationError."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _STARTUP
    for address in addresses:
        # No event reports that a program listens, and connecting would disturb it.
        while not links.is_served(address, datagrams=transport == "udp"):
            if loop.time() > deadline or process.exit:
                why = f"; it {process.exit}" if process.exit else f" within {_STARTUP:g} s"
                raise ConfigurationError(f"the server does not listen at {address}{why}")
            await asyncio.sleep(_POLL)
