"""The agents that the suite plays against a server: they are created, perceive and act."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session, Timeout
from conformance.simspark.codec import PERCEPTORS, encode
from conformance.simspark.tester import expressions, leave
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

TEAMS = ("Left", "Right")
LATER_PERCEPTORS = "agents.perceptors"

_POLL_TIME = 0.002  # seconds; long enough to read messages that have already arrived


MAX_GROUPS = 100  # groups of perceptors; if none of them contains a value, it is not sent
TURNED = 5.0  # degrees; a hinge that has turned this far was moved by its effector
MOVED = 0.5  # degrees; a hinge that has moved this far was moved, in a single cycle of the server
MAX_UNUM = 11  # the greatest number of a player in a team
_STILL = 3  # equal positions in a row after which a hinge has stopped
_MISSED = 4  # agents without perceptors in a row, after which timeouts are short


@contextlib.asynccontextmanager
async def play_agent(
    iut: Iut,
    instance: Instance,
    team: str = "Lefts",
    unum: int = 0,
    *,
    segmentation: Segmentation | None = None,
) -> AsyncIterator[Session]:
    """An established agent: created, initialised, and receiving perceptors.

    The first team is the left one. Without `unum` the agent gets the next number. Raises Violation
    if no perceptors arrive, and Inconclusive if the server does not accept the agent.
    """
    async with iut.connect(instance, channel="agent", segmentation=segmentation) as session:
        await create(iut, session)
        number = unum or next_number(iut, instance)
        await session.send(expressions(f"(init (unum {number})(teamname {team}))"))
        await _wait_for_name(iut, session)
        await _wait_for_perceptors(iut, session)
        yield session
        if not session.is_over:
            await leave(session)


async def _wait_for_perceptors(iut: Iut, session: Session) -> None:
    """Wait for several groups of perceptors. The timeout is short if none have arrived so far."""
    none = not any(message.name in PERCEPTORS for message in session.received)
    within = "quiet" if none or _has_no_perceptors(iut) else None
    try:
        for _ in range(4):
            await perceptors(session, within)
    except Violation:
        iut.facts["without perceptors"] = iut.facts.get("without perceptors", 0) + 1
        raise
    iut.facts["without perceptors"] = 0


def _has_no_perceptors(iut: Iut) -> bool:
    """Return True if no perceptors arrived for the last agents in a row."""
    return bool(iut.facts.get("without perceptors", 0) > _MISSED)


def next_number(iut: Iut, instance: Instance) -> int:
    """Return an unused number for a player.

    A server can reserve the number of an agent that has left, so every agent gets another number.
    Parallel tests have servers of their own, unless the user started one server for all.
    """
    numbers = iut.facts.setdefault("numbers", WeakKeyDictionary())
    server = instance if iut.configuration.command else iut.testbed
    numbers[server] = numbers.get(server, 0) % MAX_UNUM + 1
    return int(numbers[server])


async def create(iut: Iut, session: Session) -> None:
    """Request a robot, and wait for perceptors if the server sends them before the init.

    A server can need time to create a robot, and lose messages that arrive earlier. The run finds
    out once if perceptors arrive before the init.
    """
    await session.send(expressions(f"(scene {iut.configuration.value('scene')})"))
    early = iut.facts.get("perceptors before init")
    # The server has already sent data to other clients, so it is past startup.
    due = "response" if session.instance.has_spoken else session.countdown(session.reaction_time)
    within: dict[bool | None, Timeout] = {
        True: due,
        False: "quiet",
        None: session.countdown("response", "response"),
    }
    came = await session.wait_for(*PERCEPTORS, within=within[early], requirement=LATER_PERCEPTORS)
    if not session.ended:
        iut.facts.setdefault("perceptors before init", came is not None)


async def _wait_for_name(iut: Iut, session: Session) -> None:
    """Wait until the game state contains number and side of the agent.

    Raises Inconclusive if GS contained them for other agents and not for this one. Raises Violation
    if no perceptors arrive. The specification does not define GS, so a server can omit GS or these
    values.
    """
    known = iut.facts.get("players are numbered")
    usual = known is not False and not _has_no_perceptors(iut)
    late = iut.facts.get("perceptors before init") and not session.received
    left = session.countdown(*((2 if late else 3) * ["response"] if usual else ["quiet"]))
    values: dict[str, str] = {}
    while _name(values) is None:
        if left() <= 0:
            break
        message = await session.wait_for(*PERCEPTORS, within=left, requirement=LATER_PERCEPTORS)
        if message is None:
            break
        values |= _game_state_of(message)
    else:
        iut.facts["players are numbered"] = True
        return
    groups = [message for message in session.received if message.name in PERCEPTORS]
    if len(groups) > MAX_GROUPS:
        iut.facts.setdefault("players are numbered", False)
    if known and any(item[:1] == ["GS"] for message in groups for item in message.value):
        raise Inconclusive(
            "the game state (GS) has number and team for other agents, but not for this one: its "
            "init had no effect"
        )


@dataclass(frozen=True)
class Name:
    """The name of a player in trainer commands: `str()` gives the parameters."""

    unum: int
    team: str

    def __str__(self) -> str:
        return f"(unum {self.unum})(team {self.team})"

    @property
    def reversed(self) -> str:
        """The parameters in reverse order: the team first."""
        return f"(team {self.team})(unum {self.unum})"


def name_of(agent: Session) -> Name | None:
    """Return the name of an agent according to its game state, or None."""
    values: dict[str, str] = {}
    for message in agent.received:
        values |= _game_state_of(message)
        if found := _name(values):
            return found
    return None


def check_sides(one: Name, other: Name) -> None:
    """Raise Violation unless two players of different teams are on different sides."""
    if {one.team, other.team} != set(TEAMS):
        came = f"their game states (GS) say {one} and {other}"
        raise Violation("the players of two teams on two sides", came, "agents.sides")


def _name(values: dict[str, str]) -> Name | None:
    if "unum" not in values or "team" not in values or not str(values["unum"]).isdecimal():
        return None
    return Name(int(values["unum"]), str(values["team"]).capitalize())


def _game_state_of(message: Message) -> dict[str, str]:
    """Return the values of the perceptor GS in a message, by name."""
    items = message.value if message.name in PERCEPTORS else ()
    return {
        name: value for item in items if item[:1] == ["GS"] for name, value in parts(item).items()
    }


async def skip_received(session: Session) -> None:
    """Skip the perceptors that have already arrived.

    Skipping stops after the time `quiet`, because on a busy machine further groups arrive.
    """
    deadline = session.now + session.seconds("quiet")
    while (
        message := await session.wait_for(*PERCEPTORS, within=_POLL_TIME)
    ) and message.at < deadline:
        pass


async def perceptors(session: Session, within: Timeout | None = None) -> Message:
    """Return the next group of perceptors. Raises Violation if it does not arrive."""
    return await session.expect(
        *PERCEPTORS, within=within, to="to come again and again", requirement=LATER_PERCEPTORS
    )


async def next_perceptors(agent: Session) -> Message:
    """Return a group of perceptors that arrives after this call."""
    await skip_received(agent)
    return await perceptors(agent)


async def check_served(agent: Session, after: str) -> None:
    """Raise a Violation of the requirement under test unless an agent still receives perceptors."""
    try:
        await next_perceptors(agent)
    except Violation as none:
        await agent.assert_alive(after)
        wrong = Violation(f"further perceptors after {after}", none.came)
        raise wrong.shown_in(agent) from none


def angles(message: Message) -> dict[str, float]:
    """Return the angles of all hinges in a group of perceptors, in degrees, by name."""
    found = {}
    for values in hinges(message):
        with contextlib.suppress(KeyError, ValueError):
            found[values["n"]] = float(values["ax"])
    return found


def hinges(message: Message) -> list[dict[str, str]]:
    """Return the parts of each hinge perceptor in a group of perceptors."""
    return [parts(perceptor) for perceptor in message.value if perceptor[:1] == ["HJ"]]


def hinge(message: Message, name: str) -> float | None:
    """Return the angle of a hinge in a group of perceptors, in degrees, or None."""
    return angles(message).get(name)


def parts(perceptor: list[Any]) -> dict[str, str]:
    """Return the named parts of a perceptor, in any order."""
    named = [part for part in perceptor[1:] if isinstance(part, list) and len(part) > 1]
    return {
        name: value for name, value, *_ in named if isinstance(name, str) and isinstance(value, str)
    }


def hinge_names(iut: Iut) -> tuple[str, str]:
    """Return the names of the effector and the perceptor of the declared hinge."""
    effector, _, perceptor = iut.configuration.value("hinge").partition(" ")
    return effector, perceptor.strip()


async def hinge_angle(iut: Iut, agent: Session) -> float:
    """Return the angle of the declared hinge in degrees.

    Raises NotExercised if the robot has no hinge of that name. Raises Violation if the angle is not
    a number, or does not come any more.
    """
    _, name = hinge_names(iut)
    await skip_received(agent)
    found = await hinge_angles(agent, name, 1)
    if found:
        return found[0]
    expected, about = f"the hinge {name} in degrees", "agents.joints"
    for message in agent.received:
        if hinge(message, name) is not None:
            # The perceptors have ended, or have lost the hinge.
            latest = await perceptors(agent)
            raise Violation(expected, "the perceptors had it before", about, latest.event)
        for values in hinges(message):
            if values.get("n") == name and "ax" in values:
                came = f"received {values['ax']:.40}, which is not a number"
                raise Violation(expected, came, about, message.event)
    raise NotExercised(
        f"the robot has no hinge {name}; declare --set 'hinge=EFFECTOR PERCEPTOR', "
        "and --set scene=FILE if that hinge needs another robot"
    )


async def hinge_angles(agent: Session, name: str, count: int) -> list[float]:
    """Return the next positions of a hinge in degrees.

    The list is shorter if they do not arrive in time. The perceptors of one moment can arrive in
    several messages.
    """
    found: list[float] = []
    left = agent.countdown("response")
    while len(found) < count and left() > 0:
        message = await agent.wait_for(*PERCEPTORS, within=left)
        if message is None:
            break
        if (angle := hinge(message, name)) is not None:
            found.append(angle)
    return found


def _one_message(effector: str) -> bytes:
    return encode(expressions(effector))


async def check_turns(
    iut: Iut,
    agent: Session,
    speed: float,
    after: str = "",
    encoded: Callable[[str], bytes] = _one_message,
    about: str | None = "agents.effectors",
) -> float:
    """Turn the declared hinge, and return how far it turned in degrees.

    `encoded` makes the bytes to send from the effector. `about` is the requirement to blame if the
    hinge does not turn; None means that of the test.
    """
    effector, name = hinge_names(iut)
    before = await hinge_angle(iut, agent)
    angle: list[float] = [before]

    def moved(message: Message) -> bool:
        if (found := hinge(message, name)) is not None:
            angle.append(found)
        return abs(angle[-1] - stood) > MOVED

    while abs(angle[-1] - before) <= TURNED:
        # A server can apply an effector in a single cycle, so a hinge that moves gets it again.
        stood = angle[-1]
        await agent.send_bytes(encoded(f"({effector} {speed})"))
        try:
            await agent.expect(*PERCEPTORS, where=moved)
        except Violation as none:
            wrong = Violation(
                f"the hinge {name} to turn after ({effector} {speed}){after}",
                f"its angle was {before:.2f} degrees and is {angle[-1]:.2f} degrees",
                about,
            )
            raise wrong.shown_in(agent) from none
    await agent.send(expressions(f"({effector} 0)"))
    await _wait_until_still(agent, name)
    return angle[-1] - before


async def _wait_until_still(agent: Session, name: str) -> None:
    """Wait until a hinge has stopped. Effectors can take a while to act."""
    left, angles = agent.countdown("response"), list[float]()
    while message := await agent.wait_for(*PERCEPTORS, within=left):
        angles += [] if (found := hinge(message, name)) is None else [found]
        if len(angles) >= _STILL and max(angles[-_STILL:]) - min(angles[-_STILL:]) < TURNED / 10:
            return
