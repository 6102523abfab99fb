"""Faults of the robot in registrations and pushes: their order and their timeouts."""

import asyncio
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from mocks.deviations import fault
from mocks.openroberta.robot import Robot


@fault("pushes-first", violates="register.first")
class PushesFirst(Robot):
    """Pushes once before it registers."""

    async def play(self) -> None:
        await self.ask(self.post(message_names.PUSHCMD, self.data("push")), 1)
        await super().play()


@fault("pushes-while-it-registers", violates="register.first", subtle=True)
class PushesWhileItRegisters(Robot):
    """Pushes on another connection while its registration is unanswered."""

    async def register(self) -> str:
        async def push() -> None:
            await asyncio.sleep(0.05)
            await self.make_caller().ask(self.post(message_names.PUSHCMD, self.data("push")), 1)

        early = asyncio.create_task(push())
        try:
            return await super().register()
        finally:
            early.cancel()


@fault("almost-patient-registration", violates="register.patient", subtle=True)
class AlmostPatientRegistration(Robot):
    """Gives up a registration shortly before the end of register_hold."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        registers = value.get("json", {}).get("cmd") == "register"
        return await super().ask(value, 0.5 if registers else patience)


@fault("impatient-when-aborted", violates="register.patient", subtle=True)
class ImpatientWhenAborted(Robot):
    """Gives up its second registration shortly before the end of register_hold."""

    registrations = 0

    async def register(self) -> str:
        self.registrations += 1
        return await super().register()

    async def ask(self, value: Any, patience: float) -> Frame | None:
        second = self.registrations == 2 and value.get("json", {}).get("cmd") == "register"
        return await super().ask(value, 0.5 if second else patience)


@fault("abort-is-fine", violates="register.after-abort")
class AbortIsFine(Robot):
    """Reads abort as repeat."""

    async def register(self) -> str:
        command = await super().register()
        return "repeat" if command == "abort" else command


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


@fault("stops-after-registration", violates="register.then-push", subtle=True)
class StopsAfterRegistration(Robot):
    """Sends nothing after its registration."""

    async def poll(self) -> None:
        await asyncio.sleep(3600)


class _Counting(Robot):
    """Counts its pushes."""

    pushes = 0

    def data(self, cmd: str) -> dict[str, Any]:
        self.pushes += cmd == "push"
        return super().data(cmd)


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


@fault("pushes-once", violates="push.again")
class PushesOnce(Robot):
    """Pushes once, and stops after repeat."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if value.get("json", {}).get("cmd") == "push" and self.command(answer) == "repeat":
            await asyncio.sleep(3600)
        return answer


@fault("eighth-push-registers", violates="push.again", subtle=True)
class EighthPushRegisters(_Counting):
    """Registers instead of its eighth push."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if self.pushes == 8:
            value = self.post(message_names.PUSHCMD, self.data("register"))
        return await super().ask(value, patience)


@fault("later-registrations-without-name", violates="data.brickname", subtle=True)
class LaterRegistrationsWithoutName(Robot):
    """Omits its name from the second registration on."""

    registrations = 0

    def data(self, cmd: str) -> dict[str, Any]:
        told = super().data(cmd)
        self.registrations += cmd == "register"
        if self.registrations > 1:
            del told["brickname"]
        return told


@fault("tires", violates="push.at-once", subtle=True)
class Tires(_Counting):
    """Waits 1.3 s before each push from the sixth push on."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if self.pushes > 5:
            await asyncio.sleep(1.3)
        return await super().ask(value, patience)


@fault("takes-its-time", violates="push.at-once")
class TakesItsTime(_Counting):
    """Waits 1.3 s before each push from the second push on."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        if self.pushes > 1:
            await asyncio.sleep(1.3)
        return await super().ask(value, patience)


@fault("impatient-second-push", violates="push.patient", subtle=True)
class ImpatientSecondPush(_Counting):
    """Gives up its second push shortly before the end of push_hold."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        return await super().ask(value, 0.33 if self.pushes == 2 else patience)


@fault("impatient-in-the-end", violates="push.patient", subtle=True)
class ImpatientInTheEnd(_Counting):
    """Gives up its sixth and later pushes shortly before the end of push_hold."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        return await super().ask(value, 0.33 if self.pushes >= 6 else patience)


@fault("impatient-after-a-program", violates="push.patient", subtle=True)
class ImpatientAfterAProgram(Robot):
    """Gives up pushes shortly before the end of push_hold after it has run a program."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        return await super().ask(value, 0.33 if self.executed else patience)
