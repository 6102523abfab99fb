"""The tester of an RPC server: requests, responses and procedures."""

import contextlib
import difflib
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from conformance.definitions.keywords import short_json
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.runtime.numbers import is_rounded
from conformance.runtime.shapes import NOTIFICATION, RESPONSE
from conformance.segmentation import Segmentation, byte_by_byte
from conformance.session import Session
from conformance.verdicts import Hindered, Inconclusive, NotExercised, Unreachable, Violation
from conformance.wire import Message

ABSENT = "conformance_no_such_procedure"
"""The name of a procedure that no server has."""

SEGMENTATION = "encoding.segmentation"
_IDS = "rpc.response-id"
_MAX_UNKNOWN = 1000  # responses to no request of a wait; far above the number of requests of a test
_OWN = (_IDS, "rpc.notification-unanswered", "rpc.clients-apart")
"""The requirements that a response without a request violates."""

_PROBES: dict[str, list[Any]] = {
    "echo": ["x"],
    "subtract": [0, 0],
    "sleep": [0],
    **{name: [] for name in ("nothing", "fail", "count", "unencodable")},
}
"""By procedure: arguments that each implementation of it accepts."""

_MIN_SIMILARITY = 0.75  # from 0 to 1; texts at least so similar count as the same message


def request(number: int, method: str, *params: Any) -> list[Any]:
    """Return a request. Only tests about ids use the id 0."""
    return [0, number, method, list(params)]


async def expect_answers(
    session: Session,
    numbers: Iterable[int],
    to: str = "",
    requirement: str | None = "rpc.each-answered",
) -> dict[int, tuple[Any, Any]]:
    """Return error and result of the response to each request, in any order.

    Raises Violation of the requirement (None: the requirement under test) if a response is missing,
    or of another requirement if a wrong message arrived instead.
    """
    came: dict[int, tuple[Any, Any]] = {}
    missing = list(numbers)
    total = len(missing)
    strange: Message | None = None
    unknown = 0
    while missing:
        text = f"to request {missing[0]}{to}"
        try:
            message = await session.expect(RESPONSE, to=text, requirement=requirement)
        except Violation as late:
            known = (RESPONSE, NOTIFICATION)
            foreign = next((m for m in session.received if m.name not in known), None)
            if other := foreign or strange:
                about = "rpc.own-direction" if foreign else _IDS
                instead = f"received {short_json(other.value)}"
                raise Violation(late.expected, instead, about, other.event) from late
            if total == 1:
                raise
            some = f"{late.came}; {len(came)} of {total} requests were answered"
            raise Violation(late.expected, some, late.requirement, late.event) from late
        number = response_id(message)
        if number in missing:
            missing.remove(number)
            padded: list[Any] = [*message.value[2:], None, None]
            came[number] = (padded[0], padded[1])
        elif found := [f for f in session.judge.findings if f.requirement in _OWN]:
            instead = f"received {short_json(message.value)}"
            raise Violation(f"{RESPONSE} {text}", instead, found[0].requirement, message.event)
        else:
            strange, unknown = strange or message, unknown + 1
            if unknown > _MAX_UNKNOWN:
                instead = f"received {short_json(strange.value)} and {unknown - 1} others"
                raise Violation(f"{RESPONSE} {text}", instead, _IDS, strange.event)
    return came


def response_id(message: Message) -> int | None:
    """Return the id of a response, or None, for a response of any length."""
    value = message.value
    return value[1] if len(value) > 1 and type(value[1]) is int else None


async def call(
    session: Session,
    number: int,
    method: str,
    *params: Any,
    what: str = "",
    requirement: str | None = "rpc.each-answered",
) -> tuple[Any, Any]:
    """Send one request, and return error and result of its response.

    Raises Violation of the requirement (None: the requirement under test) if no response arrives.
    ``what`` describes the request in the message; the default is its method.
    """
    await session.send(request(number, method, *params))
    described = what or short_json(method)
    return (await expect_answers(session, [number], f", {described}", requirement))[number]


async def find_procedure(iut: Iut, session: Session, name: str) -> str:
    """Return the IUT's name of a procedure. Raises NotExercised if the IUT does not have it.

    An undeclared procedure is probed once in a run. The procedure is absent if the server answers
    it like an unknown name.
    """
    declared = iut.configuration.procedures.get(name)
    wanted = f"needs the procedure '{name}' ({iut.role.procedures[name]})"
    if declared == "":
        raise NotExercised(f"{wanted}, which is declared as absent")
    absent: dict[str, str] = iut.facts.setdefault("absent procedures", {})
    if declared is None and name not in absent:
        absent[name] = await _missing_error(session, name)
    if absent.get(name):
        raise NotExercised(
            f"{wanted}; the server answers {absent[name]}. If the procedure has another "
            f"name, declare [procedures] {name} or --set procedures.{name}=NAME"
        )
    return declared or name


async def _missing_error(session: Session, name: str) -> str:
    """Return the error for a missing procedure, or an empty string."""
    await session.send(request(120, name, *_PROBES[name]))
    about = "rpc.unencodable-result" if name == "unencodable" else "rpc.each-answered"
    error, result = (await expect_answers(session, [120], f", {name}", about))[120]
    if error is None or result is not None:
        return ""
    unknown, _ = await call(session, 121, ABSENT, *_PROBES[name])
    return short_json(error) if same_error(error, name, unknown, ABSENT) else ""


def same_error(error: Any, name: str, other: Any, other_name: str) -> bool:
    """Return True if two procedures' errors differ only in the procedure names."""
    texts = _outline(error, name), _outline(other, other_name)
    return difflib.SequenceMatcher(None, *texts).ratio() > _MIN_SIMILARITY


@dataclass(frozen=True)
class Echo:
    """The procedure that returns its arguments: all in an array, or a ``single`` argument."""

    name: str
    single: bool

    def request(self, number: int, *params: Any) -> list[Any]:
        """Return a request whose result is an array of these values."""
        return request(number, self.name, *([list(params)] if self.single else params))

    async def call(
        self,
        session: Session,
        number: int,
        *params: Any,
        requirement: str | None = "rpc.each-answered",
    ) -> tuple[Any, Any]:
        """Send an array of these values to echo; return error and result of the response.

        Raises Violation as `call` does.
        """
        await session.send(self.request(number, *params))
        return (await expect_answers(session, [number], requirement=requirement))[number]


async def find_echo(iut: Iut, session: Session) -> Echo:
    """Return the IUT's echo procedure. Raises NotExercised if the IUT has none."""
    name = await find_procedure(iut, session, "echo")

    async def single() -> bool:
        # The single argument is an array. It comes back unchanged, or within another array.
        _, result = await call(session, 122, name, ["x"])
        return bool(result == ["x"])

    return Echo(name, await iut.cached("echo", single))


async def plain_echo(iut: Iut, session: Session, params: list[Any]) -> Any:
    """Return the result of a plain echo of these values; called once in a run.

    Raises Inconclusive if the result is an error.
    """
    echo = await find_echo(iut, session)

    async def ask() -> Any:
        error, result = await echo.call(session, 123, *params)
        if error is not None:
            raise Inconclusive(
                f"a plain echo of {short_json(params)} fails with the error {short_json(error)}"
            )
        return result

    return await iut.cached(f"echo of {params}", ask)


async def check_hundred(iut: Iut, cut: Segmentation | None = None) -> None:
    """Send a hundred requests without waiting, in one write each or with the given segmentation."""
    numbers = [1000 + 7 * index for index in range(100)]
    async with iut.session() as session:
        echo = await find_echo(iut, session)
        # Without segmentation, twenty long responses follow each other directly. A server that
        # writes several at the same time is detected.
        long = () if cut else numbers[40:60]
        sent = {number: [number, "x" * 20_000 * (number in long)] for number in numbers}
        requests = (echo.request(number, *sent[number]) for number in numbers)
        await session.send(*requests, segmentation=cut)
        how = " of a hundred in one write" if cut else " of a hundred"
        came = await expect_answers(session, numbers, how, "rpc.pipelining")
        for number in numbers:
            check_success(came[number], sent[number], f"request {number}", "rpc.result")


async def is_refusing_others(iut: Iut) -> bool:
    """Return True if the server closes a connection that is opened while it serves another."""
    plain = Iut(iut.testbed, "")
    return await iut.cached("another client is turned away", plain.refuses_second_client)


@contextlib.asynccontextmanager
async def blame_later_connections(iut: Iut) -> AsyncIterator[None]:
    """Blame rpc.each-answered for failures in this block if no later connection is answered.

    Raises Hindered if the server closes a second connection that is open at the same time. Raises
    Unreachable if the server exits when its first client disconnects.
    """

    async def exits(instance: Instance) -> bool:
        # The system can still accept a connection that the server will never see.
        process = instance.process
        ended = process and await process.wait(iut.seconds("response"))
        return bool(process and ended and not await process.crashes(0))

    async def has_answered() -> bool:
        plain = Iut(iut.testbed, "")
        async with plain.instance() as instance:
            for number in range(2):
                if number and await exits(instance):
                    raise Unreachable("the server exits when its first client disconnects")
                async with plain.connect(instance) as session:
                    within = "response" if number else session.countdown(session.reaction_time)
                    await session.send(request(number, usual_procedure(iut)))
                    if not await session.wait_for(RESPONSE, within=within):
                        # failures of the first connection are another requirement
                        return not number
        return True

    try:
        yield
    except Violation as missing:
        if missing.event is not None:
            raise
        if await is_refusing_others(iut):
            raise Hindered(
                "the server closes a connection that is opened while it serves another"
            ) from None
        try:
            if not await iut.cached("a later client is answered", has_answered):
                missing.requirement = "rpc.each-answered"
        except Unreachable:
            for session in iut.sessions:
                session.excuse_end()
            raise
        raise


@contextlib.asynccontextmanager
async def blame_errors(iut: Iut) -> AsyncIterator[None]:
    """Blame rpc.each-answered for failures in this block if nothing after an error is answered."""

    async def has_answered() -> bool:
        async with Iut(iut.testbed, "").session() as session:
            for number, name in enumerate((ABSENT, usual_procedure(iut)), 1):
                await session.send(request(number, name))
                answer = await session.wait_for(
                    RESPONSE, within=session.countdown(session.reaction_time)
                )
                if answer is None:
                    # An error that is missing is another requirement.
                    return number == 1
        return True

    try:
        yield
    except Violation as wrong:
        if wrong.event is None and not await iut.cached("a request after an error", has_answered):
            wrong.requirement = "rpc.each-answered"
        raise


@contextlib.asynccontextmanager
async def blame_pieces(iut: Iut) -> AsyncIterator[None]:
    """Blame encoding.segmentation for failures if the server never answers requests in pieces."""

    async def has_answered() -> bool:
        async with Iut(iut.testbed, "").session() as session:
            await session.send(request(1, usual_procedure(iut)), segmentation=byte_by_byte)
            answer = await session.wait_for(
                RESPONSE, within=session.countdown(session.reaction_time), requirement=SEGMENTATION
            )
            return answer is not None and response_id(answer) == 1

    try:
        yield
    except Violation as wrong:
        if not await iut.cached("a request in pieces is answered", has_answered):
            wrong.requirement = SEGMENTATION
        raise


async def find_sleep(iut: Iut, session: Session) -> str:
    """Return the name of the sleep procedure, after one call of it was answered.

    Raises Violation of rpc.each-answered if it is not answered, and NotExercised if it does not
    exist.
    """
    name = await find_procedure(iut, session, "sleep")
    await iut.cached("a slow call is answered", partial(call, session, 124, name, 0.02))
    return name


def usual_procedure(iut: Iut) -> str:
    """Return the name of the procedure for requests whose result does not matter."""
    return iut.configuration.procedures.get("echo") or "echo"


def _outline(error: Any, name: str) -> str:
    """Return the texts of an error without digits and the name of the procedure."""
    # Keys and brackets are equal in all errors of a server, and would hide the differences.
    return re.sub(r"\d", "", " ".join(_texts(error)).replace(name, ""))


def _texts(error: Any) -> Iterator[str]:
    match error:
        case dict():
            for key in sorted(error, key=str):
                yield from _texts(error[key])
        case list():
            for item in error:
                yield from _texts(item)
        case _:
            yield error if isinstance(error, str) else json.dumps(error)


def procedure_names(iut: Iut) -> list[str]:
    """Return the IUT's names of all procedures except those declared as absent."""
    declared = iut.configuration.procedures
    return [name for name in (declared.get(each, each) for each in iut.role.procedures) if name]


def is_alike(sent: Any, came: Any) -> bool:
    """Return True if a value is unchanged, apart from permitted conversions of numbers.

    Integers of more than 32 bits can come back as doubles, with the precision of a double. Floats
    can come back in single precision: rpc.wide-floats checks the rest.
    """
    if isinstance(sent, dict):
        return (
            isinstance(came, dict)
            and sent.keys() == came.keys()
            and all(is_alike(sent[key], came[key]) for key in sent)
        )
    if isinstance(sent, list):
        return (
            isinstance(came, list)
            and len(sent) == len(came)
            and all(is_alike(one, other) for one, other in zip(sent, came, strict=True))
        )
    wide = type(sent) is int and not -(2**31) <= sent < 2**32
    if wide and type(came) in (float, int):
        return bool(float(sent) == float(came))
    if type(sent) is float:
        return is_rounded(sent, came)
    return type(came) is type(sent) and bool(sent == came)


def has_wide(value: Any) -> bool:
    """Return True if a value contains an integer that not every double represents exactly.

    A server can refuse such a value or round it: see rpc.wide-integers.
    """
    match value:
        case dict():
            return any(map(has_wide, value.values()))
        case list():
            return any(map(has_wide, value))
    return type(value) is int and abs(value) > 2**53


def check_success(outcome: Sequence[Any], wanted: Any, what: str, requirement: str | None) -> None:
    """Raise Violation unless the error is nil and the result is ``wanted``."""
    error, result = outcome
    if error is not None or not is_alike(wanted, result):
        came = f"the error {short_json(error)}" if error is not None else short_json(result)
        raise Violation(
            f"the result {short_json(wanted)} for {what}", f"received {came}", requirement
        )


def check_failure(outcome: Sequence[Any], what: str, requirement: str | None = None) -> None:
    """Raise Violation if the error is nil."""
    error, result = outcome
    if error is None:
        raise Violation(
            f"an error for {what}",
            f"received a nil error and the result {short_json(result)}",
            requirement,
        )
