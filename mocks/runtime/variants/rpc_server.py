"""Lawful variants of the RPC server."""

import asyncio
import contextlib
import ctypes
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from conformance.codec import Frame
from conformance.runtime.shapes import NOTIFICATION, mark
from mocks.deviations import variant
from mocks.runtime.rpc_server import PROCEDURES, Server
from mocks.streams import Stream


@variant("notifies", of="rpc.own-direction")
class Notifies(Server):
    """Sends notifications of its procedures, and of each call."""

    async def run(self, stream: Stream) -> None:
        stream.write(self.encode([2, "procedures", list(self.PROCEDURES)]))
        await super().run(stream)

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.send([2, "called", [method]])
        super().request(number, method, params)


@variant("answers-later", of="rpc.any-order")
class AnswersLater(Server):
    """Answers requests with even ids a moment later than the others."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        if number % 2:
            super().answer(number, error, result)
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(0.005, super().answer, number, error, result)


@variant("a-task-for-each", of="rpc.notification-calls")
class ATaskForEach(Server):
    """Processes each message in a task of its own, notifications a moment later."""

    def take(self, frame: Frame) -> None:
        later = 0.02 if frame.name == NOTIFICATION else 0.0
        asyncio.get_running_loop().call_later(later, super().take, frame)


@variant("one-client-at-a-time", of="rpc.clients-apart")
class OneClientAtATime(Server):
    """Serves a client only after the previous one has disconnected."""

    turn = asyncio.Lock()

    async def run(self, stream: Stream) -> None:
        async with self.turn:
            await super().run(stream)


@variant("turns-others-away", of="rpc.clients-apart")
class TurnsOthersAway(Server):
    """Closes a connection that is opened while it serves another."""

    busy = False

    async def run(self, stream: Stream) -> None:
        if type(self).busy:
            stream.close()
            return
        type(self).busy = True
        try:
            await super().run(stream)
        finally:
            type(self).busy = False


@variant("echo-of-one", of="rpc.arguments")
class EchoOfOne(Server):
    """Has only an echo procedure, with one argument."""

    PROCEDURES: Mapping[str, Callable[..., Any]] = MappingProxyType({"echo": lambda value: value})


@variant("errors-as-text", of="rpc.unknown-procedure")
class ErrorsAsText(Server):
    """Uses text as error objects."""

    def error(self, error: Exception) -> Any:
        return str(super().error(error))


@variant("errors-as-numbers", of="rpc.failing-procedure")
class ErrorsAsNumbers(Server):
    """Uses numbers as error objects, including 0."""

    def procedure(self, method: str) -> Callable[..., Any]:
        self.unknown = method not in PROCEDURES
        return super().procedure(method)

    def error(self, error: Exception) -> Any:
        return -1 if self.unknown else 0


@variant("closes-upon-malformed", of="robustness.malformed-requests")
class ClosesUponMalformed(Server):
    """Closes the connection after anything except a request."""

    def malformed(self, value: Any) -> None:
        self.close()


@variant("errors-upon-unreadable", of="robustness.broken-bytes")
class ErrorsUponUnreadable(Server):
    """Answers undecodable bytes with an error for id 0, and closes the connection."""

    def unreadable(self, frame: Frame) -> None:
        self.answer(0, {"message": "not MessagePack"}, None)
        super().unreadable(frame)


@variant("differences-are-floats", of="rpc.result")
class DifferencesAreFloats(Server):
    """Subtracts as floats, and answers whole results as floats too."""

    def procedure(self, method: str) -> Callable[..., Any]:
        called = super().procedure(method)
        if method != "subtract":
            return called
        return lambda *args: float(called(*args))


@variant("silent-upon-malformed", of="robustness.malformed-requests")
class SilentUponMalformed(Server):
    """Does not answer malformed requests."""

    def malformed(self, value: Any) -> None:
        pass


@variant("text-for-bytes", of="rpc.bytes")
class TextForBytes(Server):
    """Uses one type for text and bytes, and answers both as text."""

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        return super().response(number, error, _to_text(result))


@variant("text-for-keys", of="rpc.map-keys")
class TextForKeys(Server):
    """Converts all keys of maps to text."""

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        return super().response(number, error, _to_text_keys(result))


@variant("refuses-keys", of="rpc.map-keys")
class RefusesKeys(Server):
    """Answers maps with keys that are not text with an error."""

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if any(mark(param) == "$map" for param in params):
            self.answer(number, "keys are text", None)
        else:
            super().request(number, method, params)


@variant("closes-upon-keys", of="rpc.map-keys")
class ClosesUponKeys(Server):
    """Closes the connection after a map with keys that are not text."""

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if any(mark(param) == "$map" for param in params):
            self.close("a key that is not text")
        else:
            super().request(number, method, params)


@variant("whole-numbers", of="rpc.result")
class WholeNumbers(Server):
    """Answers subtract of floats with an error."""

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if method == "subtract" and any(isinstance(param, float) for param in params):
            self.answer(number, "whole numbers are subtracted", None)
        else:
            super().request(number, method, params)


@variant("doubles", of="rpc.wide-integers")
class Doubles(Server):
    """Uses doubles for all numbers, and writes whole numbers of 32 bits as integers."""

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        return super().response(number, error, _to_double(result))


@variant("refuses-wide-integers", of="rpc.wide-integers")
class RefusesWideIntegers(Server):
    """Answers integers beyond 64 bits with a sign with an error."""

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if _is_wide(params):
            self.answer(number, "an integer beyond 64 bits with a sign", None)
        else:
            super().request(number, method, params)


@variant("singles", of="rpc.wide-floats")
class Singles(Server):
    """Stores floats in single precision."""

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        return super().response(number, error, _to_single(result))


@variant("silent-about-unencodable", of="rpc.unencodable-result")
class SilentAboutUnencodable(Server):
    """Does not answer if the result cannot be encoded."""

    def send(self, value: Any) -> None:
        with contextlib.suppress(TypeError):
            self.write(self.encode(value))


@variant("arguments-unchecked", of="rpc.argument-count")
class ArgumentsUnchecked(Server):
    """Uses 0 for missing arguments of subtract, and ignores additional ones."""

    def procedure(self, method: str) -> Callable[..., Any]:
        called = super().procedure(method)
        if method != "subtract":
            return called
        return lambda *args: called(*[*args, 0, 0][:2])


def _to_text_keys(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_text_keys(entry) for entry in value]
    return {str(key): part for key, part in value["$map"]} if mark(value) == "$map" else value


def _to_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_text(entry) for entry in value]
    return {"$raw": value["$bin"]} if mark(value) == "$bin" else value


def _is_wide(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_is_wide, value))
    if isinstance(value, dict):
        return any(map(_is_wide, value.values()))
    return type(value) is int and value >= 2**63


def _to_single(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_single(entry) for entry in value]
    if isinstance(value, dict) and not mark(value):
        return {key: _to_single(entry) for key, entry in value.items()}
    return ctypes.c_float(value).value if type(value) is float else value


def _to_double(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_double(entry) for entry in value]
    if isinstance(value, dict) and not mark(value):
        return {key: _to_double(entry) for key, entry in value.items()}
    if type(value) not in (int, float):
        return value
    narrow = -(2**31) <= value < 2**32 and value == int(value)
    return int(value) if narrow else float(value)
