"""The reference update publisher: sends changes of Smart Devices at a fixed rate.

It publishes the devices of the upper tester. Without an upper tester it simulates a switch, a motor
with an alias, and a sensor that connects and disconnects. It uses no hardware.
"""

import argparse
import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

from conformance.runtime.codec import encode
from conformance.runtime.memory.catalog import Parameter
from mocks import datagrams, upper_tester
from mocks.datagrams import Datagrams
from mocks.runtime.devices import is_connected, measure

Values = dict[str, Any]

DEVICES = {
    "18446744073709551616": [Parameter("switch0", "bool"), Parameter("switch1", "bool")],
    "226673591177742970880": [
        Parameter("duty_cycle", "float", lower=-1.0, upper=1.0),
        Parameter("enc", "int32"),
    ],
    "129127208515966861312": [Parameter("distance", "float", lower=0.0, upper=4.0)],
}
"""By UID: the parameters of the simulated devices."""
CHANGES = 10  # updates between two changes of the simulated devices


class Publisher:
    """The connected devices, and their changes since the last update."""

    def __init__(self, out: Datagrams, period: float) -> None:
        self.out = out
        self.period = period
        self.devices: dict[str, Values] = {}
        self.changed: dict[str, Values] = {}
        self.aliases: dict[str, str] = {}

    async def run(self) -> None:
        while True:
            self.update()
            await asyncio.sleep(self.period)

    def connect(self, uid: str, params: Values, alias: str | None) -> None:
        self.devices[uid] = dict(params)
        self.changed[uid] = dict(params)
        if alias is not None:
            self.alias(uid, alias)

    def change(self, uid: str, values: Values) -> None:
        if uid not in self.devices:
            raise ValueError(f"there is no device {uid}")
        self.devices[uid].update(values)
        self.changed[uid].update(values)

    def alias(self, uid: str, alias: str) -> None:
        self.aliases[uid] = alias

    def disconnect(self, uid: str) -> None:
        for known in (self.devices, self.changed, self.aliases):
            known.pop(uid, None)

    def update(self) -> None:
        """Send an update, and mark its values as sent."""
        message = self.message()
        self.clear()
        self.send(message)

    def message(self) -> dict[str, Any]:
        return {"sd": self.sd(), "aliases": self.named()}

    def sd(self) -> dict[Any, Any]:
        return {self.uid(uid): self.values(uid) for uid in self.devices}

    def values(self, uid: str) -> Any:
        return dict(self.changed[uid])

    def named(self) -> dict[Any, Any]:
        return {self.uid(uid): alias for uid, alias in self.aliases.items()}

    def uid(self, uid: str) -> Any:
        return uid

    def clear(self) -> None:
        self.changed = {uid: {} for uid in self.devices}

    def send(self, message: Any) -> None:
        self.write(encode(message))

    def write(self, data: bytes) -> None:
        self.out.write(data)


PEER = Publisher


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="serve operations on stdin")
    parser.add_argument(
        "--period", type=float, default=0.1, metavar="S", help="seconds between two updates"
    )


async def main(args: argparse.Namespace, peer: type[Publisher]) -> int:
    """Publish the devices of the upper tester, or simulated devices, until terminated."""
    if not args.connect:
        raise ValueError("a publisher needs --connect")
    out = await datagrams.connect(args.connect)
    publisher = peer(out, args.period)
    running = asyncio.ensure_future(publisher.run())
    try:
        if args.upper_tester:
            await upper_tester.serve(operations(publisher))
        else:
            await _work(publisher)
    finally:
        running.cancel()
        out.close()
    return 0


async def _work(publisher: Publisher) -> None:
    """Simulate devices with changing values; the sensor comes and goes, with a delayed alias."""
    switch, motor, sensor = DEVICES
    publisher.connect(switch, measure(DEVICES[switch], 0), None)
    publisher.connect(motor, measure(DEVICES[motor], 0), "left motor")
    for second in itertools.count():
        known = sensor in publisher.devices
        if is_connected(second, 0) != known:
            if known:
                publisher.disconnect(sensor)
            else:
                publisher.connect(sensor, measure(DEVICES[sensor], second), None)
        elif known and sensor not in publisher.aliases:
            publisher.alias(sensor, "front")
        for uid in publisher.devices:
            publisher.change(uid, measure(DEVICES[uid], second))
        await asyncio.sleep(publisher.period * CHANGES)


def operations(publisher: Publisher) -> Mapping[str, upper_tester.Operation]:
    async def connect(args: dict[str, Any]) -> None:
        publisher.connect(str(args["uid"]), args["params"], args.get("alias"))

    async def change(args: dict[str, Any]) -> None:
        publisher.change(str(args["uid"]), args["values"])

    async def alias(args: dict[str, Any]) -> None:
        publisher.alias(str(args["uid"]), args["alias"])

    async def disconnect(args: dict[str, Any]) -> None:
        publisher.disconnect(str(args["uid"]))

    return {"connect": connect, "change": change, "alias": alias, "disconnect": disconnect}
