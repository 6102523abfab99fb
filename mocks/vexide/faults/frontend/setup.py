"""Faults of the frontend in setup and start."""

from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import before, having, instead, later, note, noted, only, put, skip, then
from mocks.vexide import messages
from mocks.vexide.faults.bases import RUNNING, fields
from mocks.vexide.frontend import Frontend

LIVE = having("live")
READY = having("is_ready")


def _start_unready(frontend: Frontend, *_: Any) -> None:
    """Start the program if its user wants, as after Ready."""
    frontend.is_ready = True
    frontend.start_if_wanted()


def _configure_all_but_last(frontend: Frontend) -> None:
    ports = list(frontend.world.devices)
    for port in ports[:-1] or ports:
        frontend.configure_device(port)


def _configure_different(frontend: Frontend) -> None:
    sent: list[Any] = []
    for port, device in frontend.world.devices.items():
        if device not in sent:
            frontend.configure_device(port)
        sent.append(device)


DEFAULT_MODE = fields("CompetitionMode", enabled=True, mode="Driver", when=~RUNNING)

FAULTS = Table(Frontend)

FAULTS["setup.configure-devices"] = {
    "devices-unsent": Fault("Sends no configuration of devices.", skip("configure_devices")),
    "last-device-unsent": Subtle(
        "Omits the device that was configured last, if there are several.",
        instead("configure_devices", _configure_all_but_last),
    ),
    "last-port-unsent": Subtle(
        "Omits the device on Smart port 20.",
        skip("configure_device", lambda _, port: port == ("Smart", 20)),
    ),
    "like-devices-once": Subtle(
        "Sends only one of several equal devices.",
        instead("configure_devices", _configure_different),
    ),
    "devices-after-start": Subtle(
        "Sends the configuration of devices after StartExecution.",
        only("configure_devices", RUNNING),
        then("start", "configure_devices"),
    ),
    "first-device-stays": Subtle(
        "Keeps the first device of a port when the user configures another device.",
        skip("user_configures", lambda it, to: messages.port(to["port"]) in it.world.devices),
    ),
    "inertia-in-hundredths": Subtle(
        "Rounds moments of inertia to two decimals.",
        fields(
            "ConfigureDevice",
            "device",
            "Motor",
            moment_of_inertia=lambda inertia: round(inertia, 2),
        ),
    ),
}

FAULTS["setup.competition-mode"] = {
    "competition-unsent": Fault(
        "Sends no CompetitionMode before the start.", only("send_competition", RUNNING)
    ),
    "competition-after-start": Subtle(
        "Sends the CompetitionMode after StartExecution.",
        only("send_competition", RUNNING),
        then("start", "send_competition"),
    ),
}

FAULTS["setup.starting-state"] = {
    "state-unsent": Fault(
        "Sends a default mode before the start, and none of the user's choices.",
        DEFAULT_MODE,
        skip("send_state"),
        only("send_controller", RUNNING),
    ),
    "state-after-start": Subtle(
        "Sends a default mode before StartExecution, and the user's choices after it.",
        DEFAULT_MODE,
        only("send_state", RUNNING),
        only("send_controller", RUNNING),
        then("start", "send_competition"),
        then("start", "send_state"),
    ),
    "gamepad-of-setup-unsent": Subtle(
        "Sends the state of a controller that was chosen before the handshake, but no gamepad.",
        skip("send_state", lambda frontend: "UUID" in (frontend.world.controller or {})),
    ),
    "mode-lost-while-loading": Subtle(
        "Sends no competition mode that its user chooses while the simulator loads.",
        skip("user_competes", LIVE & ~READY),
    ),
    "inputs-lost-while-loading": Subtle(
        "Sends no input, card or energy that its user chooses while the simulator loads.",
        skip("user_controls", LIVE & ~READY),
        skip("user_mounts", LIVE & ~READY),
        skip("user_charges", LIVE & ~READY),
    ),
    "devices-until-ready": Subtle(
        "Starts when the user wants, but sends no device that is configured during the wait.",
        before("set_up", put("wanted", False)),
        skip("user_configures", READY),
    ),
}

FAULTS["start.waits-for-ready"] = {
    "starts-at-once": Fault(
        "Sends StartExecution at the end of its setup, without waiting for Ready.",
        then("set_up", _start_unready),
    ),
    "log-overrules-ready": Subtle(
        "Treats a Log that mentions Ready as Ready, once the user wants to start.",
        then("log", note("mentioned"), lambda _, log: "Ready" in log["message"]),
        before("user_starts", put("is_ready", True), noted("mentioned")),
    ),
    "any-event-is-ready": Subtle(
        "Treats the first event after the handshake as Ready.", then("handle", _start_unready)
    ),
    "ready-timeout": Subtle(
        "Waits half a second for Ready, then starts without it.",
        then("set_up", later(0.5, _start_unready)),
    ),
    "user-waits-half-a-second": Subtle(
        "Starts half a second after the user's wish, even without Ready.",
        before("user_starts", later(0.5, _start_unready)),
    ),
    "user-overrules-ready": Subtle(
        "Starts the program at the user's wish, even before Ready.",
        before("user_starts", put("is_ready", True), LIVE),
    ),
}

FAULTS["start.sent"] = {
    "never-starts": Fault("Does not send StartExecution.", skip("start")),
    "starts-signed-only": Subtle(
        "Does not start a program without a code signature.",
        only("start", noted("signed")),
        then("signature", note("signed")),
    ),
}


@fault("devices-of-the-handshake-only", violates="setup.starting-state", subtle=True)
class DevicesOfTheHandshakeOnly(Frontend):
    """Sends no device that its user configures after the handshake."""

    async def user_configures(self, args: dict[str, Any]) -> Any:
        port = messages.port(args["port"])
        if self.live:
            self.world.devices[port] = args["device"]
        else:
            await super().user_configures(args)
