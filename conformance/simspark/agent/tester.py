"""The server that the suite plays against an agent.

The tester sends perceptors and observes the actions of the agent.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import Any

from conformance.cases import compared
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.simspark import messages
from conformance.simspark.codec import encode, frame
from conformance.simspark.tester import expressions, reported_names, run_operation
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Violation
from conformance.wire import Message

ACTS = ("Effectors", "Expressions", "Init", "Scene")
ONE_BY_ONE = 25  # groups; enough to notice an agent that loses a few of them
ACTIONS = 3  # effectors after which an agent counts as acting again and again
CUT = 3  # groups; only these are cut, because cutting makes a group slower than a cycle
_ANGLES = count(11)


class Tester:
    """Serves one agent. Each group of perceptors has the next time of the simulation."""

    def __init__(self, session: Session, iut: Iut) -> None:
        self.session = session
        self.iut = iut
        self.now = 10.0
        self.mode = "BeforeKickOff"
        self.backlog = 0.0
        """The time in seconds that a simulation needs for groups that came at once."""
        self.hinge = iut.configuration.value("hinge").split(" ")[-1]

    async def send_group(
        self,
        more: str = "",
        *,
        angle: float = 0.0,
        segmentation: Segmentation | None = None,
    ) -> None:
        """Send one group of perceptors. `angle` is the angle of the declared hinge in degrees."""
        await self.session.send(self.group(more, angle), segmentation=segmentation)

    def now_next(self) -> str:
        """Advance the time of the simulation by 0.02 s, and return the new time.

        The time is written as on the wire.
        """
        self.now += 0.02
        return f"{self.now:.2f}"

    def group(self, more: str = "", angle: float = 0.0, own: str = "") -> list[Any]:
        """Return one group of perceptors in its decoded form.

        `own` are the agent's number and side, as written in the perceptor GS.
        """
        now = self.now_next()
        time = 0.0 if self.mode == "BeforeKickOff" else self.now - 10
        game = f"{own}(sl 0) (sr 0) (t {time:.2f}) (pm {self.mode})"
        return expressions(messages.perceptors(now, self.hinge, angle, more, game))

    def long(self, size: int, angle: float = 1.0) -> bytes:
        """Return a message with a text of `size` bytes: a group filled with hear perceptors.

        The group has the hinge at its end, so that an agent must read the whole text. The least
        size is 100 bytes.
        """
        begin = f"(time (now {self.now_next()}))".encode()
        end = f"(HJ (n {self.hinge}) (ax {angle:.2f}))".encode()
        more = b"(hear Reference 0.00 self x)"
        text = begin + more * (max(size - len(begin) - len(end), 0) // len(more))
        return frame(text.ljust(size - len(end)) + end)

    async def wait_for_action(self, cycles: int = 5) -> Message | None:
        """Send perceptors for some cycles, and return the first action of the agent, or None."""
        while await self.session.wait_for(*ACTS, within=0):
            pass
        for _ in range(cycles):
            await self.send_group()
            within = self.session.seconds("quiet") / 2
            if message := await self.session.wait_for(*ACTS, within=within):
                return message
            if self.session.ended:
                break
        return None

    async def welcome(self, init: list[Any]) -> None:
        """Answer an init as a server does: the next GS contains number and side, once."""
        given = {item[0]: item[1] for item in init[1:] if isinstance(item, list) and len(item) == 2}
        asked_for = str(given.get("unum", "0"))
        number = asked_for if asked_for.isdecimal() and int(asked_for) else "1"
        await self.session.send(self.group(own=f"(unum {number}) (team left) "))

    async def welcome_again(self) -> None:
        """Wait for the init of a later connection, and answer it."""
        await self.welcome(await _init(self, "agents.init-second"))

    async def is_sent(self, wanted: list[Any], within: str = "response") -> bool:
        """Return True if the agent sends these expressions in one message within a timing."""
        async with _sending_groups(self):
            left = self.session.countdown(within)
            while message := await self.session.wait_for(*ACTS, within=left):
                if all(item in message.value for item in wanted):
                    return True
        return False

    async def check_taken(self, angle: float, after: str, how: Segmentation) -> None:
        """Send an angle in pieces.

        Raise Violation unless the agent takes the angle and continues.
        """
        await self.send_group(angle=angle, segmentation=how)
        await self.check_known_if_reported(angle, after)
        await self.check_continues(after)

    async def check_continues(
        self,
        after: str,
        requirement: str | None = None,
        *,
        may_close: bool = False,
        prefix: bytes = b"",
    ) -> None:
        """Raise Violation unless the agent still behaves as in a plain session.

        If the agent shows angles in a plain session, it must show them here too. Its actions count
        only if it shows no angles, because an agent can act as seldom as it likes. The bytes
        `prefix` are sent in one write with the next group. With `may_close`, closing the connection
        is also a pass.

        Raises Inconclusive if the agent shows neither angles nor actions that depend on perceptors.
        """
        usual = await habit(self.iut)
        wrong: Violation | Inconclusive | None = None
        acts: Message | None = None
        try:
            if usual.is_reporting:
                await self.check_known(after, requirement, prefix)
                if prefix:
                    # An agent that takes a group in the same write can still ignore later groups.
                    await self.check_known(after, requirement)
            elif prefix:
                await self.session.send_bytes(prefix)
            if usual.is_acting and not usual.is_reporting:
                acts = await self.wait_for_action(20)
            if not (usual.is_reporting or usual.is_acting):
                await self.session.until_closed(self.session.seconds("quiet"))
        except (Violation, Inconclusive) as raised:
            # The agent can exit when its connection ends, and the upper tester with it.
            wrong = raised
        await self.session.assert_alive(after)
        if self.session.ended and may_close:
            return
        await self.check_kept_open(after, requirement)
        if wrong:
            raise wrong
        if usual.is_reporting:
            return
        if usual.is_acting and acts is None:
            raise Violation(
                f"the agent to send effectors after {after}", "received nothing", requirement
            )
        if acts is None or usual.is_acting_alone:
            how = "sends nothing" if acts is None else "acts even without perceptors"
            raise Inconclusive(
                f"no evidence: the agent {how}; give --hook state=COMMAND "
                f"({self.session.role.hooks['state'].description})"
            )

    async def check_kept_open(self, after: str, requirement: str | None = None) -> None:
        """Raise Violation if the agent has crashed, or has closed its connection."""
        await self.session.assert_alive(after)
        if self.session.ended:
            raise Violation(
                f"the agent to keep the connection open after {after}",
                "the agent closed the connection",
                requirement,
                explains=True,
            )

    async def check_known(
        self, after: str, requirement: str | None = None, prefix: bytes = b""
    ) -> None:
        """Send a new angle, and raise Violation unless the agent reports it."""
        angle = float(next(_ANGLES) % 90)
        await self.session.send_bytes(prefix + bytes_of(self.group(angle=angle)))
        await self.check_angle_known(angle, after, requirement)

    async def check_known_if_reported(self, angle: float, after: str) -> None:
        """Call `check_angle_known`, if the agent reports angles in a plain session."""
        if (await habit(self.iut)).is_reporting:
            await self.check_angle_known(angle, after)

    async def check_angle_known(
        self, angle: float, after: str, requirement: str | None = None, *, hinge: str = ""
    ) -> None:
        """Raise Violation unless the agent reports an angle that was sent before.

        The angle, in degrees, is that of the declared hinge if no other `hinge` is given. Raises
        NotExercised if the states of the agent do not contain the hinge.
        """
        hinge = hinge or self.hinge
        seen: Any = None

        def is_right() -> bool:
            return isinstance(seen, int | float) and abs(seen - angle) < 0.01

        async def is_reported() -> bool:
            nonlocal seen
            seen = (await self.hinges()).get(hinge)
            return is_right() or self.session.ended

        failed: Inconclusive | None = None
        try:
            within = self.session.countdown("response", self.backlog)
            await self.session.poll_until(is_reported, f"{hinge} known", within, requirement)
        except Inconclusive as raised:
            # An agent can end the stream of its upper tester together with its connection.
            failed = raised
        if is_right():
            return
        await self.check_kept_open(after, requirement)
        if failed:
            raise failed
        if hinge not in reported_names(self.session):
            raise NotExercised(f"the state of the agent does not contain the hinge {hinge}")
        raise Violation(
            f"the agent to report {hinge} at {angle:g} degrees, sent after {after}",
            f"it reports {seen!r:.60}",
            requirement,
            explains=True,
        )

    async def hinges(self) -> dict[str, Any]:
        """Return the hinges in the state of the agent, by name.

        Raises Inconclusive if the operation fails.
        """
        answer = await run_operation(self.session, "state")
        hinges = answer.result.get("hinges", {}) if isinstance(answer.result, dict) else None
        if not answer.ok or not isinstance(hinges, dict):
            raise Inconclusive(
                f"the operation 'state' failed: {answer.error or answer.result}"[:300]
            )
        reported_names(self.session).update(hinges)
        return hinges


@contextlib.asynccontextmanager
async def connect_agent(
    iut: Iut, *, segmentation: Segmentation | None = None, observed: bool = True
) -> AsyncIterator[Tester]:
    """An agent that has sent its scene and init messages.

    Perceptors are sent after the scene message. After the init message, GS contains number and
    side. If `observed`, the habit of the agent is observed before, in a session of its own. Raises
    Violation if one of the two messages does not arrive.
    """
    if observed:
        with contextlib.suppress(Conclusion):
            await habit(iut)
    lost: Violation | Inconclusive | None = None
    async with iut.session(segmentation=segmentation) as session:
        tester = Tester(session, iut)
        await session.expect("Scene", to="as the first message", requirement="agents.create-first")
        if segmentation is None:
            await tester.welcome(await _init(tester, "agents.init-second"))
        try:
            if segmentation is not None:
                # If our messages are segmented, a missing init is a failure of segmentation.
                await tester.welcome(await _init(tester, iut.requirement_id))
            yield tester
        except (Violation, Inconclusive) as raised:
            if not session.ended:
                raise
            lost, ended = raised.shown_in(session, iut.sessions), ceil(session.now)
    if lost:
        groups = sum(label.startswith("Perceptors") for label in session.sent)
        # The address of the agent's server can be fixed, so this session comes after the other.
        if await _is_ended(iut, ended, groups):
            raise Inconclusive(f"{lost}: the agent also ends a plain session by then") from None
        raise lost


async def _is_ended(iut: Iut, seconds: int, groups: int) -> bool:
    """Return True if the agent ends a plain session of this length, without a crash.

    The session has at least this many groups of perceptors, and lasts for some seconds.
    """

    async def observe() -> bool:
        with contextlib.suppress(Violation, Inconclusive):
            async with connect_agent(iut, observed=False) as tester:
                for _ in range(groups):
                    await tester.send_group()
                async with _sending_groups(tester):
                    if await tester.session.until_closed(seconds):
                        await tester.session.assert_alive("a plain session")
                        return True
        return False

    return await iut.cached(f"ends in {seconds} s after {groups} groups", observe)


async def _init(tester: Tester, requirement: str) -> list[Any]:
    """Wait for the init message and return it. Raises Violation if it does not arrive."""
    if not (found := _init_messages(tester.session)):
        async with _sending_groups(tester):
            await tester.session.expect(
                "Init", to="after the scene message", requirement=requirement
            )
        found = _init_messages(tester.session)
    return found[0]


@contextlib.asynccontextmanager
async def _sending_groups(tester: Tester) -> AsyncIterator[None]:
    """Send a group of perceptors in every cycle in the background.

    In a segmented session only the first CUT groups are segmented, because segmenting takes longer
    than a cycle.
    """
    over, sent = asyncio.Event(), count()

    async def send_groups() -> None:
        while not (over.is_set() or tester.session.ended):
            await tester.send_group(segmentation=None if next(sent) < CUT else whole)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(tester.session.seconds("cycle")):
                    await over.wait()

    sending = asyncio.create_task(send_groups())
    try:
        yield
    finally:
        over.set()
        await sending


def _init_messages(session: Session) -> list[list[Any]]:
    items = [item for message in session.received for item in message.value]
    return [item for item in items if isinstance(item, list) and item[:1] == ["init"]]


@dataclass(frozen=True)
class Habit:
    """The behaviour of an agent in a plain session.

    - `is_acting`: the agent sends effectors again and again.
    - `is_acting_alone`: the agent sends effectors even if it receives nothing.
    - `is_reporting`: the agent reports the angle of the hinge.
    """

    is_acting: bool
    is_acting_alone: bool
    is_reporting: bool


async def habit(iut: Iut) -> Habit:
    """Observe the agent in a plain session, once in a run."""
    return await iut.cached("habit", lambda: _observe(iut))


async def _observe(iut: Iut) -> Habit:
    async with connect_agent(iut, observed=False) as tester:
        # An agent can act once, for example beam to its place, and then wait for the kick-off.
        acts = True
        for _ in range(ACTIONS):
            acts = acts and await tester.wait_for_action(20) is not None
        quiet = tester.session.seconds("quiet")
        await tester.session.wait_for(*ACTS, within=quiet)  # actions that the last group caused
        while await tester.session.wait_for(*ACTS, within=0):
            pass
        alone = acts and await tester.session.wait_for(*ACTS, within=quiet) is not None
        plain = -6.0
        with contextlib.suppress(NotExercised, Inconclusive):
            try:
                await tester.check_known("a plain group of perceptors")
                # The agent can keep angles in a form of its own, for example without signs.
                for plain in (-3.0, 62.0):
                    await tester.send_group(angle=plain)
                    await tester.check_angle_known(plain, "a plain group of perceptors")
            except Violation:
                # The agent can split the stream at wrong places. Then it reports the angle of a
                # long group, either at once or after the next group.
                await tester.send_group("(hear Reference 0.00 self hello)" * 9, angle=2 * plain)
                for _ in range(2):
                    with contextlib.suppress(Violation):
                        await tester.check_angle_known(2 * plain, "a long group of perceptors")
                        return Habit(acts, alone, is_reporting=True)
                    await tester.send_group(angle=7.0)
            else:
                return Habit(acts, alone, is_reporting=True)
        return Habit(acts, alone, is_reporting=False)


async def send_groups_singly(iut: Iut) -> None:
    """Send groups one by one. An agent that reports angles must report each of them."""
    async with connect_agent(iut) as tester:
        for number in range(ONE_BY_ONE):
            angle = float(number % 30 + 30)
            await tester.send_group(angle=angle)
            await tester.check_known_if_reported(angle, f"{number} other groups, one by one")
        await tester.check_continues("groups that arrive one by one")


async def compare_with_single_groups(iut: Iut, play: Callable[[], Awaitable[None]]) -> None:
    """Play a session.

    A failure is inconclusive if the agent also loses groups that arrive one by one.
    """

    async def either(plain: bool) -> None:
        await (send_groups_singly(iut) if plain else play())

    await compared(iut, either, False, True, "frame.segmentation")


async def send_in_pieces(iut: Iut, pieces: Segmentation | None) -> None:
    """Send a group in pieces, or whole. Raises Violation if the agent loses it."""
    async with connect_agent(iut) as tester:
        await tester.check_taken(8.0, "a short group", pieces or whole)


def bytes_of(*groups: list[Any]) -> bytes:
    """Encode several messages."""
    return b"".join(map(encode, groups))
