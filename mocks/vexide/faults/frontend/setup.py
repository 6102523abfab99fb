"""Faults of the frontend in setup and start."""

import asyncio
from typing import Any

from mocks.deviations import fault
from mocks.vexide import messages
from mocks.vexide.faults.bases import Altering
from mocks.vexide.frontend import Frontend


@fault("devices-unsent", violates="setup.configure-devices")
class DevicesUnsent(Frontend):
    """Sends no configuration of devices."""

    def configure_devices(self) -> None:
        pass


@fault("last-device-unsent", violates="setup.configure-devices", subtle=True)
class LastDeviceUnsent(Frontend):
    """Omits the device that was configured last, if there are several."""

    def configure_devices(self) -> None:
        ports = list(self.world.devices)
        for port in ports[:-1] or ports:
            self.configure_device(port)


@fault("last-port-unsent", violates="setup.configure-devices", subtle=True)
class LastPortUnsent(Frontend):
    """Omits the device on Smart port 20."""

    def configure_device(self, port: tuple[str, int]) -> None:
        if port != ("Smart", 20):
            super().configure_device(port)


@fault("like-devices-once", violates="setup.configure-devices", subtle=True)
class LikeDevicesOnce(Frontend):
    """Sends only one of several equal devices."""

    def configure_devices(self) -> None:
        sent: list[Any] = []
        for port, device in self.world.devices.items():
            if device not in sent:
                self.configure_device(port)
            sent.append(device)


@fault("devices-after-start", violates="setup.configure-devices", subtle=True)
class DevicesAfterStart(Frontend):
    """Sends the configuration of devices after StartExecution."""

    def configure_devices(self) -> None:
        pass

    def start(self) -> None:
        super().start()
        super().configure_devices()


@fault("first-device-stays", violates="setup.configure-devices", subtle=True)
class FirstDeviceStays(Frontend):
    """Keeps the first device of a port when the user configures another device."""

    async def user_configures(self, args: dict[str, Any]) -> Any:
        if messages.port(args["port"]) not in self.world.devices:
            await super().user_configures(args)


@fault("inertia-in-hundredths", violates="setup.configure-devices", subtle=True)
class InertiaInHundredths(Altering, Frontend):
    """Rounds moments of inertia to two decimals."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ConfigureDevice":
            motor = content["device"]["Motor"]
            motor["moment_of_inertia"] = round(motor["moment_of_inertia"], 2)


@fault("competition-unsent", violates="setup.competition-mode")
class CompetitionUnsent(Frontend):
    """Sends no CompetitionMode before the start."""

    def send_competition(self) -> None:
        if self.started:
            super().send_competition()


@fault("competition-after-start", violates="setup.competition-mode", subtle=True)
class CompetitionAfterStart(CompetitionUnsent):
    """Sends the CompetitionMode after StartExecution."""

    def start(self) -> None:
        super().start()
        self.send_competition()


@fault("state-unsent", violates="setup.starting-state")
class StateUnsent(Frontend):
    """Sends a default mode before the start, and none of the user's choices."""

    def send_competition(self) -> None:
        chosen = self.world.competition
        if not self.started:
            self.world.competition = {**chosen, "enabled": True, "mode": "Driver"}
        super().send_competition()
        self.world.competition = chosen

    def send_state(self) -> None:
        pass

    def send_controller(self) -> None:
        if self.started:
            super().send_controller()


@fault("gamepad-of-setup-unsent", violates="setup.starting-state", subtle=True)
class GamepadOfSetupUnsent(Frontend):
    """Sends the state of a controller that was chosen before the handshake, but no gamepad."""

    def send_state(self) -> None:
        if "UUID" not in (self.world.controller or {}):
            super().send_state()


@fault("mode-lost-while-loading", violates="setup.starting-state", subtle=True)
class ModeLostWhileLoading(Frontend):
    """Sends no competition mode that its user chooses while the simulator loads."""

    async def user_competes(self, args: dict[str, Any]) -> Any:
        if self.is_ready or not self.live:
            await super().user_competes(args)


@fault("state-after-start", violates="setup.starting-state", subtle=True)
class StateAfterStart(StateUnsent):
    """Sends a default mode before StartExecution, and the user's choices after it."""

    def start(self) -> None:
        super().start()
        Frontend.send_competition(self)
        Frontend.send_state(self)


@fault("devices-of-the-handshake-only", violates="setup.starting-state", subtle=True)
class DevicesOfTheHandshakeOnly(Frontend):
    """Sends no device that its user configures after the handshake."""

    async def user_configures(self, args: dict[str, Any]) -> Any:
        port = messages.port(args["port"])
        if self.live:
            self.world.devices[port] = args["device"]
        else:
            await super().user_configures(args)


@fault("devices-until-ready", violates="setup.starting-state", subtle=True)
class DevicesUntilReady(Frontend):
    """Starts when the user wants, but sends no device that is configured during the wait."""

    def set_up(self) -> None:
        self.wanted = False
        super().set_up()

    async def user_configures(self, args: dict[str, Any]) -> Any:
        if not self.is_ready:
            await super().user_configures(args)


@fault("starts-at-once", violates="start.waits-for-ready")
class StartsAtOnce(Frontend):
    """Sends StartExecution at the end of its setup, without waiting for Ready."""

    def set_up(self) -> None:
        super().set_up()
        self.is_ready = True
        self.start_if_wanted()


@fault("log-overrules-ready", violates="start.waits-for-ready", subtle=True)
class LogOverrulesReady(Frontend):
    """Treats a Log that mentions Ready as Ready, once the user wants to start."""

    mentioned = False

    def log(self, content: dict[str, Any]) -> None:
        super().log(content)
        self.mentioned = self.mentioned or "Ready" in content["message"]

    async def user_starts(self, args: dict[str, Any]) -> Any:
        self.is_ready = self.is_ready or self.mentioned
        await super().user_starts(args)


@fault("any-event-is-ready", violates="start.waits-for-ready", subtle=True)
class AnyEventIsReady(Frontend):
    """Treats the first event after the handshake as Ready."""

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        self.is_ready = True
        self.start_if_wanted()


@fault("ready-timeout", violates="start.waits-for-ready", subtle=True)
class ReadyTimeout(Frontend):
    """Waits half a second for Ready, then starts without it."""

    def set_up(self) -> None:
        super().set_up()
        asyncio.get_running_loop().call_later(0.5, self.give_up)

    def give_up(self) -> None:
        self.is_ready = True
        self.start_if_wanted()


@fault("user-waits-half-a-second", violates="start.waits-for-ready", subtle=True)
class UserWaitsHalfASecond(Frontend):
    """Starts half a second after the user's wish, even without Ready."""

    async def user_starts(self, args: dict[str, Any]) -> Any:
        await super().user_starts(args)
        asyncio.get_running_loop().call_later(0.5, self.give_up)

    def give_up(self) -> None:
        self.is_ready = True
        self.start_if_wanted()


@fault("user-overrules-ready", violates="start.waits-for-ready", subtle=True)
class UserOverrulesReady(Frontend):
    """Starts the program at the user's wish, even before Ready."""

    async def user_starts(self, args: dict[str, Any]) -> Any:
        if self.live and not self.started:
            self.start()


@fault("never-starts", violates="start.sent")
class NeverStarts(Frontend):
    """Does not send StartExecution."""

    def start(self) -> None:
        pass


@fault("starts-signed-only", violates="start.sent", subtle=True)
class StartsSignedOnly(Frontend):
    """Does not start a program without a code signature."""

    signed = False

    def signature(self, content: str) -> None:
        super().signature(content)
        self.signed = True

    def start(self) -> None:
        if self.signed:
            super().start()
