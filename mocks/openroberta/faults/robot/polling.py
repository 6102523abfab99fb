"""Faults of the robot in registrations and pushes: their order and their timeouts."""

import asyncio
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.openroberta.faults.robot.bases import (
    DATA_OF_REGISTRATION,
    PUSHES,
    REGISTERS,
    gives_up,
    omits,
    push,
)
from mocks.openroberta.robot import Robot
from mocks.steps import (
    after,
    alter,
    before,
    having,
    instead,
    note,
    noted,
    nth,
    returning,
    since,
    wait,
    wait_for_ever,
)

SHORTLY_BEFORE_REGISTER_HOLD, SHORTLY_BEFORE_PUSH_HOLD = 0.5, 0.33  # seconds


def _register(robot: Robot, value: Any, patience: float) -> Any:
    return robot.post(message_names.PUSHCMD, robot.data("register")), patience


FAULTS = Table(Robot)

FAULTS["register.first"] = {
    "pushes-first": Fault(
        "Pushes once before it registers.",
        before("play", lambda robot: robot.ask(push(robot), 1)),
    ),
}

FAULTS["register.patient"] = {
    "almost-patient-registration": Subtle(
        "Gives up a registration shortly before the end of register_hold.",
        gives_up(SHORTLY_BEFORE_REGISTER_HOLD, REGISTERS),
    ),
    "impatient-when-aborted": Subtle(
        "Gives up its second registration shortly before the end of register_hold.",
        gives_up(SHORTLY_BEFORE_REGISTER_HOLD, REGISTERS & nth(2)),
    ),
}

FAULTS["register.after-abort"] = {
    "abort-is-fine": Fault(
        "Reads abort as repeat.",
        returning("register", lambda command: "repeat" if command == "abort" else command),
    ),
}

FAULTS["register.then-push"] = {
    "stops-after-registration": Subtle(
        "Sends nothing after its registration.", instead("poll", wait_for_ever)
    ),
}

FAULTS["push.again"] = {
    "pushes-once": Fault(
        "Pushes once, and stops after repeat.",
        before(
            "heard",
            wait_for_ever,
            PUSHES & (lambda robot, asked, answer: robot.command(answer) == "repeat"),
        ),
    ),
    "eighth-push-registers": Subtle(
        "Registers instead of its eighth push.", alter("ask", _register, PUSHES & nth(8))
    ),
}

FAULTS["data.brickname"] = {
    "later-registrations-without-name": Subtle(
        "Omits its name from the second registration on.",
        omits("brickname", since(DATA_OF_REGISTRATION & after(1))),
    ),
}

FAULTS["push.at-once"] = {
    "tires": Subtle(
        "Waits 1.3 s before each push from the sixth push on.",
        before("ask", wait(1.3), PUSHES & after(5)),
    ),
    "tired-of-errors": Subtle(
        "Waits 1.3 s before each push after its second error.",
        before("disturbed", note("tired"), after(1)),
        before("ask", wait(1.3), PUSHES & noted("tired")),
    ),
    "takes-its-time": Fault(
        "Waits 1.3 s before each push from the second push on.",
        before("ask", wait(1.3), PUSHES & after(1)),
    ),
}

FAULTS["push.patient"] = {
    "impatient-second-push": Subtle(
        "Gives up its second push shortly before the end of push_hold.",
        gives_up(SHORTLY_BEFORE_PUSH_HOLD, PUSHES & nth(2)),
    ),
    "impatient-in-the-end": Subtle(
        "Gives up its sixth and later pushes shortly before the end of push_hold.",
        gives_up(SHORTLY_BEFORE_PUSH_HOLD, PUSHES & after(5)),
    ),
    "impatient-after-a-program": Subtle(
        "Gives up pushes shortly before the end of push_hold after it has run a program.",
        gives_up(SHORTLY_BEFORE_PUSH_HOLD, having("executed")),
    ),
}


@fault("pushes-while-it-registers", violates="register.first", subtle=True)
class PushesWhileItRegisters(Robot):
    """Pushes on another connection while its registration is unanswered."""

    async def register(self) -> str:
        async def push_early() -> None:
            await asyncio.sleep(0.05)
            await self.make_caller().ask(push(self), 1)

        early = asyncio.create_task(push_early())
        try:
            return await super().register()
        finally:
            early.cancel()


@fault("third-abort-is-fine", violates="register.after-abort", subtle=True)
class ThirdAbortIsFine(Robot):
    """Pushes after its third abort."""

    aborts = 0

    async def register(self) -> str:
        command = await super().register()
        self.aborts += command == "abort"
        return "repeat" if self.aborts == 3 else command


@fault("registers-twice", violates="register.then-push")
class RegistersTwice(Robot):
    """Registers again after repeat."""

    first = True

    async def register(self) -> str:
        command = await super().register()
        if command == "repeat" and self.first:
            self.first = False
            return await super().register()
        return command


@fault("registers-twice-briefly", violates="register.then-push", subtle=True)
class RegistersTwiceBriefly(Robot):
    """Registers again after repeat, but soon gives up and pushes."""

    async def register(self) -> str:
        command = await super().register()
        if command == "repeat":
            await self.ask(self.post(message_names.PUSHCMD, self.data("register")), 0.2)
        return command


@fault("pushes-on-a-timer", violates="push.one-at-a-time", subtle=True)
class PushesOnATimer(Robot):
    """Pushes each 0.2 s, also while its pushes are unanswered."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if value.get("json", {}).get("cmd") != "push" or value["path"] != message_names.PUSHCMD:
            return await super().ask(value, patience)
        asked = set[asyncio.Task[Frame | None]]()
        answered = set[asyncio.Task[Frame | None]]()
        while not answered:
            asked.add(asyncio.create_task(self.make_caller().ask(value, patience)))
            answered, _ = await asyncio.wait(
                asked, timeout=0.2, return_when=asyncio.FIRST_COMPLETED
            )
        return answered.pop().result()


@fault("pushes-beside", violates="push.one-at-a-time", subtle=True)
class PushesBeside(Robot):
    """Pushes on other connections too while a push is unanswered, from its second push on."""

    pushes = 0

    async def ask(self, value: Any, patience: float) -> Frame | None:
        cmd, path = value.get("json", {}).get("cmd"), value["path"]
        is_push = cmd == "push" and path == message_names.PUSHCMD
        self.pushes += is_push
        if self.pushes < 2 or not is_push:
            return await super().ask(value, patience)
        beside = asyncio.create_task(self.push_beside())
        try:
            return await super().ask(value, patience)
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)

    async def push_beside(self) -> None:
        while True:
            await asyncio.sleep(0.3)
            caller = self.make_caller()
            try:
                await caller.ask(push(self), 1)
            finally:
                await caller.close()


@fault("pushes-ahead", violates="push.one-at-a-time")
class PushesAhead(Robot):
    """Sends six pushes at the same time, from its fourth push on. Follows only one answer."""

    pushes = 0

    async def ask(self, value: Any, patience: float) -> Frame | None:
        self.pushes += value["path"] == message_names.PUSHCMD
        if self.pushes <= 4 or value["path"] != message_names.PUSHCMD:
            return await super().ask(value, patience)
        callers = [self.make_caller() for _ in range(6)]
        await asyncio.gather(*(caller.open() for caller in callers))
        asked = [asyncio.create_task(caller.ask(value, patience)) for caller in callers]
        answered, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        return next(iter(answered)).result()
