"""Faults of the RPC client about responses."""

import time
from typing import Any

from conformance.codec import Decoder, Frame
from conformance.runtime.codec import encode
from mocks.deviations import fault
from mocks.runtime.rpc_client import CallFailed, Client
from mocks.stream_readers import LastOfARead, PerRead


@fault("first-comes-first", violates="rpc.matching")
class FirstComesFirst(Client):
    """Assigns a response to the call that has waited longest."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(next(iter(self.waiting), number), error, result)


@fault("last-comes-first", violates="rpc.matching", subtle=True)
class LastComesFirst(Client):
    """Assigns a response to the latest call."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(next(reversed(self.waiting), number), error, result)


@fault("ids-of-eight-bits", violates="rpc.matching", subtle=True)
class IdsOfEightBits(Client):
    """Compares only the lowest eight bits of ids."""

    def response(self, number: int, error: Any, result: Any) -> None:
        near = (other for other in self.waiting if other % 256 == number % 256)
        super().response(next(near, number), error, result)


@fault("ids-of-three-bits", violates="rpc.matching", subtle=True)
class IdsOfThreeBits(Client):
    """Compares only the lowest three bits of ids."""

    def response(self, number: int, error: Any, result: Any) -> None:
        near = (other for other in self.waiting if other % 8 == number % 8)
        super().response(next(near, number), error, result)


@fault("nil-is-no-result", violates="rpc.success")
class NilIsNoResult(Client):
    """Treats a nil result as a failure."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, "no result" if error is None and result is None else error, result)


@fault("false-as-nil", violates="rpc.success", subtle=True)
class FalseAsNil(Client):
    """Reports nil if the result is false, 0 or empty."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, error, result or None)


@fault("nil-members-left-out", violates="rpc.success", subtle=True)
class NilMembersLeftOut(Client):
    """Removes nil members from a map in the result."""

    def response(self, number: int, error: Any, result: Any) -> None:
        if isinstance(result, dict):
            result = {key: value for key, value in result.items() if value is not None}
        super().response(number, error, result)


@fault("no-call-after-an-error-object", violates="rpc.failure", subtle=True)
class NoCallAfterAnErrorObject(Client):
    """Fails all calls after an error that is not text."""

    lost = False

    def response(self, number: int, error: Any, result: Any) -> None:
        self.lost = self.lost or not isinstance(error, str | None)
        super().response(number, error, result)

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        if self.lost:
            raise CallFailed("the connection is shut down")
        return await super().call(method, params, patience)


@fault("only-maps-are-errors", violates="rpc.failure")
class OnlyMapsAreErrors(Client):
    """Treats errors that are not maps as success."""

    def failed(self, error: Any) -> bool:
        return isinstance(error, dict)


@fault("empty-is-no-error", violates="rpc.failure", subtle=True)
class EmptyIsNoError(Client):
    """Treats false, 0 and empty errors as success."""

    def failed(self, error: Any) -> bool:
        return bool(error)


@fault("result-before-error", violates="rpc.failure", subtle=True)
class ResultBeforeError(Client):
    """Ignores the error if the response has a result."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, error if result is None else None, result)


@fault("errors-kept-back", violates="rpc.error-reachable")
class ErrorsKeptBack(Client):
    """Reports a failed call without the error object."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, None if error is None else "the call has failed", result)


@fault("messages-of-errors-only", violates="rpc.error-reachable", subtle=True)
class MessagesOfErrorsOnly(Client):
    """Reports only the message of an error that is a map, and hides other errors."""

    def response(self, number: int, error: Any, result: Any) -> None:
        if error is not None:
            error = error.get("message") if isinstance(error, dict) else "failed"
        super().response(number, error, result)


@fault("shortest-responses-only", violates="encoding.wider-forms")
class ShortestResponsesOnly(Client):
    """Ignores responses that are not in their shortest form."""

    def take(self, frame: Frame) -> None:
        if frame.name is None or frame.raw == encode(frame.value):
            super().take(frame)


@fault("signed-ids-passed-over", violates="encoding.wider-forms", subtle=True)
class SignedIdsPassedOver(Client):
    """Ignores a response whose id is written as a signed integer."""

    def take(self, frame: Frame) -> None:
        if frame.raw[3:5] not in (b"\xd0\x01", b"\xd0\x00"):
            super().take(frame)


@fault("a-read-is-a-response", violates="encoding.segmentation")
class AReadIsAResponse(Client):
    """Treats each read as complete responses."""

    def make_decoder(self) -> Decoder:
        return PerRead(super().make_decoder)


@fault("last-of-a-read", violates="encoding.segmentation", subtle=True)
class LastResponseOfARead(Client):
    """Uses only the last response of a read."""

    def make_decoder(self) -> Decoder:
        return LastOfARead(super().make_decoder())


@fault("responses-of-64-kilobytes", violates="encoding.segmentation", subtle=True)
class ResponsesOf64Kilobytes(Client):
    """Drops a response of more than 65535 bytes."""

    def take(self, frame: Frame) -> None:
        if len(frame.raw) <= 65535:
            super().take(frame)


@fault("deaf-after-a-second", violates="rpc.success", subtle=True)
class DeafAfterASecond(Client):
    """Ignores all data after a second of silence on a connection."""

    heard: float | None = None

    def take(self, frame: Frame) -> None:
        silent = time.monotonic() - (self.heard or time.monotonic())
        if silent < 1:
            self.heard = time.monotonic()
            super().take(frame)
