"""Tests of robustness: malformed requests, broken bytes, and many clients that disconnect."""

import contextlib
import itertools
from typing import Any

import pytest

from conformance.cases import lasting, requirement
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.many_clients import visit_often
from conformance.runtime.codec import encode
from conformance.runtime.rpc_server.tester import (
    blame_later_connections,
    call,
    find_procedure,
    request,
    response_id,
    usual_procedure,
)
from conformance.runtime.shapes import RESPONSE
from conformance.segmentation import whole
from conformance.session import Session
from conformance.verdicts import NotExercised, Unreachable, Violation

_PROBES = itertools.count(1170)  # ids that no other request uses

_TOGETHER = 100  # clients that are connected at the same time; more than most services have

_MALFORMED = "robustness.malformed-requests"
_NAMED = "echo"
"""Placeholder for the name of a procedure that the server has."""

MALFORMED: dict[str, Any] = {
    "type 3": [3, 1, _NAMED, []],
    "a negative type": [-1, 1, _NAMED, []],
    "a string for its type": ["0", 1, _NAMED, []],
    "one element": [0],
    "two elements": [0, 1],
    "no arguments": [0, 1, _NAMED],
    "five elements": [0, 1, _NAMED, [], None],
    "no elements": [],
    "a map": {"id": 1, "method": _NAMED, "params": []},
    "an integer": 5,
    "nil": None,
    "a string for its id": [0, "1", _NAMED, []],
    "nil for its id": [0, None, _NAMED, []],
    "a negative id": [0, -1, _NAMED, []],
    "an id of 33 bits": [0, 2**32, _NAMED, []],
    "a float for its id": [0, 1.5, _NAMED, []],
    "an array for its id": [0, [1], _NAMED, []],
    "nil for its arguments": [0, 1, _NAMED, None],
    "a map for its arguments": [0, 1, _NAMED, {"a": 1}],
    "a string for its arguments": [0, 1, _NAMED, "arguments"],
    "an integer for its procedure": [0, 1, 5, []],
    "nil for its procedure": [0, 1, None, []],
    "a map for its procedure": [0, 1, {_NAMED: 1}, []],
    "a bin for its procedure": [0, 1, {"$bin": "ff"}, []],
    "a notification of two": [2, _NAMED],
    "a notification with nil": [2, _NAMED, None],
    "a notification with a map": [2, {}, {"a": 1}],
}


class Served:
    """A server that must continue to serve after unusual input."""

    def __init__(self, iut: Iut, instance: Instance, session: Session) -> None:
        self.iut = iut
        self.instance = instance
        self.session = session

    async def check_still_serves(
        self, after: str, number: int | None = None, about: str | None = None
    ) -> None:
        """Raise Violation unless a request is answered, on this connection or on a new one.

        A new connection is used only if the server has closed this one. `number` is the id of the
        request, None for any id. `about` is the violated requirement, None for the requirement
        under test.
        """
        if not self.session.ended:
            if await self._is_answered(number):
                return
            if not self.session.ended:
                raise Violation(*_sentences(after, "received nothing"), about)
        await self.check_new_client(after, about)

    async def check_new_client(self, after: str, about: str | None = None) -> None:
        """Raise Violation unless a new client is served. `about` is the violated requirement."""
        try:
            async with (
                blame_later_connections(self.iut),
                self.iut.connect(self.instance) as session,
            ):
                await _probe(self.iut, session, f"after {after}", about)
        except Unreachable as error:
            raise Violation(*_sentences(after, str(error)), about) from error

    async def _is_answered(self, number: int | None) -> bool:
        """Return True if the probe is answered before the connection is closed."""
        number = next(_PROBES) if number is None else number
        await self.session.send(request(number, usual_procedure(self.iut)))
        within = self.session.countdown(self.session.reaction_time)
        while answer := await self.session.wait_for(RESPONSE, within=within):
            if response_id(answer) == number:
                return True
        return False


async def _probe(iut: Iut, session: Session, to: str, about: str | None) -> None:
    """Send a request. Raises Violation if it is not answered."""
    number = next(_PROBES)
    await session.send(request(number, usual_procedure(iut)))
    await session.expect(
        RESPONSE, where=lambda answer: response_id(answer) == number, to=to, requirement=about
    )


async def _require_service(iut: Iut, session: Session) -> None:
    """Raise Violation of rpc.each-answered if even a plain request is not answered."""
    await call(session, next(_PROBES), usual_procedure(iut))


def _sentences(after: str, came: str) -> tuple[str, str]:
    return f"a response to the next request after {after}", came


def _with_name(value: Any, name: str) -> Any:
    """Return the value with the placeholder replaced by the name of a real procedure."""
    match value:
        case list():
            return [_with_name(entry, name) for entry in value]
        case dict():
            return {_with_name(key, name): _with_name(entry, name) for key, entry in value.items()}
    return name if value == _NAMED else value


@requirement(_MALFORMED)
@pytest.mark.parametrize("kind", ["arrays", "others"])
async def test_malformed_requests(iut: Iut, kind: str) -> None:
    """After each malformed request the next request is answered, here or on a new connection."""
    chosen = {
        what: value
        for what, value in MALFORMED.items()
        if (isinstance(value, list) and len(value) == 4) == (kind == "arrays")
    }
    async with iut.instance() as instance:
        left = list(chosen.items())
        while left:
            async with iut.connect(instance) as session:
                if len(left) == len(chosen):
                    await _require_service(iut, session)
                served = Served(iut, instance, session)
                while left and not session.ended:
                    what, value = left.pop(0)
                    await session.send(_with_name(value, usual_procedure(iut)))
                    await served.check_still_serves(f"a request with {what}")


@requirement("robustness.many-malformed")
@pytest.mark.parametrize("what", ["nil for its arguments", "no arguments", "a string for its id"])
async def test_twenty_malformed(iut: Iut, what: str) -> None:
    """After twenty malformed requests in a row, requests are answered as after one."""
    async with iut.instance() as instance:
        sent = 0
        while sent < 20:
            async with iut.connect(instance) as session:
                served = Served(iut, instance, session)
                if not sent:
                    await _require_service(iut, session)
                while sent < 20 and not session.ended:
                    await session.send(_with_name(MALFORMED[what], usual_procedure(iut)))
                    await session.wait_until_taken()
                    sent += 1
                    if sent == 1:
                        await served.check_still_serves(f"a request with {what}", about=_MALFORMED)
                await served.check_still_serves(f"{sent} requests with {what}")


BROKEN: dict[str, bytes] = {
    "the byte c1": b"\xc1" * 4,
    "a request of HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a request that is cut off": encode(request(1, "echo", "x" * 20))[:-3],
    "an array of four thousand million elements": b"\xdd\xff\xff\xff\xff\x00",
    "a name of four gigabytes": b"\x94\x00\x01\xdb\xff\xff\xff\xffecho",
    "a map of four thousand million keys": b"\x94\x00\x01\xa4echo\x91\xdf\xff\xff\xff\xff\x00",
    "a hundred thousand arrays in each other": b"\x94\x00\x01\xa4echo" + b"\x91" * 100_000,
}


@requirement("robustness.broken-bytes")
async def test_broken_bytes(iut: Iut) -> None:
    """After bytes that are not a request, the next client is served."""
    async with iut.instance() as instance:
        for number, (what, data) in enumerate(BROKEN.items()):
            async with iut.connect(instance) as session:
                if not number:
                    await _require_service(iut, session)
                await session.send_bytes(data)
                await session.until_closed(session.seconds("quiet") / 4)
                await session.close()
            await Served(iut, instance, session).check_new_client(what)


@requirement("robustness.foreign-messages")
async def test_responses_to_a_server(iut: Iut) -> None:
    """A response to a server has no effect, even with a request's id."""
    async with iut.instance() as instance, iut.connect(instance) as session:
        await _require_service(iut, session)
        served = Served(iut, instance, session)
        for number, error, result in (
            (1, None, "result"),
            (99, "error", None),
            (7, None, 0),
        ):
            await session.send([1, number, error, result])
            await served.check_still_serves("a response sent to the server", number)


@requirement("robustness.clients-leave")
@pytest.mark.parametrize("how", ["resets", "ends"])
async def test_clients_leave(iut: Iut, how: str) -> None:
    """A server continues to serve after a client disconnects in the middle of its calls.

    The next client does not receive the responses to those calls.
    """
    async with iut.instance() as instance:
        async with iut.connect(instance) as session:
            await _require_service(iut, session)
            sleep = await find_procedure(iut, session, "sleep")
            # Long enough to be pending when the next client connects. Only three, because a server
            # can run one after another.
            pending = 0.2 + session.seconds("quiet")
            calls = [request(number, sleep, pending) for number in range(1, 4)]
            echoes = [
                request(number, usual_procedure(iut), "x" * 20_000) for number in range(20, 60)
            ]
            await session.send(*calls, *echoes, segmentation=whole)
            if how == "resets":
                await session.break_off()
            else:
                await session.finish()
                await session.until_closed(0.1)
            # If this crashes the server, the crash should precede the next request.
            if process := instance.process:
                await process.wait(session.seconds("quiet"))
        await Served(iut, instance, session).check_new_client("a client that disconnected")
        async with blame_later_connections(iut), iut.connect(instance) as later:
            await call(later, 10, sleep, 0.3, requirement=None)


@requirement("robustness.many-clients")
@lasting
async def test_very_many_clients(iut: Iut) -> None:
    """A client is served after more clients than a process can have open files."""
    async with iut.instance() as instance:
        async with iut.connect(instance) as session:
            await _require_service(iut, session)
        number = 1 + await visit_often(session, lambda: _asked(iut), iut.seconds("quiet"))
        await _check_not_refused(iut, instance, f"{number} other clients")


@requirement("robustness.many-clients")
async def test_many_clients_together(iut: Iut) -> None:
    """A client is served while many others are connected and have been served, too."""
    async with iut.instance() as instance, contextlib.AsyncExitStack() as others:
        session = await others.enter_async_context(iut.connect(instance))
        await _require_service(iut, session)
        served = Served(iut, instance, session)
        try:
            await served.check_new_client("a request of another client, which stays connected")
        except Violation as alone:
            raise NotExercised("needs a server of two clients at the same time") from alone
        with contextlib.suppress(Unreachable):
            for _ in range(_TOGETHER):
                link = await instance.link()
                others.push_async_callback(link.close)
                await link.write(_asked(iut))
        await _check_not_refused(iut, instance, f"{_TOGETHER} other clients, which stay connected")


def _asked(iut: Iut) -> bytes:
    """Return a request with an id that no other request has."""
    return encode(request(next(_PROBES), usual_procedure(iut)))


async def _check_not_refused(iut: Iut, instance: Instance, after: str) -> None:
    """Raise Violation unless a new client is served."""
    try:
        async with iut.connect(instance) as session:
            # A connection that is closed before its first request leaves no request unanswered.
            if await session.until_closed("quiet"):
                raise Violation(*_sentences(after, "the server closed the connection"))
            await _probe(iut, session, f"after {after}", None)
    except Unreachable as error:
        raise Violation(*_sentences(after, str(error))) from error
