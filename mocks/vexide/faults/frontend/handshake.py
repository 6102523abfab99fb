"""Faults of the frontend in the handshake."""

from typing import Any

from conformance.codec import Frame
from mocks.deviations import fault
from mocks.vexide.frontend import Frontend


@fault("waits-to-be-greeted", violates="handshake.frontend-begins")
class WaitsToBeGreeted(Frontend):
    """Sends no Handshake until the simulator has sent one Handshake."""

    def opened(self) -> None:
        pass

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        self.send(self.greeting())
        super().handle_handshake(content, strange)


@fault("greets-when-spoken-to", violates="handshake.frontend-begins", subtle=True)
class GreetsWhenSpokenTo(Frontend):
    """Sends its Handshake only after the simulator has sent data."""

    greeted_it = False

    def opened(self) -> None:
        pass

    def receive(self, data: bytes) -> None:
        if not self.greeted_it:
            self.greeted_it = True
            self.send(self.greeting())
        super().receive(data)


@fault("unknown-handshake-field-ends", violates="handshake.unknown-fields")
class UnknownHandshakeFieldEnds(Frontend):
    """Ends the session at an unknown field in the Handshake."""

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        if strange:
            self.refuse(f"unknown fields in the Handshake: {', '.join(strange)}")
        else:
            super().handle_handshake(content, strange)


@fault("unknown-handshake-field-stalls", violates="handshake.unknown-fields", subtle=True)
class UnknownHandshakeFieldStalls(Frontend):
    """Never starts the program after an unknown field in the Handshake."""

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        self.started = bool(strange)
        super().handle_handshake(content, strange)


@fault("setup-before-answer", violates="handshake.nothing-before")
class SetupBeforeAnswer(Frontend):
    """Sends its setup directly after its Handshake, without waiting for the answer."""

    def opened(self) -> None:
        super().opened()
        self.set_up()

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        self.handshaken = True


@fault("devices-before-answer", violates="handshake.nothing-before", subtle=True)
class DevicesBeforeAnswer(Frontend):
    """Sends the configuration of a device before the answer to its Handshake."""

    def opened(self) -> None:
        super().opened()
        self.configure_devices()

    async def user_configures(self, args: dict[str, Any]) -> Any:
        await super().user_configures(args)
        if not self.handshaken:
            self.configure_device(next(reversed(self.world.devices)))

    def set_up(self) -> None:
        self.send_competition()
        self.send_state()


@fault("any-event-answers", violates="handshake.nothing-before", subtle=True)
class AnyEventAnswers(Frontend):
    """Treats the first event of any kind as the answer to its Handshake."""

    def take(self, frame: Frame) -> None:
        if frame.name != "Handshake" and not self.handshaken:
            self.handshaken = True
            self.set_up()
        super().take(frame)


@fault("version-two", violates="handshake.version-one")
class VersionTwo(Frontend):
    """Offers version 2, which does not exist."""

    def greeting(self) -> dict[str, Any]:
        greeting = super().greeting()
        greeting["Handshake"]["version"] = 2
        return greeting


@fault("version-as-text", violates="handshake.field-types")
class VersionAsText(Frontend):
    """Writes its version as a string."""

    def greeting(self) -> dict[str, Any]:
        greeting = super().greeting()
        greeting["Handshake"]["version"] = "1"
        return greeting


@fault("no-extensions-null", violates="handshake.field-types", subtle=True)
class NoExtensionsNull(Frontend):
    """Sends null if it has no extensions to offer."""

    def greeting(self) -> dict[str, Any]:
        greeting = super().greeting()
        greeting["Handshake"]["extensions"] = list(self.world.extensions) or None
        return greeting
