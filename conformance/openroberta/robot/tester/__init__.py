"""The tester of a robot: the lab that the suite plays, over all the connections that it opens."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from conformance.harness.deadlines import Left, counting
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.openroberta.codec import response
from conformance.openroberta.naming import LOOKING
from conformance.openroberta.robot.tester.exchange import BYTES, NAME, POLLING, Exchange
from conformance.session import Session
from conformance.verdicts import (
    Conclusion,
    Late,
    Unreachable,
    Violation,
)

PROGRAM = ("program", "response")
"""The timings in which a program has run, and the robot has pushed after it."""
PATIENT = ("startup", "response")
"""The same of a robot that may begin anew."""
SILENT = "run.silent"
"""What a robot violates that pushes while its program runs: what it asks next is not told apart."""
_PARTS = ("/download", "/pushcmd")  # of the paths for programs, and for everything else
_MOST = 1000  # connections that are followed
_LONG = 3600.0  # seconds; a session ends before
_FILE = b"PK\x05\x06" + bytes(18)  # an empty archive


class LabTester:
    """A lab for one robot: takes its connections, and keeps what it asks for the test."""

    def __init__(self, iut: Iut, instance: Instance) -> None:
        self.iut = iut
        self.instance = instance
        self.asked: list[Exchange] = []
        """All that the robot has asked and a test answers, in order."""
        self.others: list[Exchange] = []
        """What else it has asked: for files, for other paths, with sensor data."""
        self.websocket = True
        """Whether it takes sensor data over a websocket."""
        self.ended: set[Session] = set()
        """The connections that it has ended: what was not answered there comes too late."""
        self.hasty = False
        """Whether it has pushed beside a push that was held: which it follows is open."""
        self.failure: Exception | None = None
        self._cursor = 0
        self._unreadable: float | None = None
        """When bytes last came that are no HTTP, behind which nothing of a connection is read."""
        self._astray: float | None = None
        """Since when it has asked at wrong paths, and at no right one."""
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def seconds(self, timing: str) -> float:
        return self.iut.seconds(timing)

    # What the robot asks

    async def next(
        self,
        *names: str,
        within: Sequence[str] = ("response",),
        requirement: str | None = None,
        after: str = "",
    ) -> Exchange:
        """The next request that a test answers. Raises Violation where it is not one of these.

        Raises Late where it comes after that. `within` are the timings in which it comes, one after
        the other. `requirement` is what its absence violates, if not the one that the test decides;
        `after` says what happened before it.
        """
        patience, about = self.iut.testbed.patience, requirement or self.iut.deciding
        full = self.iut.configuration.total(*within)
        begun = bool(self.asked or self.others)
        starting = 0.0 if begun else self.iut.configuration.seconds("startup")
        asked, lasting = self._loop.time(), patience.lasting(starting + full)
        before = len(self.others) if self.asked else 0

        def most(late: bool = begun) -> float:
            # Asked again and again: another test may show that the rest is in vain.
            seconds = patience.seconds_for(names, full, {about})
            return lasting() - full + seconds + (self._late(seconds, full) if late else 0.0)

        found = await self._polled(names, lambda: asked + most() - self._loop.time())
        expected = f"{' or '.join(names)}{after and f' after {after}'}"
        whole = self._unreadable is None and self._astray is None
        expected += f" within {round(most(late=False), 2):g} s" if whole else ""
        if found is None or found.name not in names:
            strayed = self._strayed(names, before)
            if strayed:
                came = f"{strayed.message.value['method']} {strayed.message.value['path']} came"
                raise strayed.violation(expected, came, "http.paths")
        if found is None:
            self._reached(most())
            patience.miss(about, names)
            raise Violation(expected, f"nothing came{self.instance.describe_end()}", requirement)
        if found.name not in names:
            raise found.violation(" or ".join(names), f"{found.name} came", requirement)
        if found.at > asked + lasting():
            took = found.at - asked
            raise Late(f"expected {expected}; it came after {took:.1f} s", took)
        return found

    async def _polled(self, names: tuple[str, ...], left: Left) -> Exchange | None:
        """The next request that a test answers; not one that asks for the same program again."""
        began = self._loop.time()
        found = await self.watch(*POLLING, within=left)
        if found and found.name == "DownloadRequest" and "DownloadRequest" not in names:
            before_it = self.asked[self._cursor - 2]
            if before_it.name == found.name and before_it.again:
                # That it asks once more is for run.asks-once to say.
                anew = self._loop.time() - began
                await before_it.again(found)
                found = await self.watch(*POLLING, within=lambda: left() + anew)
        if self.instance.process is None and len(self.asked) == 1:
            found = await self._begun(found)
        return found

    def _reached(self, seconds: float) -> None:
        """Raise Unreachable where no connection has come in these seconds."""
        if self.iut.sessions:
            return
        process, end = self.instance.process, self.instance.describe_end()
        # One that has ended was not waited for any longer.
        within = "" if process and process.exit else f" within {round(seconds, 2):g} s"
        raise Unreachable(f"it did not connect{within}{end}{self.instance.slow}")

    async def program_request(self, requirement: str | None = None) -> Exchange:
        """The request for a program that was announced; a push may come beside it."""
        before = len(self.others)
        asked = await self.next("DownloadRequest", "Push", requirement=requirement)
        if asked.name == "Push":
            patience, about = self.iut.testbed.patience, requirement or self.iut.deciding
            names = ("DownloadRequest",)
            declared = self.iut.configuration.seconds("response")
            within = patience.left(patience.seconds_for(names, declared, {about}))
            found = await self.watch(*names, within=within)
            if found is None:
                patience.miss(about, names)
                strayed = self._strayed(("DownloadRequest",), before)
                known = "http.paths" if strayed else requirement
                came = "none came" if strayed else "Push came instead"
                raise (strayed or asked).violation("DownloadRequest", came, known)
            return found
        return asked

    def early(self, fetching: Exchange) -> list[Exchange]:
        """The pushes that came before the program which is sent now: none is the one behind it."""
        self._cursor = len(self.asked)
        return [
            asked
            for asked in self.asked
            if asked.name == "Push" and asked.waits_still and asked.session is not fetching.session
        ]

    async def _begun(self, found: Exchange | None) -> Exchange | None:
        """The registration of a robot that was started by hand, and may go on from a test before.

        It is made to begin anew; what it asks until then is forgotten.
        """
        while found and found.name != "Register":
            told = found.name == "Push" and self.updates
            await (found.command("update") if told else found.refuse(500))
            found = await self.watch(*POLLING, within=self.iut.left("startup"))
        if found:
            self.asked, self._cursor = [found], 1
        return found

    def _strayed(self, names: tuple[str, ...], start: int) -> Exchange | None:
        """What was asked at a wrong path instead, if it evidently was."""
        part = _PARTS[0] if "DownloadRequest" in names else _PARTS[1]
        return next((other for other in self.others[start:] if other.strays_to(part)), None)

    async def watch(self, *names: str, within: float | Left) -> Exchange | None:
        """The next request that a test answers, with one of these names, within a window."""
        left = counting(within)
        while True:
            while self._cursor < len(self.asked):
                asked = self.asked[self._cursor]
                self._cursor += 1
                if asked.name in names and asked.session not in self.ended:
                    return asked
            if not await self._await(left):
                return None

    async def other(self, *names: str, within: float, start: int = 0) -> Exchange | None:
        """The first of the other requests from a place on, with one of these names."""
        left = counting(within)
        while True:
            for entry in self.others[start:]:
                if entry.name in names:
                    return entry
            if not await self._await(left):
                return None

    async def other_in_time(self, name: str, start: int, requirement: str) -> Exchange | None:
        """The first of the other requests of this name from a place on, where it comes in time.

        `requirement` is what its absence violates. Raises Late where it comes after that.
        """
        patience, told, names = self.iut.testbed.patience, self._loop.time(), (name,)
        full = self.seconds("response")
        seconds = patience.seconds_for(names, full, {requirement})
        found = await self.other(name, within=seconds + self._late(seconds, full), start=start)
        if found is None:
            patience.miss(requirement, names)
        elif (took := found.at - told) > full:
            raise Late(f"expected {name} within {full:g} s; it came after {took:.1f} s", took)
        return found

    def _late(self, seconds: float, full: float) -> float:
        """How much longer a request is awaited than its full time: late is not the same as never.

        Not where fewer `seconds` are awaited.
        """
        response = self.iut.configuration.seconds("response")
        return self.iut.testbed.patience.late * min(full, response) if seconds == full else 0.0

    async def _await(self, window: Left) -> bool:
        """Wait for anything; False where the window is over or the robot has ended."""
        if self.failure:
            raise self.failure
        process = self.instance.process
        left = self._left(window)
        if left <= 0 or (process and process.exit and not self._open()):
            return False
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(left, 0.2) if process else left):
                await self._news.wait()
        return True

    def _left(self, window: Left) -> float:
        """What is left of a window; who cannot be read, or asks at a wrong path, has no longer."""
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
        """Have the robot register and push: its first push."""
        asked = await self.next("Register", requirement="register.first")
        await asked.command("repeat")
        try:
            return await self.next("Push", requirement="register.then-push")
        except Violation as wrong:
            if await self._reads_to_the_end(asked):
                expected = f"{wrong.expected}, behind an answer that announces its length"
                came = "it came once the connection was closed"
                raise Violation(expected, came, "http.persistence") from wrong
            raise

    async def _reads_to_the_end(self, asked: Exchange) -> bool:
        """Whether it pushes only once the connection is closed on which it was answered."""
        if asked.session.ended or len(self.asked) > self.asked.index(asked) + 1:
            return False
        await asked.end()
        return await self.watch("Push", within=self.seconds("response")) is not None

    async def link_again(self, push: Exchange) -> Exchange | None:
        """Have the robot update and register again: its first push then.

        None where it goes on pushing, does not come back by itself, or does not update; then it is
        not waited for again in this run.
        """
        memory, gone = self.iut.memory, "does not come back from an update"
        if memory.get(gone) or not self.updates:
            return None
        await push.command("update")
        asked = await self.watch("Register", "Push", within=self.iut.left("startup"))
        if asked is None or asked.name == "Push":
            memory[gone] = True
            return None
        await asked.command("repeat")
        return await self.next("Push", requirement="register.then-push")

    async def run(self, push: Exchange, data: bytes | None = None, name: str = NAME) -> Exchange:
        """Have the robot fetch and run a program: its next push."""
        await push.command("download")
        asked = await self.program_request("run.requests-file")
        await asked.file(self.program if data is None else data, name)
        return await self.next("Push", within=PROGRAM, requirement="run.pushes-after")

    @property
    def updates(self) -> bool:
        """Whether it may be told update: one that claims to leave that out never is."""
        return not self.iut.configuration.leaves_out("update.gets")

    @property
    def program(self) -> bytes:
        """A program that the robot can run, if one was declared, or else every byte."""
        return self.iut.configuration.value("program").encode() or BYTES

    async def repeats(self, push: Exchange, times: int) -> Exchange:
        """Answer that many pushes with repeat; returns the one after them."""
        for _ in range(times):
            await push.command("repeat")
            push = await self.next("Push", requirement="push.again")
        return push

    # Connections

    async def accept(self, connections: contextlib.AsyncExitStack) -> None:
        """Take the robot's connections until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_MOST):
                opened = await self._opened(connections)
                if opened is None:
                    return
                group.create_task(self._serve(opened))

    async def _opened(self, connections: contextlib.AsyncExitStack) -> Session | None:
        while True:
            try:
                return await connections.enter_async_context(self.iut.connect(self.instance))
            except Unreachable:
                if self.instance.process and self.instance.process.exit:
                    self._news.set()
                    return None

    async def _serve(self, session: Session) -> None:
        try:
            while message := await session.watch(within=_LONG):
                if session not in self.ended:
                    await self._take(Exchange(self, session, message))
        except Exception as failure:
            # Whatever it is, the test that waits is to hear of it.
            if isinstance(failure, Conclusion):
                failure.shown_in(session)
            self.failure = self.failure or failure
        if session.judge.spoiled:
            self._unreadable = self._loop.time()
        self._news.set()

    async def _take(self, asked: Exchange) -> None:
        if asked.name in POLLING:
            self._astray = None
            held = (other for other in self.asked if other.name == asked.name == "Push")
            self.hasty = self.hasty or any(other.waits_still for other in held)
            before = self.asked[-1] if self.asked else None
            if before and before.again and asked.follows(before):
                self.asked[-1] = asked
                await before.again(asked)
                return
            self.asked.append(asked)
        else:
            self.others.append(asked)
            self._astray = self._astray or (asked.at if asked.strays_to(*_PARTS) else None)
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
    """A lab that waits for a robot, which is started for it."""
    async with iut.instance() as instance, contextlib.AsyncExitStack() as connections:
        tester = LabTester(iut, instance)
        accepting = asyncio.create_task(tester.accept(connections))
        try:
            yield tester
        except Violation as lost:
            # After a program it follows from that what it asks is no longer upon the answers.
            ran = any(asked.name == "DownloadRequest" for asked in tester.asked)
            await iut.lay(lost, {SILENT} if ran else ())
            raise
        finally:
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
