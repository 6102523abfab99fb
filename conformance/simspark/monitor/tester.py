"""The server that the suite plays against a monitor.

The tester sends states and asks for the monitor's knowledge.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any

from conformance.connections import Connections, cancel_all
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.simspark import messages
from conformance.simspark.codec import LENGTH, encode, frame
from conformance.simspark.tester import expressions, reported_names, run_operation
from conformance.verdicts import Inconclusive, NotExercised, Violation

GAME = {"half", "score_left", "score_right", "play_mode"}
"""Values that are in one list with the time, and are taken with it."""
_KNOWS = "monitors.understood"
_PERIOD = 0.04  # seconds between two states of the published server
_POLL = 0.005  # seconds between two looks for new messages to forward to the other connections
_goals = itertools.count(51)  # a score that no other test sends


class _Connections(Connections):
    """The connections of a monitor. A monitor can watch over one and command over another.

    Every connection receives the messages of the first connection, as from a server.
    """

    @contextlib.asynccontextmanager
    async def accepting(self, iut: Iut) -> AsyncIterator[None]:
        self._forwarding: list[asyncio.Task[None]] = []
        async with super().accepting(iut):
            try:
                yield
            finally:
                await cancel_all(self._forwarding)

    def add(self, session: Session) -> None:
        super().add(session)
        self._forwarding.append(asyncio.create_task(self._forward(session)))

    async def _forward(self, session: Session) -> None:
        forwarded = 0
        # The monitor need not read a connection that it only uses for commands.
        with contextlib.suppress(Violation):
            while not session.is_over:
                for event in self.session.events[forwarded:]:
                    if event.data and event.sender == session.peer:
                        await session.send_bytes(event.data)
                    forwarded += 1
                await asyncio.sleep(_POLL)


class Tester:
    """Serves one monitor with a simulation: the ball and the time.

    `rooted` says that scene graphs are sent with a root node. `knows_signs` says that the monitor
    knows a ball at negative coordinates.
    """

    def __init__(self, connections: Connections, rooted: bool, knows_signs: bool = True) -> None:
        self.connections = connections
        self.session = connections.session
        self.rooted = rooted
        self.knows_signs = knows_signs
        self.time = 0.0
        self.backlog = 0.0
        """The time in seconds that a simulation needs for messages that came at once."""
        self._gone: list[Session] | None = None
        """The connections that were closed before `provoke`; None before the first call."""

    async def provoke(self, data: bytes) -> None:
        """Send bytes after which the monitor can close any of its connections."""
        self._gone = [each for each in self.connections.sessions if each.ended]
        await self.session.send_bytes(data)

    @property
    def closed(self) -> bool:
        """True if the monitor closed its first connection, or any connection after `provoke`.

        A connection that began after `provoke` receives the same bytes.
        """
        if self.session.ended or self._gone is None:
            return self.session.ended
        return any(each.ended for each in self.connections.sessions if each not in self._gone)

    async def has_received_commands(self, times: int) -> bool:
        """Return True once `times` messages have arrived, over any connection."""
        return await self.is_sent(lambda: len(self.connections.received) >= times, "a command")

    async def is_sent(self, holds: Callable[[], bool], what: str) -> bool:
        """Return True once `holds` is true about the messages of the monitor.

        States keep coming, as from a server, because a monitor can command only after a state.
        """
        shown = self.session.now

        async def look() -> bool:
            nonlocal shown
            if holds():
                return True
            if self.session.now - shown > _PERIOD and not self.session.ended:
                shown = self.session.now
                await self.tick()
            return False

        return await self.session.poll_until(look, what, "response")

    async def say(self, text: str, *, segmentation: Segmentation | None = None) -> None:
        """Send one message, given as text on the wire without the length."""
        await self.session.send(self.decode(text), segmentation=segmentation)

    def decode(self, text: str) -> list[Any]:
        message = expressions(text)
        return messages.with_root(message) if self.rooted else message

    def bytes_of(self, *texts: str) -> bytes:
        """Encode several messages, given as text on the wire without the length."""
        return b"".join(encode(self.decode(text)) for text in texts)

    async def introduce(self, merged: bool = False, graph: str = "") -> None:
        """Send the introduction: environment and state, in one message or in two."""
        graph = graph or messages.scene(0, 0)
        if merged:
            await self.say(messages.full(messages.ENVIRONMENT + messages.state(0), graph))
        else:
            await self.say(messages.full(messages.ENVIRONMENT, graph))
            await self.say(messages.full(messages.state(0), graph))

    async def tick(self, times: int = 1, graph: str = messages.STILL, more: str = "") -> None:
        """Send partial states that contain only the time, or also the pairs `more`."""
        for _ in range(times):
            await self.say(self.partial(graph, more))

    def partial(self, graph: str = messages.STILL, more: str = "") -> str:
        self.time = round(self.time + 0.04, 2)
        return messages.partial(f"(time {self.time:g}){more}", graph)

    def long(self, size: int, text: str = "", more: str = "") -> bytes:
        """Return a message with a text of `size` bytes: `text`, or a partial state, and blanks.

        The blanks are before the pairs `more` of the partial state, so that a monitor must read
        beyond them, or at the end of `text`.
        """
        if text:
            return frame(self.bytes_of(text)[LENGTH.size :].ljust(size))
        plain = self.bytes_of(self.partial(more=more))[LENGTH.size :]
        begin, end, rest = plain.partition(b") (" if more else b"))")
        blanks = b" " * (size - len(plain))
        return frame(begin + end[:1] + blanks + end[1:] + rest)

    async def check_known(
        self, requirement: str | None = None, *, timed: Collection[str] = GAME, **wanted: Any
    ) -> None:
        """Raise Violation unless the monitor reports these values; numbers with a tolerance.

        `requirement` is the requirement to blame; the default is that of the test. After the time,
        the monitor has the response time to report the values named by `timed`. Values that its
        states do not contain are not required.

        Raises NotExercised if the states contain none of the values, or if there is no operation
        `state`.
        """
        for what in ("game", "scene"):
            part = {n: value for n, value in wanted.items() if (n == "ball") is (what == "scene")}
            if not part:
                continue
            at_once = timed if wanted.get("time") else ()
            try:
                wrong = await self._wrong_values(part, what, requirement, at_once)
            except Inconclusive as lost:
                if not self.closed:
                    raise
                # A monitor can end the stream of its upper tester together with its connection.
                await self.check_connected("the messages sent so far", requirement)
                raise lost
            for name, came in wrong.items():
                await self.check_connected("the messages sent so far", requirement)
                if what == "scene" and not self.knows_signs and self._has_sent_signs():
                    raise Inconclusive(f"the monitor misreads negative numbers ({_KNOWS})")
                raise Violation(
                    f"the monitor to report {name} as {wanted[name]}",
                    f"it reports {came!r:.80}",
                    requirement,
                )
        if not wanted.keys() & reported_names(self.session):
            names = ", ".join(wanted)
            raise NotExercised(f"the state of the monitor does not contain {names}")

    async def check_connected(self, after: str, requirement: str | None = None) -> None:
        """Raise Violation if the monitor has crashed, or has closed its connection."""
        await self.session.assert_alive(after)
        if self.closed:
            raise Violation(
                f"the monitor to stay connected after {after}", "it disconnected", requirement
            )

    def _has_sent_signs(self) -> bool:
        """Return True if the suite has sent a negative number in this session."""
        events = self.session.events
        return any(b" -" in e.data for e in events if e.data and e.sender == self.session.peer)

    async def _wrong_values(
        self,
        wanted: Mapping[str, Any],
        what: str,
        requirement: str | None,
        timed: Collection[str],
    ) -> dict[str, Any]:
        """Return the reported values that are still wrong after the timeout.

        ``what`` is the kind of the values. The run uses it to recognise a wait that has timed out
        before.
        """
        wrong: dict[str, Any] = {}
        taken: float | None = None

        async def is_decided() -> bool:
            nonlocal wrong, taken
            state = await self.state()
            wrong = {
                name: state.get(name)
                for name, value in wanted.items()
                if name in reported_names(self.session) and not _same(state.get(name), value)
            }
            in_time = "time" in reported_names(self.session) and wrong.keys() <= {*timed}
            taken = (taken or self.session.now) if in_time else None
            over = taken is not None and self.session.now > taken + response
            return not wrong or over or self.closed

        response = self.session.seconds("response")
        within = self.session.countdown("response", self.backlog)
        await self.session.poll_until(is_decided, f"the {what} known", within, requirement)
        return wrong

    async def check_known_if_reported(self, **wanted: Any) -> None:
        """Call `check_known`, if the operation `state` reports any of these values."""
        try:
            await self.check_known(**wanted)
        except NotExercised:
            return

    async def state(self) -> dict[str, Any]:
        """Return the state that the monitor reports.

        Raises Inconclusive if the state is not an object.
        """
        answer = await run_operation(self.session, "state")
        if not answer.ok or not isinstance(answer.result, dict):
            why = answer.error or answer.result
            raise Inconclusive(f"the operation 'state' failed: {why}"[:300])
        reported_names(self.session).update(answer.result)
        return answer.result

    async def check_continues(
        self,
        after: str,
        requirement: str | None = None,
        *,
        may_close: bool = False,
        prefix: bytes = b"",
    ) -> None:
        """Raise Violation unless the monitor still takes part, and takes the next messages.

        The bytes `prefix` are sent in one write with the next message. With `may_close`, closing
        the connection is also a pass.

        Raises Inconclusive if there is no operation `state` and nothing else is wrong.
        """
        why_unseen = await self._check_taken(after, requirement, prefix)
        if prefix:
            # A monitor that takes a message in the same write can still ignore later messages.
            why_unseen = await self._check_taken(after, requirement)
        await self.session.assert_alive(after)
        if not may_close:
            await self.check_connected(after, requirement)
        if why_unseen and not self.closed:
            raise Inconclusive(f"nothing else shows the knowledge of a monitor; {why_unseen}")

    async def _check_taken(self, after: str, requirement: str | None, prefix: bytes = b"") -> str:
        """Raise Violation unless the monitor takes a new score, sent in one write after `prefix`.

        The monitor can also have closed the connection. Returns the reason if its knowledge cannot
        be seen, else an empty string.
        """
        goals = next(_goals)
        more = f"(score_left {goals})(score_right {goals + 1})"
        if prefix:
            await self.provoke(prefix + self.bytes_of(self.partial(more=more), self.partial()))
        elif not self.closed:
            await self.tick(2, more=more)
        try:
            await self.check_known(score_left=goals, score_right=goals + 1, time=self.time)
        except NotExercised as unseen:
            await self.session.until_closed(self.session.seconds("quiet"))
            return str(unseen)
        except Inconclusive:
            # The monitor can exit when its connection ends, and the upper tester with it.
            if not self.closed:
                raise
        except Violation as none:
            await self.session.assert_alive(after)
            if not self.closed:
                raise Violation(
                    f"{none.expected}, sent after {after}", none.came, requirement
                ) from none
        return ""


def _same(one: Any, other: Any) -> bool:
    if isinstance(other, Sequence) and not isinstance(other, str):
        same = isinstance(one, list) and len(one) == len(other)
        return same and all(map(_same, one, other))
    if isinstance(other, dict):
        common = other.keys() & one.keys() if isinstance(one, dict) else None
        return common is not None and all(_same(one[key], other[key]) for key in common)
    if isinstance(other, int | float):
        number = isinstance(one, int | float) and not isinstance(one, bool)
        return number and abs(one - other) < 0.005
    return bool(one == other)


@contextlib.asynccontextmanager
async def connect_monitor(
    iut: Iut, *, segmentation: Segmentation | None = None
) -> AsyncIterator[Tester]:
    """A monitor that has received nothing yet."""
    rooted = await iut.cached("rooted", lambda: _can_read_roots(iut))
    signs = await iut.cached("negative numbers", lambda: _can_read_signs(iut, rooted))
    lost: Violation | None = None
    async with _open_session(iut, rooted, segmentation, knows_signs=signs) as tester:
        try:
            yield tester
        except Violation as violation:
            lost = violation.shown_in(tester.session, iut.sessions)
    if lost:
        # The address of the monitor's server can be fixed, so further sessions come after this one.
        if await iut.cached("loses lengths", lambda: _is_losing_lengths(iut, rooted)):
            lost.requirement = "frame.length-prefix"
        raise lost


@contextlib.asynccontextmanager
async def _open_session(
    iut: Iut,
    rooted: bool,
    segmentation: Segmentation | None = None,
    *,
    knows_signs: bool = True,
) -> AsyncIterator[Tester]:
    async with iut.session(segmentation=segmentation) as session:
        connections = _Connections(session)
        async with connections.accepting(iut):
            yield Tester(connections, rooted, knows_signs)


async def _can_read_roots(iut: Iut) -> bool:
    """Return True if a monitor takes a scene graph with a root node.

    The specification sends a root node. Returns False only if the monitor takes a graph without a
    root node, as the published server sends it.
    """
    with contextlib.suppress(NotExercised):
        for rooted in (True, False):
            async with _open_session(iut, rooted) as tester:
                await tester.introduce(graph=messages.scene(3, 2))
                await tester.say(messages.partial("(time 1)", messages.STILL))
                try:
                    await tester.check_known(_KNOWS, ball=[3, 2, 0.042], time=1, timed=["ball"])
                    return rooted
                except (Violation, Inconclusive):
                    continue
    return True


async def _is_losing_lengths(iut: Iut, rooted: bool) -> bool:
    """Return True if the monitor takes an introduction only if all bytes of its lengths are small.

    A monitor can read bytes of 128 or more as signed numbers, or as characters of UTF-8.
    """
    return not await _is_introduced(iut, rooted, 0xF0) and await _is_introduced(iut, rooted, 0x70)


async def _is_introduced(iut: Iut, rooted: bool, last_byte: int) -> bool:
    """Return True if the monitor takes an introduction with this last byte of each length."""
    scene = messages.scene(0, 0)
    async with _open_session(iut, rooted) as tester:
        for text in (
            messages.full(messages.ENVIRONMENT, scene),
            messages.full(messages.state(0), scene),
            messages.partial("(time 1)", messages.STILL),
        ):
            plain = tester.bytes_of(text)[LENGTH.size :]
            size = (len(plain) | 0xFF) + 1 + last_byte
            await tester.session.send_bytes(frame(plain.ljust(size)))
        with contextlib.suppress(Violation, Inconclusive, NotExercised):
            await tester.check_known(_KNOWS, time=1, timed=[])
            return True
    return False


async def _can_read_signs(iut: Iut, rooted: bool) -> bool:
    """Return False if a monitor knows a ball at positive coordinates only."""
    for sign in (-1, 1):
        async with _open_session(iut, rooted) as tester:
            await tester.introduce(graph=messages.scene(3, 2 * sign))
            await tester.say(messages.partial("(time 1)", messages.STILL))
            try:
                await tester.check_known(_KNOWS, ball=[3, 2 * sign, 0.042], time=1, timed=["ball"])
                return sign < 0
            except (Violation, Inconclusive):
                continue
            except NotExercised:
                break
    return True


@contextlib.asynccontextmanager
async def introduce_monitor(
    iut: Iut, *, segmentation: Segmentation | None = None
) -> AsyncIterator[Tester]:
    """A monitor that has received the introduction of the specification and a first update."""
    async with connect_monitor(iut, segmentation=segmentation) as tester:
        await tester.introduce()
        await tester.tick()
        yield tester
