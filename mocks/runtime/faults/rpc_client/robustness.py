"""Faults of the RPC client about unusual input."""

from typing import Any

from conformance.codec import Frame
from conformance.runtime.shapes import NOTIFICATION, RESPONSE
from mocks.deviations import fault
from mocks.runtime.faults.dying import die
from mocks.runtime.rpc_client import CallFailed, Client


@fault("dies-of-strangers", violates="robustness.unknown-ids")
class DiesOfStrangers(Client):
    """Crashes after a response that no call waits for."""

    def response(self, number: int, error: Any, result: Any) -> None:
        if number not in self.waiting:
            die()
        super().response(number, error, result)


@fault("strangers-to-the-first", violates="robustness.unknown-ids", subtle=True)
class StrangersToTheFirst(Client):
    """Assigns a response with an unknown id to the only waiting call."""

    def response(self, number: int, error: Any, result: Any) -> None:
        if number not in self.waiting and len(self.waiting) == 1:
            number = next(iter(self.waiting))
        super().response(number, error, result)


@fault("three-elements-suffice", violates="robustness.malformed-responses", subtle=True)
class ThreeElementsSuffice(Client):
    """Treats a response of three elements as a success."""

    def take(self, frame: Frame) -> None:
        if frame.name == RESPONSE and len(frame.value) == 3:
            frame = Frame(frame.raw, RESPONSE, [*frame.value, None])
        super().take(frame)


@fault("any-array-of-four", violates="robustness.malformed-responses", subtle=True)
class AnyArrayOfFour(Client):
    """Ignores the type of a message."""

    def take(self, frame: Frame) -> None:
        value = frame.value
        if isinstance(value, list) and len(value) == 4 and type(value[1]) is int:
            self.response(*value[1:])
        else:
            super().take(frame)


@fault("dies-of-notifications", violates="robustness.malformed-responses")
class DiesOfNotifications(Client):
    """Crashes after a notification from the server."""

    def take(self, frame: Frame) -> None:
        if frame.name == NOTIFICATION:
            die()
        super().take(frame)


@fault("dies-of-noise", violates="robustness.broken-bytes")
class DiesOfNoise(Client):
    """Crashes after bytes that are not MessagePack."""

    def unreadable(self, frame: Frame) -> None:
        die()


@fault("dies-of-a-cut", violates="robustness.broken-bytes", subtle=True)
class DiesOfACut(Client):
    """Crashes if the connection ends within a response."""

    def gone(self) -> None:
        if self.decoder.end():
            die()
        super().gone()


@fault("waits-for-ever", violates="robustness.no-response")
class WaitsForEver(Client):
    """Waits an hour for a response."""

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        return await super().call(method, params, 3600)


@fault("waits-for-a-lost-server", violates="robustness.no-response", subtle=True)
class WaitsForALostServer(Client):
    """Does not fail its calls when the connection ends."""

    def gone(self) -> None:
        pass


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
