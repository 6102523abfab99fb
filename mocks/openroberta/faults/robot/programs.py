"""Faults of the robot in fetching and running programs."""

import asyncio
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from mocks.deviations import fault
from mocks.openroberta.robot import Robot


@fault("download-unheard", violates="run.requests-file")
class DownloadUnheard(Robot):
    """Ignores the command download, and pushes."""

    async def download(self) -> None:
        pass


@fault("download-reset", violates="run.requests-file", subtle=True)
class DownloadReset(Robot):
    """Resets its connection after download, and pushes."""

    async def download(self) -> None:
        self.caller.reset()


@fault("second-download-unheard", violates="run.requests-file", subtle=True)
class SecondDownloadUnheard(Robot):
    """Ignores the second download, and pushes."""

    downloads = 0

    async def download(self) -> None:
        self.downloads += 1
        if self.downloads != 2:
            await super().download()


@fault("asks-again-later", violates="run.asks-once", subtle=True)
class AsksAgainLater(Robot):
    """Requests the second program again after it has run the program."""

    downloads = 0

    async def download(self) -> None:
        self.downloads += 1
        await super().download()
        if self.downloads == 2:
            await self.ask(self.post(message_names.DOWNLOAD, self.data("push")), 1)


@fault("later-registrations-without-programs", violates="run.requests-file", subtle=True)
class LaterRegistrationsWithoutPrograms(Robot):
    """Ignores download after an update and a new registration."""

    updated = False

    async def update(self) -> None:
        await super().update()
        self.updated = True

    async def download(self) -> None:
        if not self.updated:
            await super().download()


class _Asking(Robot):
    """Requests programs with a changed data object."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        return super().post(path, self.altered(data) if path == message_names.DOWNLOAD else data)

    def altered(self, data: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@fault("download-as-command", violates="run.download-push")
class DownloadAsCommand(_Asking):
    """Uses download as the command in its request for a program."""

    def altered(self, data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "cmd": "download"}


@fault("token-alone", violates="run.download-push", subtle=True)
class TokenAlone(_Asking):
    """Requests programs with only its token and command."""

    def altered(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"token": data["token"], "cmd": data["cmd"]}


@fault("register-as-command", violates="run.download-push", subtle=True)
class RegisterAsCommand(_Asking):
    """Uses register as the command in its request for a program."""

    def altered(self, data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "cmd": "register"}


@fault("programs-as-text", violates="run.stores-bytes")
class ProgramsAsText(Robot):
    """Reads programs as UTF-8 text."""

    def received(self, data: bytes) -> bytes:
        return data.decode("utf-8", "replace").encode("utf-8")


@fault("lines-end-otherwise", violates="run.stores-bytes", subtle=True)
class LinesEndOtherwise(Robot):
    """Converts line ends in programs from CR LF to LF."""

    def received(self, data: bytes) -> bytes:
        return data.replace(b"\r\n", b"\n")


@fault("long-programs-cut", violates="run.stores-bytes", subtle=True)
class LongProgramsCut(Robot):
    """Stores only the first 64 KiB of a program."""

    def received(self, data: bytes) -> bytes:
        return data[:65536]


@fault("programs-by-name", violates="run.stores-bytes", subtle=True)
class ProgramsByName(Robot):
    """Runs an older program of the same name instead of the new one."""

    async def run(self, name: str, data: bytes) -> None:
        self.kept: dict[str, bytes] = getattr(self, "kept", {})
        await super().run(name, self.kept.setdefault(name, data))


@fault("runs-errors", violates="robustness.no-program")
class RunsErrors(Robot):
    """Runs the body of an error instead of a program."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if (
            value["path"] == message_names.DOWNLOAD
            and answer is not None
            and answer.name == "Refusal"
        ):
            await self.run("error", b"")
        return answer


@fault("lost-upon-errors", violates="robustness.no-program", subtle=True)
class LostUponErrors(Robot):
    """Stops if a program arrives incompletely."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        broken = answer is None or answer.name is None
        if value["path"] == message_names.DOWNLOAD and broken:
            await asyncio.sleep(3600)
        return answer


@fault("content-disposition", violates="run.stores-name")
class ContentDisposition(Robot):
    """Reads a program's name only from Content-Disposition."""

    def name_of(self, headers: Mapping[str, str]) -> str:
        return headers.get("content-disposition", "=unknown").partition("=")[2]


@fault("names-in-lower-case", violates="run.stores-name", subtle=True)
class NamesInLowerCase(Robot):
    """Stores programs with their names in lower case."""

    def name_of(self, headers: Mapping[str, str]) -> str:
        return super().name_of(headers).lower()


@fault("short-names", violates="run.stores-name", subtle=True)
class ShortNames(Robot):
    """Stores programs with the first twelve characters of their names."""

    def name_of(self, headers: Mapping[str, str]) -> str:
        return super().name_of(headers)[:12]


@fault("kept-only", violates="run.executes")
class KeptOnly(Robot):
    """Stores programs, and runs none."""

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
    """Runs the file of a program before its bytes are written."""

    async def run(self, name: str, data: bytes) -> None:
        await super().run(name, b"")


@fault("run-later", violates="run.executes", subtle=True)
class RunLater(Robot):
    """Runs a program only when the next program arrives."""

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
        """Send the next push now, on another connection."""
        push = self.post(message_names.PUSHCMD, self.data("push"))
        asked = self.make_caller().ask(push, self.settings.push_patience)
        self.early = asyncio.create_task(asked)

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if self.early and value["path"] == message_names.PUSHCMD:
            early, self.early = self.early, None
            return await early
        return await super().ask(value, patience)


@fault("pushes-while-it-fetches", violates="run.silent-while-fetching")
class PushesWhileItFetches(_Chatty):
    """Pushes while its program is being sent."""

    async def download(self) -> None:
        self.push_early()
        await asyncio.sleep(0.05)
        await super().download()


@fault("pushes-while-it-runs", violates="run.silent", subtle=True)
class PushesWhileItRuns(_Chatty):
    """Pushes 0.15 s after the start of a program."""

    async def run(self, name: str, data: bytes) -> None:
        later = asyncio.get_running_loop().call_later(0.15, self.push_early)
        await super().run(name, data)
        later.cancel()


@fault("pushes-late-while-it-runs", violates="run.silent", subtle=True)
class PushesLateWhileItRuns(_Chatty):
    """Pushes again if a program runs for more than half a second."""

    async def run(self, name: str, data: bytes) -> None:
        later = asyncio.get_running_loop().call_later(0.5, self.push_early)
        await super().run(name, data)
        later.cancel()
        self.unheeded, self.early = self.early, None


@fault("pushes-on-while-it-runs", violates="run.silent", subtle=True)
class PushesOnWhileItRuns(_Chatty):
    """Pushes every 0.15 s while a program runs, and ignores the answers."""

    async def run(self, name: str, data: bytes) -> None:
        beating = asyncio.create_task(self.beat())
        await super().run(name, data)
        beating.cancel()

    async def beat(self) -> None:
        beats = []
        while True:
            await asyncio.sleep(0.15)
            self.push_early()
            # The push after the program is a separate request.
            beats.append(self.early)
            self.early = None


@fault("pushes-as-it-begins", violates="run.silent")
class PushesAsItBegins(_Chatty):
    """Pushes at the start of each program, on another connection, and ignores the answer."""

    async def run(self, name: str, data: bytes) -> None:
        self.push_early()
        # The push after the program follows while this push is unanswered, or after its answer.
        self.unheeded, self.early = self.early, None
        await super().run(name, data)


@fault("silent-for-good", violates="run.pushes-after")
class SilentForGood(Robot):
    """Never pushes again after a program."""

    async def run(self, name: str, data: bytes) -> None:
        await asyncio.sleep(3600)


@fault("no-way-back-from-nothing", violates="run.pushes-after", subtle=True)
class NoWayBackFromNothing(Robot):
    """Never pushes again after a program of 0 bytes."""

    async def run(self, name: str, data: bytes) -> None:
        if not data:
            await asyncio.sleep(3600)
        await super().run(name, data)


@fault("registers-after-programs", violates="run.pushes-after", subtle=True)
class RegistersAfterPrograms(Robot):
    """Registers again after its third program."""

    async def run(self, name: str, data: bytes) -> None:
        await super().run(name, data)
        if len(self.executed) == 3:
            await self.register()


@fault("follows-paths", violates="robustness.file-paths")
class FollowsPaths(Robot):
    """Joins a program's name to its folder without a check."""

    def safe(self, name: str) -> str:
        return name

    def keep(self, name: str, data: bytes) -> None:
        try:
            super().keep(name, data)
        except OSError:
            super().keep("program", data)


@fault("follows-backwards", violates="robustness.file-paths", subtle=True)
class FollowsBackwards(FollowsPaths):
    """Removes ../ at the start of a name, but not inside it."""

    def safe(self, name: str) -> str:
        if self.settings.folder:
            (self.settings.folder / "sub").mkdir(exist_ok=True)
        return name.removeprefix("../").removeprefix("../").lstrip("/")
