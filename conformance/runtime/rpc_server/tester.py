"""The tester of an RPC server: its requests, the responses to them, and the procedures to call."""

import contextlib
import difflib
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from conformance.definitions.keywords import shown
from conformance.iut import Iut
from conformance.runtime.codec import encode
from conformance.runtime.shapes import NOTIFICATION, RESPONSE
from conformance.segmentation import Segmentation, byte_by_byte
from conformance.session import Session
from conformance.verdicts import Hindered, Inconclusive, NotExercised, Violation
from conformance.wire import Message

ABSENT = "conformance_no_such_procedure"
"""The name of a procedure that no server has."""

SEGMENTATION = "encoding.segmentation"
_IDS = "rpc.response-id"

_PROBES: dict[str, list[Any]] = {
    "echo": ["x"],
    "subtract": [0, 0],
    "sleep": [0],
    **{name: [] for name in ("nothing", "fail", "count", "unencodable")},
}
"""By procedure: arguments that it takes, be an echo one of any number of arguments or of one."""

_MANY = 50  # requests, among which a server that loses every few of them loses one
_ALIKE = 0.75  # of two texts, between 0 and 1: from here on they say the same


def request(number: int, method: str, *params: Any) -> list[Any]:
    """A request; tests that are not about ids have none of 0, so as not to rest on such a one."""
    return [0, number, method, list(params)]


async def answers(
    session: Session,
    numbers: Iterable[int],
    to: str = "",
    requirement: str | None = "rpc.each-answered",
) -> dict[int, tuple[Any, Any]]:
    """Error and result of the response to each of these requests, in whatever order they come.

    Raises Violation of the requirement, None for that which the test decides, where one is missing,
    or of what is wrong with that which came instead.
    """
    came: dict[int, tuple[Any, Any]] = {}
    missing = list(numbers)
    total = len(missing)
    strange: Message | None = None
    while missing:
        text = f"to request {missing[0]}{to}"
        try:
            message = await session.expect(RESPONSE, to=text, requirement=requirement)
        except Violation as late:
            known = (RESPONSE, NOTIFICATION)
            foreign = next((m for m in session.received if m.name not in known), None)
            if other := foreign or strange:
                about = "rpc.own-direction" if foreign else _IDS
                instead = f"{shown(other.value)} came"
                raise Violation(late.expected, instead, about, other.event) from late
            if total == 1:
                raise
            some = f"{late.came}; {len(came)} of {total} requests were answered"
            raise Violation(late.expected, some, late.requirement, late.event) from late
        number = of(message)
        if number in missing:
            missing.remove(number)
            told: list[Any] = [*message.value[2:], None, None]
            came[number] = (told[0], told[1])
        elif any(finding.requirement == _IDS for finding in session.judge.findings):
            instead = f"{shown(message.value)} came"
            raise Violation(f"{RESPONSE} {text}", instead, _IDS, message.event)
        else:
            strange = strange or message
    return came


def of(message: Message) -> int | None:
    """The id of a response, if it has one: it tells, however many elements stand behind it."""
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
    """Send one request; error and result of its response.

    Raises Violation of the requirement, None for that which the test decides, where none comes to
    ``what`` was asked.
    """
    await session.send(request(number, method, *params))
    return (await answers(session, [number], what and f", {what}", requirement))[number]


async def procedure(iut: Iut, session: Session, name: str) -> str:
    """What a procedure is called by the IUT. Raises NotExercised where it has none of the kind.

    Whether one that nothing is declared of is there at all is tried once: it is not where it is
    answered like one that certainly is not.
    """
    declared = iut.configuration.procedures.get(name)
    wanted = f"needs the procedure '{name}' ({iut.role.procedures[name]})"
    if declared == "":
        raise NotExercised(f"{wanted}, which it is declared not to have")
    absent: dict[str, str] = iut.memory.setdefault("absent procedures", {})
    if declared is None and name not in absent:
        absent[name] = await _absent(session, name)
    if absent.get(name):
        raise NotExercised(
            f"{wanted}; the server answers {absent[name]}. Where it has another name, declare "
            f"[procedures] {name} or --set procedures.{name}=NAME"
        )
    return declared or name


async def _absent(session: Session, name: str) -> str:
    """What a procedure is answered that evidently does not exist; nothing if it does."""
    await session.send(request(120, name, *_PROBES[name]))
    about = "rpc.unencodable-result" if name == "unencodable" else "rpc.each-answered"
    error, result = (await answers(session, [120], f", {name}", about))[120]
    if error is None or result is not None:
        return ""
    unknown, _ = await call(session, 121, ABSENT, *_PROBES[name])
    return shown(error) if same_error(error, name, unknown, ABSENT) else ""


def same_error(error: Any, name: str, other: Any, other_name: str) -> bool:
    """Whether errors upon calls of two procedures say the same of them."""
    texts = _outline(error, name), _outline(other, other_name)
    return difflib.SequenceMatcher(None, *texts).ratio() > _ALIKE


@dataclass(frozen=True)
class Echo:
    """The procedure that answers its arguments: all of them in an array, or a ``single`` one."""

    name: str
    single: bool

    def request(self, number: int, *params: Any) -> list[Any]:
        """A request that is answered by an array of these."""
        return request(number, self.name, *([list(params)] if self.single else params))

    async def call(
        self,
        session: Session,
        number: int,
        *params: Any,
        requirement: str | None = "rpc.each-answered",
    ) -> tuple[Any, Any]:
        """Have an array of these echoed; error and result of the response.

        Raises Violation as `call` does.
        """
        await session.send(self.request(number, *params))
        return (await answers(session, [number], requirement=requirement))[number]


async def echoing(iut: Iut, session: Session) -> Echo:
    """The echo of the IUT. Raises NotExercised where it has none."""
    name = await procedure(iut, session, "echo")

    async def single() -> bool:
        # An array is the only argument, and comes back by itself or in an array of its own.
        _, result = await call(session, 122, name, ["x"])
        return bool(result == ["x"])

    return Echo(name, await iut.once("echo", single))


async def plainly(iut: Iut, session: Session, params: list[Any]) -> Any:
    """What an echo of these answers that is asked for in the usual way, found out once in a run.

    Raises Inconclusive where that is an error.
    """
    echo = await echoing(iut, session)

    async def asked() -> Any:
        error, result = await echo.call(session, 123, *params)
        if error is not None:
            raise Inconclusive(f"a plain echo of {shown(params)} has the error {shown(error)}")
        return result

    return await iut.once(f"echo of {params}", asked)


async def hundred(iut: Iut, cut: Segmentation | None = None) -> None:
    """Send a hundred requests without waiting, each in a write of its own or in this way."""
    numbers = [1000 + 7 * index for index in range(100)]
    async with iut.session() as session:
        echo = await echoing(iut, session)
        # Long responses right behind each other, where nothing but that is unusual about them: so
        # many that some are written at the same time, where that is done.
        long = () if cut else numbers[40:60]
        sent = {number: [number, "x" * 20_000 * (number in long)] for number in numbers}
        requests = (echo.request(number, *sent[number]) for number in numbers)
        await session.send(*requests, segmentation=cut)
        how = " of a hundred in one write" if cut else " of a hundred"
        came = await answers(session, numbers, how, "rpc.pipelining")
        for number in numbers:
            check_success(came[number], sent[number], f"request {number}", "rpc.result")


async def misanswered(iut: Iut) -> str:
    """Which requirement plain requests show to be violated, one after another; else empty."""
    async with iut.session() as session:
        for number in range(1, _MANY):
            given = 100 + number  # true is equal to 1
            await session.send(request(number, usual(iut), given))
            answer = await session.watch(RESPONSE, within="response")
            if answer is None:
                return "rpc.each-answered"
            if of(answer) != number:
                return "rpc.response-id"
            error, *result = answer.value[2:]
            succeeded = result in ([given], [[given]])
            # The result stands where the error does, or beside one; any other one may be lawful.
            if error in (given, [given]) or (succeeded and error is not None):
                return "rpc.result"
        await session.send(request(_MANY, ABSENT))
        answer = await session.watch(RESPONSE, within="response")
        # Who has no errors where they belong has none for whatever else fails.
        unknown = answer is not None and answer.value[2:3] == [None]
    return "rpc.unknown-procedure" if unknown else ""


async def disturbed(iut: Iut) -> str:
    """Whether a client is not answered beside another one, which has begun a request; else empty.

    A server may have no time for the other one, but the first is not to notice anything of it.
    """
    async with (
        iut.instance() as instance,
        iut.connect(instance) as one,
        iut.connect(instance) as other,
    ):
        for number in (1, 2):
            await one.send(request(number, usual(iut)))
            within = one.left(one.due)
            answer = await one.watch(RESPONSE, within=within, requirement="rpc.clients-apart")
            if answer is None or of(answer) != number:
                return "rpc.clients-apart"
            await other.send_bytes(encode(request(3, usual(iut)))[:4])
            await other.taken()
    return ""


@contextlib.asynccontextmanager
async def not_the_first(iut: Iut) -> AsyncIterator[None]:
    """Lays what is missing within to rpc.each-answered where no later connection is answered.

    Raises Hindered where a connection is ended only while there is another one: that is known then.
    """

    async def answered() -> bool:
        plain = Iut(iut.testbed, "")
        async with plain.instance() as instance:
            for number in range(2):
                async with plain.connect(instance) as session:
                    within = "response" if number else session.left(session.due)
                    await session.send(request(number, usual(iut)))
                    if not await session.watch(RESPONSE, within=within):
                        return not number  # what the first lacks is another matter
        return True

    try:
        yield
    except Violation as missing:
        if missing.event is not None:
            raise
        plain = Iut(iut.testbed, "")
        if await iut.once("another client is turned away", plain.turns_away_beside):
            raise Hindered("it ends a connection that is made while it serves another") from None
        if not await iut.once("a later client is answered", answered):
            about = "rpc.each-answered"
            raise Violation(missing.expected, missing.came, about) from missing
        raise


@contextlib.asynccontextmanager
async def in_pieces(iut: Iut) -> AsyncIterator[None]:
    """Lays what fails within to encoding.segmentation where no request in pieces is answered."""

    async def answered() -> bool:
        async with Iut(iut.testbed, "").session() as session:
            await session.send(request(1, usual(iut)), segmentation=byte_by_byte)
            answer = await session.watch(
                RESPONSE, within=session.left(session.due), requirement=SEGMENTATION
            )
            return answer is not None and of(answer) == 1

    try:
        yield
    except Violation as wrong:
        if not await iut.once("a request in pieces is answered", answered):
            raise Violation(wrong.expected, wrong.came, SEGMENTATION, wrong.event) from wrong
        raise


async def sleeping(iut: Iut, session: Session) -> str:
    """The procedure that takes its time, which is answered where nothing else is asked for.

    Raises Violation of rpc.each-answered where it is not, NotExercised where there is none.
    """
    name = await procedure(iut, session, "sleep")
    await iut.once("a slow call is answered", partial(call, session, 124, name, 0.02))
    return name


def usual(iut: Iut) -> str:
    """The name of the procedure that is called where any answer will do."""
    return iut.configuration.procedures.get("echo") or "echo"


def _outline(error: Any, name: str) -> str:
    """The texts of an error without what differs from one procedure, or call, to another."""
    # Keys and brackets, which two errors of one server share, would hide what they say.
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


def names(iut: Iut) -> list[str]:
    """What the IUT calls the procedures that it is not declared not to have."""
    declared = iut.configuration.procedures
    return [name for name in (declared.get(each, each) for each in iut.role.procedures) if name]


def alike(sent: Any, came: Any) -> bool:
    """Whether a value has passed unchanged; a float that is whole may have become an integer.

    Where numbers are doubles, integers of more than 32 bits may come as such, and are as good as
    those allow.
    """
    if isinstance(sent, dict):
        return (
            isinstance(came, dict)
            and sent.keys() == came.keys()
            and all(alike(sent[key], came[key]) for key in sent)
        )
    if isinstance(sent, list):
        return (
            isinstance(came, list)
            and len(sent) == len(came)
            and all(alike(one, other) for one, other in zip(sent, came, strict=True))
        )
    wide = type(sent) is int and not -(2**31) <= sent < 2**32
    if wide and type(came) in (float, int):
        return bool(float(sent) == float(came))
    kinds = (float, int) if type(sent) is float else (type(sent),)
    return type(came) in kinds and bool(sent == came)


def check_success(outcome: Sequence[Any], wanted: Any, what: str, requirement: str | None) -> None:
    """Raise Violation unless error and result are nil and what was wanted."""
    error, result = outcome
    if error is not None or not alike(wanted, result):
        came = f"the error {shown(error)}" if error is not None else shown(result)
        raise Violation(f"{what} to answer {shown(wanted)}", f"{came} came", requirement)


def check_failure(outcome: Sequence[Any], what: str, requirement: str | None = None) -> None:
    """Raise Violation unless the error is something."""
    error, result = outcome
    if error is None:
        raise Violation(
            f"{what} to be answered by an error",
            f"nil came for the error, and {shown(result)} for the result",
            requirement,
        )
