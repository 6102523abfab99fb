"""Faults of the owner about reads, subscriptions and validity."""

from collections.abc import Iterable
from typing import Any

from mocks.deviations import fault
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.memory.peer import Buffer


@fault("reads-everything", violates="get-read.names")
class ReadsEverything(Owner):
    """Answers all parameters if any bit of the Read bitmap is set."""

    async def get_read(self, buffer: Buffer) -> list[str]:
        return [*buffer.layout.params("read")] if await super().get_read(buffer) else []


@fault("reads-one-at-a-time", violates="get-read.names", subtle=True)
class ReadsOneAtATime(Owner):
    """Answers at most two names, and drops the others."""

    async def get_read(self, buffer: Buffer) -> list[str]:
        return (await super().get_read(buffer))[:2]


@fault("read-bits-kept", violates="get-read.clears")
class ReadBitsKept(Owner):
    """Does not clear the Read bitmap."""

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        if bitmap != "read":
            super().clear(buffer, bitmap)


@fault("one-read-bit-cleared", violates="get-read.clears", subtle=True)
class OneReadBitCleared(Owner):
    """Clears only the most significant set bit of the Read bitmap."""

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        if bitmap == "read" and (bits := buffer["control.read"]):
            buffer["control.read"] = bits & ~(1 << (bits.bit_length() - 1))
        else:
            super().clear(buffer, bitmap)


@fault("set-read-does-nothing", violates="set-read.sets")
class SetReadDoesNothing(Owner):
    """Sets no bits in the Read bitmap."""

    async def set_read(self, buffer: Buffer, params: list[str]) -> None:
        await super().set_read(buffer, [])


@fault("first-read-bit-only", violates="set-read.sets", subtle=True)
class FirstReadBitOnly(Owner):
    """Sets only the bit of the first parameter."""

    async def set_read(self, buffer: Buffer, params: list[str]) -> None:
        await super().set_read(buffer, params[:1])


@fault("set-valid-needs-valid", violates="set-valid.sets", subtle=True)
class SetValidNeedsValid(Owner):
    """Ignores set_valid for an invalid buffer, except when its peripheral connects."""

    connecting = False

    async def connect(self, type_: str, uid: str) -> Buffer:
        self.connecting = True
        try:
            return await super().connect(type_, uid)
        finally:
            self.connecting = False

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        if self.connecting or buffer["valid"]:
            super().put_valid(buffer, valid)


@fault("set-valid-sets", violates="set-valid.sets")
class SetValidSets(Owner):
    """Always sets the valid bit, except when its peripheral disconnects."""

    leaving = False

    async def disconnect(self, type_: str, uid: str) -> None:
        self.leaving = True
        try:
            await super().disconnect(type_, uid)
        finally:
            self.leaving = False

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        super().put_valid(buffer, valid or not self.leaving)


@fault("delay-of-8-bits", violates="set-sub.fields")
class DelayOf8Bits(Owner):
    """Truncates the delay to 8 bits."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        await super().set_sub(buffer, uid, params, round(delay) & 0xFF)


@fault("uid-of-80-bits", violates="set-sub.fields", subtle=True)
class UidOf80Bits(Owner):
    """Truncates the UID to 80 bits."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        await super().set_sub(buffer, uid & ((1 << 80) - 1), params, delay)


@fault("subscriptions-add-up", violates="set-sub.fields", subtle=True)
class SubscriptionsAddUp(Owner):
    """Keeps the parameters of the previous subscription."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        before: Iterable[str] = ()
        if buffer.layout.control:
            before = buffer.peripheral.names(buffer["control.subscription"])
        await super().set_sub(buffer, uid, [*params, *before], delay)


@fault("delay-counts-down", violates="set-sub.form")
class DelayCountsDown(Owner):
    """Stores 65535 minus the delay."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        await super().set_sub(buffer, uid, params, 65535 - round(delay))


@fault("subscription-inverted", violates="set-sub.form", subtle=True)
class SubscriptionInverted(Owner):
    """Sets the bits of the parameters that are not part of the subscription."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        others = [p.name for p in buffer.peripheral.params if p.name not in params]
        await super().set_sub(buffer, uid, others, delay)


@fault("reads-for-ever", violates="cycle.dev-read")
class ReadsForEver(Owner):
    """Does not clear the Read bitmap in a cycle."""

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        before = buffer["control.read"]
        messages = await super().cycle(buffer)
        buffer["control.read"] = before
        return messages


@fault("reads-unasked", violates="cycle.dev-read", subtle=True)
class ReadsUnasked(Owner):
    """Sends a DEV_READ without parameters if the Read bitmap is empty."""

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        messages = await super().cycle(buffer)
        read = any(message["message"] == "DEV_READ" for message in messages)
        return messages if read else [{"message": "DEV_READ", "params": []}, *messages]
