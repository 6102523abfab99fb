"""Tester of a robot: the lab that the suite plays, with all its connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from conformance.expectation import unfinished_message
from conformance.harness.deadlines import Countdown, countdown_from
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.openroberta.codec import response
from conformance.openroberta.message_names import LOOKING
from conformance.openroberta.robot.tester.exchange import BYTES, NAME, POLLING, Exchange
from conformance.running.timeouts import GRACE
from conformance.session import Session
from conformance.verdicts import (
    Conclusion,
    Inconclusive,
    Late,
    Unreachable,
    Violation,
)

PROGRAM = ("program", "response")
"""Timings of a program and of the push after it."""
RESTART = ("startup", "response")
"""Timings of a robot that can start again."""
SILENT = "run.silent"
"""Requirement that a robot violates if it pushes while its program runs.

Later requests of this robot cannot be assigned to its answers.
"""
_PARTS = ("/download", "/pushcmd")  # parts of the path: for programs, and for all other requests
_MAX_CONNECTIONS = 1000  # connections that the tester accepts; far above the number in any test
_MAX_REFUSED = 20  # requests before a registration; a robot that was started by hand sends few
_NO_TIMEOUT = 3600.0  # seconds; longer than any session of a test
_IDLE = 0.4  # seconds without a request after which the test counts as idle, as in a session
_FILE = b"PK\x05\x06" + bytes(18)  # an empty ZIP archive


class LabTester:
    """A lab for one robot: accepts its connections and collects its requests for the test."""

    def __init__(self, iut: Iut, instance: Instance) -> None:
        self.iut = iut
        self.instance = instance
        self.asked: list[Exchange] = []
        """Registrations, pushes and requests for programs in their order; a test answers them."""
        self.others: list[Exchange] = []
        """All other requests: for update files, for other paths, and with sensor data."""
        self.websocket = True
        """True if the lab accepts sensor data over a websocket."""
        self.ended: set[Session] = set()
        """Connections that the tester has closed; an unanswered request there gets no answer."""
        self.pushed_early = False
        """True once the robot pushed while a push was unanswered.

        Its next request can then follow from either answer.
        """
        self.failure: Exception | None = None
        self._cursor = 0
        self._unreadable: float | None = None
        """Time of the last bytes that are not HTTP. The rest of their connection is not decoded."""
        self._heard = 0.0
        """Time of the latest request."""
        self._astray: float | None = None
        """Time since which the robot sends requests to wrong paths only."""
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def seconds(self, timing: str) -> float:
        return self.iut.seconds(timing)

    # Requests of the robot

    async def next(
        self,
        *names: str,
        within: Sequence[str] = ("response",),
        requirement: str | None = None,
        after: str = "",
    ) -> Exchange:
        """Return the next request that a test answers; it must have one of these names.

        - `within`: the timings that the robot needs one after the other
        - `requirement`: violated by a missing request; by default the requirement under test
        - `after`: what happened before, for the message

        Raises Violation if no request or another request comes, and Late if it comes after the
        timeout.
        """
        full = self.iut.configuration.total(*within)
        begun = bool(self.asked or self.others)
        starting = 0.0 if begun else self.iut.configuration.seconds("startup")
        asked = self._loop.time()
        lasting = self.iut.testbed.timeouts.growing_timeout(starting + full)
        grace = self._grace(full) if begun else 0.0
        before = len(self.others) if self.asked else 0
        found = await self._next_polled(
            names, lambda: asked + lasting() + grace - self._loop.time()
        )
        expected = f"{' or '.join(names)}{after and f' after {after}'}"
        whole = self._unreadable is None and self._astray is None
        expected += f" within {round(lasting(), 2):g} s" if whole else ""
        if found is None or found.name not in names:
            strayed = self._stray_request(names, before)
            if strayed:
                came = f"received {strayed.message.value['method']} {strayed.message.value['path']}"
                raise strayed.violation(expected, came, "http.paths")
        if found is None:
            self._check_connected(lasting() + grace)
            for session in self.iut.sessions:
                if session not in self.ended and (cut := unfinished_message(session, expected)):
                    raise cut
            came = f"received nothing{self.instance.describe_end()}"
            missed = Violation(expected, came, requirement, missing=names)
            process = self.instance.process
            raise missed if process and process.exit else self.unless_hasty(missed)
        if found.name not in names:
            raise found.violation(" or ".join(names), f"received {found.name}", requirement)
        if found.at > asked + lasting():
            took = found.at - asked
            raise Late(f"expected {expected}; received it after {took:.1f} s", took)
        return found

    def unless_hasty(self, violation: Violation) -> Conclusion:
        """Return this conclusion; Inconclusive if the robot pushed while a push was unanswered."""
        if not self.pushed_early:
            return violation
        return Inconclusive(
            f"{violation}; the robot pushed while a push was unanswered, so this request can have "
            "another cause"
        )

    async def _next_polled(self, names: tuple[str, ...], left: Countdown) -> Exchange | None:
        """Return the next request that a test answers, without a repeated request for a program."""
        began = self._loop.time()
        found = await self.wait_for(*POLLING, within=left)
        if found and found.name == "DownloadRequest" and "DownloadRequest" not in names:
            before_it = self.asked[self._cursor - 2]
            if before_it.name == found.name and before_it.again:
                # The requirement run.asks-once judges the repeated request.
                elapsed = self._loop.time() - began
                await before_it.again(found)
                found = await self.wait_for(*POLLING, within=lambda: left() + elapsed)
        if self.instance.process is None and len(self.asked) == 1:
            found = await self._wait_for_registration(found)
        return found

    def _check_connected(self, seconds: float) -> None:
        """Raise Unreachable if the robot has not connected within these seconds."""
        if self.iut.sessions:
            return
        process, end = self.instance.process, self.instance.describe_end()
        # If the robot has exited, the tester stopped waiting at that time.
        within = "" if process and process.exit else f" within {round(seconds, 2):g} s"
        raise Unreachable(f"the IUT did not connect{within}{end}{self.instance.slow_hint}")

    async def program_request(self, requirement: str | None = None) -> Exchange:
        """Return the request for an announced program.

        The robot can send a push first, and can wait for its answer.
        """
        before = len(self.others)
        asked = await self.next("DownloadRequest", "Push", requirement=requirement)
        if asked.name == "Push":
            found = await self.wait_for("DownloadRequest", within=self.iut.countdown("response"))
            if found is None and asked.is_waiting:
                await asked.command("repeat")
                left = self.iut.countdown("response")
                found = await self.wait_for("DownloadRequest", within=left)
            if found is None:
                strayed = self._stray_request(("DownloadRequest",), before)
                known = "http.paths" if strayed else requirement
                came = "received none" if strayed else "received Push"
                raise (strayed or asked).violation("DownloadRequest", came, known)
            return found
        return asked

    def unanswered_pushes(self, fetching: Exchange) -> list[Exchange]:
        """Return the unanswered pushes at the time when a program is sent."""
        self._cursor = len(self.asked)
        return [
            asked
            for asked in self.asked
            if asked.name == "Push" and asked.is_waiting and asked.session is not fetching.session
        ]

    async def _wait_for_registration(self, found: Exchange | None) -> Exchange | None:
        """Wait for the registration of a robot that was started by hand.

        The tester makes the robot register again, and discards its requests until then.
        """
        refused = 0
        while found and found.name != "Register":
            if (refused := refused + 1) > _MAX_REFUSED:
                raise Inconclusive("the robot sends requests and does not register again")
            updates = found.name == "Push" and self.updates
            await (found.command("update") if updates else found.refuse(500))
            found = await self.wait_for(*POLLING, within=self.iut.countdown("startup"))
        if found:
            self.asked, self._cursor = [found], 1
        return found

    def _stray_request(self, names: tuple[str, ...], start: int) -> Exchange | None:
        """Return the request that the robot evidently sent to a wrong path instead."""
        part = _PARTS[0] if "DownloadRequest" in names else _PARTS[1]
        return next((other for other in self.others[start:] if other.is_stray(part)), None)

    async def wait_for(self, *names: str, within: float | Countdown) -> Exchange | None:
        """Return the next request with one of these names, or None after the timeout."""
        left = countdown_from(within)
        while True:
            while self._cursor < len(self.asked):
                asked = self.asked[self._cursor]
                self._cursor += 1
                if asked.name in names and asked.session not in self.ended:
                    return asked
            if not await self._await(left):
                return None

    async def after_files(self, *names: str) -> Exchange | None:
        """Return the next request with one of these names after the files of an update.

        Returns None if no request comes within the response time. Each request for a file starts
        this time again, because a robot can install one file before it fetches the next.
        """
        while True:
            files = len(self.others)
            found = await self.wait_for(*names, within=self.seconds("response"))
            if found or len(self.others) == files:
                return found

    async def other(self, *names: str, within: float, start: int = 0) -> Exchange | None:
        """Return the first other request with one of these names, starting at index `start`."""
        left = countdown_from(within)
        while True:
            for entry in self.others[start:]:
                if entry.name in names:
                    return entry
            if not await self._await(left):
                return None

    async def other_in_time(self, name: str, start: int, requirement: str) -> Exchange | None:
        """Return the first other request with this name, starting at index `start`.

        `requirement` is violated by a missing request. Raises Late if the request comes after the
        timeout.
        """
        asked, full = self._loop.time(), self.seconds("response")
        found = await self.other(name, within=full + self._grace(full), start=start)
        if found and (took := found.at - asked) > full:
            raise Late(f"expected {name} within {full:g} s; received it after {took:.1f} s", took)
        return found

    def _grace(self, full: float) -> float:
        """Return the additional seconds in which a request still counts as late."""
        return GRACE * min(full, self.iut.configuration.seconds("response"))

    async def _await(self, window: Countdown) -> bool:
        """Wait for the next event. Returns False after the timeout or if the robot has exited."""
        if self.failure:
            raise self.failure
        process = self.instance.process
        left = self._remaining_time(window)
        if left <= 0 or (process and process.exit and not self._open()):
            return False
        self._news.clear()
        # A session counts as idle itself while its connection is open.
        idle = bool(self._heard) and self._loop.time() > self._heard + _IDLE and not self._open()
        with contextlib.suppress(TimeoutError), self.iut.testbed.timeouts.count_as_idle(idle):
            async with asyncio.timeout(min(left, 0.2) if process or not idle else left):
                await self._news.wait()
        return True

    def _remaining_time(self, window: Countdown) -> float:
        """Return the seconds that are left of a timeout.

        At most the response time is left if the robot sends unreadable bytes or uses a wrong path.
        """
        since = self._astray
        if since is None and not self._open():
            since = self._unreadable
        if since is None:
            return window()
        return min(window(), since + self.seconds("response") - self._loop.time())

    def _open(self) -> bool:
        return any(not (each.ended or each.judge.spoiled) for each in self.iut.sessions)

    # Usual courses

    async def link(self) -> Exchange:
        """Let the robot register and push; return its first push."""
        asked = await self.next("Register", requirement="register.first")
        await asked.command("repeat")
        try:
            return await self.next("Push", requirement="register.then-push")
        except Violation as wrong:
            if await self._reads_to_the_end(asked):
                expected = f"{wrong.expected} after an answer with a Content-Length"
                came = "received it after the lab closed the connection"
                raise Violation(expected, came, "http.persistence") from wrong
            raise

    async def _reads_to_the_end(self, asked: Exchange) -> bool:
        """True if the robot pushes only after the lab has closed the connection."""
        if asked.session.ended or len(self.asked) > self.asked.index(asked) + 1:
            return False
        await asked.end()
        return await self.wait_for("Push", within=self.seconds("response")) is not None

    async def link_again(self, push: Exchange) -> Exchange | None:
        """Let the robot update and register again; return its first push after that.

        Returns None if the robot goes on pushing, does not come back by itself, or does not update.
        No later test of this run then waits for an update again.
        """
        memory, gone = self.iut.facts, "does not come back from an update"
        if memory.get(gone) or not self.updates:
            return None
        await push.command("update")
        asked = await self.wait_for("Register", "Push", within=self.iut.countdown("startup"))
        if asked is None or asked.name == "Push":
            memory[gone] = True
            return None
        await asked.command("repeat")
        return await self.next("Push", requirement="register.then-push")

    async def run(self, push: Exchange, data: bytes | None = None, name: str = NAME) -> Exchange:
        """Let the robot fetch and run a program; return its next push."""
        await push.command("download")
        asked = await self.program_request("run.requests-file")
        await asked.file(self.program if data is None else data, name)
        return await self.next("Push", within=PROGRAM, requirement="run.pushes-after")

    @property
    def updates(self) -> bool:
        """True if the robot can be sent update, because it does not exclude updates."""
        return not self.iut.configuration.reason_to_leave_out("update.gets")

    @property
    def program(self) -> bytes:
        """The declared program for this robot, or else all 256 byte values."""
        return self.iut.configuration.value("program").encode() or BYTES

    async def repeats(self, push: Exchange, times: int) -> Exchange:
        """Answer this number of pushes with repeat; return the next push."""
        for _ in range(times):
            await push.command("repeat")
            push = await self.next("Push", requirement="push.again")
        return push

    # Connections

    @contextlib.asynccontextmanager
    async def unreachable(self) -> AsyncIterator[None]:
        """Close all connections, and refuse further ones within the block."""
        async with self.instance.unreachable():
            for session in self.iut.sessions:
                await session.close()
            yield

    async def accept(self, connections: contextlib.AsyncExitStack) -> None:
        """Accept the robot's connections until the task is cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_MAX_CONNECTIONS):
                opened = await self._accept_connections(connections)
                if opened is None:
                    return
                group.create_task(self._serve(opened))

    async def _accept_connections(self, connections: contextlib.AsyncExitStack) -> Session | None:
        while True:
            try:
                return await connections.enter_async_context(self.iut.connect(self.instance))
            except Unreachable:
                if self.instance.process and self.instance.process.exit:
                    self._news.set()
                    return None

    async def _serve(self, session: Session) -> None:
        try:
            while message := await session.wait_for(within=_NO_TIMEOUT):
                if session not in self.ended:
                    await self._take(Exchange(self, session, message))
        except Exception as failure:
            # Pass every exception to the test that waits.
            if isinstance(failure, Conclusion):
                failure.shown_in(session)
            self.failure = self.failure or failure
        if session.judge.spoiled:
            self._unreadable = self._loop.time()
        self._news.set()

    async def _take(self, asked: Exchange) -> None:
        self._heard = asked.at
        if asked.name in POLLING:
            self._astray = None
            held = (other for other in self.asked if other.name == asked.name == "Push")
            self.pushed_early = self.pushed_early or any(other.is_waiting for other in held)
            before = self.asked[-1] if self.asked else None
            if before and before.again and asked.is_repeat(before):
                self.asked[-1] = asked
                await before.again(asked)
                return
            self.asked.append(asked)
        else:
            self.others.append(asked)
            self._astray = self._astray or (asked.at if asked.is_stray(*_PARTS) else None)
        self._news.set()
        match asked.name:
            case "TlsHello":
                await asked.session.close()
            case "UpdateRequest":
                await asked.file(_FILE, "roberta.zip")
            case "SensorUpgrade" if self.websocket:
                await asked.accept()
            case "SensorPost":
                await asked.answer(response(200, {"content-type": "text/plain"}, b""))
            case "Request" if asked.message.value["method"] in LOOKING:
                await asked.answer(response(405, {"Allow": "GET, POST"}, b""))
            case "Request" | "SensorUpgrade":
                await asked.answer(response(404, {}, b""))


@contextlib.asynccontextmanager
async def playing(iut: Iut) -> AsyncIterator[LabTester]:
    """Play a lab for a robot, and start the robot."""
    async with iut.instance() as instance, contextlib.AsyncExitStack() as connections:
        tester = LabTester(iut, instance)
        accepting = asyncio.create_task(tester.accept(connections))
        try:
            yield tester
        finally:
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
