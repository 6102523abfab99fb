"""Faults of the lab in pushes, and in the offline state of robots."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.openroberta.faults.lab.bases import (
    BETWEEN_PUSHES,
    LINKED,
    Marks,
    commands,
    is_offline,
    silence,
)
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Program, give
from mocks.openroberta.lab import Lab
from mocks.steps import (
    Change,
    Function,
    When,
    after,
    alter,
    always,
    before,
    call,
    every,
    instead,
    note,
    noted,
    nth,
    returning,
    skip,
)

LOST, RETURNED = Marks(), Marks()
REPEAT = commands("repeat")
DOWNLOAD = commands("download")


def held(seconds: float, when: Function = always) -> tuple[Change, Change]:
    """Hold pushes for another time; the condition is about the push."""
    return (
        before("push", note("otherwise", when)),
        instead("push_time", lambda *_: seconds, noted("otherwise")),
    )


def offline(when: Function) -> Change:
    """Show a robot as offline."""
    return instead("state_of", lambda *_: "offline", when)


def _want_download(_: Lab, robot: KnownRobot, command: str) -> None:
    robot.wanted = "download"


def _time_of_one_clock(lab: Lab, robot: KnownRobot) -> float:
    now = asyncio.get_running_loop().time()
    if vars(lab).get("due", 0.0) <= now:
        vars(lab)["due"] = now + lab.settings.push_hold
    due: float = vars(lab)["due"]
    return due - now


def _time_of_the_push_before(lab: Lab, robot: KnownRobot) -> float:
    now = asyncio.get_running_loop().time()
    left: float = vars(robot).get("end", 0.0) - now
    vars(robot)["end"] = now + lab.settings.push_hold
    return left if left > 0 else lab.settings.push_hold


def _is_held(_: Lab, robot: KnownRobot, *rest: Any) -> bool:
    return any(not push.done() for push in robot.pushes)


def _is_held_twice(_: Lab, robot: KnownRobot, command: str) -> bool:
    return sum(not push.done() for push in robot.pushes) > 1


def _wake_others(lab: Lab, data: Mapping[str, Any], served: Served) -> None:
    for robot in lab.robots.values():
        if robot is not lab.robot(data):
            give(robot.pushes, "repeat", "repeat")


def _state_while_others_push(usual: Function, lab: Lab, robot: KnownRobot) -> str:
    state: str = usual(lab, robot)
    others = [other for other in lab.robots.values() if other is not robot]
    busy = any(usual(lab, other) == "waiting" for other in others)
    return "waiting" if state == "offline" and busy else state


FAULTS = Table(Lab)

FAULTS["push.answered"] = {
    "pushes-unanswered": Fault("Never answers a push if there is nothing to do.", *held(3600.0)),
    "third-push-unanswered": Subtle("Never answers the third push.", *held(3600.0, nth(3))),
    "pushes-just-closed": Subtle(
        "Closes the connection at the end of push_hold.", skip("pushed", REPEAT)
    ),
    "download-once-more": Subtle(
        "Answers the first push after a program with another download.",
        before("pushed", _want_download, DOWNLOAD & ~every(2)),
    ),
    "behind-an-impatient-proxy": Fault(
        "Answers with 504 at the end of push_hold, as a proxy does that waits no longer.",
        instead("pushed", call("refusal", 504), REPEAT),
    ),
}

FAULTS["push.held"] = {
    "busy-polling": Fault("Answers each push immediately.", *held(0.0)),
    "third-push-at-once": Subtle("Answers the third push immediately.", *held(0.0, nth(3))),
    "at-once-after-programs": Subtle(
        "Answers pushes immediately after a program.",
        instead("push_time", lambda *_: 0.0, lambda _, robot: robot.program),
    ),
    "pushes-wake-others": Subtle(
        "Answers the held pushes of all robots when a robot pushes.",
        before("push", _wake_others),
    ),
}

FAULTS["push.own-time"] = {
    "first-push-at-once": Fault("Answers the first push immediately.", *held(0.0, nth(1))),
    "one-clock": Subtle(
        "Answers all pushes at the end of the first push's hold.",
        instead("push_time", _time_of_one_clock),
    ),
    "clock-of-before": Subtle(
        "Holds a push only for the rest of the previous push's time.",
        instead("push_time", _time_of_the_push_before),
    ),
}

FAULTS["commands.lab"] = {
    "stop-program": Fault(
        "Answers with stopprogram at the end of push_hold.",
        alter("pushed", lambda _, robot, command: (robot, "stopprogram"), REPEAT),
    ),
    "commands-in-capitals": Subtle(
        "Writes the command download with a capital letter.",
        alter("command", lambda *_: "Download", lambda _, word: word == "download"),
    ),
}

FAULTS["offline.no-disconnect"] = {
    "lost-is-gone": Fault(
        "Disconnects a robot whose connection was lost during a push.",
        before("lost", lambda lab, robot: lab.disconnect(robot), LINKED),
    ),
    "second-loss-is-gone": Subtle(
        "Disconnects a robot after its second lost connection.",
        before("lost", lambda lab, robot: lab.disconnect(robot), LINKED & after(1)),
    ),
}

FAULTS["robustness.repeated-push"] = {
    "tells-the-lost": Subtle(
        "Does not notice a lost connection, and announces a program only there.",
        before("lost", LOST.add, LINKED),
        skip("want", LOST.has),
    ),
    "tells-the-lost-until-the-next-push": Subtle(
        "Announces a program only at a lost connection if the robot has not pushed again.",
        before("lost", LOST.add, LINKED),
        skip("want", When(LOST.has) & ~When(_is_held)),
    ),
    "two-pushes-repeat": Fault(
        "Answers both of two pushes with repeat, and announces no program.",
        alter("want", lambda _, robot, command: (robot, "repeat"), _is_held_twice),
    ),
}

FAULTS["robustness.run-between-pushes"] = {
    "run-between-pushes-lost": Subtle(
        "Announces a program only in answer to an unanswered push, otherwise never.",
        skip("want", DOWNLOAD & ~When(_is_held)),
    ),
}

FAULTS["offline.noticed"] = {
    "never-offline": Fault(
        "Shows a robot as waiting after it has disconnected.",
        returning("state_of", lambda state: "waiting" if state == "offline" else state),
    ),
    "offline-together": Subtle(
        "Shows no robot as offline while another robot pushes.",
        Change("state_of", _state_while_others_push),
    ),
}

FAULTS["offline.not-early"] = {
    "offline-between": Fault(
        "Shows a robot as offline between two pushes.", offline(BETWEEN_PUSHES)
    ),
    "offline-soon": Subtle(
        "Shows a robot as offline after an eighth of the offline time.",
        offline(
            BETWEEN_PUSHES & (lambda lab, robot: silence(robot) > lab.settings.offline / 8),
        ),
    ),
    "offline-while-held": Subtle(
        "Shows a robot as offline during a long push: it counts from the last answer.",
        offline(LINKED & (lambda lab, robot: silence(robot) > lab.settings.push_hold / 2)),
    ),
}

FAULTS["offline.returns"] = {
    "back-without-programs": Subtle(
        "Shows a returned robot as waiting, but announces no programs to it.",
        before("push", RETURNED.add, is_offline),
        skip("want", RETURNED.has),
    ),
}


@fault("first-push-aborted", violates="push.answered", subtle=True)
class FirstPushAborted(Lab):
    """Ends the hold of a robot's first push with abort; the user runs nothing before."""

    aborted: frozenset[str] = frozenset()

    def pushed(self, robot: KnownRobot, command: str) -> Any:
        if robot.token in self.aborted:
            return super().pushed(robot, command)
        self.aborted |= {robot.token}
        return self.command("abort")

    def run(self, token: str, name: str) -> Program:
        if token not in self.aborted:
            raise ValueError(f"robot {token} is busy")
        return super().run(token, name)


@fault("older-push-hangs", violates="robustness.repeated-push", subtle=True)
class OlderPushHangs(Lab):
    """Never answers a push after the same robot has sent another."""

    async def push(self, data: Mapping[str, Any], served: Served) -> Any:
        if robot := self.robot(data):
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
