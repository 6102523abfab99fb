"""Faults of the receiver in its buffers."""

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
    """Clears the valid bit of a gamepad that is gone, and does not set it when it is back."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        found = super().messages(data)
        for pads in found:
            for index in self.pads.keys() - pads.keys():
                self.put_valid(self.pads[index], False)
        return found

    def check_valid(self, buffer: Buffer) -> None:
        """It does not look at it, either."""


@fault("at-rest-is-none", violates="lifecycle.created-valid", subtle=True)
class AtRestIsNone(Receiver):
    """Does not take a gamepad for connected before anything of it is moved or pressed."""

    async def play(self, index: str, pad: dict[str, Any]) -> None:
        if index in self.pads or any(pad.values()):
            await super().play(index, pad)


@fault("invalid-at-first", violates="lifecycle.created-valid")
class InvalidAtFirst(Receiver):
    """Does not set the valid bit."""

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        pass

    def check_valid(self, buffer: Buffer) -> None:
        pass


@fault("second-is-invalid", violates="lifecycle.created-valid", subtle=True)
class SecondIsInvalid(Receiver):
    """Sets the valid bit of the first buffer only."""

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        super().put_valid(buffer, valid and len(self.buffers) == 1)

    def check_valid(self, buffer: Buffer) -> None:
        pass


@fault("time-beside-an-axis", violates="buffers.shared-memory")
class TimeBesideAnAxis(Receiver):
    """Keeps the time of the latest input in the place of an axis."""

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
    """Stamps the buffers of all gamepads whenever one has new input."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        for other in self.pads.values():
            async with self.operation(other):
                self.stamp(other, "read")
        return await super().set_data(buffer, values)


@fault("all-the-same", violates="buffers.one-each")
class AllTheSame(Receiver):
    """Puts the input of any gamepad into the buffers of all."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        for other in self.pads.values():
            await super().set_data(other, values)
        return await super().set_data(buffer, values)


@fault("write-block-stamped", violates="operations.nothing-else", subtle=True)
class WriteBlockStamped(Receiver):
    """Sets the timestamps of both blocks."""

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
    """Goes on without the mutex if it does not have it within some milliseconds."""

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
    """Never goes on once it has had to wait for the mutex, as with one that is not shared."""

    async def acquire(self, buffer: Buffer) -> None:
        if not buffer.mapped.trylock(buffer.layout["mutex"].offset):
            await asyncio.Event().wait()


@fault("second-waits-for-ever", violates="format.mutex", subtle=True)
class SecondWaitsForEver(WaitsForEver):
    """Does so with any but its first buffer."""

    async def acquire(self, buffer: Buffer) -> None:
        if buffer is next(iter(self.pads.values()), buffer):
            await Receiver.acquire(self, buffer)
        else:
            await super().acquire(buffer)


@fault("kept-after-clamping", violates="operations.mutex-released")
class KeptAfterClamping(Receiver):
    """Keeps the mutex of a buffer for which a value was clamped."""

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
    """Keeps the mutex where input has no axes."""

    async def play(self, index: str, pad: dict[str, Any]) -> None:
        await super().play(index, pad)
        if "lx" not in pad:
            await self.acquire(self.pads[index])


@fault("made-again", violates="lifecycle.kept")
class MadeAgain(Receiver):
    """Makes a buffer anew for every tenth message."""

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
    """Makes a buffer anew after a message in which no gamepad was."""

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
    """Leaves behind the buffer of every gamepad but the last."""

    def unlink(self, buffer: Buffer) -> None:
        if buffer is list(self.buffers.values())[-1]:
            super().unlink(buffer)
