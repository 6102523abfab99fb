"""Lawful variants of the receiver of gamepad input."""

import contextlib
import math
from typing import Any

from conformance.runtime.memory.catalog import Parameter
from mocks.deviations import variant
from mocks.runtime.gamepad_receiver import Receiver
from mocks.runtime.memory.mapped import FOLDER
from mocks.runtime.memory.peer import Buffer
from mocks.upper_tester import Operation, Warned


@variant("buttons-elsewhere", of="receiver.buttons")
class ButtonsElsewhere(Receiver):
    """Stores no boolean parameters for buttons."""

    def buttons(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        pass


@variant("data-as-they-come", of="catalog.clamped-data")
class DataAsTheyCome(Receiver):
    """Stores axes beyond their bounds without clamping."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        return value


@variant("on-the-circle", of="catalog.clamped-data")
class OnTheCircle(Receiver):
    """Moves a joystick position outside the unit circle to its edge."""

    async def play(self, index: str, pad: dict[str, Any]) -> None:
        drawn = dict(pad)
        for x, y in (("lx", "ly"), ("rx", "ry")):
            with contextlib.suppress(KeyError, TypeError):
                far = max(math.hypot(pad[x], pad[y]), 1.0)
                drawn |= {x: pad[x] / far, y: pad[y] / far}
        await super().play(index, drawn)


@variant("passes-over-repeats", of="set-data.timestamp")
class PassesOverRepeats(Receiver):
    """Ignores a message that is equal to the previous one."""

    before = b""

    async def received(self, data: bytes) -> None:
        if data != self.before:
            self.before = data
            await super().received(data)


@variant("named-by-index", of="buffers.shared-memory")
class NamedByIndex(Receiver):
    """Names its objects by the index alone, so that only one instance can run."""

    def name(self, type_: str, uid: str) -> str:
        return f"rt-mock-{type_}-{uid}"

    def create(self, name: str, type_: str) -> Buffer:
        (FOLDER / name).unlink(missing_ok=True)  # left by a killed instance
        return super().create(name, type_)


@variant("told-by-path", of="buffers.shared-memory")
class ToldByPath(Receiver):
    """Reports the paths of its objects instead of their names."""

    def operations(self) -> dict[str, Operation]:
        async def buffers(args: dict[str, Any]) -> Any:
            told = await plain["buffers"](args)
            paths = {index: str(FOLDER / name) for index, name in told.result.items()}
            return Warned(paths, told.warnings)

        plain = super().operations()
        return {**plain, "buffers": buffers}


@variant("absent-is-gone", of="lifecycle.created-valid")
class AbsentIsGone(Receiver):
    """Disconnects a gamepad that is missing in a message, and stops reporting it."""

    async def received(self, data: bytes) -> None:
        for message in self.messages(data):
            for index in [index for index in self.pads if index not in message]:
                await self.set_valid(self.pads.pop(index), False)
        await super().received(data)


@variant("deaf-after-odd-input", of="receiver.odd-messages")
class DeafAfterOddInput(Receiver):
    """Stops reading after a gamepad has values of unknown types."""

    deaf = False

    async def received(self, data: bytes) -> None:
        if not self.deaf:
            await super().received(data)

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        self.deaf = self.deaf or not all(isinstance(value, int | float) for value in pad.values())
        super().axes(pad, params, into)
