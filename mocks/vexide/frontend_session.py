"""A session of the reference frontend: setup of a simulator and display of its events."""

from typing import Any

from mocks.shapes import Unfit
from mocks.vexide.choices import World
from mocks.vexide.display import Display
from mocks.vexide.messages import EVENTS, Port, port_form
from mocks.vexide.session import Session
from mocks.vexide.terminal import Terminal

VERSION = 1

HANDLERS = {
    "ScreenDraw": "draw",
    "ScreenClear": "clear",
    "ScreenDoubleBufferMode": "double_buffer",
    "ScreenRender": "render",
    "VCodeSig": "signature",
    "Ready": "ready",
    "Exited": "end_normally",
    "Serial": "serial",
    "DeviceUpdate": "device",
    "Battery": "battery",
    "RobotPose": "pose",
    "RobotState": "state",
    "Log": "log",
    "VEXLinkConnect": "link",
    "VEXLinkDisconnect": "unlink",
}


class FrontendSession(Session):
    """A session without any touches."""

    INCOMING = EVENTS
    HANDLERS = HANDLERS

    def __init__(self, world: World, terminal: Terminal) -> None:
        super().__init__()
        self.world = world
        self.terminal = terminal
        self.display = Display()
        self.outcome = "running"
        self.is_ready = False
        self.started = False
        self.wanted = not world.hold  # True if the user wants the program to run

    def complain(self, text: str) -> None:
        self.stream.tell("ignored", text)
        self.terminal.say(f"frontend: {text}")

    def simulator_said(self, line: str) -> None:
        """Show a line of the simulator's standard error as text for the user."""
        self.terminal.say(f"simulator: {line}")

    # The handshake

    def opened(self) -> None:
        self.send(self.greeting())

    def greeting(self) -> dict[str, Any]:
        return {"Handshake": {"version": VERSION, "extensions": list(self.world.extensions)}}

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        version, extensions = content["version"], content["extensions"]
        if not 1 <= version <= VERSION:
            self.refuse(f"the simulator requires version {version} of the protocol")
        elif alien := [name for name in extensions if name not in self.world.extensions]:
            self.refuse(f"the simulator requires the extensions {', '.join(alien)[:200]}")
        else:
            self.handshaken = True
            self.stream.tell("agreed", "the handshake is finished")
            self.set_up()

    def unusable_handshake(self, error: Unfit) -> None:
        self.refuse(f"the simulator's Handshake is not usable: {error}")

    def refuse(self, why: str) -> None:
        self.conclude("incompatible", why)
        self.close(why)

    # Setup and start

    def set_up(self) -> None:
        self.configure_devices()
        self.send_competition()
        self.send_state()

    def configure_devices(self) -> None:
        for port in self.world.devices:
            self.configure_device(port)

    def configure_device(self, port: Port) -> None:
        device = self.world.devices[port]
        self.send({"ConfigureDevice": {"port": port_form(port), "device": device}})

    def send_competition(self) -> None:
        self.send({"CompetitionMode": self.world.competition})

    def send_state(self) -> None:
        """Send the user's other choices for the starting state."""
        if self.world.battery is not None:
            self.send_battery()
        if self.world.card is not None:
            self.send_card()
        for port in self.world.adi:
            self.send_adi(port)
        self.send_controller()

    def send_battery(self) -> None:
        self.send({"SetBatteryCapacity": {"capacity": self.world.battery}})

    def send_card(self) -> None:
        self.send({"USD": {"root": self.world.card}})

    def send_adi(self, port: int) -> None:
        self.send({"AdiInput": {"port": port, "voltage": self.world.adi[port]}})

    def send_controller(self) -> None:
        if self.world.controller is not None:
            self.send({"ControllerUpdate": self.world.controller})

    def ready(self, content: None) -> None:
        self.is_ready = True
        self.start_if_wanted()

    def start_if_wanted(self) -> None:
        if self.is_ready and self.wanted and not self.started:
            self.start()

    def start(self) -> None:
        self.started = True
        self.stream.tell("started", "StartExecution was sent")
        self.send("StartExecution")

    # Events of the simulator

    def draw(self, content: dict[str, Any]) -> None:
        self.display.draw(content["command"], content["color"])

    def clear(self, content: dict[str, Any]) -> None:
        self.display.clear(content["color"])

    def double_buffer(self, content: dict[str, Any]) -> None:
        self.display.double_buffer(content["enable"])

    def render(self, content: None) -> None:
        self.display.render()

    def signature(self, content: str) -> None:
        self.terminal.say(f"code signature {content[:64]}")

    def serial(self, content: dict[str, Any]) -> None:
        text = content["data"].decode(errors="replace")
        for line in text.removesuffix("\n").split("\n"):
            self.terminal.say(f"serial {content['channel']}: {line}")

    def device(self, content: dict[str, Any]) -> None:
        kind, number = content["port"]
        _, motor = content["status"]
        self.terminal.say(
            f"{kind} port {number}: {motor['velocity']} rad/s at {motor['position']} rad, "
            f"{motor['voltage']} V, {motor['brake_mode']}"
        )

    def battery(self, content: dict[str, Any]) -> None:
        self.terminal.say("battery: {voltage} V, {current} A, {capacity} Wh".format_map(content))

    def pose(self, content: dict[str, Any]) -> None:
        self.terminal.say("robot at {x}, {y}".format_map(content))

    def state(self, content: Any) -> None:
        """Ignore the event: its content is not specified."""

    def log(self, content: dict[str, Any]) -> None:
        self.terminal.say(f"{content['level']}: {content['message']}")

    def link(self, content: dict[str, Any]) -> None:
        opened = {"port": content["port"], "mode": content["mode"]}
        self.send({"VEXLinkOpened": opened})

    def unlink(self, content: dict[str, Any]) -> None:
        self.send({"VEXLinkClosed": {"port": content["port"]}})

    # The end

    def end_normally(self, content: None) -> None:
        self.conclude("exited", "the robot program has ended")
        self.close("the program has ended")

    def input_ended(self) -> None:
        for frame in self.decoder.end():  # the last line can omit the newline
            self.take(frame)
        if self.handshaken:
            self.internal_error()
        else:
            self.conclude("incompatible", "the simulator closed the stream before the handshake")
        self.close()

    def internal_error(self) -> None:
        self.conclude("error", "internal simulator error: it closed the stream without Exited")

    def conclude(self, outcome: str, text: str) -> None:
        """Record the outcome once, and show the final picture to the user."""
        if self.outcome == "running":
            self.outcome = outcome
            if self.display.drawn:
                self.terminal.picture(self.display.text())
            self.terminal.say(text)

    def stop(self) -> None:
        """End the session for the user."""
        self.conclude("stopped", "stopped by the user")
