"""A running IUT: its process, if the suite starts it, and its connections."""

import asyncio
import contextlib
import os
import shlex
import sys
import tempfile
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from conformance.configuration import Configuration, expand
from conformance.harness import bridge, datagrams, links
from conformance.harness.crash_output import explaining_line
from conformance.harness.links import Link, Listener
from conformance.harness.listen_addresses import listening_addresses
from conformance.harness.process import GRACE, Process
from conformance.harness.transports import SOCKETS, AnyListener, listen
from conformance.harness.upper_tester import OperationRecord, UpperTester
from conformance.judging.coverage import Tally
from conformance.verdicts import NotExercised, Unreachable

LOOPBACK = "127.0.0.1"
_ZONES = {"Asia/Kolkata": 5.5, "America/St_Johns": -3.5, "Pacific/Marquesas": -9.5}
"""Offsets from UTC in hours. In each hour of the day, it is afternoon in one of these zones."""
_AFTERNOON = 13.0, 22.5  # the first and the last hour; a run then ends before midnight
LINGERS = (
    ": an earlier connection keeps the port for a minute. Let the IUT set SO_REUSEADDR, or give it "
    "another port for each start ({port})"
)
SLOW = "if it starts slowly, --timing startup=SECONDS gives it more time"
_POLL = 0.005  # seconds between two attempts to connect to a starting server
_MAX_FOLDER = 70  # bytes; the path of a unix socket in a longer folder would exceed 108 bytes


T = TypeVar("T")


def time_zone(now: datetime) -> str:
    """Return a time zone far from UTC in which it is afternoon.

    A confusion of local time and UTC, or of clocks with 12 and 24 hours, then shows.
    """
    utc = now.astimezone(UTC)
    first, last = _AFTERNOON
    hours = {name: (utc.hour + utc.minute / 60 + off) % 24 for name, off in _ZONES.items()}
    return next(name for name, hour in hours.items() if first <= hour < last)


class Instance:
    """A running IUT: a process of the suite, or a program of the user."""

    def __init__(
        self,
        configuration: Configuration,
        kind: str,
        serves: bool | None = None,
        operated: OperationRecord | None = None,
        sockets: bool = False,
        tally: Tally | None = None,
    ) -> None:
        """Create an IUT that is not started yet.

        - ``serves``: True to let the IUT listen, False to let it connect; None for the role's
          default
        - ``operated``: operations that other instances of this run have answered
        - ``sockets``: True to use sockets instead of pipes as standard streams
        - ``tally``: counts what the sessions of this run show
        """
        self.role = configuration.role
        self.serves = self.role.serves if serves is None else serves
        self.configuration = configuration
        self.kind = kind
        self.process: Process | None = None
        self.values: dict[str, str] = {}
        self.program: str | None = None
        """Name of the program that the IUT has to run."""
        self.has_spoken = False
        """True once the IUT has sent a message, which shows that it has started."""
        self.narrow = False
        """True to keep few bytes in transit from the IUT, over TCP only."""
        self.connections = 0
        """Number of connections so far."""
        self.errors: Link | None = None
        """Standard error of the bridge, if the IUT starts its peer through the bridge."""
        self.conversation = configuration.protocol.conversation(running=configuration.runs_already)
        """State that the oracles of all its sessions share, if the protocol has any."""
        self.tally = tally or Tally(configuration.protocol)
        self.open: set[Any] = set()
        """The wires of its connections that the suite has not left."""
        self._stack = contextlib.AsyncExitStack()
        self._addresses: dict[str, str] = {}
        self._listeners: dict[str, AnyListener] = {}
        self._upper: UpperTester | None = None
        self._operated = operated
        self._sockets = sockets
        self._taken = False

    @property
    def is_ready(self) -> bool:
        """True if the IUT has started: it has sent a message or accepted a connection."""
        accepted = self.serves and self.kind in ("tcp", "unix") and self.connections > 0
        return self.has_spoken or accepted

    @property
    def upper(self) -> UpperTester:
        if self._upper is None:
            over = self.configuration.upper_tester or self.role.upper_tester
            standard = self.process.standard if self.process and over == "stdio" else None
            self._upper = UpperTester(
                self.role,
                self.configuration,
                self.values,
                standard,
                self._operated,
                self.process,
            )
        return self._upper

    async def start(self, program: str | None, listeners: Mapping[str, AnyListener]) -> None:
        """Start the process, if there is a command; open the listeners before."""
        self._listeners = dict(listeners)
        self.program = program
        command = self.configuration.command
        if not command:
            addresses = self.configuration.connect.split(",")
            self._addresses = dict(zip(self.role.channels or ("",), addresses, strict=False))
            return
        await self._place(" ".join(command), program)
        argv = [expand(word, self.values) for word in command]
        # The standard streams are the wire, unless the upper tester uses them.
        over = self.configuration.upper_tester or self.role.upper_tester
        self.process = await Process.start(
            argv,
            env={"TZ": time_zone(datetime.now(UTC)), **self.configuration.env},
            cwd=self.configuration.cwd,
            standard=over == "stdio" or self._is_on_stdio,
            sockets=self._sockets,
        )
        self.values["pid"] = str(self.process.pid)

    @property
    def _is_on_stdio(self) -> bool:
        return self.kind == "stdio" and not self._is_bridged

    @property
    def _is_bridged(self) -> bool:
        placeholder = f"{{{self.role.bridge}}}"
        return bool(self.role.bridge) and placeholder in " ".join(self.configuration.command)

    async def _place(self, command: str, program: str | None) -> None:
        """Choose the values of the command's placeholders; open listeners if the IUT connects."""
        if "{program}" in command:
            self.values["program"] = self._program(program)
        folder = Path()
        if self._is_bridged or self.kind == "unix" or "{directory}" in command:
            too_long = len(os.fsencode(tempfile.gettempdir())) > _MAX_FOLDER
            made = tempfile.TemporaryDirectory(
                prefix="conformance-", dir="/tmp" if too_long else None
            )
            folder = Path(self._stack.enter_context(made))
        if "{directory}" in command:
            # The parent folder shows and removes files that the IUT writes outside of its folder.
            folder /= "own"
            folder.mkdir()
            self.values["directory"] = str(folder)
        if self._is_bridged:
            address = f"unix:{folder / 'bridge'}"
            self._listeners[""] = await self._listen(address)
            executable = folder / self.role.bridge
            words = [sys.executable, "-I", "-S", bridge.__file__, str(folder / "bridge")]
            executable.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
            executable.chmod(0o755)
            self.values[self.role.bridge] = str(executable)
        elif self.kind == "unix":
            address = self._fixed_addresses().get("", f"unix:{folder / 'socket'}")
            self.values["socket"] = address.removeprefix("unix:")
            await self._reserve("", address)
        elif self.kind in SOCKETS:
            self.values["host"] = LOOPBACK
            fixed = self._fixed_addresses()
            for channel in self.role.channels or ("",):
                # The suite chooses the port, because the system can give away a port before the
                # program listens.
                port = 0 if fixed else self._free_port()
                address = await self._reserve(channel, fixed.get(channel, f"{LOOPBACK}:{port}"))
                port_name = f"{channel}_port" if channel else "port"
                self.values[port_name] = address.rpartition(":")[2]
                self.values.setdefault("url", f"http://{address}")

    @property
    def address(self) -> str:
        """Address where an IUT with a single channel listens."""
        return self._addresses[""]

    def _free_port(self) -> int:
        """Return a port that is reserved until this instance stops."""
        try:
            return self._stack.enter_context(links.reserved_port(SOCKETS[self.kind]))
        except OSError as error:
            raise Unreachable(f"no port is free: {links.reason(error)}") from error

    def _fixed_addresses(self) -> dict[str, str]:
        """Return the addresses that are fixed in the IUT, by channel."""
        given = self.configuration.connect or self.configuration.listen
        channels = self.role.channels or ("",)
        return dict(zip(channels, given.split(","), strict=True)) if given else {}

    async def _reserve(self, channel: str, address: str) -> str:
        if self.serves:
            if self._fixed_addresses() and not await self._is_freed(address):
                why = LINGERS if links.is_lingering(address) else ""
                raise Unreachable(f"{address} is already in use, so the IUT cannot use it{why}")
            self._addresses[channel] = address
            return address
        try:
            listener = await self._listen(address)
        except OSError as error:
            raise Unreachable(f"cannot listen at {address}: {links.reason(error)}") from error
        self._listeners[channel] = listener
        return listener.address

    async def _is_freed(self, address: str) -> bool:
        """Wait until an address is free, because an earlier instance can still use it.

        Returns False after the startup time.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.configuration.seconds("startup")
        while not links.is_free(address, SOCKETS.get(self.kind)):
            if loop.time() > deadline:
                return False
            await asyncio.sleep(_POLL)
        return True

    async def _listen(self, address: str) -> AnyListener:
        listener = await listen(self.role, self.kind, address)
        self._stack.push_async_callback(listener.close)
        return listener

    def _program(self, name: str | None) -> str:
        programs = self.configuration.programs
        return programs[name] if name else next(iter(programs.values()), "")

    async def link(self, channel: str = "") -> Link:
        """Open a connection. Raises Unreachable, or NotExercised if a second one is impossible."""
        if self.kind == "none" and self.process:
            return links.NoWire(self.process.wait_for_end)
        if self._is_on_stdio and self.process:
            if self._taken:
                raise NotExercised(
                    "needs a command with {port} to test several sessions: standard "
                    "streams have only one"
                )
            self._taken = True
            return self.process.standard
        if channel in self._listeners:
            link = await self._accept(self._listeners[channel])
        else:
            link = await self._connect(self._addresses[channel])
        self.connections += 1
        return link

    def can_accept(self, channel: str) -> bool:
        """True if the IUT opens stream connections and can open further ones."""
        return isinstance(self._listeners.get(channel), Listener) and not self._is_bridged

    async def next_link(self, channel: str) -> Link | None:
        """Return the next stream that the IUT opens within the response time, or None."""
        accepting = self._listeners[channel].accept()
        with contextlib.suppress(Unreachable):
            return await self._await("response", accepting, "the IUT did not connect again")
        return None

    def unreachable(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Refuse the connections of an IUT with a single channel over TCP, within the block."""
        listener = self._listeners[""]
        assert isinstance(listener, Listener)
        return listener.refusing()

    async def takes_part(self) -> bool:
        """True if the IUT connects or sends to any address, or listens itself."""

        async def is_contacted(listener: AnyListener) -> None:
            link = await listener.accept()
            if link.datagrams:
                await link.read()
            await link.close()

        listening = [asyncio.create_task(is_contacted(each)) for each in self._listeners.values()]
        try:
            if self.serves:
                await (await self.link(next(iter(self.role.channels), ""))).close()
            else:
                anyone = asyncio.wait(listening, return_when=asyncio.FIRST_COMPLETED)
                await self._await("startup", anyone, "the IUT did not connect")
        except Unreachable:
            return False
        finally:
            for task in listening:
                task.cancel()
        return True

    async def _accept(self, listener: AnyListener) -> Link:
        if not self._is_bridged:
            return await self._await("startup", listener.accept(), "the IUT did not connect")
        wire: Link | None = None
        # The bridge opens two connections; the first byte of each shows its kind.
        while wire is None or self.errors is None:
            link = await self._await(
                "startup", listener.accept(), f"the IUT did not start {{{self.role.bridge}}}"
            )
            if await link.read_exactly(1) == bridge.WIRE:
                wire = link
            else:
                self.errors = link
        return wire

    async def _connect(self, address: str) -> Link:
        refused = ""

        async def attempt() -> Link:
            nonlocal refused
            while True:
                try:
                    if self.kind == "zmq":
                        from conformance.harness import zeromq

                        return await zeromq.connect(address)
                    if self.kind != "udp":
                        return await links.connect(address, narrow=self.narrow)
                    if not self.process or links.is_served(address, datagrams=True):
                        return await datagrams.connect(address)
                except OSError as error:
                    refused = links.reason(error)
                await asyncio.sleep(_POLL)

        try:
            return await self._await(
                "startup", attempt(), f"the IUT did not accept a connection at {address}"
            )
        except Unreachable as error:
            if self.process is None and refused:
                raise Unreachable(f"nothing accepts at {address}: {refused}") from error
            elsewhere = (
                listening_addresses(self.process.pid) if self.process and self.kind == "tcp" else []
            )
            if elsewhere:
                # The IUT has started, so a hint about a slow start would be wrong.
                plain = str(error).removesuffix(f"; {SLOW}")
                raise Unreachable(f"{plain}; it listens at {', '.join(elsewhere)}") from error
            raise

    async def _await(self, timing: str, waiting: Coroutine[Any, Any, T], failure: str) -> T:
        """Wait for a coroutine until a timing is over or the IUT's process has ended."""
        seconds = self.configuration.seconds(timing)
        task = asyncio.create_task(waiting)
        watched: set[asyncio.Task[Any]] = {task}
        if self.process:
            watched.add(asyncio.create_task(self.process.wait(seconds)))
        try:
            await asyncio.wait(watched, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            # A program that connects and exits immediately has still connected.
            await asyncio.wait({task}, timeout=0 if task.done() else 0.1)
        finally:
            # A pending accept would take the connection of a later wait.
            for waiter in watched:
                waiter.cancel()
        if task.done():
            return task.result()
        if self.process and self.process.exit:
            raise Unreachable(f"{failure}{self.describe_end()}")
        raise Unreachable(f"{failure} within {seconds:g} s{self.describe_end()}{self.slow_hint}")

    @property
    def slow_hint(self) -> str:
        """Return a hint for a running program that can be slow; otherwise an empty string."""
        return f"; {SLOW}" if self.process and not self.process.exit else ""

    @property
    def explaining_line(self) -> str:
        """The line of the output that explains the end; empty if there is no output."""
        return explaining_line(self.process.stderr.text) if self.process else ""

    def describe_end(self) -> str:
        """Describe the end of the process and its last output, for a verdict's text."""
        return self.process.describe_end() if self.process else ""

    async def stop(self, grace: float = GRACE) -> bool:
        """Stop the IUT; return True if its process exited after the end of its input.

        The process has ``grace`` seconds to exit.
        """
        if self._upper:
            await self._upper.close()
        if self.errors:
            await self.errors.close()
        ended = await self.process.end(grace) if self.process else True
        await self._stack.aclose()
        return ended
