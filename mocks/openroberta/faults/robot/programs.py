"""Faults of the robot in fetching and running programs."""

import asyncio
from collections.abc import Callable
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.openroberta.faults.robot.bases import ASKS_PROGRAM, POSTS_PROGRAM, answered, push
from mocks.openroberta.robot import Robot
from mocks.steps import (
    Change,
    When,
    alter,
    before,
    instead,
    note,
    noted,
    nth,
    returning,
    skip,
    then,
    wait_for_ever,
)

RAN_THREE = When(lambda robot, *rest: len(robot.executed) == 3)


def asks_for_programs(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Change:
    """Request programs with a changed data object."""
    return alter("post", lambda _, path, data: (path, change(data)), POSTS_PROGRAM)


def _ask_again(robot: Robot) -> Any:
    return robot.ask(robot.post(message_names.DOWNLOAD, robot.data("push")), 1)


def _older_program(robot: Robot, name: str, data: bytes) -> tuple[str, bytes]:
    return name, vars(robot).setdefault("kept", {}).setdefault(name, data)


def _run_again(robot: Robot, name: str, data: bytes) -> Any:
    robot.next_exit = robot.exit_value
    return robot.run(name, data)


def _is_incomplete(_: Robot, asked: Any, answer: Frame | None) -> bool:
    return answer is None or answer.name is None


def _repeat_latest(robot: Robot, *_: Any) -> None:
    robot.executed.extend([*robot.executed][-1:])


FAULTS = Table(Robot)

FAULTS["run.requests-file"] = {
    "download-unheard": Fault("Ignores the command download, and pushes.", skip("download")),
    "download-reset": Subtle(
        "Resets its connection after download, and pushes.",
        instead("download", lambda robot: robot.caller.reset()),
    ),
    "second-download-unheard": Subtle(
        "Ignores the second download, and pushes.", skip("download", nth(2))
    ),
    "later-registrations-without-programs": Subtle(
        "Ignores download after an update and a new registration.",
        then("update", note("updated")),
        skip("download", noted("updated")),
    ),
}

FAULTS["run.asks-once"] = {
    "asks-again-later": Subtle(
        "Requests the second program again after it has run the program.",
        then("download", _ask_again, nth(2)),
    ),
}

FAULTS["run.download-push"] = {
    "download-as-command": Fault(
        "Uses download as the command in its request for a program.",
        asks_for_programs(lambda data: {**data, "cmd": "download"}),
    ),
    "token-alone": Subtle(
        "Requests programs with only its token and command.",
        asks_for_programs(lambda data: {"token": data["token"], "cmd": data["cmd"]}),
    ),
    "register-as-command": Subtle(
        "Uses register as the command in its request for a program.",
        asks_for_programs(lambda data: {**data, "cmd": "register"}),
    ),
}

FAULTS["run.stores-bytes"] = {
    "programs-as-text": Fault(
        "Reads programs as UTF-8 text.",
        returning("received", lambda data: data.decode("utf-8", "replace").encode("utf-8")),
    ),
    "lines-end-otherwise": Subtle(
        "Converts line ends in programs from CR LF to LF.",
        returning("received", lambda data: data.replace(b"\r\n", b"\n")),
    ),
    "long-programs-cut": Subtle(
        "Stores only the first 64 KiB of a program.",
        returning("received", lambda data: data[:65536]),
    ),
    "programs-by-name": Subtle(
        "Runs an older program of the same name instead of the new one.",
        alter("run", _older_program),
    ),
    "runs-what-is-not-written": Subtle(
        "Runs the file of a program before its bytes are written.",
        alter("run", lambda _, name, data: (name, b"")),
    ),
}

FAULTS["robustness.no-program"] = {
    "runs-errors": Fault(
        "Runs the body of an error instead of a program.",
        before(
            "heard",
            lambda robot, *_: robot.run("error", b""),
            ASKS_PROGRAM & answered(lambda answer: answer.name == "Refusal"),
        ),
    ),
    "runs-the-program-before": Subtle(
        "Runs its previous program again if no program arrives.",
        before(
            "heard", _repeat_latest, ASKS_PROGRAM & answered(lambda answer: answer.name != "File")
        ),
    ),
    "lost-upon-errors": Subtle(
        "Stops if a program arrives incompletely.",
        before("heard", wait_for_ever, ASKS_PROGRAM & _is_incomplete),
    ),
}

FAULTS["run.stores-name"] = {
    "content-disposition": Fault(
        "Reads a program's name only from Content-Disposition.",
        instead(
            "name_of",
            lambda _, headers: headers.get("content-disposition", "=unknown").partition("=")[2],
        ),
    ),
    "names-in-lower-case": Subtle(
        "Stores programs with their names in lower case.", returning("name_of", str.lower)
    ),
    "short-names": Subtle(
        "Stores programs with the first twelve characters of their names.",
        returning("name_of", lambda name: name[:12]),
    ),
}

FAULTS["run.executes"] = {
    "kept-only": Fault(
        "Stores programs, and runs none.", instead("run", lambda robot, *_: robot.ended(0))
    ),
    "run-again": Subtle("Runs its third program twice.", then("run", _run_again, RAN_THREE)),
    "second-not-run": Subtle("Does not run its second program.", skip("run", nth(2))),
}

FAULTS["run.pushes-after"] = {
    "silent-for-good": Fault("Never pushes again after a program.", instead("run", wait_for_ever)),
    "no-way-back-from-nothing": Subtle(
        "Never pushes again after a program of 0 bytes.",
        before("run", wait_for_ever, lambda _, name, data: not data),
    ),
    "registers-after-programs": Subtle(
        "Registers again after its third program.",
        then("run", lambda robot, *_: robot.register(), RAN_THREE),
    ),
}


@fault("run-later", violates="run.executes", subtle=True)
class RunLater(Robot):
    """Runs a program only when the next program arrives."""

    waiting: tuple[str, bytes] | None = None

    async def run(self, name: str, data: bytes) -> None:
        waiting, self.waiting = self.waiting, (name, data)
        if waiting:
            await super().run(*waiting)


class _Chatty(Robot):
    early: asyncio.Task[Frame | None] | None = None

    def push_early(self) -> None:
        """Send the next push now, on another connection."""
        asked = self.make_caller().ask(push(self), self.settings.push_patience)
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
