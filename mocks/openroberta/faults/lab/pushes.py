"""Faults of the lab in pushes, and in the offline state of robots."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mocks.deviations import fault
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Step
from mocks.openroberta.lab import Lab


class _Counting(Lab):
    """Counts the pushes of a lab; `held` returns the hold time of each."""

    count = 0

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        self.count += 1
        return await super().push(data, served)

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        if seconds == self.settings.push_hold:
            seconds = self.held(self.count, seconds)
        return await super().hold(held, seconds, served)

    def held(self, count: int, seconds: float) -> float:
        return seconds


@fault("pushes-unanswered", violates="push.answered")
class PushesUnanswered(_Counting):
    """Never answers a push if there is nothing to do."""

    def held(self, count: int, seconds: float) -> float:
        return 3600.0


@fault("third-push-unanswered", violates="push.answered", subtle=True)
class ThirdPushUnanswered(_Counting):
    """Never answers the third push."""

    def held(self, count: int, seconds: float) -> float:
        return 3600.0 if count == 3 else seconds


@fault("pushes-just-closed", violates="push.answered", subtle=True)
class PushesJustClosed(Lab):
    """Closes the connection at the end of push_hold."""

    def pushed(self, robot: KnownRobot, command: str) -> Any:
        return None if command == "repeat" else super().pushed(robot, command)


@fault("behind-an-impatient-proxy", violates="push.answered")
class BehindAnImpatientProxy(Lab):
    """Answers with 504 at the end of push_hold, as a proxy does that waits no longer."""

    def pushed(self, robot: KnownRobot, command: str) -> Any:
        return self.refusal(504) if command == "repeat" else super().pushed(robot, command)


@fault("busy-polling", violates="push.held")
class BusyPolling(_Counting):
    """Answers each push immediately."""

    def held(self, count: int, seconds: float) -> float:
        return 0.0


@fault("third-push-at-once", violates="push.held", subtle=True)
class ThirdPushAtOnce(_Counting):
    """Answers the third push immediately."""

    def held(self, count: int, seconds: float) -> float:
        return 0.0 if count == 3 else seconds


@fault("at-once-after-programs", violates="push.held", subtle=True)
class AtOnceAfterPrograms(Lab):
    """Answers pushes immediately after a program."""

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        ran = any(robot.pushes is held and robot.program for robot in self.robots.values())
        return await super().hold(held, 0.0 if ran else seconds, served)


@fault("download-once-more", violates="push.held", subtle=True)
class DownloadOnceMore(Lab):
    """Answers the first push after a program with another download."""

    once = True

    def pushed(self, robot: KnownRobot, command: str) -> Any:
        if command == "download":
            robot.wanted = "download" if self.once else ""
            self.once = not self.once
        return super().pushed(robot, command)


@fault("one-clock", violates="push.held", subtle=True)
class OneClock(Lab):
    """Answers all pushes at the end of the first push's hold."""

    due = 0.0

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        if seconds == self.settings.push_hold:
            now = asyncio.get_running_loop().time()
            if self.due <= now:
                self.due = now + seconds
            seconds = self.due - now
        return await super().hold(held, seconds, served)


@fault("clock-of-before", violates="push.held", subtle=True)
class ClockOfBefore(Lab):
    """Holds a push only for the rest of the previous push's time."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.ends: dict[int, float] = {}

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        now = asyncio.get_running_loop().time()
        left = self.ends.get(id(held), 0.0) - now
        self.ends[id(held)] = now + seconds
        return await super().hold(held, left if left > 0 else seconds, served)


@fault("stop-program", violates="commands.lab")
class StopProgram(Lab):
    """Answers with stopprogram at the end of push_hold."""

    def pushed(self, robot: KnownRobot, command: str) -> Any:
        return super().pushed(robot, "stopprogram" if command == "repeat" else command)


@fault("commands-in-capitals", violates="commands.lab", subtle=True)
class CommandsInCapitals(Lab):
    """Writes the command download with a capital letter."""

    def command(self, word: str) -> Any:
        return super().command("Download" if word == "download" else word)


@fault("lost-is-gone", violates="offline.no-disconnect")
class LostIsGone(Lab):
    """Disconnects a robot whose connection was lost during a push."""

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        answer = await super().push(data, served)
        if answer is None:
            self.robots.pop(str(data["token"]), None)
        return answer


@fault("second-loss-is-gone", violates="offline.no-disconnect", subtle=True)
class SecondLossIsGone(LostIsGone):
    """Disconnects a robot after its second lost connection."""

    losses = 0

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        answer = await Lab.push(self, data, served)
        self.losses += answer is None
        if answer is None and self.losses > 1:
            self.robots.pop(str(data["token"]), None)
        return answer


@fault("tells-the-lost", violates="robustness.repeated-push", subtle=True)
class TellsTheLost(Lab):
    """Does not notice a lost connection, and announces a program only there."""

    lost: dict[str, bool]

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        answer = await super().push(data, served)
        if answer is None:
            self.lost = {**getattr(self, "lost", {}), str(data["token"]): True}
        return answer

    def want(self, robot: KnownRobot, command: str) -> None:
        if not getattr(self, "lost", {}).get(robot.token):
            super().want(robot, command)


@fault("run-between-pushes-lost", violates="robustness.run-between-pushes", subtle=True)
class RunBetweenPushesLost(Lab):
    """Announces a program only in answer to an unanswered push, otherwise never."""

    def want(self, robot: KnownRobot, command: str) -> None:
        if command != "download" or any(not push.done() for push in robot.pushes):
            super().want(robot, command)


@fault("never-offline", violates="offline.noticed")
class NeverOffline(Lab):
    """Shows a robot as waiting after it has disconnected."""

    def state_of(self, robot: KnownRobot) -> str:
        state = super().state_of(robot)
        return "waiting" if state == "offline" else state


@fault("offline-together", violates="offline.noticed", subtle=True)
class OfflineTogether(Lab):
    """Shows no robot as offline while another robot pushes."""

    def state_of(self, robot: KnownRobot) -> str:
        state = super().state_of(robot)
        others = [other for other in self.robots.values() if other is not robot]
        busy = any(super(OfflineTogether, self).state_of(other) == "waiting" for other in others)
        return "waiting" if state == "offline" and busy else state


@fault("offline-between", violates="offline.not-early")
class OfflineBetween(Lab):
    """Shows a robot as offline between two pushes."""

    def state_of(self, robot: KnownRobot) -> str:
        if robot.step is Step.LINKED and not robot.pushes:
            return "offline"
        return super().state_of(robot)


@fault("offline-soon", violates="offline.not-early", subtle=True)
class OfflineSoon(Lab):
    """Shows a robot as offline after an eighth of the offline time."""

    def state_of(self, robot: KnownRobot) -> str:
        silent = asyncio.get_running_loop().time() - robot.seen
        if robot.step is Step.LINKED and not robot.pushes and silent > self.settings.offline / 8:
            return "offline"
        return super().state_of(robot)


@fault("offline-while-held", violates="offline.not-early", subtle=True)
class OfflineWhileHeld(Lab):
    """Shows a robot as offline during a long push: it counts from the last answer."""

    def state_of(self, robot: KnownRobot) -> str:
        silent = asyncio.get_running_loop().time() - robot.seen
        if robot.step is Step.LINKED and silent > self.settings.push_hold / 2:
            return "offline"
        return super().state_of(robot)


@fault("back-without-programs", violates="offline.returns", subtle=True)
class BackWithoutPrograms(Lab):
    """Shows a returned robot as waiting, but announces no programs to it."""

    returned: set[str]

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robots.get(str(data["token"]))
        if robot and self.state_of(robot) == "offline":
            self.returned = {*getattr(self, "returned", ()), robot.token}
        return await super().push(data, served)

    def want(self, robot: KnownRobot, command: str) -> None:
        if robot.token not in getattr(self, "returned", ()):
            super().want(robot, command)


@fault("two-pushes-repeat", violates="robustness.repeated-push")
class TwoPushesRepeat(Lab):
    """Answers both of two pushes with repeat, and announces no program."""

    def want(self, robot: KnownRobot, command: str) -> None:
        several = sum(not push.done() for push in robot.pushes) > 1
        super().want(robot, "repeat" if several else command)


@fault("older-push-hangs", violates="robustness.repeated-push", subtle=True)
class OlderPushHangs(Lab):
    """Never answers a push after the same robot has sent another."""

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robots.get(str(data["token"]))
        if robot:
            robot.pushes.clear()
        return await super().push(data, served)

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        if seconds != self.settings.push_hold:
            return await super().hold(held, seconds, served)
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        held.append(waiting)
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
        if waiting not in held:
            await served.gone.wait()
            return None
        held.remove(waiting)
        return waiting.result() if done else ""
