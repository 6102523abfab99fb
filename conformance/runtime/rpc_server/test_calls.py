"""Tests of calls: arguments, results and errors."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.cases import check, requirement
from conformance.definitions.keywords import equal, short_json
from conformance.iut import Iut
from conformance.runtime.rpc_server.tester import (
    ABSENT,
    blame_errors,
    blame_pieces,
    call,
    check_failure,
    check_success,
    expect_answers,
    find_echo,
    find_procedure,
    has_wide,
    is_alike,
    procedure_names,
    request,
    usual_procedure,
)
from conformance.runtime.shapes import notification
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised


@requirement("rpc.result")
async def test_results(iut: Iut) -> None:
    """A successful call has a nil error and the procedure's return value as result."""
    async with iut.session() as session:
        subtract = await find_procedure(iut, session, "subtract")
        for number, (one, other) in enumerate([(7, 3), (3, 3), (0.5, 0.25)], 1):
            outcome = await call(session, number, subtract, one, other)
            if isinstance(one, float) and outcome[0] is not None:
                continue  # the procedure may support only integers
            turned = is_alike(float(other - one), outcome[1])
            about = "rpc.arguments" if turned else None
            # The result of integers can be a float: both are numbers.
            check_success(outcome, float(one - other), f"{one} minus {other}", about)
        echo = await find_echo(iut, session)
        check_success(await echo.call(session, 9, "x"), ["x"], "echo of x", None)


@requirement("rpc.result")
async def test_result_after_failure(iut: Iut) -> None:
    """The response to a successful call after a failed call has a nil error."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        for number in range(2):
            await call(session, 2 * number + 1, ABSENT)
            outcome = await echo.call(session, 2 * number + 2, number)
            check_success(outcome, [number], "echo after a failed call", None)


@requirement("rpc.nil-result")
async def test_nothing(iut: Iut) -> None:
    """A procedure without a return value has a nil error and a nil result."""
    async with iut.session() as session:
        nothing = await find_procedure(iut, session, "nothing")
        check_success(await call(session, 1, nothing), None, "nothing", None)


@requirement("rpc.arguments")
async def test_order(iut: Iut) -> None:
    """Arguments arrive in the order in which they were sent."""
    async with iut.session() as session:
        subtract = await find_procedure(iut, session, "subtract")
        check_success(await call(session, 1, subtract, 10, 3), 7.0, "10 minus 3", None)
        check_success(await call(session, 2, subtract, 3, 10), -7.0, "3 minus 10", None)


ARGUMENTS: list[list[Any]] = [
    *([], [None], [[]], [{}], [[1, 2]], [{"a": 1}], [[[]]], [False], [0], [""]),
    *([1, 2, 3], [3, 2, 1], ["a", ["b"], {"c": "d"}, None], [[1, 2], [3, 4]]),
    *(list(range(15)), list(range(16)), list(range(17)), [None] * 40),
]


@requirement("rpc.arguments")
async def test_as_many_as_were_sent(iut: Iut) -> None:
    """All arguments arrive unchanged: none, one, a single array, and up to forty."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        if echo.single:
            raise NotExercised("needs an echo that takes any number of arguments")
        await session.send(*(echo.request(n, *params) for n, params in enumerate(ARGUMENTS, 1)))
        came = await expect_answers(session, range(1, len(ARGUMENTS) + 1))
        for number, params in enumerate(ARGUMENTS, 1):
            check_success(came[number], params, f"echo of {short_json(params)}", None)


@requirement("rpc.arguments")
async def test_only_argument(iut: Iut) -> None:
    """A single argument arrives unchanged, also if it is an array."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        for number, value in enumerate([7, "x", [1, 2], [], {"a": 1}, None], 1):
            wanted = value if echo.single else [value]
            outcome = await call(session, number, echo.name, value)
            check_success(outcome, wanted, f"echo of {short_json(value)}", None)


# The lengths around which formats and buffers of common sizes end.
LENGTHS = (255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 65535, 65536, 65537)
NOT_FINITE: list[Any] = [{"$float": number} for number in ("inf", "-inf", "nan")]
VALUES: dict[str, list[Any]] = {
    "integers": [
        *(0, 1, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63),
        *(2**64 - 1, -1, -32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**63)),
    ],
    "floats": [
        *(0.5, -0.5, 0.1, 1e300, 5e-324, 3.4028234663852886e38, 1.0, -0.0, 16777217.0),
    ],
    "text": [
        *("", "a", "ä€😀", "new\nline\t", "nul\0end", '"\\'),
        *("x" * length for length in (31, 32, *LENGTHS)),
        "ß" * 40000,
    ],
    "bytes": [{"$bin": data.hex()} for data in (b"", b"\0\xff", bytes(range(256)), b"x" * 70000)],
    "others": [
        *(None, True, False, [None], {"none": None}, [], [[]], [1, [2, [3, []]]], [*range(16)]),
        *([*range(300)], *([0] * count for count in (1024, 65535, 65536))),
        *([[[[[[[["deep"]]]]]]]], {}, {"": 0}, {"a": {"b": {"c": [{}]}}}),
        {"ä": "ö", "with blank": True},
        *({f"key{number}": number for number in range(size)} for size in (15, 16, 20)),
        json.loads("[" * 20 + "20" + "]" * 20),
    ],
}  # fmt: skip


@requirement("rpc.values")
@pytest.mark.parametrize("kinds", [("integers", "floats"), ("text",), ("others",)])
async def test_values(iut: Iut, kinds: tuple[str, ...]) -> None:
    """Values of every type come back unchanged."""
    async with blame_pieces(iut), iut.session() as session:
        echo = await find_echo(iut, session)
        values = [value for kind in kinds for value in VALUES[kind]]
        for number, value in enumerate(values, 1):
            outcome = await echo.call(session, number, value)
            if outcome[0] is not None and has_wide(value):
                continue  # an honest refusal: see rpc.wide-integers
            check_success(outcome, [value], f"echo of {short_json(value)}", None)


@requirement("rpc.bytes")
async def test_bytes(iut: Iut) -> None:
    """Bytes come back as bytes: none, every byte value, and many bytes."""
    async with blame_pieces(iut), iut.session() as session:
        echo = await find_echo(iut, session)
        for number, value in enumerate(VALUES["bytes"], 1):
            outcome = await echo.call(session, number, value)
            check_success(outcome, [value], f"echo of {short_json(value)}", None)


@requirement("rpc.wide-integers")
async def test_wide_integers(iut: Iut) -> None:
    """Integers of up to 64 bits come back exactly."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        wide = [value for value in VALUES["integers"] if has_wide(value)]
        for number, value in enumerate(wide, 1):
            error, result = await echo.call(session, number, value)
            if error is None:
                check_success((error, result), [value], f"echo of {value}", "rpc.values")
            same = isinstance(result, list) and [type(v) for v in result] == [int]
            came = short_json(result) if error is None else f"the error {short_json(error)}"
            check(same and result == [value], f"{value} back from echo", f"received {came}")


@requirement("rpc.wide-floats")
async def test_wide_floats(iut: Iut) -> None:
    """Floats of double precision come back exactly, and those that are not finite too."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        for number, value in enumerate([*VALUES["floats"], *NOT_FINITE], 1):
            error, result = await echo.call(session, number, value)
            same = isinstance(result, list) and len(result) == 1 and equal(value, result[0])
            came = short_json(result) if error is None else f"the error {short_json(error)}"
            check(same, f"{short_json(value)} back from echo", f"received {came}")


@requirement("rpc.map-keys")
async def test_keys(iut: Iut) -> None:
    """Keys of a map that are not text come back unchanged."""
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        for number, key in enumerate([1, -1, 300, True, 0.5, None], 1):
            value = {"$map": [[key, "value"]]}
            outcome = await echo.call(session, number, value, requirement=None)
            check_success(outcome, [value], f"echo of {short_json(value)}", None)


_NEEDY = ("subtract", "sleep")  # procedures that need arguments
ABSENT_NAMES = [ABSENT, "", "__init__", "__class__", "constructor", "toString", "echo\n", "😀"]


@requirement("rpc.unknown-procedure")
async def test_unknown_procedures(iut: Iut) -> None:
    """An unknown procedure gets an error, also if the implementation language knows the name."""
    async with iut.session() as session:
        for number, name in enumerate(ABSENT_NAMES, 1):
            outcome = await call(session, number, name)
            check_failure(outcome, f"the unknown procedure {short_json(name)}")
        outcome = await call(session, 99, ABSENT, 1, "two")
        check_failure(outcome, "an unknown procedure with arguments")


@requirement("rpc.failing-procedure")
async def test_failure(iut: Iut) -> None:
    """A failing procedure is answered with an error, twenty times. Then other calls succeed."""
    async with blame_errors(iut), iut.session() as session:
        fail = await find_procedure(iut, session, "fail")
        for number in range(1, 21):
            outcome = await call(session, number, fail, what=fail, requirement=None)
            check_failure(outcome, "a failing procedure")
        await call(session, 21, usual_procedure(iut))


@requirement("rpc.error-without-result")
async def test_errors_without_results(iut: Iut) -> None:
    """A response with an error has a nil result."""
    async with blame_errors(iut), iut.session() as session:
        needy, silent = _names_with_arguments(iut), _names_of(iut, "unencodable")
        asked = [name for name in procedure_names(iut) if name not in silent]
        for number, name in enumerate((ABSENT, *asked), 1):
            about = "rpc.wrong-arguments" if name in needy else "rpc.each-answered"
            error, result = await call(session, number, name, what=name, requirement=about)
            expected = f"a nil result with the error {short_json(error)}"
            check(
                error is None or result is None,
                expected,
                f"received the result {short_json(result)}",
            )


@requirement("rpc.unencodable-result")
async def test_unencodable_result(iut: Iut) -> None:
    """A result that MessagePack cannot express gets an error. Then other calls still succeed."""
    async with iut.session() as session:
        name = await find_procedure(iut, session, "unencodable")
        for number in (1, 2, 3):
            await session.send(request(number, name))
            outcome = (await expect_answers(session, [number], f", {name}", None))[number]
            check_failure(outcome, "a procedure whose result cannot be encoded")
        await call(session, 4, usual_procedure(iut))


def _names_with_arguments(iut: Iut) -> list[str]:
    """Return the IUT's names of the procedures that need arguments."""
    return _names_of(iut, *_NEEDY)


def _names_of(iut: Iut, *procedures: str) -> list[str]:
    """Return the IUT's names of these procedures, without those declared as absent."""
    declared = [iut.configuration.procedures.get(name, name) for name in procedures]
    return [name for name in procedure_names(iut) if name in declared]


async def _wrong_arguments(iut: Iut, session: Session) -> tuple[str, list[list[Any]]]:
    """Return a procedure, and argument lists with too few or too many arguments."""
    try:
        return await find_procedure(iut, session, "subtract"), [[], [1], [1, 2, 3]]
    except NotExercised:
        echo = await find_echo(iut, session)
        if not echo.single:
            raise
        return echo.name, [[], [1, 2], [1, 2, 3]]


@requirement("rpc.wrong-arguments")
async def test_wrong_arguments(iut: Iut) -> None:
    """Calls with too few or too many arguments are answered. Then other calls still succeed."""
    async with blame_errors(iut), iut.session() as session:
        usually, wrong = await _wrong_arguments(iut, session)
        calls = [
            *((usually, params) for params in wrong),
            *((name, []) for name in _names_with_arguments(iut)),
        ]
        for number, (name, params) in enumerate(calls, 1):
            await session.send(request(number, name, *params))
            await expect_answers(session, [number], f", {name} with {len(params)} arguments", None)
        await call(session, 9, usual_procedure(iut))


@requirement("rpc.argument-count")
async def test_argument_count(iut: Iut) -> None:
    """Calls with too few or too many arguments are answered with an error."""
    async with blame_errors(iut), iut.session() as session:
        name, wrong = await _wrong_arguments(iut, session)
        for number, params in enumerate(wrong, 1):
            what = f"{name} with {len(params)} arguments"
            about = "rpc.wrong-arguments"
            outcome = await call(session, number, name, *params, what=what, requirement=about)
            check_failure(outcome, what)


@requirement("rpc.notification-calls")
async def test_notifications_call(iut: Iut) -> None:
    """A notification runs its procedure once."""
    async with iut.session() as session:
        count = await find_procedure(iut, session, "count")
        numbers = itertools.count(1)
        before = await _count_of_calls(session, next(numbers), count)
        for times in (1, 3, 0):
            await session.send(*[notification(count)] * times)
            asked, after = await _count_when_settled(session, numbers, count, before + times)
            wanted = before + times + asked
            expected = f"{wanted} runs of {count}, {times} of them for notifications"
            check(after == wanted, expected, f"the procedure reports {after}")
            before = after


@requirement("rpc.notification-calls")
async def test_arguments_of_notifications(iut: Iut) -> None:
    """A notification passes its arguments to the procedure."""
    async with iut.session() as session:
        count = await find_procedure(iut, session, "count")
        numbers = itertools.count(1)
        before = await _count_of_calls(session, next(numbers), count)
        error, after = await call(session, next(numbers), count, 5)
        if error is not None or after != before + 5:
            raise NotExercised(f"needs a procedure {count} that adds its argument")
        for more in (7, 2):
            await session.send(notification(count, more))
            asked, came = await _count_when_settled(session, numbers, count, after + more)
            wanted = after + more + asked
            expected = f"the number {wanted} from {count} after a notification with {more}"
            check(came == wanted, expected, f"received {came}")
            after = came


async def _count_when_settled(
    session: Session, numbers: Iterator[int], name: str, expected: int
) -> tuple[int, int]:
    """Ask for the number of calls until it reaches the expected number.

    A server can start a later message before it has finished an earlier one. Each question counts
    as a call. Returns the number of questions and the last answer.
    """
    counts: list[int] = []

    async def has_counted() -> bool:
        counts.append(await _count_of_calls(session, next(numbers), name))
        return counts[-1] >= expected + len(counts)

    await session.poll_until(has_counted, f"calls of {name}", within="response")
    return len(counts), counts[-1]


async def _count_of_calls(session: Session, number: int, name: str) -> int:
    """Return the number of calls that the procedure reports.

    Raises Inconclusive if it reports none.
    """
    error, result = await call(session, number, name)
    if error is not None or type(result) is not int:
        raise Inconclusive(
            f"expected an integer from {name}; received {short_json(error or result)}"
        )
    return result
