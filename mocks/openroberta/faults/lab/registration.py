"""Faults of the lab in registrations, and in the links between tokens and robots."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.openroberta.faults.lab.bases import (
    REGISTERING,
    Marks,
    address,
    body,
    is_linked,
    keep_latest,
    refuses,
)
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Step, give
from mocks.openroberta.lab import Lab
from mocks.steps import (
    When,
    after,
    alter,
    before,
    call,
    instead,
    note,
    noted,
    novel,
    nth,
    returning,
    skip,
    then,
)

ABORTED, BURNT, BURNT_ADDRESSES = Marks(), Marks(), Marks(address)
ENTERED, OVERTAKEN = Marks(), Marks()


def _forget_others(lab: Lab, token: str, data: Any) -> None:
    for robot in list(lab.robots.values()):
        if robot.step is Step.REGISTERING and robot.token != token:
            lab.forget(robot)


def _pair_soon(lab: Lab, token: str, data: Any) -> None:
    # after its request is held
    asyncio.get_running_loop().call_soon(lab.pair, token)


def _overtake_others(lab: Lab, token: str) -> None:
    for robot in lab.robots.values():
        if robot.step is Step.REGISTERING and robot.token != token:
            OVERTAKEN.add(lab, robot)


def _any_registering(lab: Lab, token: str) -> str:
    tokens = (each.token for each in lab.robots.values() if each.step is Step.REGISTERING)
    return next(tokens, token)


def _want_from_the_latest(lab: Lab, robot: KnownRobot, command: str) -> tuple[KnownRobot, str]:
    latest: KnownRobot = vars(lab).get("latest", robot)
    latest.program = robot.program
    return latest, command


def _disconnect_others(lab: Lab, robot: KnownRobot) -> None:
    for other in list(lab.robots.values()):
        if other is not robot and other.step is not Step.REGISTERING:
            lab.disconnect(other)


def _wake_others(lab: Lab, token: str, name: str) -> None:
    for robot in lab.robots.values():
        if robot.token != token:
            robot.program = lab.robots[token].program
            lab.want(robot, "download")


def _is_registering(lab: Lab, token: str) -> bool:
    return token in lab.robots and lab.robots[token].step is Step.REGISTERING


def _has_a_linked_address(lab: Lab, token: str) -> bool:
    own = address(lab.robots[token].data)
    linked = (each for each in lab.robots.values() if each.step is not Step.REGISTERING)
    return any(address(each.data) == own for each in linked)


def _link(lab: Lab, token: str) -> None:
    lab.robots[token].step = Step.LINKED


def _give_download(lab: Lab, token: str) -> KnownRobot:
    give(lab.robots[token].registrations, "download", "download")
    return lab.robots[token]


def _late(lab: Lab) -> dict[str, KnownRobot]:
    """Return the robots whose registration was aborted."""
    late: dict[str, KnownRobot] = vars(lab).setdefault("late", {})
    return late


def _keep_late(lab: Lab, robot: KnownRobot) -> None:
    _late(lab)[robot.token] = robot


def _is_late(lab: Lab, token: str) -> bool:
    return token in _late(lab)


def _find_late(lab: Lab, token: str) -> None:
    lab.robots[token] = _late(lab).pop(token)


def _link_late(lab: Lab, token: str) -> None:
    _find_late(lab, token)
    _link(lab, token)


def _is_running(lab: Lab, data: Any, served: Served) -> bool:
    robot = lab.robot(data)
    return robot is not None and robot.step is Step.RUNNING


def _pushes_unlinked(lab: Lab, data: Any, served: Served) -> bool:
    robot = lab.robot(data)
    return robot is not None and robot.step is Step.REGISTERING


FAULTS = Table(Lab)

FAULTS["register.held"] = {
    "registrations-not-held": Fault(
        "Answers each registration with an immediate abort.",
        instead("register_time", lambda *_: 0.01),
    ),
    "registrations-half-held": Subtle(
        "Aborts registrations after two thirds of their time.",
        returning("register_time", lambda seconds: seconds * 2 / 3),
    ),
    "second-registration-half-held": Subtle(
        "Aborts the second registration after half of its time.",
        returning("register_time", lambda seconds: seconds / 2, nth(2)),
    ),
    "three-wait-at-a-time": Subtle(
        "Aborts all registrations after the third in half of their time.",
        returning("register_time", lambda seconds: seconds / 2, after(3)),
    ),
}

FAULTS["register.aborted"] = {
    "endless-registrations": Fault(
        "Never aborts a registration.", instead("register_time", lambda *_: 3600.0)
    ),
    "registrations-just-closed": Subtle(
        "Closes the connection instead of answering with abort.", skip("unlinked")
    ),
    "closed-beside-a-link": Subtle(
        "Closes a registration instead of answering with abort if another robot was linked.",
        before("pair", _overtake_others),
        skip("unlinked", OVERTAKEN.has),
    ),
    "repeat-for-abort": Subtle(
        "Answers with repeat instead of abort at the end of the hold time.",
        instead("unlinked", call("command", "repeat")),
    ),
}

FAULTS["register.repeat"] = {
    "token-taken-in-silence": Fault(
        "Does not answer a registration after its token was entered.", skip("welcome")
    ),
    "download-for-repeat": Subtle(
        "Answers the registration of the second linked robot with download.",
        instead(
            "welcome", lambda _, robot: give(robot.registrations, "download", "download"), nth(2)
        ),
    ),
    "tokens-in-capitals": Subtle(
        "Writes each entered token in capital letters.",
        alter("pair", lambda _, token: token.upper()),
    ),
    "one-waits-at-a-time": Subtle(
        "Forgets a waiting registration when the next robot registers.",
        before("registered", _forget_others),
    ),
}

FAULTS["register.not-unasked"] = {
    "second-try-linked": Fault(
        "Answers the second registration of a robot with repeat, without its token.",
        instead(
            "register", call("command", "repeat"), ~novel(lambda _, data, served: data["token"])
        ),
    ),
    "linked-after-abort": Subtle(
        "Answers a registration after an abort with repeat, without its token.",
        before("unlinked", ABORTED.add),
        instead("register", call("command", "repeat"), ABORTED.has),
    ),
}

FAULTS["register.retry"] = {
    "tokens-once": Fault(
        "Refuses a token whose registration was aborted before.",
        before("unlinked", BURNT.add),
        refuses(BURNT.has),
    ),
    "robots-once": Subtle(
        "Refuses a MAC address whose registration was aborted before, with any token.",
        before("unlinked", BURNT_ADDRESSES.add),
        refuses(BURNT_ADDRESSES.has),
    ),
    "lost-tokens-burnt": Subtle(
        "Refuses a token after the robot lost its connection during the registration.",
        before("lost", BURNT.add, REGISTERING),
        refuses(BURNT.has),
    ),
    "half-patient-after-abort": Subtle(
        "Aborts registrations after half of their time if an earlier one was aborted.",
        before("unlinked", note("aborted")),
        returning("register_time", lambda seconds: seconds / 2, noted("aborted")),
    ),
}

FAULTS["token.links"] = {
    "any-token": Fault(
        "Links a waiting robot for any token that is entered.", alter("pair", _any_registering)
    ),
    "seven-letters": Subtle(
        "Compares only the first seven letters of a token.",
        alter(
            "pair",
            lambda lab, token: next((t for t in lab.robots if t[:7] == token[:7]), token),
        ),
    ),
    "last-robot": Subtle(
        "Sends every program to the robot that was linked last.",
        before("welcome", keep_latest),
        alter("want", _want_from_the_latest),
    ),
    "one-robot-at-a-time": Fault(
        "Disconnects all other robots when a token is entered.",
        before("welcome", _disconnect_others),
    ),
    "wakes-all": Subtle(
        "Sends download to all robots when a program is run for one robot.",
        then("run", _wake_others),
    ),
}


@fault("knows-any-address", violates="token.links", subtle=True)
class KnowsAnyAddress(Lab):
    """Takes a robot with the macaddr of another robot for that robot, whatever its token."""

    def registered(self, token: str, data: Mapping[str, Any]) -> KnownRobot:
        for other in list(self.robots.values()):
            if other.data.get("macaddr") == data.get("macaddr") and other.token != token:
                give(other.registrations, "abort", "abort")
                self.robots.pop(other.token)
        return super().registered(token, data)


FAULTS["token.before-programs"] = {
    "programs-for-all": Fault(
        "Answers a waiting registration with download when a program is run for its token.",
        instead("linked", _give_download, _is_registering),
    ),
    "run-links": Subtle(
        "Links a robot without its token when a program is run for it.",
        before("linked", _link, _is_registering),
    ),
    "known-address-links": Subtle(
        "Links a robot without its token if another robot with its MAC address is linked.",
        before("linked", _link, When(_is_registering) & _has_a_linked_address),
    ),
}

FAULTS["token.in-time"] = {
    "links-after-its-time": Fault(
        "Links a robot whose token is entered after the abort.",
        before("unlinked", _keep_late),
        before("pair", _find_late, _is_late),
    ),
    "links-before-its-time": Subtle(
        "Refuses the token of a robot that has not registered, but links that robot later.",
        before("pair", ENTERED.add),
        then("registered", _pair_soon, ENTERED.has),
    ),
    "runs-after-its-time": Subtle(
        "Links a robot whose registration was aborted when its user runs a program.",
        before("unlinked", _keep_late),
        before("linked", _link_late, _is_late),
    ),
}

FAULTS["robustness.unknown-token"] = {
    "serves-strangers": Fault(
        "Answers pushes of unregistered robots with repeat.",
        instead("stranger", call("command", "repeat")),
        instead("download", call("refusal", 500), lambda lab, value: not lab.robot(body(value))),
    ),
    "serves-while-registering": Subtle(
        "Answers pushes of robots whose token was not entered with repeat.",
        instead("push", call("command", "repeat"), _pushes_unlinked),
    ),
}

FAULTS["robustness.registered-again"] = {
    "linked-registers-in-vain": Fault(
        "Refuses the registration of a robot that is linked.", refuses(is_linked, 409)
    ),
    "running-registers-in-vain": Subtle(
        "Aborts the registration of a robot that runs a program.",
        instead("register", call("command", "abort"), _is_running),
    ),
}
