"""The tester of an RPC client: its calls and their outcomes.

A client can also make calls of its own. A call of a procedure that no operation requested is
answered immediately with an error, as by a service without that procedure, and then ignored.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

from conformance.connections import Connections, cancel_all
from conformance.definitions.keywords import short_json
from conformance.harness.deadlines import in_time
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.runtime.codec import IDS, is_request
from conformance.runtime.numbers import is_same
from conformance.runtime.rpc_client.calls import Call, Waiting, outcome, response
from conformance.runtime.shapes import NOTIFICATION, OTHER, REQUEST, mark
from conformance.runtime.tester import Unoperated, connect_or_prompt
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

_OPERATED = "a client is operated"  # key in the memory of the run
_IN_TURN = "calls wait for each other"  # key in the memory of the run
_ASKED = "rpc.request-form"  # violated if a plain call sends no request
_UNKNOWN = {"message": "no such procedure"}

PROMPT = "conformance_prompt"
"""Name of a notification that makes a client connect if nothing else does."""


class Caller(Connections):
    """A client whose calls are controlled by operations."""

    def __init__(self, session: Session, iut: Iut) -> None:
        super().__init__(session)
        self._iut, self._memory = iut, iut.facts
        self._running: list[asyncio.Task[Answer]] = []
        self.ids: Waiting = {}
        """The ids in use, and when others can be used again."""
        self._called: Counter[str] = Counter()
        self._came: Counter[str] = Counter()
        self._latest: dict[str, tuple[Session, Message]] = {}
        self._notified = {PROMPT}
        self._serve(session)

    def add(self, session: Session) -> None:
        super().add(session)
        self._serve(session)

    def _serve(self, session: Session) -> None:
        def refuse(message: Message) -> Any:
            return response(message.value[1], _UNKNOWN, None) if self._own(message) else None

        session.answer(REQUEST, refuse, since=0)

    def _own(self, message: Message) -> bool:
        """Return True for a call that no operation requested."""
        asked = {*self._called, *self._notified}
        return is_request(message.value) and self._method(message) not in asked

    def _concerns(self, message: Message) -> bool:
        """Return True for an operation's request, False for a repeated request."""
        name = self._method(message)
        if self._own(message) or name not in self._latest:
            return not self._own(message)
        session, before = self._latest[name]
        use = self.ids[session, before.value[1]]
        # A client can send waiting calls again after it has reconnected.
        again = not any(each is message for each in session.received)
        waited = not isinstance(use, int) or (not again and message.event < use)
        late = again or message.at - before.at > session.seconds("quiet") / 2
        return not (waited and late and self._came[name] == self._called[name])

    def begin(self, method: str, *params: Any, **more: Any) -> asyncio.Task[Answer]:
        """Start an operation that calls a procedure; `more` are its further arguments."""
        self._raise_if_repeated()
        self._called[method] += 1
        operation = self.session.operate("call", method=method, params=list(params), **more)
        self._running.append(asyncio.create_task(operation))
        return self._running[-1]

    def _raise_if_repeated(self) -> None:
        """Raise Violation if the client has sent a request a second time."""
        for session in self.sessions:
            for message in session.unread_messages(REQUEST, where=self._concerns):
                if self._method(message) in self._called:
                    raise self._unexpected_request(message, "for each call")

    async def expect_request(
        self,
        running: asyncio.Task[Answer],
        to: str,
        others: Sequence[asyncio.Task[Answer]] = (),
        requirement: str | None = None,
        after: str = "",
    ) -> Message:
        """Return the request that the client sends for an operation.

        ``others`` are the operations of other pending calls (see `_take_turns`). Raises Violation
        of

        - the requirement (None: the requirement under test), if no request arrives
        - rpc.request-form, if the message is not a request
        - rpc.request-content, if the request calls another procedure
        - rpc.request-id or rpc.ids-differ, if responses could not be assigned

        Raises Unoperated if no operation of the client is answered.
        """
        needed = Unoperated("needs the operation 'call', which is not answered")
        if self._memory.get(_OPERATED) is False:
            raise needed
        before = {session: len(session.received) for session in self.sessions}
        waiting = asyncio.create_task(self.next(REQUEST, OTHER, to=to, where=self._concerns))
        await self._take_turns(waiting, [running], others, to)
        if running.done() and not waiting.done():
            unasked = [
                message
                for session in self.sessions
                for message in session.received[before.get(session, 0) :]
                if self._own(message)
            ]
            if unasked or running.exception():
                await cancel_all([waiting])
            if error := running.exception():
                raise error
            if unasked:
                raise self._unexpected_request(unasked[0], to)
            if not running.result().ok:
                # The request may still be in transit; after this wait no request arrives.
                with contextlib.suppress(TimeoutError, Violation):
                    await in_time(asyncio.shield(waiting), self.session.countdown("quiet"))
                if not waiting.done():
                    await cancel_all([waiting])
                    about = "rpc.failure" if after else None if self.has_begun else requirement
                    expected = f"a request {to}{after and f' after {after}'}"
                    raise Violation(expected, f"received none{outcome(running)}", about)
        try:
            message = await waiting
        except Violation as missing:
            if not (self.received or running.done() or await self._is_operated()):
                raise needed from missing
            came = f"{missing.came}{outcome(running)}"
            about = missing.requirement or (None if self.has_begun else requirement)
            if running.done() and running.result().ok:
                about = "rpc.request-content"  # the client has a result from another source
            raise Violation(missing.expected, came, about, missing.event) from missing
        if message.name == OTHER:
            came = f"received {short_json(message.value)}"
            raise Violation(f"a request {to}", came, "rpc.request-form", message.event)
        self._memory[_OPERATED] = True
        if self._method(message) in self._notified:
            raise self._unexpected_request(message, to)
        await self._count(message, running)
        return message

    async def _take_turns(
        self,
        request: asyncio.Task[Message],
        running: Sequence[asyncio.Task[Answer]],
        others: Sequence[asyncio.Task[Answer]],
        to: str,
    ) -> None:
        """Wait until a request arrives or one of the operations ends.

        Raises Violation of rpc.concurrent-calls if another call ended first, without a response,
        after a delay.
        """
        asked, quiet = self.session.now, self.session.seconds("quiet")
        await asyncio.wait({request, *running, *others}, return_when=asyncio.FIRST_COMPLETED)
        if others and self.session.now - asked > quiet:
            # The order in which the two events are seen is random.
            await asyncio.wait(others, timeout=quiet, return_when=asyncio.FIRST_COMPLETED)
            if over := [other for other in others if other.done()]:
                await cancel_all([request])
                self._memory[_IN_TURN] = True
                came = f"another call ended before{outcome(over[0])}"
                raise Violation(f"a request {to}", came, "rpc.concurrent-calls")

    def _unexpected_request(self, message: Message, to: str) -> Violation:
        """Return the Violation for an unexpected request."""
        name, came = self._method(message), f"received {short_json(message.value)}"
        if name in self._notified:
            expected = "a notification, which has no id"
            return Violation(expected, came, "rpc.notification-form", message.event)
        came += " a second time" if self._came[name] else ""
        return Violation(f"one request {to}", came, "rpc.request-content", message.event)

    async def _is_operated(self) -> bool:
        """Return True if the client answers operations; checked once in a run."""
        memory = self._memory
        if _OPERATED not in memory:
            memory.setdefault(_OPERATED, await self._can_notify())
        return bool(memory[_OPERATED])

    async def _can_notify(self) -> bool:
        """Return True if the operation notify is answered or not offered."""
        asking = asyncio.create_task(self.session.operate("notify", method=PROMPT, params=[]))
        await asyncio.wait({asking}, timeout=self.session.seconds("response"))
        answered = asking.done()
        await cancel_all([asking])
        return answered

    async def _can_answer(self) -> bool:
        """Return True if another client answers any operation, including the simplest call."""
        async with open_caller(Iut(self._iut.testbed, "")) as other:
            if await other._can_notify():
                return True
            call = await other.call("method")
            await call.respond(None, "result")
            within = self.session.seconds("response")
            return bool((await asyncio.wait({call.running}, timeout=within))[0])

    async def _count(self, message: Message, running: asyncio.Task[Answer] | None) -> None:
        """Record the id of a request, and the operation that waits for the response.

        Raises Violation if the id cannot be used for a response. An operation that has ended, for
        example after the client's own timeout, does not use its id any more.
        """
        number = message.value[1] if len(message.value) > 1 else None
        if type(number) is not int or not 0 <= number < IDS:
            expected, came = (
                "an id that is an unsigned integer of 32 bits",
                short_json(message.value),
            )
            raise Violation(expected, f"received {came}", "rpc.request-id", message.event)
        use = self.ids.get((self.session, number), -1)
        if isinstance(use, int):
            is_used = message.event < use
        else:
            # The end of an operation and the next request arrive on different streams.
            await asyncio.wait({use}, timeout=self.session.seconds("quiet"))
            is_used = not use.done()
        if is_used:
            came = f"received {short_json(message.value)} while {number} was unanswered"
            raise Violation(
                "an id that no waiting call uses", came, "rpc.ids-differ", message.event
            )
        name = self._method(message)
        self.ids[self.session, number] = running or self._running[-1]
        self._came[name] += 1
        self._latest[name] = self.session, message
        if self._came[name] > self._called[name]:
            raise self._unexpected_request(message, "for each call")

    async def call(
        self,
        method: str,
        *params: Any,
        requirement: str | None = _ASKED,
        after: str = "",
        **more: Any,
    ) -> Call:
        """Start an operation that calls a procedure, and wait for its request.

        Raises Violation of the requirement (None: the requirement under test) if no request
        arrives. If the operation fails ``after`` an error response, the client has overreacted to
        that error.
        """
        running = self.begin(method, *params, **more)
        request = await self.expect_request(running, f"for {method}", (), requirement, after)
        return Call(self.session, running, request, self.ids)

    async def calls(self, count: int) -> list[Call]:
        """Return that many calls that wait at the same time.

        Raises NotExercised if this is impossible.
        """
        alone = (
            f"needs {count} calls that wait at the same time; only {{}} did: rpc.concurrent-calls"
        )
        if self._memory.get(_IN_TURN):
            raise NotExercised(alone.format(1))
        methods = [f"method{number}" for number in range(count)]
        running = {method: self.begin(method, number) for number, method in enumerate(methods)}
        first = await self.expect_request(running[methods[0]], "for a call", requirement=_ASKED)
        requests = {self._method(first): (self.session, first)}
        while len(requests) < count:
            coming = asyncio.create_task(self.next(REQUEST, where=self._concerns))
            try:
                await self._take_turns(coming, (), [running[method] for method in requests], "more")
                message = await coming
            except Violation as missing:
                raise NotExercised(alone.format(len(requests))) from missing
            await self._count(message, running.get(self._method(message)))
            requests[self._method(message)] = self.session, message
        for method in methods:
            if method not in requests:
                came = f"received requests for {', '.join(requests)}"
                raise Violation(f"a request for {method}", came, "rpc.request-content")
        found = ((running[method], *requests[method]) for method in methods)
        return [Call(session, made, request, self.ids) for made, session, request in found]

    async def notify(self, method: str, *params: Any) -> Answer:
        """Run the operation that notifies a procedure.

        Raises Violation if it does not end, and Unoperated.
        """
        self._notified.add(method)
        operation = self.session.operate("notify", method=method, params=list(params))
        self._running.append(asyncio.create_task(operation))
        try:
            return await self.wait_for_end(
                self._running[-1], "the operation 'notify' to end immediately"
            )
        except Violation as missing:
            spoke = any(message.name != OTHER for message in self.received)
            if any(one.name == NOTIFICATION and one.value[1] == method for one in self.received):
                missing.requirement = "rpc.notification-waits-for-nothing"
            if spoke or await self._is_operated():
                raise
            raise Unoperated("needs the operation 'notify', which is not answered") from missing

    def _method(self, request: Message) -> str:
        """Return the procedure's name in a request, decoded also if it is a bin."""
        name: Any = (request.value[2:3] or [""])[0] if request.name == REQUEST else ""
        return bytes.fromhex(name["$bin"]).decode() if mark(name) == "$bin" else str(name)

    async def outcome(self, call: Call, after: str = "its response", own: float = 0.0) -> Answer:
        """Return the outcome of a call.

        Raises Violation if the call does not end or the client crashes.

        `own` is the client's own timeout in seconds.
        """
        try:
            return await self.wait_for_end(call.running, f"the call to end after {after}", own)
        except Inconclusive:
            process = self.session.instance.process
            if process and await process.wait(0.3):
                end = self.session.instance.describe_end()
                raise Violation(f"the client to survive {after}", f"it crashed{end}") from None
            raise

    async def wait_for_end(
        self, running: asyncio.Task[Answer], expected: str, own: float = 0.0
    ) -> Answer:
        operated = self.session.instance.upper.operated
        seconds = own + 2 * self.session.instance.configuration.seconds("response")
        self._raise_if_repeated()
        try:
            with self.session.deadline("the end of a call", seconds) as left:
                return await in_time(asyncio.shield(running), left)
        except TimeoutError:
            self._raise_if_repeated()
            if not operated.answered and not await self._iut.cached("answers", self._can_answer):
                # The client may have exited without flushing its output.
                operated.take("call", False)
                unflushed = self.session.instance.upper.unflushed_hint
                raise Inconclusive(f"expected {expected}{unflushed}") from None
            raise Violation(expected, f"it still waits after {seconds:g} s") from None

    async def check_succeeds(self, call: Call, result: Any, after: str = "its response") -> None:
        """Raise Violation unless the call has this result."""
        answer = await self.outcome(call, after)
        if not answer.ok or not is_same(result, answer.result):
            came = (
                short_json(answer.result)
                if answer.ok
                else f"the failure {short_json(answer.error)}"
            )
            expected = f"the result {short_json(result)} for {call.request.value} after {after}"
            raise Violation(expected, f"received {came}")

    async def plain(self, result: Any) -> Any:
        """Return the result that a call reports for a plain response, cached.

        Raises Inconclusive if the call fails.
        """
        name = f"the result {result}"
        if name not in self._memory:
            call = await self.call("method")
            await call.respond(None, result)
            answer = await self.outcome(call)
            if not answer.ok:
                raise Inconclusive(f"a call with a plain result fails: {short_json(answer.error)}")
            self._memory[name] = answer.result
        return self._memory[name]

    async def check_survives(self, call: Call, result: Any, after: str) -> None:
        """Raise Violation unless the call has this result, or the client closes the connection.

        A client can close the connection if it treats the earlier message as a protocol violation.
        """
        answer = await self.outcome(call, after)
        if answer.ok or not await self.session.until_closed():
            await self.check_succeeds(call, result, after)

    async def check_fails(
        self, call: Call, after: str, own: float = 0.0, requirement: str | None = None
    ) -> Any:
        """Return the error that the program receives. Raises Violation if the call succeeds.

        `own` is the client's own timeout in seconds. ``requirement`` is violated if the call
        reports the nil result of an error response (None: the requirement under test).
        """
        answer = await self.outcome(call, after, own)
        if answer.ok:
            about = requirement if answer.result is None else None
            came = f"it had the result {short_json(answer.result)}"
            raise Violation(f"the call to fail after {after}", came, about)
        return answer.error

    def is_sent_again(self, call: Call) -> bool:
        """Return True if another connection has received the same request."""
        others = (session for session in self.sessions if session is not call.session)
        return any(
            message.name == REQUEST and message.value[2:] == call.request.value[2:]
            for session in others
            for message in session.received
        )

    async def check_works(self, after: str, late: Call | None = None) -> None:
        """Raise Violation unless another call succeeds.

        A client that has closed its only connection is not checked. ``late`` is an earlier call
        with the result "late". If the other call has this result, rpc.matching is violated.
        """
        if self.session.ended and len(self.sessions) == 1:
            return
        call = await self.call("still", after, requirement=None)
        await call.respond(None, "works")
        try:
            await self.check_succeeds(call, "works", f"its response, sent after {after}")
        except Violation as wrong:
            ended = call.running.done() and not call.running.exception()
            took = call.running.result().result if ended else None
            if late and late.number != call.number and took == "late":
                wrong.requirement = "rpc.matching"
            raise

    async def close(self) -> None:
        await cancel_all(self._running)


@contextlib.asynccontextmanager
async def open_caller(iut: Iut) -> AsyncIterator[Caller]:
    """Open a session with a client, and cancel its operations at the end."""
    async with connect_or_prompt(iut, "notify", method=PROMPT, params=[]) as session:
        caller = Caller(session, iut)
        async with caller.accepting(iut):
            try:
                yield caller
            finally:
                await caller.close()
