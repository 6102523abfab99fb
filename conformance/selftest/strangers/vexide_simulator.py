"""A Vexide simulator on TCP: vexide_simulator.py PORT PROGRAM [SWITCH[,SWITCH...]]."""

import asyncio
import base64
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

PROGRAM = sys.argv[2] if len(sys.argv) > 2 else "demo"
SWITCHES = set(",".join(sys.argv[3:]).split(","))
LOAD_TIMES = {"slow": 0.6}  # seconds
RUN_TIMES = {"demo": 0.3, "return": 0.02, "exit": 0.02, "crash": 0.02}  # seconds
MAX_LINE = 1 << (16 if "die-long" in SWITCHES else 26)  # bytes of a line
SIGNATURE = b"XVX5\2" + bytes(19)
OUTPUT = {"print": b"Hello World!\n", "slow": b"Hello World!\n", "demo": b"Hello World!\n"}
OUTPUT["bytes"] = bytes(range(256))


class Closed(Exception):
    """The simulator ends the session."""


class Session:
    """A session with a frontend."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.shaken = self.ready = self.started = False
        self.motors: dict[str, dict[str, Any]] = {}
        self.later: list[asyncio.TimerHandle] = []

    def send(self, name: str, content: Any = None) -> None:
        message = name if content is None else {name: content}
        self.writer.write(json.dumps(message).encode() + b"\n")

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self.later.append(asyncio.get_running_loop().call_later(seconds, act))

    def serial(self, data: bytes) -> None:
        if "serial-half" in SWITCHES and 0x80 in data:
            data = data[: data.index(0x80)]
        self.send("Serial", {"channel": 1, "data": base64.b64encode(data).decode()})

    def become_ready(self) -> None:
        self.ready = True
        self.send("Ready")

    def drive(self, time: float = 0.05) -> None:
        for port, motor in self.motors.items():
            speed = time / motor["moment_of_inertia"]
            status: dict[str, Any] = dict.fromkeys(("power_draw", "torque_output", "position"), 0.5)
            status |= {"velocity": speed, "voltage": 6.0, "reversed": False, "flags": 0}
            status |= {"gearset": motor["physical_gearset"], "brake_mode": "Coast"}
            status |= {"target_position": None}
            self.send("DeviceUpdate", {"port": json.loads(port), "status": {"Motor": status}})
        self.after(0.05, lambda: self.drive(time + 0.05))

    def leave(self) -> None:
        if PROGRAM == "crash" and "no-error-log" not in SWITCHES:
            self.send("Log", {"level": "Error", "message": "data abort at 0x03800000"})
        if "no-exited" not in SWITCHES:
            self.send("Exited")
        self.stop()
        if "stay-open" not in SWITCHES:
            self.writer.close()

    def stop(self) -> None:
        for each in self.later:
            each.cancel()

    def start(self) -> None:
        self.started = True
        if PROGRAM in OUTPUT:
            self.serial(OUTPUT[PROGRAM])
        if "die-run" in SWITCHES and PROGRAM in RUN_TIMES:
            raise NotImplementedError("time of the program")
        if PROGRAM in ("drive", "demo"):
            self.drive()
        if PROGRAM in RUN_TIMES:
            self.after(RUN_TIMES[PROGRAM], self.leave)

    def shake(self, offered: Any) -> None:
        if type(offered) is not dict or type(offered.get("version")) is not int or self.shaken:
            return
        if "close-extra" in SWITCHES and offered.keys() - {"version", "extensions"}:
            raise Closed("unknown field in Handshake")
        if offered["version"] < 1:
            raise Closed("incompatible version")
        self.shaken = True
        self.send("Handshake", {"version": 1, "extensions": []})
        self.send("VCodeSig", base64.b64encode(SIGNATURE).decode())
        self.after(LOAD_TIMES.get(PROGRAM, 0.01), self.become_ready)

    def configure(self, content: Any) -> None:
        match content:
            case {"port": port, "device": {"Motor": dict(motor)}} if motor.get("moment_of_inertia"):
                self.motors[json.dumps(port)] = motor
            case {"device": {**device}} if "die-device" in SWITCHES and device.keys() - {"Motor"}:
                raise NotImplementedError(f"device {next(iter(device))}")

    def handle(self, message: Any) -> None:
        match message:
            case {"Handshake": offered}:
                self.shake(offered)
            case {"ConfigureDevice": content} if self.shaken:
                self.configure(content)
            case {"SetBatteryCapacity": _} if "close-battery" in SWITCHES and self.shaken:
                raise Closed("no battery")
            case "StartExecution" | {"StartExecution": None} if self.ready and not self.started:
                self.start()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    session = Session(writer)
    try:
        while line := await reader.readline():
            if "die-ascii" in SWITCHES:
                line.decode("ascii")
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                print("not JSON:", error, file=sys.stderr)
            else:
                session.handle(message)
    except (Closed, OSError) as error:
        print("closing:", error, file=sys.stderr)
    except Exception:
        traceback.print_exc()
        os._exit(1)
    session.stop()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), limit=MAX_LINE)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
