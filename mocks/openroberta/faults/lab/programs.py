"""Faults of the lab in programs."""

import asyncio
from typing import Any

from mocks.deviations import fault
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Program, Step
from mocks.openroberta.lab import Lab


@fault("run-unheard", violates="run.command")
class RunUnheard(Lab):
    """Never announces a program."""

    def want(self, robot: KnownRobot, command: str) -> None:
        if command != "download":
            super().want(robot, command)


@fault("third-run-unheard", violates="run.command", subtle=True)
class ThirdRunUnheard(Lab):
    """Announces only two programs."""

    runs = 0

    def want(self, robot: KnownRobot, command: str) -> None:
        self.runs += command == "download"
        if self.runs < 3:
            super().want(robot, command)


@fault("run-with-the-period", violates="run.immediately")
class RunWithThePeriod(Lab):
    """Announces a program only at the end of push_hold."""

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        outcome = await super().hold(held, seconds, served)
        wanted = next((r for r in self.robots.values() if r.pushes is held and r.wanted), None)
        if outcome == "" and wanted:
            outcome, wanted.wanted = wanted.wanted, ""
        return outcome

    def want(self, robot: KnownRobot, command: str) -> None:
        robot.wanted = command


@fault("later-runs-with-the-period", violates="run.immediately", subtle=True)
class LaterRunsWithThePeriod(RunWithThePeriod):
    """Announces the first program immediately, later ones at the end of push_hold."""

    runs = 0

    def want(self, robot: KnownRobot, command: str) -> None:
        self.runs += 1
        (Lab.want if self.runs == 1 else RunWithThePeriod.want)(self, robot, command)


@fault("run-with-the-next-push", violates="run.immediately", subtle=True)
class RunWithTheNextPush(Lab):
    """Announces a program in answer to the next push instead of the current one."""

    def want(self, robot: KnownRobot, command: str) -> None:
        robot.wanted = command


class _Numbering(Lab):
    """Has a new program with a new name for each run."""

    count = 0

    def run(self, token: str, name: str) -> Program:
        self.count += 1
        program = super().run(token, name)
        numbered = Program(f"{self.count}-{program.name}", bytes([self.count]) + program.data)
        self.robots[token].program = numbered
        return numbered


@fault("first-filename", violates="run.filename", subtle=True)
class FirstFilename(_Numbering):
    """Sends the name of the first program with all programs."""

    first = ""

    def file(self, program: Program) -> Any:
        if program in self.settings.updates.values():
            return super().file(program)
        self.first = self.first or program.name
        return super().file(Program(self.first, program.data))


@fault("latest-program", violates="token.links", subtle=True)
class LatestProgram(_Numbering):
    """Sends the program that was run last, even if it is for another robot."""

    latest: Program | None = None

    def run(self, token: str, name: str) -> Program:
        self.latest = super().run(token, name)
        return self.latest

    def file(self, program: Program) -> Any:
        return super().file(self.latest or program)


@fault("programs-in-a-pile", violates="token.links", subtle=True)
class ProgramsInAPile(_Numbering):
    """Sends the program that was run last and not fetched yet, for any robot."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.pile: list[Program] = []

    def run(self, token: str, name: str) -> Program:
        program = super().run(token, name)
        self.pile.append(program)
        return program

    def file(self, program: Program) -> Any:
        return super().file(self.pile.pop() if self.pile else program)


@fault("strangers-get-programs", violates="token.links", subtle=True)
class StrangersGetPrograms(Lab):
    """Sends a program to a robot with an unknown token."""

    def download(self, value: Any) -> Any:
        program = next((r.program for r in self.robots.values() if r.program), None)
        known = str((value.get("json") or {}).get("token")) in self.robots
        return super().download(value) if known or not program else self.file(program)


@fault("programs-for-download-only", violates="run.bytes")
class ProgramsForDownloadOnly(Lab):
    """Refuses requests for a program with the command push."""

    def download(self, value: Any) -> Any:
        wanted = (value.get("json") or {}).get("cmd") == "download"
        return super().download(value) if wanted else self.refusal(400)


class _Altering(Lab):
    """Changes the bytes of programs; `count` is the number of the program."""

    count = 0

    def file(self, program: Program) -> Any:
        if program in self.settings.updates.values():
            return super().file(program)
        self.count += 1
        return super().file(Program(program.name, self.altered(program.data, self.count)))

    def altered(self, data: bytes, count: int) -> bytes:
        raise NotImplementedError


@fault("programs-as-text", violates="run.bytes")
class ProgramsAsText(_Altering):
    """Converts programs to UTF-8 text."""

    def altered(self, data: bytes, count: int) -> bytes:
        return data.decode("latin-1").encode("utf-8")


@fault("lines-end-otherwise", violates="run.bytes", subtle=True)
class LinesEndOtherwise(_Altering):
    """Converts carriage returns to line feeds."""

    def altered(self, data: bytes, count: int) -> bytes:
        return data.replace(b"\r", b"\n")


@fault("second-program-cut", violates="run.bytes", subtle=True)
class SecondProgramCut(_Altering):
    """Omits the last byte of the second program."""

    def altered(self, data: bytes, count: int) -> bytes:
        return data[:-1] if count == 2 else data


@fault("no-filename", violates="run.filename")
class NoFilename(Lab):
    """Sends the name of a program only in Content-Disposition."""

    def download(self, value: Any) -> Any:
        return self.renamed(super().download(value))

    def renamed(self, answer: Any) -> Any:
        return {
            **answer,
            "headers": {k: v for k, v in answer["headers"].items() if k != "Filename"},
        }


@fault("other-filename", violates="run.filename", subtle=True)
class OtherFilename(NoFilename):
    """Sends the name of a program without its suffix."""

    def renamed(self, answer: Any) -> Any:
        headers = dict(answer["headers"])
        if "Filename" in headers:
            headers["Filename"] = headers["Filename"].rpartition(".")[0]
        return {**answer, "headers": headers}


@fault("running-goes-offline", violates="running.patient")
class RunningGoesOffline(Lab):
    """Shows a robot as offline while it runs a program."""

    def state_of(self, robot: KnownRobot) -> str:
        silent = asyncio.get_running_loop().time() - robot.seen
        return "offline" if silent > self.settings.offline else super().state_of(robot)


@fault("running-ends-soon", violates="running.patient", subtle=True)
class RunningEndsSoon(Lab):
    """Shows a robot as waiting immediately after its download."""

    def download(self, value: Any) -> Any:
        answer = super().download(value)
        robot = self.robots.get(str((value.get("json") or {}).get("token")))
        if robot and robot.step is Step.RUNNING:
            robot.step = Step.LINKED
            self.touch(robot)
        return answer


@fault("running-for-ever", violates="running.until-push")
class RunningForEver(Lab):
    """Shows a robot as running for ever."""

    def back(self, robot: KnownRobot) -> None:
        pass


@fault("running-until-exit-value", violates="running.until-push", subtle=True)
class RunningUntilExitValue(Lab):
    """Shows a robot as running until a push has an exit value."""

    def back(self, robot: KnownRobot) -> None:
        if robot.step is not Step.RUNNING or robot.data.get("nepoexitvalue") is not None:
            super().back(robot)
