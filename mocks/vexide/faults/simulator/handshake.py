"""Faults of the simulator in the handshake."""

from copy import deepcopy
from typing import Any

from conformance.codec import Frame
from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.vexide.simulator import Simulator


class Answering(Simulator):
    """Changes the answer to the Handshake command: `reply` changes the content."""

    offer: dict[str, Any]

    def agree(self, offer: dict[str, Any]) -> None:
        self.offer = offer
        super().agree(offer)

    def send(self, message: Any) -> None:
        if name_of(message) == "Handshake":
            message = deepcopy(message)
            self.reply(message["Handshake"])
        super().send(message)

    def reply(self, content: dict[str, Any]) -> None:
        raise NotImplementedError


@fault("version-zero-hangs", violates="handshake.closes-incompatible")
class VersionZeroHangs(Simulator):
    """Neither answers nor closes if an unsupported version is offered."""

    def incompatible(self, offer: dict[str, Any]) -> None:
        pass


@fault("negative-version-hangs", violates="handshake.closes-incompatible", subtle=True)
class NegativeVersionHangs(Simulator):
    """Neither answers nor closes if a negative version is offered; zero is refused."""

    def incompatible(self, offer: dict[str, Any]) -> None:
        if offer["version"] == 0:
            super().incompatible(offer)


# Every answer to an offer below 1 has a version that was not offered.
@fault("answers-version-zero", violates="handshake.version-at-most-offered", subtle=True)
class AnswersVersionZero(Simulator):
    """Answers version 1 to an offer below 1 and continues."""

    def incompatible(self, offer: dict[str, Any]) -> None:
        self.agree(offer)


@fault("no-answer", violates="handshake.answered")
class NoAnswer(Simulator):
    """Never answers a Handshake."""

    def agree(self, offer: dict[str, Any]) -> None:
        pass


@fault("no-answer-to-extensions", violates="handshake.answered", subtle=True)
class NoAnswerToExtensions(Simulator):
    """Does not answer if an unknown extension is offered."""

    def agree(self, offer: dict[str, Any]) -> None:
        if not offer["extensions"]:
            super().agree(offer)


@fault("version-two", violates="handshake.version-at-most-offered")
class VersionTwo(Answering):
    """Answers one version above the offered version."""

    def reply(self, content: dict[str, Any]) -> None:
        content["version"] = self.offer["version"] + 1


@fault("own-extension", violates="handshake.extensions-offered")
class OwnExtension(Answering):
    """Answers with its own extension, although it was not offered."""

    def reply(self, content: dict[str, Any]) -> None:
        content["extensions"] = ["x-reference"]


@fault("extension-beside-others", violates="handshake.extensions-offered", subtle=True)
class ExtensionBesideOthers(Answering):
    """Adds its own extension to the offered extensions."""

    def reply(self, content: dict[str, Any]) -> None:
        if self.offer["extensions"]:
            content["extensions"] = [*self.offer["extensions"], "x-reference"]


@fault("unknown-handshake-field-closes", violates="handshake.unknown-fields")
class UnknownHandshakeFieldCloses(Simulator):
    """Closes at an unknown field in the Handshake."""

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        if strange:
            self.close()
        else:
            super().handle_handshake(content, strange)


@fault("unknown-handshake-field-stalls", violates="handshake.unknown-fields", subtle=True)
class UnknownHandshakeFieldStalls(Simulator):
    """Never becomes Ready after an unknown field in the Handshake."""

    stalls = False

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        self.stalls = bool(strange)
        super().handle_handshake(content, strange)

    def load(self) -> None:
        if not self.stalls:
            super().load()


@fault("logs-at-once", violates="handshake.nothing-before")
class LogsAtOnce(Simulator):
    """Sends a Log directly after the stream is open."""

    def opened(self) -> None:
        self.log("Info", "the simulator has been started")


@fault("logs-before-answer", violates="handshake.nothing-before", subtle=True)
class LogsBeforeAnswer(Simulator):
    """Sends a Log between the Handshake command and its answer."""

    def answer(self, version: Any, extensions: Any) -> None:
        self.log("Trace", "a frontend has come")
        super().answer(version, extensions)


@fault("reports-early-commands", violates="handshake.nothing-before", subtle=True)
class ReportsEarlyCommands(Simulator):
    """Sends a Log after a command that comes before the Handshake."""

    def take(self, frame: Frame) -> None:
        if frame.name != "Handshake" and not self.handshaken:
            self.log("Warn", "the handshake is missing")
        super().take(frame)


@fault("version-as-offered", violates="handshake.version-one", subtle=True)
class VersionAsOffered(Answering):
    """Answers with the offered version, even if it does not exist."""

    def reply(self, content: dict[str, Any]) -> None:
        content["version"] = self.offer["version"]


@fault("version-as-text", violates="handshake.field-types")
class VersionAsText(Answering):
    """Answers with the version as a string."""

    def reply(self, content: dict[str, Any]) -> None:
        content["version"] = "1"


@fault("no-extensions-null", violates="handshake.field-types", subtle=True)
class NoExtensionsNull(Answering):
    """Answers null if it supports none of the offered extensions."""

    def reply(self, content: dict[str, Any]) -> None:
        if self.offer["extensions"]:
            content["extensions"] = None
