"""The agents that the suite plays against a server: they are created, perceive and act."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.simspark.codec import encode
from conformance.simspark.tester import expressions
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.waiting import Within
from conformance.wire import Message

PERCEPTORS = ("Perceptors", "Expressions")
TEAMS = ("Left", "Right")
AGAIN_AND_AGAIN = "agents.perceptors"

_MOMENT = 0.002  # seconds in which what has come already is read


ENOUGH = 100  # groups of perceptors after which what has not been told is not expected any more
TURNED = 5.0  # degrees by which a hinge must turn to have been moved
LAST = 11  # the greatest number that a player can have
_STILL = 3  # positions alike that are told one after the other of a hinge that has stopped
_MISSED = 4  # agents without perceptors, after which the next ones do not wait long


@contextlib.asynccontextmanager
async def playing(
    iut: Iut,
    instance: Instance,
    team: str = "Lefts",
    unum: int = 0,
    *,
    segmentation: Segmentation | None = None,
) -> AsyncIterator[Session]:
    """An agent that is established: created, initialised, and sent perceptors.

    The first team that comes is the left one; without `unum` it has the next number. Raises
    Violation where no perceptors come, Inconclusive where the server does not take the agent in.
    """
    async with iut.connect(instance, channel="agent", segmentation=segmentation) as session:
        await create(iut, session)
        number = unum or next_number(iut, instance)
        await session.send(expressions(f"(init (unum {number})(teamname {team}))"))
        await _taken_in(iut, session)
        await _perceiving(iut, session)
        yield session


async def _perceiving(iut: Iut, session: Session) -> None:
    """Wait until perceptors come again and again; not for long where none did so far."""
    none = not any(message.name in PERCEPTORS for message in session.received)
    within = "quiet" if none or _hopeless(iut) else None
    try:
        for _ in range(4):
            await perceptors(session, within)
    except Violation:
        iut.memory["without perceptors"] = iut.memory.get("without perceptors", 0) + 1
        raise
    iut.memory["without perceptors"] = 0


def _hopeless(iut: Iut) -> bool:
    """Whether the last agents, one after the other, had no perceptors."""
    return bool(iut.memory.get("without perceptors", 0) > _MISSED)


def next_number(iut: Iut, instance: Instance) -> int:
    """A number for a player; one that has left may keep its own reserved, so each has another.

    Tests that run meanwhile have servers of their own, unless one was started by hand for all.
    """
    numbers = iut.memory.setdefault("numbers", WeakKeyDictionary())
    server = instance if iut.configuration.command else iut.testbed
    numbers[server] = numbers.get(server, 0) % LAST + 1
    return int(numbers[server])


async def create(iut: Iut, session: Session) -> None:
    """Ask for a robot, and wait for perceptors where they come before the robot is initialised.

    A server may need a while for a robot, and lose what the agent sends before it is there. Whether
    perceptors come before init is found out once in a run.
    """
    await session.send(expressions(f"(scene {iut.configuration.value('scene')})"))
    early = iut.memory.get("perceptors before init")
    # To others it has sent something: it does not start any more.
    due = "response" if session.instance.spoke else session.left(session.due)
    within: dict[bool | None, Within] = {
        True: due,
        False: "quiet",
        None: session.left("response", "response"),
    }
    came = await session.watch(*PERCEPTORS, within=within[early], requirement=AGAIN_AND_AGAIN)
    if not session.ended:
        iut.memory.setdefault("perceptors before init", came is not None)


async def _taken_in(iut: Iut, session: Session) -> None:
    """Wait until the game state tells an agent its number and side.

    Raises Inconclusive where it has told them to others and not to this one, Violation where no
    perceptors come. The specification does not name GS: a server may send none, or without them.
    """
    known = iut.memory.get("players are numbered")
    usual = known is not False and not _hopeless(iut)
    late = iut.memory.get("perceptors before init") and not session.received
    left = session.left(*((2 if late else 3) * ["response"] if usual else ["quiet"]))
    told: dict[str, str] = {}
    while _name(told) is None:
        if left() <= 0:
            break
        message = await session.watch(*PERCEPTORS, within=left, requirement=AGAIN_AND_AGAIN)
        if message is None:
            break
        told |= _told_of_the_game(message)
    else:
        iut.memory["players are numbered"] = True
        return
    groups = [message for message in session.received if message.name in PERCEPTORS]
    if len(groups) > ENOUGH:
        iut.memory.setdefault("players are numbered", False)
    if known and any(item[:1] == ["GS"] for message in groups for item in message.value):
        raise Inconclusive(
            "the game state (GS) tells other agents their number and team, and not this one: its "
            "init had no effect"
        )


@dataclass(frozen=True)
class Name:
    """What trainers call a player: `str()` gives the parameters of a command."""

    unum: int
    team: str

    def __str__(self) -> str:
        return f"(unum {self.unum})(team {self.team})"

    @property
    def reversed(self) -> str:
        """The same, the team first."""
        return f"(team {self.team})(unum {self.unum})"


def name_of(agent: Session) -> Name | None:
    """The name of an agent by what the game state has told it; None where that tells none."""
    told: dict[str, str] = {}
    for message in agent.received:
        told |= _told_of_the_game(message)
        if found := _name(told):
            return found
    return None


def apart(one: Name, other: Name) -> None:
    """Raise Violation where players of two teams are not one of each side."""
    if {one.team, other.team} != set(TEAMS):
        came = f"they are told that they are {one} and {other}"
        raise Violation("the players of two teams on two sides", came, "agents.sides")


def _name(told: dict[str, str]) -> Name | None:
    if "unum" not in told or "team" not in told or not str(told["unum"]).isdecimal():
        return None
    return Name(int(told["unum"]), str(told["team"]).capitalize())


def _told_of_the_game(message: Message) -> dict[str, str]:
    """What the perceptor GS of a message tells, by name."""
    items = message.value if message.name in PERCEPTORS else ()
    return {
        name: value for item in items if item[:1] == ["GS"] for name, value in parts(item).items()
    }


async def passed_over(session: Session) -> None:
    """Pass over the perceptors that have come already.

    On a busy machine more may come meanwhile, again and again: those are new ones.
    """
    soon = session.now + session.seconds("quiet")
    while (message := await session.watch(*PERCEPTORS, within=_MOMENT)) and message.at < soon:
        pass


async def perceptors(session: Session, within: Within | None = None) -> Message:
    """The next group of perceptors. Raises Violation where there is none."""
    return await session.expect(
        *PERCEPTORS, within=within, to="to come again and again", requirement=AGAIN_AND_AGAIN
    )


async def fresh(agent: Session) -> Message:
    """A group of perceptors that comes from now on."""
    await passed_over(agent)
    return await perceptors(agent)


async def served(agent: Session, after: str) -> None:
    """Raise Violation unless an agent is still sent perceptors; of what the test decides."""
    try:
        await fresh(agent)
    except Violation as none:
        await agent.unharmed(after)
        raise Violation(f"perceptors to come after {after}", none.came) from none


def angles(message: Message) -> dict[str, float]:
    """The degrees of all hinge perceptors in a group of perceptors, by name."""
    found = {}
    for told in hinges(message):
        with contextlib.suppress(KeyError, ValueError):
            found[told["n"]] = float(told["ax"])
    return found


def hinges(message: Message) -> list[dict[str, str]]:
    """What each hinge perceptor in a group of perceptors tells."""
    return [parts(perceptor) for perceptor in message.value if perceptor[:1] == ["HJ"]]


def hinge(message: Message, name: str) -> float | None:
    """The degrees of a hinge perceptor in a group of perceptors; None where it has none."""
    return angles(message).get(name)


def parts(perceptor: list[Any]) -> dict[str, str]:
    """What a perceptor tells by name, in whatever order it does."""
    named = [part for part in perceptor[1:] if isinstance(part, list) and len(part) > 1]
    return {
        name: value for name, value, *_ in named if isinstance(name, str) and isinstance(value, str)
    }


def hinge_names(iut: Iut) -> tuple[str, str]:
    """The names of the effector and the perceptor of the hinge that is tried."""
    effector, _, perceptor = iut.configuration.value("hinge").partition(" ")
    return effector, perceptor.strip()


async def hinge_angle(iut: Iut, agent: Session) -> float:
    """Where the hinge stands. Raises NotExercised where the robot has none of that name."""
    _, name = hinge_names(iut)
    await passed_over(agent)
    found = await hinge_angles(agent, name, 1)
    if found:
        return found[0]
    for message in agent.received:
        for told in hinges(message):
            if told.get("n") == name and "ax" in told:
                came = f"its position comes as {told['ax']:.40}, which is no number"
                raise Violation(
                    f"the hinge {name} in degrees", came, "agents.joints", message.event
                )
    raise NotExercised(
        f"the robot has no hinge {name}; declare --set 'hinge=EFFECTOR PERCEPTOR', "
        "and --set scene=FILE where it needs another"
    )


async def hinge_angles(agent: Session, name: str, count: int) -> list[float]:
    """The next positions of a hinge, fewer where they do not come in time.

    What is perceived at a time may come in several messages.
    """
    found: list[float] = []
    left = agent.left("response")
    while len(found) < count and left() > 0:
        message = await agent.watch(*PERCEPTORS, within=left)
        if message is None:
            break
        if (angle := hinge(message, name)) is not None:
            found.append(angle)
    return found


def _alone(effector: str) -> bytes:
    return encode(expressions(effector))


async def turns(
    iut: Iut,
    agent: Session,
    speed: float,
    after: str = "",
    encoded: Callable[[str], bytes] = _alone,
    about: str | None = "agents.effectors",
) -> float:
    """Turn the hinge; by how many degrees it has turned.

    `encoded` makes of the effector the bytes to send. Raises Violation of `about` where it does
    not turn, of what the test decides if that is None.
    """
    effector, name = hinge_names(iut)
    before = await hinge_angle(iut, agent)
    await agent.send_bytes(encoded(f"({effector} {speed})"))
    angle: list[float] = [before]

    def moved(message: Message) -> bool:
        found = hinge(message, name)
        angle.append(before if found is None else found)
        return abs(angle[-1] - before) > TURNED

    try:
        await agent.expect(*PERCEPTORS, where=moved)
    except Violation as none:
        raise Violation(
            f"the hinge {name} to turn after ({effector} {speed}){after}",
            f"it stood at {before:.2f} degrees and stands at {angle[-1]:.2f}",
            about,
        ) from none
    await agent.send(expressions(f"({effector} 0)"))
    await _rests(agent, name)
    return angle[-1] - before


async def _rests(agent: Session, name: str) -> None:
    """Wait until a hinge has stopped, if it does: effectors may take a while to act."""
    left, angles = agent.left("response"), list[float]()
    while message := await agent.watch(*PERCEPTORS, within=left):
        angles += [] if (found := hinge(message, name)) is None else [found]
        if len(angles) >= _STILL and max(angles[-_STILL:]) - min(angles[-_STILL:]) < TURNED / 10:
            return
