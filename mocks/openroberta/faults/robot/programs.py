"""Faults of the robot in programs."""

import asyncio
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import naming
from mocks.deviations import fault
from mocks.openroberta.robot import Robot


@fault("download-unheard", violates="run.requests-file")
class DownloadUnheard(Robot):
    """Pushes on when it is told download."""

    async def download(self) -> None:
        pass


@fault("download-reset", violates="run.requests-file", subtle=True)
class DownloadReset(Robot):
    """Resets its connection when it is told download, and pushes on."""

    async def download(self) -> None:
        self.caller.reset()


@fault("second-download-unheard", violates="run.requests-file", subtle=True)
class SecondDownloadUnheard(Robot):
    """Runs what it has when it is told download for the second time."""

    downloads = 0

    async def download(self) -> None:
        self.downloads += 1
        if self.downloads != 2:
            await super().download()


@fault("asks-again-later", violates="run.asks-once", subtle=True)
class AsksAgainLater(Robot):
    """Asks for the second program once more when it has run it."""

    downloads = 0

    async def download(self) -> None:
        self.downloads += 1
        await super().download()
        if self.downloads == 2:
            await self.ask(self.post(naming.DOWNLOAD, self.data("push")), 1)


@fault("later-registrations-without-programs", violates="run.requests-file", subtle=True)
class LaterRegistrationsWithoutPrograms(Robot):
    """Pushes on when it is told download, once it has updated and registered again."""

    updated = False

    async def update(self) -> None:
        await super().update()
        self.updated = True

    async def download(self) -> None:
        if not self.updated:
            await super().download()


class _Asking(Robot):
    """Asks for a program with another object."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        return super().post(path, self.altered(data) if path == naming.DOWNLOAD else data)

    def altered(self, data: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@fault("download-as-command", violates="run.download-push")
class DownloadAsCommand(_Asking):
    """Sends download as the command of its request for a program."""

    def altered(self, data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "cmd": "download"}


@fault("token-alone", violates="run.download-push", subtle=True)
class TokenAlone(_Asking):
    """Asks for a program with its token and command only."""

    def altered(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"token": data["token"], "cmd": data["cmd"]}


@fault("register-as-command", violates="run.download-push", subtle=True)
class RegisterAsCommand(_Asking):
    """Asks for a program with the command register."""

    def altered(self, data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "cmd": "register"}


@fault("programs-as-text", violates="run.stores-bytes")
class ProgramsAsText(Robot):
    """Reads programs as text in UTF-8."""

    def received(self, data: bytes) -> bytes:
        return data.decode("utf-8", "replace").encode("utf-8")


@fault("lines-end-otherwise", violates="run.stores-bytes", subtle=True)
class LinesEndOtherwise(Robot):
    """Turns the ends of lines into those of its system."""

    def received(self, data: bytes) -> bytes:
        return data.replace(b"\r\n", b"\n")


@fault("long-programs-cut", violates="run.stores-bytes", subtle=True)
class LongProgramsCut(Robot):
    """Takes 64 kilobytes of a program."""

    def received(self, data: bytes) -> bytes:
        return data[:65536]


@fault("programs-by-name", violates="run.stores-bytes", subtle=True)
class ProgramsByName(Robot):
    """Runs what it has of the same name instead of what has come."""

    async def run(self, name: str, data: bytes) -> None:
        self.kept: dict[str, bytes] = getattr(self, "kept", {})
        await super().run(name, self.kept.setdefault(name, data))


@fault("runs-errors", violates="robustness.no-program")
class RunsErrors(Robot):
    """Runs whatever comes when it asks for its program."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if value["path"] == naming.DOWNLOAD and answer is not None and answer.name == "Refusal":
            await self.run("error", b"")
        return answer


@fault("lost-upon-errors", violates="robustness.no-program", subtle=True)
class LostUponErrors(Robot):
    """Pushes no more when a program has not come as a whole."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        broken = answer is None or answer.name is None
        if value["path"] == naming.DOWNLOAD and broken:
            await asyncio.sleep(3600)
        return answer


@fault("content-disposition", violates="run.stores-name")
class ContentDisposition(Robot):
    """Reads a program's name from Content-Disposition only."""

    def name_of(self, headers: Mapping[str, str]) -> str:
        return headers.get("content-disposition", "=unknown").partition("=")[2]


@fault("names-in-lower-case", violates="run.stores-name", subtle=True)
class NamesInLowerCase(Robot):
    """Keeps programs under their names in lower case."""

    def name_of(self, headers: Mapping[str, str]) -> str:
        return super().name_of(headers).lower()


@fault("short-names", violates="run.stores-name", subtle=True)
class ShortNames(Robot):
    """Keeps programs under the first twelve letters of their names."""

    def name_of(self, headers: Mapping[str, str]) -> str:
        return super().name_of(headers)[:12]


@fault("kept-only", violates="run.executes")
class KeptOnly(Robot):
    """Keeps programs, and runs none."""

    async def run(self, name: str, data: bytes) -> None:
        self.ended(0)


@fault("run-again", violates="run.executes", subtle=True)
class RunAgain(Robot):
    """Runs its third program twice."""

    async def run(self, name: str, data: bytes) -> None:
        await super().run(name, data)
        if len(self.executed) == 3:
            self.next_exit = self.exit_value
            await super().run(name, data)


@fault("runs-what-is-not-written", violates="run.stores-bytes", subtle=True)
class RunsWhatIsNotWritten(Robot):
    """Runs the file of its program before what it has written to it is in there."""

    async def run(self, name: str, data: bytes) -> None:
        await super().run(name, b"")


@fault("run-later", violates="run.executes", subtle=True)
class RunLater(Robot):
    """Runs a program when the next one comes."""

    waiting: tuple[str, bytes] | None = None

    async def run(self, name: str, data: bytes) -> None:
        waiting, self.waiting = self.waiting, (name, data)
        if waiting:
            await super().run(*waiting)


@fault("second-not-run", violates="run.executes", subtle=True)
class SecondNotRun(Robot):
    """Does not run its second program."""

    fetched = 0

    async def run(self, name: str, data: bytes) -> None:
        self.fetched += 1
        if self.fetched != 2:
            await super().run(name, data)


class _Chatty(Robot):
    early: asyncio.Task[Frame | None] | None = None

    def push_early(self) -> None:
        """The next push, on another connection already now."""
        push = self.post(naming.PUSHCMD, self.data("push"))
        asked = self.make_caller().ask(push, self.settings.push_patience)
        self.early = asyncio.create_task(asked)

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if self.early and value["path"] == naming.PUSHCMD:
            early, self.early = self.early, None
            return await early
        return await super().ask(value, patience)


@fault("pushes-while-it-fetches", violates="run.silent-while-fetching")
class PushesWhileItFetches(_Chatty):
    """Pushes while its program is on the way."""

    async def download(self) -> None:
        self.push_early()
        await asyncio.sleep(0.05)
        await super().download()


@fault("pushes-while-it-runs", violates="run.silent", subtle=True)
class PushesWhileItRuns(_Chatty):
    """Pushes a while after its program has begun."""

    async def run(self, name: str, data: bytes) -> None:
        later = asyncio.get_running_loop().call_later(0.15, self.push_early)
        await super().run(name, data)
        later.cancel()


@fault("pushes-late-while-it-runs", violates="run.silent", subtle=True)
class PushesLateWhileItRuns(_Chatty):
    """Pushes once more while a program runs that takes longer than half a second."""

    async def run(self, name: str, data: bytes) -> None:
        later = asyncio.get_running_loop().call_later(0.5, self.push_early)
        await super().run(name, data)
        later.cancel()
        self.unheeded, self.early = self.early, None


@fault("pushes-on-while-it-runs", violates="run.silent", subtle=True)
class PushesOnWhileItRuns(_Chatty):
    """Pushes every now and then while a program runs, and heeds no answer to that."""

    async def run(self, name: str, data: bytes) -> None:
        beating = asyncio.create_task(self.beat())
        await super().run(name, data)
        beating.cancel()

    async def beat(self) -> None:
        beats = []
        while True:
            await asyncio.sleep(0.15)
            self.push_early()
            # The one behind the program is not one of these.
            beats.append(self.early)
            self.early = None


@fault("pushes-as-it-begins", violates="run.silent")
class PushesAsItBegins(_Chatty):
    """Pushes as each program begins, on another connection, and heeds no answer to that."""

    async def run(self, name: str, data: bytes) -> None:
        self.push_early()
        # The one behind the program comes while this one is held, or once it was answered.
        self.unheeded, self.early = self.early, None
        await super().run(name, data)


@fault("silent-for-good", violates="run.pushes-after")
class SilentForGood(Robot):
    """Does not come back from a program."""

    async def run(self, name: str, data: bytes) -> None:
        await asyncio.sleep(3600)


@fault("no-way-back-from-nothing", violates="run.pushes-after", subtle=True)
class NoWayBackFromNothing(Robot):
    """Does not come back from a program of no bytes."""

    async def run(self, name: str, data: bytes) -> None:
        if not data:
            await asyncio.sleep(3600)
        await super().run(name, data)


@fault("registers-after-programs", violates="run.pushes-after", subtle=True)
class RegistersAfterPrograms(Robot):
    """Registers anew after its third program."""

    async def run(self, name: str, data: bytes) -> None:
        await super().run(name, data)
        if len(self.executed) == 3:
            await self.register()


@fault("follows-paths", violates="robustness.file-paths")
class FollowsPaths(Robot):
    """Joins a program's name to its folder."""

    def safe(self, name: str) -> str:
        return name

    def keep(self, name: str, data: bytes) -> None:
        try:
            super().keep(name, data)
        except OSError:
            super().keep("program", data)


@fault("follows-backwards", violates="robustness.file-paths", subtle=True)
class FollowsBackwards(FollowsPaths):
    """Removes what climbs at the beginning of a name, and not within it."""

    def safe(self, name: str) -> str:
        if self.settings.folder:
            (self.settings.folder / "sub").mkdir(exist_ok=True)
        return name.removeprefix("../").removeprefix("../").lstrip("/")
