"""Faults about the layout of buffers."""

from dataclasses import replace

from conformance.runtime.memory.catalog import Peripheral
from conformance.runtime.memory.layout import Layout
from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.memory.changes import BITS_DOWNWARDS, VALID_IS_ONE, lay_out_params, move
from mocks.runtime.memory.peer import Asked
from mocks.steps import Change, alter, returning


def _narrow(field: str, width: int = 1) -> Change:
    """Reserve fewer bytes for a field of the device control block."""
    return returning("layout", lambda of: move(of, field, size=width) if of.control else of)


def _valid_in_mutex(layout: Layout) -> Layout:
    return move(layout, "valid", offset=layout["mutex"].end - 1)


def _share_bytes(layout: Layout) -> Layout:
    """Move all booleans of a block to the first one."""
    for block in ("read", "write"):
        fields = layout.params(block).values()
        booleans = [field for field in fields if (field.type, field.count) == ("bool", None)]
        for field in booleans[1:]:
            layout = move(layout, field.name, offset=booleans[0].offset)
    return layout


def _used(peripheral: Peripheral) -> Peripheral:
    """Return a peripheral without the parameters that nobody can access."""
    params = (param for param in peripheral.params if param.readable or param.writeable)
    return replace(peripheral, params=tuple(params))


FAULTS = Table(Asked)

FAULTS["format.fields-apart"] = {
    "valid-in-the-mutex": Subtle(
        "Uses the last byte of the mutex, which is usually 0, for the valid bit.",
        returning("layout", _valid_in_mutex),
    ),
    "booleans-share-a-byte": Fault(
        "Stores all booleans of a block in one byte.", returning("layout", _share_bytes)
    ),
}

FAULTS["format.valid-bit"] = {
    "valid-is-one": Subtle(
        "Takes a buffer for valid only if the whole byte is 1.",
        VALID_IS_ONE,
    ),
}

FAULTS["format.read-block"] = {
    "neither-is-read": Subtle(
        "Adds parameters to the read block that are neither readable nor writeable.",
        lay_out_params(lambda p: replace(p, readable=p.readable or not p.writeable)),
    ),
    "everything-is-read": Fault(
        "Adds all parameters to the read block.",
        lay_out_params(lambda param: replace(param, readable=True)),
    ),
}

FAULTS["format.write-block"] = {
    "write-only-is-not": Subtle(
        "Omits parameters from the write block that are not readable.",
        lay_out_params(lambda param: replace(param, writeable=param.writeable and param.readable)),
    ),
    "everything-is-written": Fault(
        "Adds all parameters to the write block.",
        lay_out_params(lambda param: replace(param, writeable=True)),
    ),
}

FAULTS["format.control-widths"] = {
    "uid-of-64-bits": Fault("Reserves 64 bits for a UID.", _narrow("control.uid", 8)),
    "subscription-of-8-bits": Subtle(
        "Reserves 8 bits for the subscription.", _narrow("control.subscription")
    ),
}

FAULTS["format.control-block"] = {
    "update-of-8-bits": Subtle("Reserves 8 bits for the Update bitmap.", _narrow("control.update")),
    "read-of-8-bits": Fault("Reserves 8 bits for the Read bitmap.", _narrow("control.read")),
}

FAULTS["format.bit-order"] = {
    "first-bit-last": Fault("Counts bits from the most significant.", *BITS_DOWNWARDS),
    "bits-of-the-block": Subtle(
        "Counts only parameters that are readable or writeable.",
        alter("bits", lambda _, of, names: (_used(of), names)),
        alter("names", lambda _, of, bitmap: (_used(of), bitmap)),
    ),
}

FAULTS["format.bitmaps"] = {
    "two-bits-each": Fault(
        "Sets the bit of the next parameter too.",
        returning("bits", lambda bits: (bits | bits << 1) & 0xFFFF),
    ),
    "fifteen-bits": Subtle(
        "Uses one bit for the last two of 16 parameters.",
        returning("bits", lambda bits: bits & 0x7FFF | (bits & 0x8000) >> 1),
    ),
    "bits-from-one": Subtle(
        "Counts bits from 1, so that the last of 16 parameters has none.",
        returning("bits", lambda bits: bits << 1 & 0xFFFF),
        alter("names", lambda _, of, bitmap: (of, bitmap >> 1)),
    ),
}
