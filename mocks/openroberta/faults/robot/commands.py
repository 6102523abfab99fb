"""Faults of the robot in its reaction to commands and errors."""

import asyncio
from typing import Any

from conformance.codec import Frame
from conformance.openroberta import message_names
from mocks.deviations import fault
from mocks.openroberta.robot import COMMANDS, Robot
from mocks.steps import die


@fault("dies-of-configuration", violates="commands.configuration")
class DiesOfConfiguration(Robot):
    """Crashes after the command configuration."""

    async def disturbed(self, command: str) -> None:
        if command == "configuration":
            die()
        await super().disturbed(command)


@fault("stops-at-configuration", violates="commands.configuration", subtle=True)
class StopsAtConfiguration(Robot):
    """Waits for a configuration that never comes."""

    async def disturbed(self, command: str) -> None:
        if command == "configuration":
            await asyncio.sleep(3600)
        await super().disturbed(command)


@fault("stops-at-unknown", violates="robustness.unknown-command")
class StopsAtUnknown(Robot):
    """Stops after an unknown command."""

    async def disturbed(self, command: str) -> None:
        if command and command not in COMMANDS:
            await asyncio.sleep(3600)
        await super().disturbed(command)


@fault("dies-of-numbers", violates="robustness.unknown-command", subtle=True)
class DiesOfNumbers(Robot):
    """Crashes after a command that is a number."""

    def command(self, answer: Frame | None) -> str:
        said = answer.value.get("json", {}) if answer and answer.value else {}
        if isinstance(said.get("cmd"), int):
            die()
        return super().command(answer)


@fault("abort-of-push-is-nothing", violates="robustness.abort-of-push")
class AbortOfPushIsNothing(Robot):
    """Goes on pushing after an abort of a push."""

    def command(self, answer: Frame | None) -> str:
        command = super().command(answer)
        return "repeat" if command == "abort" and self.sensing else command


@fault("first-error-ends", violates="robustness.lost-answers")
class FirstErrorEnds(Robot):
    """Stops after an error in answer to a push."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        pushes = value["path"] == message_names.PUSHCMD
        if pushes and answer and answer.name == "Refusal":
            await asyncio.sleep(3600)
        return answer


@fault("unavailable-ends", violates="robustness.lost-answers", subtle=True)
class UnavailableEnds(Robot):
    """Crashes after an answer with status 503."""

    def command(self, answer: Frame | None) -> str:
        if answer and answer.value and answer.value.get("status") == 503:
            die()
        return super().command(answer)


@fault("dies-of-no-http", violates="robustness.lost-answers", subtle=True)
class DiesOfNoHttp(Robot):
    """Crashes after an answer that is not HTTP."""

    def command(self, answer: Frame | None) -> str:
        if answer is not None and answer.name is None:
            die()
        return super().command(answer)


@fault("storms", violates="robustness.no-storm")
class Storms(Robot):
    """Tries again without a pause."""

    async def pause(self) -> None:
        pass


@fault("storms-when-alone", violates="robustness.no-storm", subtle=True)
class StormsWhenAlone(Robot):
    """Pushes again without a pause if its lab has closed the connection."""

    alone = False

    def command(self, answer: Frame | None) -> str:
        self.alone = answer is None
        return super().command(answer)

    async def disturbed(self, command: str) -> None:
        if not self.alone:
            await super().disturbed(command)


@fault("pauses-once", violates="robustness.no-storm", subtle=True)
class PausesOnce(Robot):
    """Pauses only before its second try."""

    paused = False

    async def pause(self) -> None:
        if not self.paused:
            await super().pause()
        self.paused = True


@fault("pauses-for-a-moment", violates="robustness.no-storm", subtle=True)
class PausesForAMoment(Robot):
    """Pauses for 0.01 s before each try."""

    async def pause(self) -> None:
        await asyncio.sleep(0.01)


@fault("gives-up-when-alone", violates="robustness.lost-answers", subtle=True)
class GivesUpWhenAlone(Robot):
    """Crashes after its lab has closed four connections in a row."""

    losses = 0

    def command(self, answer: Frame | None) -> str:
        self.losses = self.losses + 1 if answer is None else 0
        if self.losses > 3:
            die()
        return super().command(answer)


@fault("finds-abort-anywhere", violates="robustness.extra-members", subtle=True)
class FindsAbortAnywhere(Robot):
    """Reads an answer as abort if it contains this word anywhere."""

    def command(self, answer: Frame | None) -> str:
        return "abort" if answer and b'"abort"' in answer.raw else super().command(answer)


@fault("finds-download-anywhere", violates="robustness.extra-members", subtle=True)
class FindsDownloadAnywhere(Robot):
    """Reads an answer as download if it contains this word anywhere."""

    def command(self, answer: Frame | None) -> str:
        return "download" if answer and b'"download"' in answer.raw else super().command(answer)


@fault("last-text-counts", violates="robustness.extra-members", subtle=True)
class LastTextCounts(Robot):
    """Reads the last string of an answer as the command."""

    def command(self, answer: Frame | None) -> str:
        texts = answer.raw.split(b'"') if answer and super().command(answer) else []
        return texts[-2].decode("latin-1") if len(texts) > 2 else ""


@fault("known-members-only", violates="robustness.extra-members")
class KnownMembersOnly(Robot):
    """Crashes after an answer with unknown members."""

    def command(self, answer: Frame | None) -> str:
        said = answer.value.get("json", {}) if answer and answer.value else {}
        if said.keys() - {"cmd"}:
            die()
        return super().command(answer)
