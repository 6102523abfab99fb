"""Faults of peers with buffers that end their process during an operation."""

from typing import Any

from mocks.deviations import Subtle, Table
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.memory.peer import Buffer
from mocks.steps import before, die, exit_process


def _is_empty(owner: Owner, buffer: Buffer, given: Any) -> bool:
    return not given


def _is_unknown(owner: Owner, type_: str, uid: str) -> bool:
    return owner.name(type_, uid) not in owner.buffers


def _is_invalid(consumer: Consumer, buffer: Buffer, *args: Any) -> bool:
    return not buffer["valid"]


OWNER = Table(Owner)
CONSUMER = Table(Consumer)

OWNER["robustness.odd-operations"] = {
    "no-data-end-it": Subtle(
        "Crashes if set_data has no values.",
        before("set_data", die, _is_empty),
    ),
    "no-names-end-it": Subtle(
        "Crashes if set_read has no parameters.",
        before("set_read", die, _is_empty),
    ),
    "dies-of-a-stranger": Subtle(
        "Crashes if a peripheral disconnects that was never connected.",
        before("disconnect", die, _is_unknown),
    ),
}

CONSUMER["operations.validity"] = {
    "invalid-buffers-end-it": Subtle(
        "Exits if a buffer that it reads or writes is invalid.",
        before("get_value", exit_process, _is_invalid),
        before("set_value", exit_process, _is_invalid),
    ),
}
