"""Faults of the RPC server about arguments, results and errors."""

import asyncio
from collections.abc import Callable
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.calls import NIL, SEND_IF_ENCODABLE, answers, calling, of, results
from mocks.runtime.messages import SMALL_NEGATIVES_MISREAD
from mocks.runtime.rpc_server import PROCEDURES, Server, nothing
from mocks.runtime.values import (
    cut_last_at,
    cut_text,
    in_all_parts,
    is_within_single,
    of_mark,
    of_type,
    to_four_digits,
    to_single,
)
from mocks.steps import Change, When, after, alter, die, instead, skip

FAILED = When(
    lambda _, number, error, result: isinstance(error, dict) and "asked" in error.get("message", "")
)
"""If the step is about the failure of the procedure `fail`."""


def arguments(change: Callable[[list[Any]], list[Any]], name: str = "") -> Change:
    """Call a procedure, or all procedures, with other arguments."""
    return alter(
        "call",
        lambda _, method, params, answer: (method, change(params), answer),
        lambda _, method, *rest: not name or method == name,
    )


def _without_sixteenth(params: list[Any]) -> list[Any]:
    """Remove the last member of each map of sixteen."""
    return [
        dict([*value.items()][:15]) if isinstance(value, dict) and len(value) == 16 else value
        for value in params
    ]


def echo(change: Callable[[Any], Any]) -> Change:
    """Echo other values."""
    return arguments(in_all_parts(change), "echo")


def _spread(params: list[Any]) -> list[Any]:
    return params[0] if len(params) == 1 and isinstance(params[0], list) else params


def _without_nil_at_end(params: list[Any]) -> list[Any]:
    while params and params[-1] is None:
        params = params[:-1]
    return params


def _without_negative_keys(pairs: list[Any]) -> Any:
    return {"$map": [[k, v] for k, v in pairs if not (isinstance(k, int) and k < 0)]}


def _to_double(value: int) -> int:
    return value if abs(value) <= 2**53 else min(int(float(value)), 2**64 - 1)


def _count_in_16_bits(result: Any) -> Any:
    if not isinstance(result, list):
        return result
    return [part[: len(part) % 65536] if isinstance(part, list) else part for part in result]


def _long_to_text(digits: str) -> Any:
    data = bytes.fromhex(digits)
    return data.decode(errors="ignore") if len(data) > 255 else {"$bin": digits}


def _repeat(server: Server, number: int, *answer: Any) -> Any:
    answered = vars(server).setdefault("answered", {})
    return number, *answered.setdefault(number, answer)


def _repeat_error(server: Any, number: int, error: Any, result: Any) -> Any:
    before, server.error_before = vars(server).get("error_before"), error
    return number, before if error is None else error, result


def _attribute(server: Server, method: str) -> Callable[..., str]:
    return lambda *args: str(getattr(server, method))


def _needs_argument(called: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: called(*args) if args else die()


FAULTS = Table(Server)

FAULTS["rpc.result"] = {
    "false-for-no-error": Fault(
        "Writes false instead of a nil error.",
        answers(lambda error, result: (False if error is None else error, result)),
    ),
    "zero-is-nothing": Subtle(
        "Answers nil for results that are 0 or empty.",
        answers(lambda error, result: (error, result or None)),
    ),
    "error-of-before": Subtle(
        "Repeats the error of a failure in the next response.", alter("answer", _repeat_error)
    ),
    "answers-by-heart": Subtle(
        "Repeats its earlier response to the same id.", alter("answer", _repeat)
    ),
}

FAULTS["rpc.nil-result"] = {
    "empty-for-nothing": Fault(
        "Answers an empty map instead of a nil result.", answers(lambda *_: (None, {}), NIL)
    ),
    "error-for-nothing": Subtle(
        "Answers an error if the result is nil.",
        answers(lambda *_: ({"message": "no result"}, None), NIL),
    ),
}

FAULTS["rpc.arguments"] = {
    "arguments-reversed": Fault(
        "Reverses the order of the arguments.", arguments(lambda params: params[::-1])
    ),
    "array-spread": Subtle(
        "Uses the elements of a single array argument as the arguments.", arguments(_spread)
    ),
    "sixteen-arguments": Subtle(
        "Passes at most sixteen arguments to the procedure.", arguments(lambda params: params[:16])
    ),
    "no-nil-at-the-end": Subtle("Drops nil arguments at the end.", arguments(_without_nil_at_end)),
}

FAULTS["rpc.bytes"] = {
    "bytes-as-text": Fault(
        "Converts bytes to text.",
        echo(of_mark("$bin", lambda digits: bytes.fromhex(digits).decode("latin-1"))),
    ),
    "long-bytes-as-text": Subtle(
        "Answers bytes as text if there are more than 255.",
        results(in_all_parts(of_mark("$bin", _long_to_text))),
    ),
}

FAULTS["rpc.map-keys"] = {
    "negative-keys-lost": Subtle(
        "Drops entries of a map with negative keys.", echo(of_mark("$map", _without_negative_keys))
    ),
}

FAULTS["rpc.wide-integers"] = {
    "numbers-as-doubles": Subtle(
        "Stores integers in doubles, as JavaScript does.", echo(of_type(int, _to_double))
    ),
}

FAULTS["rpc.wide-floats"] = {
    "infinity-as-nil": Subtle(
        "Converts floats that are not finite to nil, as JSON does.",
        echo(of_mark("$float", lambda _: None)),
    ),
    "floats-of-single-precision": Subtle(
        "Stores floats in single precision.", echo(of_type(float, to_single, is_within_single))
    ),
}

FAULTS["rpc.values"] = {
    "sixteen-keys": Subtle(
        "Loses the last member of a map with exactly sixteen.",
        arguments(_without_sixteenth, "echo"),
    ),
    "small-negatives-misread": Subtle(
        "Reads a negative integer of one byte as an unsigned integer.", SMALL_NEGATIVES_MISREAD
    ),
    "numbers-of-63-bits": Subtle(
        "Stores integers in signed integers of 64 bits.",
        echo(of_type(int, lambda number: number - 2**64 if number >= 2**63 else number)),
    ),
    "floats-of-four-digits": Subtle(
        "Rounds floats to four digits.", echo(of_type(float, to_four_digits))
    ),
    "text-of-1024-bytes-cut": Subtle(
        "Loses the last character of a text of exactly 1024 bytes.",
        echo(of_type(str, cut_last_at(1024))),
    ),
    "arrays-of-65536-empty": Subtle(
        "Counts the elements of an array in 16 bits.", results(_count_in_16_bits)
    ),
    "booleans-as-integers": Fault("Answers true and false as 1 and 0.", echo(of_type(bool, int))),
    "long-text-cut": Subtle("Truncates text to 65535 bytes.", echo(of_type(str, cut_text(65535)))),
    "text-ends-at-nul": Subtle(
        "Truncates text at its first NUL.", echo(of_type(str, lambda text: text.partition("\0")[0]))
    ),
}

FAULTS["rpc.unknown-procedure"] = {
    "errors-as-results": Subtle(
        "Answers errors as results.",
        answers(lambda error, result: (None, result if error is None else error)),
    ),
    "unknown-as-nothing": Fault(
        "Answers nil for an unknown procedure.",
        instead("procedure", lambda server, method: server.PROCEDURES.get(method, lambda *_: None)),
    ),
    "names-of-the-language": Subtle(
        "Calls any attribute of its language by name, such as `__class__`.",
        instead(
            "procedure",
            _attribute,
            lambda server, method: method.startswith("__") and hasattr(server, method),
        ),
    ),
    "names-trimmed": Subtle(
        "Removes blanks and newlines from the ends of a procedure's name.",
        alter("procedure", lambda _, method: method.strip()),
    ),
}

FAULTS["rpc.failing-procedure"] = {
    "failures-as-results": Fault(
        "Answers a failure with its text as the result.",
        answers(lambda error, result: (None, error), FAILED),
    ),
    "fails-once": Subtle(
        "Answers only the first failure with an error, and later ones with nil.",
        instead(
            "procedure",
            lambda server, method: nothing,
            When(lambda _, method: method == "fail") & after(1),
        ),
    ),
    "tired-of-failures": Subtle(
        "Answers only the first five calls of a failing procedure.",
        skip("request", of("fail") & after(5)),
    ),
}

FAULTS["rpc.error-without-result"] = {
    "result-beside-error": Fault(
        "Writes the text of an error to the result too.",
        answers(lambda error, result: (error, result if error is None else str(error))),
    ),
    "false-beside-error": Subtle(
        "Answers an error and the result false for a failing procedure.",
        answers(lambda error, result: (error, False), FAILED),
    ),
}

FAULTS["rpc.argument-count"] = {
    "arguments-made-to-fit": Fault(
        "Uses 0 for missing arguments, and drops additional ones.",
        arguments(lambda params: [*params, 0, 0][:2], "subtract"),
    ),
    "surplus-arguments-left-out": Subtle(
        "Drops additional arguments.", arguments(lambda params: params[:2], "subtract")
    ),
}

FAULTS["rpc.wrong-arguments"] = {
    "wrong-arguments-ignored": Fault(
        "Does not answer requests with the wrong number of arguments.",
        skip("request", of("subtract") & (lambda _, number, method, params: len(params) != 2)),
    ),
    "surplus-arguments-end-it": Subtle(
        "Closes the connection after a call with too many arguments.",
        instead(
            "request", "close", of("subtract") & (lambda _, number, method, params: len(params) > 2)
        ),
    ),
    "dies-of-no-duration": Subtle(
        "Crashes if sleep is called without an argument.", calling("sleep", _needs_argument)
    ),
}

FAULTS["rpc.unencodable-result"] = {
    "unencodable-unanswered": Fault(
        "Does not answer if the result cannot be encoded.", SEND_IF_ENCODABLE
    ),
    "unencodable-as-nil": Subtle(
        "Answers nil if the result cannot be encoded.", results(of_type(object, lambda _: None))
    ),
}


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


_ENDS: dict[int, object] = {}


async def _sleep_alone(seconds: Any) -> None:
    """Sleep, and then wait for ever if a later call ends in the same millisecond."""
    this = object()
    end = round(1000 * (asyncio.get_running_loop().time() + float(seconds)))
    _ENDS[end] = this
    await asyncio.sleep(float(seconds))
    if _ENDS[end] is not this:
        await asyncio.Event().wait()


@fault("one-end-a-millisecond", violates="rpc.pipelining", subtle=True)
class OneEndAMillisecond(Server):
    """Forgets a slow call if another one ends in the same millisecond."""

    PROCEDURES = {**PROCEDURES, "sleep": _sleep_alone}  # noqa: RUF012
