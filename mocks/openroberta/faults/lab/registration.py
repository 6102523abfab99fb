"""Faults of the lab in registrations, and in the links between tokens and robots."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mocks.deviations import fault
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Program, Step, give
from mocks.openroberta.lab import Lab


class _Holding(Lab):
    """Changes the hold time of registrations; `count` is the number of the registration."""

    count = 0

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        self.count += 1
        return await super().register(data, served)

    async def hold(
        self, held: list[asyncio.Future[str]], seconds: float, served: Served
    ) -> str | None:
        if seconds == self.settings.register_hold:
            seconds = self.held(self.count, seconds)
        return await super().hold(held, seconds, served)

    def held(self, count: int, seconds: float) -> float:
        raise NotImplementedError


@fault("registrations-not-held", violates="register.held")
class RegistrationsNotHeld(_Holding):
    """Answers each registration with an immediate abort."""

    def held(self, count: int, seconds: float) -> float:
        return 0.01


@fault("registrations-half-held", violates="register.held", subtle=True)
class RegistrationsHalfHeld(_Holding):
    """Aborts registrations after two thirds of their time."""

    def held(self, count: int, seconds: float) -> float:
        return seconds * 2 / 3


@fault("second-registration-half-held", violates="register.held", subtle=True)
class SecondRegistrationHalfHeld(_Holding):
    """Aborts the second registration after half of its time."""

    def held(self, count: int, seconds: float) -> float:
        return seconds / 2 if count == 2 else seconds


@fault("three-wait-at-a-time", violates="register.held", subtle=True)
class ThreeWaitAtATime(_Holding):
    """Aborts all registrations after the third in half of their time."""

    def held(self, count: int, seconds: float) -> float:
        return seconds / 2 if count > 3 else seconds


@fault("endless-registrations", violates="register.aborted")
class EndlessRegistrations(_Holding):
    """Never aborts a registration."""

    def held(self, count: int, seconds: float) -> float:
        return 3600.0


@fault("registrations-just-closed", violates="register.aborted", subtle=True)
class RegistrationsJustClosed(Lab):
    """Closes the connection instead of answering with abort."""

    def unlinked(self, robot: KnownRobot) -> Any:
        return None


@fault("repeat-for-abort", violates="register.aborted", subtle=True)
class RepeatForAbort(Lab):
    """Answers with repeat instead of abort at the end of the hold time."""

    def unlinked(self, robot: KnownRobot) -> Any:
        return self.command("repeat")


@fault("token-taken-in-silence", violates="register.repeat")
class TokenTakenInSilence(Lab):
    """Does not answer a registration after its token was entered."""

    def welcome(self, robot: KnownRobot) -> None:
        pass


@fault("download-for-repeat", violates="register.repeat", subtle=True)
class DownloadForRepeat(Lab):
    """Answers the registration of the second linked robot with download."""

    welcomed = 0

    def welcome(self, robot: KnownRobot) -> None:
        self.welcomed += 1
        word = "download" if self.welcomed == 2 else "repeat"
        give(robot.registrations, word, word)


@fault("one-waits-at-a-time", violates="register.repeat", subtle=True)
class OneWaitsAtATime(Lab):
    """Forgets a waiting registration when the next robot registers."""

    def registered(self, token: str, data: Mapping[str, Any]) -> KnownRobot:
        for robot in list(self.robots.values()):
            if robot.step is Step.REGISTERING and robot.token != token:
                self.forget(robot)
        return super().registered(token, data)


@fault("second-try-linked", violates="register.not-unasked")
class SecondTryLinked(Lab):
    """Answers the second registration of a robot with repeat, without its token."""

    tokens: set[str]

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        self.tokens = getattr(self, "tokens", set())
        if data["token"] in self.tokens:
            return self.command("repeat")
        self.tokens.add(data["token"])
        return await super().register(data, served)


@fault("linked-after-abort", violates="register.not-unasked", subtle=True)
class LinkedAfterAbort(Lab):
    """Answers a registration after an abort with repeat, without its token."""

    aborted: set[str]

    def unlinked(self, robot: KnownRobot) -> Any:
        self.aborted = {*getattr(self, "aborted", ()), robot.token}
        return super().unlinked(robot)

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        if data["token"] in getattr(self, "aborted", ()):
            return self.command("repeat")
        return await super().register(data, served)


class _Burning(Lab):
    """Refuses a registration whose `key` was refused before."""

    burnt: set[str]

    def burn(self, robot: KnownRobot) -> None:
        self.burnt = {*getattr(self, "burnt", ()), self.key(robot.data)}

    def key(self, data: Mapping[str, Any]) -> str:
        return str(data["token"])

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        if self.key(data) in getattr(self, "burnt", ()):
            return self.refusal(403)
        return await super().register(data, served)


@fault("tokens-once", violates="register.retry")
class TokensOnce(_Burning):
    """Refuses a token whose registration was aborted before."""

    def unlinked(self, robot: KnownRobot) -> Any:
        self.burn(robot)
        return super().unlinked(robot)


@fault("robots-once", violates="register.retry", subtle=True)
class RobotsOnce(TokensOnce):
    """Refuses a MAC address whose registration was aborted before, with any token."""

    def key(self, data: Mapping[str, Any]) -> str:
        return str(data["macaddr"])


@fault("lost-tokens-burnt", violates="register.retry", subtle=True)
class LostTokensBurnt(_Burning):
    """Refuses a token after the robot lost its connection during the registration."""

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        answer = await super().register(data, served)
        if answer is None:
            self.burn(KnownRobot(str(data["token"]), data))
        return answer


@fault("half-patient-after-abort", violates="register.retry", subtle=True)
class HalfPatientAfterAbort(_Holding):
    """Aborts registrations after half of their time if an earlier one was aborted."""

    aborts = 0

    def unlinked(self, robot: KnownRobot) -> Any:
        self.aborts += 1
        return super().unlinked(robot)

    def held(self, count: int, seconds: float) -> float:
        return seconds / 2 if self.aborts else seconds


@fault("any-token", violates="token.links")
class AnyToken(Lab):
    """Links a waiting robot for any token that is entered."""

    def pair(self, token: str) -> None:
        waiting = [r for r in self.robots.values() if r.step is Step.REGISTERING]
        super().pair(waiting[0].token if waiting else token)


@fault("seven-letters", violates="token.links", subtle=True)
class SevenLetters(Lab):
    """Compares only the first seven letters of a token."""

    def pair(self, token: str) -> None:
        found = [t for t in self.robots if t[:7] == token[:7]]
        super().pair(found[0] if found else token)


@fault("last-robot", violates="token.links", subtle=True)
class LastRobot(Lab):
    """Sends every program to the robot that was linked last."""

    latest: KnownRobot | None = None

    def welcome(self, robot: KnownRobot) -> None:
        self.latest = robot
        super().welcome(robot)

    def want(self, robot: KnownRobot, command: str) -> None:
        latest = self.latest or robot
        latest.program = robot.program
        super().want(latest, command)


@fault("one-robot-at-a-time", violates="token.links")
class OneRobotAtATime(Lab):
    """Disconnects all other robots when a token is entered."""

    def welcome(self, robot: KnownRobot) -> None:
        linked = (other for other in self.robots.values() if other.step is not Step.REGISTERING)
        for other in [*linked]:
            if other is not robot:
                self.disconnect(other)
        super().welcome(robot)


@fault("wakes-all", violates="token.links", subtle=True)
class WakesAll(Lab):
    """Sends download to all robots when a program is run for one robot."""

    def run(self, token: str, name: str) -> Program:
        program = super().run(token, name)
        for robot in self.robots.values():
            if robot.token != token:
                robot.program = program
                self.want(robot, "download")
        return program


@fault("programs-for-all", violates="token.before-programs")
class ProgramsForAll(Lab):
    """Answers a waiting registration with download when a program is run for its token."""

    def linked(self, token: str) -> KnownRobot:
        robot = self.robots.get(token)
        if robot and robot.step is Step.REGISTERING:
            give(robot.registrations, "download", "download")
            return robot
        return super().linked(token)


@fault("run-links", violates="token.before-programs", subtle=True)
class RunLinks(Lab):
    """Links a robot without its token when a program is run for it."""

    def linked(self, token: str) -> KnownRobot:
        robot = self.robots.get(token)
        if robot and robot.step is Step.REGISTERING:
            robot.step = Step.LINKED
        return super().linked(token)


@fault("known-address-links", violates="token.before-programs", subtle=True)
class KnownAddressLinks(Lab):
    """Links a robot without its token if another robot with its MAC address is linked."""

    def linked(self, token: str) -> KnownRobot:
        robot = self.robots.get(token)
        if robot and robot.step is Step.REGISTERING:
            linked = (one for one in self.robots.values() if one.step is not Step.REGISTERING)
            if any(one.data["macaddr"] == robot.data["macaddr"] for one in linked):
                robot.step = Step.LINKED
        return super().linked(token)


@fault("serves-strangers", violates="robustness.unknown-token")
class ServesStrangers(Lab):
    """Answers pushes of unregistered robots with repeat."""

    def stranger(self) -> Any:
        return self.command("repeat")

    def download(self, value: Any) -> Any:
        known = str((value.get("json") or {}).get("token")) in self.robots
        return super().download(value) if known else self.refusal(500)


@fault("links-after-its-time", violates="token.in-time")
class LinksAfterItsTime(Lab):
    """Links a robot whose token is entered after the abort."""

    late: dict[str, KnownRobot]

    def unlinked(self, robot: KnownRobot) -> Any:
        self.late = {**getattr(self, "late", {}), robot.token: robot}
        return super().unlinked(robot)

    def pair(self, token: str) -> None:
        if robot := getattr(self, "late", {}).pop(token, None):
            self.robots[token] = robot
        super().pair(token)


@fault("runs-after-its-time", violates="token.in-time", subtle=True)
class RunsAfterItsTime(LinksAfterItsTime):
    """Links a robot whose registration was aborted when its user runs a program."""

    def pair(self, token: str) -> None:
        Lab.pair(self, token)

    def linked(self, token: str) -> KnownRobot:
        if robot := getattr(self, "late", {}).pop(token, None):
            self.robots[token] = robot
            robot.step = Step.LINKED
        return super().linked(token)


@fault("linked-registers-in-vain", violates="robustness.registered-again")
class LinkedRegistersInVain(Lab):
    """Refuses the registration of a robot that is linked."""

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robots.get(str(data["token"]))
        if robot and robot.step is not Step.REGISTERING:
            return self.refusal(409, "this robot is linked")
        return await super().register(data, served)


@fault("running-registers-in-vain", violates="robustness.registered-again", subtle=True)
class RunningRegistersInVain(Lab):
    """Aborts the registration of a robot that runs a program."""

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        robot = self.robots.get(str(data["token"]))
        if robot and robot.step is Step.RUNNING:
            return self.command("abort")
        return await super().register(data, served)
