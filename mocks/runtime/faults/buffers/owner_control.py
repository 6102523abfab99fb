"""Faults of the owner about reads, subscriptions and validity."""

from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.memory.changes import SMART, SUBSCRIBE_TO_OTHERS, VALID, about, note_during
from mocks.runtime.memory.peer import Buffer
from mocks.steps import Change, alter, instead, noted, only, returning, skip

Messages = list[dict[str, Any]]


def _keep_one_bit_less(_: Owner, buffer: Buffer, bitmap: str) -> None:
    """Clear only the most significant set bit."""
    bits = buffer["control.read"]
    buffer["control.read"] = bits & ~(1 << bits.bit_length() >> 1)


async def _all_if_any(usual: Any, owner: Owner, buffer: Buffer) -> list[str]:
    return [*buffer.layout.params("read")] if await usual(owner, buffer) else []


def _with_subscribed(_: Owner, buffer: Buffer, uid: int, params: list[str], delay: float) -> Any:
    subscribed = buffer.peripheral.names(buffer["control.subscription"])
    return buffer, uid, [*params, *subscribed], delay


async def _keep_reads(usual: Any, owner: Owner, buffer: Buffer) -> Messages:
    before = buffer["control.read"]
    messages: Messages = await usual(owner, buffer)
    buffer["control.read"] = before
    return messages


def _with_read(messages: Messages) -> Messages:
    read = any(message["message"] == "DEV_READ" for message in messages)
    return messages if read else [{"message": "DEV_READ", "params": []}, *messages]


def _add_bits(owner: Owner, buffer: Buffer, bitmap: str, names: list[str]) -> None:
    added = buffer[f"control.{bitmap}"] + owner.bits(buffer.peripheral, names)
    buffer[f"control.{bitmap}"] = added & 0xFFFF


FAULTS = Table(Owner)

FAULTS["get-read.names"] = {
    "reads-everything": Fault(
        "Answers all parameters if any bit of the Read bitmap is set.",
        Change("get_read", _all_if_any),
    ),
    "reads-one-at-a-time": Subtle(
        "Answers at most two names, and drops the others.",
        returning("get_read", lambda names: names[:2]),
    ),
}

FAULTS["get-read.clears"] = {
    "read-bits-kept": Fault("Does not clear the Read bitmap.", skip("clear", about("read"))),
    "one-read-bit-cleared": Subtle(
        "Clears only the most significant set bit of the Read bitmap.",
        instead("clear", _keep_one_bit_less, about("read")),
    ),
}

FAULTS["set-read.sets"] = {
    "set-read-does-nothing": Fault(
        "Sets no bits in the Read bitmap.", alter("set_read", lambda _, buffer, names: (buffer, []))
    ),
    "read-bits-added": Subtle(
        "Adds the bits to the Read bitmap as a number, so a bit that is set carries.",
        instead("mark", _add_bits, lambda _, buffer, bitmap, names: bitmap == "read"),
    ),
    "first-read-bit-only": Subtle(
        "Sets only the bit of the first parameter.",
        alter("set_read", lambda _, buffer, names: (buffer, names[:1])),
    ),
}

FAULTS["set-valid.sets"] = {
    "set-valid-needs-valid": Subtle(
        "Ignores set_valid for an invalid buffer, except when its peripheral connects.",
        note_during("connect", "connecting"),
        only("put_valid", noted("connecting") | VALID),
    ),
    "set-valid-sets": Fault(
        "Always sets the valid bit, except when its peripheral disconnects.",
        note_during("disconnect", "leaving"),
        alter("put_valid", lambda _, buffer, valid: (buffer, True), ~noted("leaving")),
    ),
}

FAULTS["set-sub.fields"] = {
    "delay-of-8-bits": Fault(
        "Truncates the delay to 8 bits.",
        alter("set_sub", lambda _, *args: (*args[:-1], round(args[-1]) & 0xFF)),
    ),
    "uid-of-80-bits": Subtle(
        "Truncates the UID to 80 bits.",
        alter("set_sub", lambda _, buffer, uid, *args: (buffer, uid % 2**80, *args)),
    ),
    "subscriptions-add-up": Subtle(
        "Keeps the parameters of the previous subscription.",
        alter("set_sub", _with_subscribed, SMART),
    ),
}

FAULTS["set-sub.form"] = {
    "delay-counts-down": Fault(
        "Stores 65535 minus the delay.",
        alter("set_sub", lambda _, *args: (*args[:-1], 65535 - round(args[-1]))),
    ),
    "subscription-inverted": Subtle(
        "Sets the bits of the parameters that are not part of the subscription.",
        SUBSCRIBE_TO_OTHERS,
    ),
}

FAULTS["cycle.dev-read"] = {
    "reads-for-ever": Fault(
        "Does not clear the Read bitmap in a cycle.", Change("cycle", _keep_reads)
    ),
    "reads-unasked": Subtle(
        "Sends a DEV_READ without parameters if the Read bitmap is empty.",
        returning("cycle", _with_read),
    ),
}
