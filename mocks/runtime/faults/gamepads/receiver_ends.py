"""Faults of a gamepad receiver that end its process at a message."""

from typing import Any

from mocks.deviations import Subtle, Table
from mocks.runtime.gamepad_receiver import Receiver
from mocks.steps import before, die


def _is_empty(receiver: Receiver, data: Any) -> bool:
    return not data


def _has_long_key(receiver: Receiver, pad: dict[str, Any], *rest: Any) -> bool:
    return any(len(key) > 255 for key in pad)


RECEIVER = Table(Receiver)

RECEIVER["receiver.odd-messages"] = {
    "dies-of-empty-datagrams": Subtle(
        "Crashes if a datagram is empty.",
        before("received", die, _is_empty),
    ),
    "dies-of-long-keys": Subtle(
        "Crashes if a key of a gamepad has more than 255 characters.",
        before("axes", die, _has_long_key),
    ),
}
