"""Faults of the receiver about its buffers."""

import asyncio
from dataclasses import replace
from typing import Any

from conformance.runtime.memory.catalog import Peripheral
from conformance.runtime.memory.layout import Layout
from mocks.deviations import fault
from mocks.runtime.gamepad_receiver import Receiver
from mocks.runtime.memory.peer import Buffer


@fault("gone-for-good", violates="lifecycle.created-valid", subtle=True)
class GoneForGood(Receiver):
    """Clears the valid bit of a missing gamepad, and never sets it again."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        found = super().messages(data)
        for pads in found:
            for index in self.pads.keys() - pads.keys():
                self.put_valid(self.pads[index], False)
        return found

    def check_valid(self, buffer: Buffer) -> None:
        """Skip the check, so that operations on the invalid buffer succeed."""


@fault("at-rest-is-none", violates="lifecycle.created-valid", subtle=True)
class AtRestIsNone(Receiver):
    """Does not connect a gamepad before a joystick is moved or a button is pressed."""

    async def play(self, index: str, pad: dict[str, Any]) -> None:
        if index in self.pads or any(pad.values()):
            await super().play(index, pad)


@fault("invalid-at-first", violates="lifecycle.created-valid")
class InvalidAtFirst(Receiver):
    """Never sets the valid bit."""

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        pass

    def check_valid(self, buffer: Buffer) -> None:
        pass


@fault("second-is-invalid", violates="lifecycle.created-valid", subtle=True)
class SecondIsInvalid(Receiver):
    """Sets only the valid bit of the first buffer."""

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        super().put_valid(buffer, valid and len(self.buffers) == 1)

    def check_valid(self, buffer: Buffer) -> None:
        pass


@fault("time-beside-an-axis", violates="buffers.shared-memory")
class TimeBesideAnAxis(Receiver):
    """Stores the timestamp at the position of an axis."""

    def layout(self, peripheral: Peripheral) -> Layout:
        layout = super().layout(peripheral)
        name, axis = "read.timestamp", layout.fields.get("read.params.lx")
        if axis is None:
            return layout
        return Layout(
            layout.size, {**layout.fields, name: replace(layout[name], offset=axis.offset)}
        )


@fault("buttons-for-all", violates="buffers.one-each", subtle=True)
class ButtonsForAll(Receiver):
    """Updates the timestamps of all gamepads when one has new input."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        for other in self.pads.values():
            async with self.operation(other):
                self.stamp(other, "read")
        return await super().set_data(buffer, values)


@fault("all-the-same", violates="buffers.one-each")
class AllTheSame(Receiver):
    """Writes the input of any gamepad to the buffers of all."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        for other in self.pads.values():
            await super().set_data(other, values)
        return await super().set_data(buffer, values)


@fault("write-block-stamped", violates="operations.nothing-else", subtle=True)
class WriteBlockStamped(Receiver):
    """Updates the timestamps of both blocks."""

    def stamp(self, buffer: Buffer, block: str) -> None:
        super().stamp(buffer, "read")
        super().stamp(buffer, "write")


@fault("valid-counts", violates="operations.nothing-else")
class ValidCounts(Receiver):
    """Counts messages in the byte of the valid bit."""

    def stamp(self, buffer: Buffer, block: str) -> None:
        super().stamp(buffer, block)
        buffer["valid"] = buffer["valid"] % 100 + 1


@fault("impatient", violates="operations.mutex", subtle=True)
class Impatient(Receiver):
    """Continues without the mutex after 20 ms."""

    has = True

    async def acquire(self, buffer: Buffer) -> None:
        for _ in range(20):
            self.has = buffer.mapped.trylock(buffer.layout["mutex"].offset)
            if self.has:
                return
            await asyncio.sleep(0.001)

    def release(self, buffer: Buffer) -> None:
        if self.has:
            super().release(buffer)


@fault("waits-for-ever", violates="format.mutex", subtle=True)
class WaitsForEver(Receiver):
    """Hangs after it has had to wait for the mutex, as with a private mutex."""

    async def acquire(self, buffer: Buffer) -> None:
        if not buffer.mapped.trylock(buffer.layout["mutex"].offset):
            await asyncio.Event().wait()


@fault("second-waits-for-ever", violates="format.mutex", subtle=True)
class SecondWaitsForEver(WaitsForEver):
    """Hangs after waiting for the mutex of any buffer except the first."""

    async def acquire(self, buffer: Buffer) -> None:
        if buffer is next(iter(self.pads.values()), buffer):
            await Receiver.acquire(self, buffer)
        else:
            await super().acquire(buffer)


@fault("kept-after-clamping", violates="operations.mutex-released")
class KeptAfterClamping(Receiver):
    """Does not release the mutex of a buffer after a value was clamped."""

    clamped = False

    def warn(self, text: str, warnings: list[str]) -> None:
        super().warn(text, warnings)
        self.clamped = True

    def release(self, buffer: Buffer) -> None:
        if not self.clamped:
            super().release(buffer)
        self.clamped = False


@fault("kept-without-axes", violates="operations.mutex-released", subtle=True)
class KeptWithoutAxes(Receiver):
    """Does not release the mutex after input without axes."""

    async def play(self, index: str, pad: dict[str, Any]) -> None:
        await super().play(index, pad)
        if "lx" not in pad:
            await self.acquire(self.pads[index])


@fault("made-again", violates="lifecycle.kept")
class MadeAgain(Receiver):
    """Creates a buffer again at every tenth message."""

    count = 0

    async def pad(self, index: str) -> Buffer:
        self.count += 1
        if self.count % 10 == 0 and index in self.pads:
            buffer = self.pads.pop(index)
            buffer.mapped.unlink()
            self.buffers.pop(buffer.name).mapped.close()
        return await super().pad(index)


@fault("made-again-after-absence", violates="lifecycle.kept", subtle=True)
class MadeAgainAfterAbsence(Receiver):
    """Creates all buffers again after a message without gamepads."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        found = super().messages(data)
        if found == [{}]:
            for index in [*self.pads]:
                buffer = self.pads.pop(index)
                buffer.mapped.unlink()
                self.buffers.pop(buffer.name).mapped.close()
        return found


@fault("first-left-at-exit", violates="lifecycle.removed-at-exit", subtle=True)
class FirstLeftAtExit(Receiver):
    """Leaves the buffers of all gamepads except the last."""

    def unlink(self, buffer: Buffer) -> None:
        if buffer is list(self.buffers.values())[-1]:
            super().unlink(buffer)
