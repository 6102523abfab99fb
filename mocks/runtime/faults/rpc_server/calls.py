"""Faults of the RPC server about arguments, results and errors."""

import contextlib
import struct
from collections.abc import Callable
from typing import Any

from conformance.runtime.shapes import mark
from mocks.deviations import fault
from mocks.runtime import rpc_server
from mocks.runtime.faults.dying import die
from mocks.runtime.rpc_server import Server


def change_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with a change applied to every part except keys."""
    if isinstance(value, list):
        return [change_parts(part, change) for part in value]
    if isinstance(value, dict) and not mark(value):
        return {key: change_parts(part, change) for key, part in value.items()}
    return change(value)


@fault("false-for-no-error", violates="rpc.result")
class FalseForNoError(Server):
    """Writes false instead of a nil error."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, False if error is None else error, result)


@fault("zero-is-nothing", violates="rpc.result", subtle=True)
class ZeroIsNothing(Server):
    """Answers nil for results that are 0 or empty."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, error, result or None)


@fault("results-swapped", violates="encoding.segmentation", subtle=True)
class ResultsSwapped(Server):
    """Answers with the previous result if several requests arrive in one read."""

    before: Any = None

    def receive(self, data: bytes) -> None:
        self.before = None
        super().receive(data)

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, error, result if self.before is None else self.before)
        self.before = result


@fault("error-of-before", violates="rpc.result", subtle=True)
class ErrorOfBefore(Server):
    """Repeats the error of a failure in the next response."""

    before: Any = None

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, self.before if error is None else error, result)
        self.before = error


@fault("answers-by-heart", violates="rpc.result", subtle=True)
class AnswersByHeart(Server):
    """Repeats its earlier response to the same id."""

    def __init__(self, number: int = 1) -> None:
        super().__init__(number)
        self.answered: dict[int, tuple[Any, Any]] = {}

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, *self.answered.setdefault(number, (error, result)))


@fault("empty-for-nothing", violates="rpc.nil-result")
class EmptyForNothing(Server):
    """Answers an empty map instead of a nil result."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, error, {} if error is None and result is None else result)


@fault("error-for-nothing", violates="rpc.nil-result", subtle=True)
class ErrorForNothing(Server):
    """Answers an error if the result is nil."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        none = {"message": "no result"} if result is None else None
        super().answer(number, error or none, result)


@fault("arguments-reversed", violates="rpc.arguments")
class ArgumentsReversed(Server):
    """Reverses the order of the arguments."""

    def call(self, method: str, params: list[Any], then: Callable[[Any, Any], None]) -> None:
        super().call(method, params[::-1], then)


@fault("array-spread", violates="rpc.arguments", subtle=True)
class ArraySpread(Server):
    """Uses the elements of a single array argument as the arguments."""

    def call(self, method: str, params: list[Any], then: Callable[[Any, Any], None]) -> None:
        only = params[0] if len(params) == 1 else None
        super().call(method, only if isinstance(only, list) else params, then)


@fault("sixteen-arguments", violates="rpc.arguments", subtle=True)
class SixteenArguments(Server):
    """Passes at most sixteen arguments to the procedure."""

    def call(self, method: str, params: list[Any], then: Callable[[Any, Any], None]) -> None:
        super().call(method, params[:16], then)


@fault("no-nil-at-the-end", violates="rpc.arguments", subtle=True)
class NoNilAtTheEnd(Server):
    """Drops nil arguments at the end."""

    def call(self, method: str, params: list[Any], then: Callable[[Any, Any], None]) -> None:
        given = list(params)
        while given and given[-1] is None:
            given.pop()
        super().call(method, given, then)


class _Echo(Server):
    """Changes values in the echo procedure."""

    def change(self, value: Any) -> Any:
        return value

    def call(self, method: str, params: list[Any], then: Callable[[Any, Any], None]) -> None:
        altered = change_parts(params, self.change) if method == "echo" else params
        super().call(method, altered, then)


@fault("bytes-as-text", violates="rpc.bytes")
class BytesAsText(_Echo):
    """Converts bytes to text."""

    def change(self, value: Any) -> Any:
        if mark(value) != "$bin":
            return value
        return bytes.fromhex(value["$bin"]).decode("latin-1")


@fault("negative-keys-lost", violates="rpc.map-keys", subtle=True)
class NegativeKeysLost(_Echo):
    """Drops entries of a map with negative keys."""

    def change(self, value: Any) -> Any:
        if mark(value) != "$map":
            return value
        pairs = value["$map"]
        return {"$map": [[k, v] for k, v in pairs if not (isinstance(k, int) and k < 0)]}


@fault("numbers-as-doubles", violates="rpc.wide-integers", subtle=True)
class NumbersAsDoubles(_Echo):
    """Stores integers in doubles, as JavaScript does."""

    def change(self, value: Any) -> Any:
        exact = type(value) is not int or abs(value) <= 2**53
        return value if exact else min(int(float(value)), 2**64 - 1)


@fault("numbers-of-63-bits", violates="rpc.values", subtle=True)
class NumbersOf63Bits(_Echo):
    """Stores integers in signed integers of 64 bits."""

    def change(self, value: Any) -> Any:
        return value - 2**64 if type(value) is int and value >= 2**63 else value


@fault("floats-of-four-digits", violates="rpc.values", subtle=True)
class FloatsOfFourDigits(_Echo):
    """Rounds floats to four digits."""

    def change(self, value: Any) -> Any:
        return float(f"{value:.4g}") if type(value) is float else value


@fault("text-of-1024-bytes-cut", violates="rpc.values", subtle=True)
class TextOf1024BytesCut(_Echo):
    """Loses the last character of a text of exactly 1024 bytes."""

    def change(self, value: Any) -> Any:
        return value[:-1] if isinstance(value, str) and len(value.encode()) == 1024 else value


@fault("arrays-of-65536-empty", violates="rpc.values", subtle=True)
class ArraysOf65536Empty(Server):
    """Counts the elements of an array in 16 bits."""

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        if isinstance(result, list):
            result = [
                part[: len(part) % 65536] if isinstance(part, list) else part for part in result
            ]
        return super().response(number, error, result)


@fault("infinity-as-nil", violates="rpc.wide-floats", subtle=True)
class InfinityAsNil(_Echo):
    """Converts floats that are not finite to nil, as JSON does."""

    def change(self, value: Any) -> Any:
        return None if mark(value) == "$float" else value


@fault("floats-of-single-precision", violates="rpc.wide-floats", subtle=True)
class FloatsOfSinglePrecision(_Echo):
    """Stores floats in single precision."""

    def change(self, value: Any) -> Any:
        if type(value) is not float or abs(value) > 3e38:
            return value
        return struct.unpack("f", struct.pack("f", value))[0]


@fault("booleans-as-integers", violates="rpc.values")
class BooleansAsIntegers(_Echo):
    """Answers true and false as 1 and 0."""

    def change(self, value: Any) -> Any:
        return int(value) if isinstance(value, bool) else value


@fault("long-text-cut", violates="rpc.values", subtle=True)
class LongTextCut(_Echo):
    """Truncates text to 65535 bytes."""

    def change(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return value.encode()[:65535].decode(errors="ignore")


@fault("errors-as-results", violates="rpc.unknown-procedure", subtle=True)
class ErrorsAsResults(Server):
    """Answers errors as results."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, None, result if error is None else error)


@fault("unknown-as-nothing", violates="rpc.unknown-procedure")
class UnknownAsNothing(Server):
    """Answers nil for an unknown procedure."""

    def procedure(self, method: str) -> Callable[..., Any]:
        return self.PROCEDURES.get(method, lambda *args: None)


@fault("names-of-the-language", violates="rpc.unknown-procedure", subtle=True)
class NamesOfTheLanguage(Server):
    """Calls any attribute of its language by name, such as `__class__`."""

    def procedure(self, method: str) -> Callable[..., Any]:
        if method.startswith("__") and hasattr(self, method):
            return lambda *args: str(getattr(self, method))
        return super().procedure(method)


@fault("names-trimmed", violates="rpc.unknown-procedure", subtle=True)
class NamesTrimmed(Server):
    """Removes blanks and newlines from the ends of a procedure's name."""

    def procedure(self, method: str) -> Callable[..., Any]:
        return super().procedure(method.strip())


@fault("failures-as-results", violates="rpc.failing-procedure")
class FailuresAsResults(Server):
    """Answers a failure with its text as the result."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        failed = isinstance(error, dict) and "asked" in error.get("message", "")
        super().answer(number, *((None, error) if failed else (error, result)))


@fault("fails-once", violates="rpc.failing-procedure", subtle=True)
class FailsOnce(Server):
    """Answers only the first failure with an error, and later ones with nil."""

    failures = 0

    def procedure(self, method: str) -> Callable[..., Any]:
        self.failures += method == "fail"
        later = method == "fail" and self.failures > 1
        return rpc_server.nothing if later else super().procedure(method)


@fault("text-ends-at-nul", violates="rpc.values", subtle=True)
class TextEndsAtNul(_Echo):
    """Truncates text at its first NUL."""

    def change(self, value: Any) -> Any:
        return value.partition("\0")[0] if isinstance(value, str) else value


@fault("tired-of-failures", violates="rpc.failing-procedure", subtle=True)
class TiredOfFailures(Server):
    """Answers only the first five calls of a failing procedure."""

    failures = 0

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.failures += method == "fail"
        if method != "fail" or self.failures <= 5:
            super().request(number, method, params)


@fault("result-beside-error", violates="rpc.error-without-result")
class ResultBesideError(Server):
    """Writes the text of an error to the result too."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, error, str(error) if error is not None else result)


@fault("false-beside-error", violates="rpc.error-without-result", subtle=True)
class FalseBesideError(Server):
    """Answers an error and the result false for a failing procedure."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        failed = isinstance(error, dict) and "asked" in error.get("message", "")
        super().answer(number, error, False if failed else result)


@fault("arguments-made-to-fit", violates="rpc.argument-count")
class ArgumentsMadeToFit(Server):
    """Uses 0 for missing arguments, and drops additional ones."""

    def call(self, method: str, params: list[Any], then: Callable[[Any, Any], None]) -> None:
        super().call(method, [*params, 0, 0][:2] if method == "subtract" else params, then)


@fault("surplus-arguments-left-out", violates="rpc.argument-count", subtle=True)
class SurplusArgumentsLeftOut(Server):
    """Drops additional arguments."""

    def call(self, method: str, params: list[Any], then: Callable[[Any, Any], None]) -> None:
        super().call(method, params[:2] if method == "subtract" else params, then)


@fault("wrong-arguments-ignored", violates="rpc.wrong-arguments")
class WrongArgumentsIgnored(Server):
    """Does not answer requests with the wrong number of arguments."""

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if method != "subtract" or len(params) == 2:
            super().request(number, method, params)


@fault("surplus-arguments-end-it", violates="rpc.wrong-arguments", subtle=True)
class SurplusArgumentsEndIt(Server):
    """Closes the connection after a call with too many arguments."""

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if method == "subtract" and len(params) > 2:
            self.close()
        else:
            super().request(number, method, params)


@fault("dies-of-no-duration", violates="rpc.wrong-arguments", subtle=True)
class DiesOfNoDuration(Server):
    """Crashes if sleep is called without an argument."""

    def procedure(self, method: str) -> Callable[..., Any]:
        called = super().procedure(method)
        return called if method != "sleep" else lambda *args: called(*args) if args else die()


@fault("long-bytes-as-text", violates="rpc.bytes", subtle=True)
class LongBytesAsText(Server):
    """Answers bytes as text if there are more than 255."""

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        return super().response(number, error, _to_text(result, 256))


def _to_text(value: Any, least: int) -> Any:
    """Return a value with long bytes converted to text."""
    if isinstance(value, list):
        return [_to_text(entry, least) for entry in value]
    if mark(value) == "$bin":
        data = bytes.fromhex(value["$bin"])
        return data.decode(errors="ignore") if len(data) >= least else value
    return value


@fault("unencodable-unanswered", violates="rpc.unencodable-result")
class UnencodableUnanswered(Server):
    """Does not answer if the result cannot be encoded."""

    def send(self, value: Any) -> None:
        with contextlib.suppress(TypeError):
            self.stream.write(self.encode(value))


@fault("unencodable-as-nil", violates="rpc.unencodable-result", subtle=True)
class UnencodableAsNil(Server):
    """Answers nil if the result cannot be encoded."""

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        return super().response(number, error, None if type(result) is object else result)
