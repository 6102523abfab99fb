"""Faults of the RPC client about unusual input."""

from typing import Any

from conformance.codec import Frame
from conformance.runtime.shapes import NOTIFICATION, RESPONSE
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.messages import named
from mocks.runtime.rpc_client import CallFailed, Client
from mocks.steps import When, alter, before, die, instead, note, noted, skip

UNKNOWN = When(lambda client, number, error, result: number not in client.waiting)
"""If no call waits for a response."""


def _is_array_of_four(_: Client, frame: Frame) -> bool:
    value = frame.value
    return isinstance(value, list) and len(value) == 4 and type(value[1]) is int


FAULTS = Table(Client)

FAULTS["robustness.unknown-ids"] = {
    "dies-of-strangers": Fault(
        "Crashes after a response that no call waits for.", before("response", die, UNKNOWN)
    ),
    "strangers-to-the-first": Subtle(
        "Assigns a response with an unknown id to the only waiting call.",
        alter(
            "response",
            lambda client, number, *rest: (*client.waiting, *rest),
            UNKNOWN & (lambda client, *_: len(client.waiting) == 1),
        ),
    ),
}

FAULTS["robustness.malformed-responses"] = {
    "three-elements-suffice": Subtle(
        "Treats a response of three elements as a success.",
        alter(
            "take",
            lambda _, frame: Frame(frame.raw, RESPONSE, [*frame.value, None]),
            named(RESPONSE) & (lambda _, frame: len(frame.value) == 3),
        ),
    ),
    "nil-is-zero": Subtle(
        "Takes nil for the id 0.",
        alter(
            "take",
            lambda _, frame: Frame(frame.raw, RESPONSE, [1, 0, *frame.value[2:]]),
            named(RESPONSE) & (lambda _, frame: frame.value[1] is None),
        ),
    ),
    "any-array-of-four": Subtle(
        "Ignores the type of a message.",
        instead("take", lambda client, frame: client.response(*frame.value[1:]), _is_array_of_four),
    ),
    "dies-of-notifications": Fault(
        "Crashes after a notification from the server.", before("take", die, named(NOTIFICATION))
    ),
}

FAULTS["robustness.broken-bytes"] = {
    "dies-of-noise": Fault(
        "Crashes after bytes that are not MessagePack.", before("unreadable", die)
    ),
    "calls-outlive-noise": Subtle(
        "Does not fail its calls if it closes the connection after bytes that are no MessagePack.",
        before("unreadable", note("noisy")),
        skip("gone", noted("noisy")),
    ),
    "dies-of-a-cut": Subtle(
        "Crashes if the connection ends within a response.",
        before("gone", die, lambda client: client.decoder.end()),
    ),
}

FAULTS["robustness.no-response"] = {
    "waits-for-ever": Fault(
        "Waits an hour for a response.", alter("call", lambda _, *args: (*args[:2], 3600))
    ),
    "waits-for-a-lost-server": Subtle(
        "Does not fail its calls when the connection ends.", skip("gone")
    ),
}


@fault("no-call-after-a-timeout", violates="robustness.no-response", subtle=True)
class NoCallAfterATimeout(Client):
    """Fails all calls after one call was not answered in time."""

    late = False

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        if self.late:
            raise CallFailed("the server is gone")
        try:
            return await super().call(method, params, patience)
        except CallFailed as failed:
            self.late = "in time" in str(failed)
            raise
