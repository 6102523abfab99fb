"""The monitors that the suite plays against a server: they follow the states and command."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from math import hypot, inf
from typing import Any

from conformance.cases import check
from conformance.harness.deadlines import Countdown
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session, Timeout
from conformance.simspark.codec import STATES, encode
from conformance.simspark.tester import expressions, leave
from conformance.simspark.view import View
from conformance.verdicts import Inconclusive, Violation
from conformance.wire import Message

CLOSE = 0.3  # metres; an object this near is at its place: it can begin to fall or roll

STILL = ("BeforeKickOff", "GameOver")
"""The play modes before and after the game. Source: Environment Information Message."""

_ENDS = {
    "BeforeKickOff": "WaitBeforeKickOff",
    "Goal_Left": "RuleGoalPauseTime",
    "Goal_Right": "RuleGoalPauseTime",
}
"""The parameter that gives the seconds until a rule ends a play mode."""
_SHOWN = 2  # periods of states; in this time a state shows a play mode

KEEPS_SENDING = "monitors.keeps-sending"
COMMANDS = "monitors.commands"
ERRORS_SILENT = "trainer.errors-silent"

_scores = itertools.cycle(range(31, 69, 2))
"""Scores that no test sets for other reasons, and neither their successors.

They are small, so that every server can show them.
"""


class Watch:
    """A monitor that keeps its view of the simulation up to date, and can command."""

    def __init__(self, session: Session, iut: Iut) -> None:
        self.session = session
        self.view = View()
        self.waiting = 0
        """The number of sent messages that can be without effect so far."""
        self._memory = iut.facts
        self._has_obeyed = False

    async def command(self, text: str, *, segmentation: Segmentation | None = None) -> None:
        """Send one message of commands, given as text on the wire without the length."""
        self.waiting += 1
        await self.session.send(expressions(text), segmentation=segmentation)

    def effect_deadline(self) -> Countdown:
        """Return the deadline for the effect of all sent messages: one state for each message."""
        return self.session.countdown("response", *self.waiting * ["monitor"])

    async def wait_until(
        self,
        holds: Callable[[View], Any],
        to: str,
        *,
        within: Timeout | None = None,
        requirement: str | None = None,
        now: Callable[[View], str] | None = None,
        then: Callable[[View], Any] | None = None,
    ) -> Message:
        """Follow the states until ``holds`` is true. Raises Violation on a timeout.

        ``to`` completes "expected the states to …", and ``now`` describes the actual state.
        ``then`` must also be true in the next state, in case the server reverts the change.
        """

        def where(message: Message) -> bool:
            self.view.take(message.value)
            return bool(holds(self.view))

        try:
            message = await self.session.expect(
                *STATES,
                where=where,
                within=within,
                requirement=requirement,
                flow=KEEPS_SENDING if self.view.fulls else None,
            )
        except Violation as none:
            came = f"{now(self.view)}; {none.came}" if now and self.view.fulls else none.came
            wrong = Violation(f"the states to {to}", came, none.requirement)
            raise wrong.shown_in(self.session) from none
        if then and not (await self.state() and then(self.view)):
            came = f"the next state did not: {now(self.view) if now else 'it was undone'}"
            wrong = Violation(f"the states to {to} from then on", came, requirement)
            raise wrong.shown_in(self.session)
        return message

    async def wait_for_each(
        self, parts: Sequence[Callable[[View], Any]], to: str, now: Callable[[View], str]
    ) -> list[tuple[float, float]]:
        """Follow the states until each of the conditions ``parts`` has been true.

        Returns two game times in seconds for each part: the time of the last state without it, and
        of the first state with it. Raises Violation if a part never becomes true.
        """
        without, first = [-inf] * len(parts), [inf] * len(parts)

        def all_came(view: View) -> bool:
            time = view.clock
            for number, holds in enumerate(parts):
                if first[number] == inf:
                    of = first if holds(view) else without
                    of[number] = time
            return max(first) < inf

        await self.wait_until(
            all_came, to, within=self.session.countdown(*3 * ["response"]), now=now
        )
        return [*zip(without, first, strict=True)]

    async def state(self) -> Message:
        """Return the next state."""
        return await self.wait_until(lambda _: True, "come", requirement=KEEPS_SENDING)

    @contextlib.asynccontextmanager
    async def blaming_errors(self) -> AsyncIterator[None]:
        """Blame wrong commands before this block if the states end in the block.

        The server must still be connected: the requirement ERRORS_SILENT does not describe a crash.
        """
        try:
            yield
        except Violation as wrong:
            if wrong.requirement == KEEPS_SENDING and not self.session.ended:
                wrong.requirement = ERRORS_SILENT
            raise

    async def wait_for_states(self, count: int) -> None:
        """Wait for `count` more states."""
        for _ in range(count):
            await self.state()

    async def wait_for_full(self, why: str, more: bool, requirement: str | None = None) -> None:
        """Wait for a full scene graph with more, or fewer, nodes than before.

        ``requirement`` is the requirement to blame; the default is that of the test.
        """
        fulls, nodes = self.view.fulls, self.view.nodes

        def has_changed(view: View) -> bool:
            return view.fulls > fulls and (view.nodes > nodes if more else view.nodes < nodes)

        await self.wait_until(
            has_changed,
            f"contain a full scene graph with {'more' if more else 'fewer'} nodes {why}",
            requirement=requirement,
            now=lambda view: (
                f"received {view.fulls - fulls} full graphs; {view.nodes} nodes ({nodes} before)"
            ),
        )

    async def settle(self) -> None:
        """Wait until all earlier commands have had their effect.

        A new score shows this, because a server executes the commands of a monitor in order. If
        this session has shown a score before, the test's own commands explain a missing score.
        """
        try:
            await self.check_obeyed("other commands", None if self._has_obeyed else "score.set")
        except Violation as none:
            if self.session.ended:
                raise Violation(none.expected, none.came).shown_in(self.session) from none
            raise
        await self.state()

    async def is_still_false(self, happens: Callable[[View], Any], seconds: float) -> bool:
        """Return True if ``happens`` does not become true for so many seconds."""
        deadline = self.session.now + seconds
        while message := await self.session.wait_for(*STATES, within=deadline - self.session.now):
            self.view.take(message.value)
            if happens(self.view):
                return False
        return True

    async def is_shown_only_in_full(
        self, holds: Callable[[View], Any], otherwise: str, again: str = ""
    ) -> bool:
        """Return True if only a requested full scene graph shows that ``holds`` is true.

        ``again`` is a command that is sent once more before the request. Raises Inconclusive if the
        full graph does not show it either.
        """
        if not await self.is_still_false(holds, self.session.seconds("response")):
            return False
        if not await self._is_shown_on_request(holds, again):
            raise Inconclusive(otherwise)
        return True

    async def _is_shown_on_request(self, holds: Callable[[View], Any], again: str = "") -> bool:
        """Request a full scene graph; return True if ``holds`` becomes true in time."""
        await self.command(f"{again}(reqfullstate)")
        return not await self.is_still_false(holds, self.session.seconds("response"))

    async def check_score(self, left: int, right: int, how: str) -> None:
        """Raise Violation unless the states show this score.

        The violation is of score.set if the score stays at another value. ``how`` completes
        "expected the states to show the score …".
        """

        def score(view: View) -> tuple[Any, Any]:
            return view.value("score_left"), view.value("score_right")

        try:
            await self.wait_until(
                lambda view: score(view) == (left, right),
                f"show the score {left} to {right}{how}",
                now=lambda view: "it is {} to {}".format(*score(view)),
            )
        except Violation as wrong:
            shown = score(self.view)
            if not await self.is_still_false(
                lambda view: score(view) != shown, self.session.seconds("quiet")
            ):
                wrong.requirement = "score.set"
            raise

    async def check_obeyed(
        self, after: str, requirement: str | None = None, *, prefix: bytes = b""
    ) -> None:
        """Raise Violation unless a command, a new score, still has its effect.

        The bytes `prefix` are sent in one write with the command. Without a `requirement`, the
        test's own requirement is violated, even if the states end.
        """
        goals = next(_scores)
        command = encode(expressions(f"(score (left {goals})(right 0))"))
        self.waiting += 1
        await self.session.send_bytes(prefix + command)
        try:
            await self.wait_until(
                # Earlier input, for example a ball read from a wrong command, can score a goal.
                lambda view: view.value("score_left") in (goals, goals + 1),
                f"show a score that was set after {after}",
                within=self.effect_deadline(),
                requirement=requirement,
                now=lambda view: f"score_left is {view.state.get('score_left')}",
            )
        except Violation as failure:
            if requirement is None and failure.requirement == KEEPS_SENDING:
                failure.requirement = None
            raise
        self.waiting = 0
        self._has_obeyed = True

    async def play(self, mode: str = "PlayOn") -> None:
        """Set a play mode. Raises Inconclusive if the server has no play mode of this name."""
        if mode not in self.view.play_modes:
            raise Inconclusive(f"the server has no play mode {mode}")
        before = self.view.play_mode
        await self.command(f"(playMode {mode})")
        try:
            await self.wait_until(
                lambda view: view.play_mode == mode,
                f"show the play mode {mode}",
                requirement="play-mode.set",
                now=lambda view: f"the play mode is {view.play_mode}",
                # The game can change to another play mode at once.
                then=lambda view: view.play_mode != before or mode == before,
            )
        except Violation as unseen:
            unchanged = self.view.play_mode == before != mode and not self.session.ended
            # A full state shows if the new play mode is missing only in the partial states.
            if unchanged and await self._is_shown_on_request(lambda view: view.play_mode == mode):
                unseen.requirement = "state.partial"
            raise

    @property
    def lasting_modes(self) -> list[str]:
        """The play modes without those that a rule ends before a state can show them."""
        shown = _SHOWN * self.session.seconds("monitor")
        return [
            mode
            for mode in self.view.play_modes
            if self.view.parameter(_ENDS.get(mode, ""), shown) >= shown
        ]

    async def begin(self) -> None:
        """Let the game begin, if the server has the usual play modes.

        Commands can be without effect before and after the game, and during a kick-off, so tests
        command during the game.
        If the server ignores the command, later sessions do not send it.
        """
        mode = self.view.play_mode
        waits = mode in (None, *STILL) or mode.lower().startswith("kickoff")
        if waits and "PlayOn" in self.view.play_modes and self._memory.get("the game begins", True):
            try:
                await self.play()
            except Violation:
                # The server can ignore the commands of a later monitor and still execute those of
                # the first.
                if self.session.number == 1:
                    self._memory["the game begins"] = False

    # The pitch

    def place(self, along: float, across: float) -> "Place":
        """Return a place on the field;

        `along` and `across` are shares of half length and half width.
        """
        length = self.view.parameter("FieldLength", 18.0)
        width = self.view.parameter("FieldWidth", 12.0)
        return Place(round(along * length / 2, 2), round(across * width / 2, 2))

    def find_vacant(self, along: float, across: float) -> "Place":
        """Return the place of `place()`, or the next vacant one towards the middle.

        Raises Inconclusive if none is vacant.
        """
        places = [self.place(along, across * share) for share in (1, 0.8, 0.6, 0.4, 0.2)]
        for place in places:
            if place.is_free(self.view):
                return place
        raise Inconclusive(
            f"something is at {places[0]} from the beginning, and at the places next to it"
        )

    async def put_ball(self, place: "Place") -> None:
        """Put the ball at a place, at rest.

        Raises Violation of ball.vel if only the command without a position moves the ball away.
        """
        put = f"(ball (pos {place.x} {place.y} {self.radius}))"
        await self.command(put)
        await self.command("(ball (vel 0 0 0))")
        try:
            await self._wait_for_ball(place)
        except Violation as lost:
            await self.command(put)
            try:
                await self._wait_for_ball(place)
            except Violation:
                raise lost from None
            to = f"show the ball at {place} also after (ball (vel 0 0 0))"
            raise Violation(f"the states to {to}", lost.came, "ball.vel") from None

    async def _wait_for_ball(self, place: "Place") -> None:
        await self.wait_until(
            place.is_occupied,
            f"show the ball at {place}",
            requirement="ball.pos",
            now=places_of_balls,
            then=place.is_occupied,
        )

    @property
    def radius(self) -> float:
        return self.view.parameter("BallRadius", 0.042)


def check_served_together(times: list[tuple[float, float]], what: str) -> None:
    """Raise Violation if parts of a change, or monitors, were served at different times.

    ``times`` are the results of `Watch.wait_for_each`. The comparison by game time also detects a
    change that arrives late with a full graph.
    """
    first, without = min(time for _, time in times), max(time for time, _ in times)
    check(
        without <= first,
        f"all of {what} in the states of every monitor from the time {first:g} on",
        f"received a state of the time {without:g} without it",
    )


@dataclass(frozen=True)
class Place:
    """A place on the field, in metres from its centre."""

    x: float
    y: float

    def is_occupied(self, view: View, within: float = CLOSE) -> bool:
        return self.distance(view) < within

    def is_free(self, view: View) -> bool:
        return not self.is_occupied(view)

    def distance(self, view: View) -> float:
        """Return the distance in metres to the nearest node."""
        distances = (hypot(pose[12] - self.x, pose[13] - self.y) for pose in view.poses)
        return min(distances, default=float("inf"))

    def nodes_within(self, view: View, radius: float) -> set[int]:
        """Return the numbers of the nodes within `radius` metres."""
        return {
            number
            for number, pose in enumerate(view.poses)
            if hypot(pose[12] - self.x, pose[13] - self.y) < radius
        }

    def __str__(self) -> str:
        return f"({self.x:g}, {self.y:g})"


def places_of_balls(view: View) -> str:
    where = view.ball()
    return (
        "the ball is at ({:.2f}, {:.2f}, {:.2f})".format(*where) if where else "no ball is visible"
    )


@contextlib.asynccontextmanager
async def watch_server(
    iut: Iut,
    instance: Instance | None = None,
    *,
    segmentation: Segmentation | None = None,
    begins: bool = True,
) -> AsyncIterator[Watch]:
    """A monitor after its introduction; without `instance` on a server of its own.

    The monitor lets the game begin, unless `begins` is False. Raises Violation if the server does
    not send the introduction.
    """
    async with contextlib.AsyncExitStack() as stack:
        is_last = instance is None
        if instance is None:
            instance = await stack.enter_async_context(iut.instance())
        session = await stack.enter_async_context(
            iut.connect(instance, channel="monitor", segmentation=segmentation)
        )
        watch = Watch(session, iut)
        await watch.wait_until(
            # Another check reports a missing play_mode, so this wait does not need it.
            lambda view: (
                view.play_modes and view.fulls and (view.fulls > 1 or "play_mode" in view.state)
            ),
            "begin with the environment, the game state and the scene",
            within=session.countdown(session.reaction_time),
            requirement="monitors.environment-first",
        )
        if begins:
            await watch.begin()
        yield watch
        if not (is_last or session.is_over):
            await leave(session)
