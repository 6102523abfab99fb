"""The agents that the suite plays against a server: they are created, perceive and act."""

import contextlib
from collections.abc import AsyncIterator

from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Message, Session
from conformance.simspark.tester import expressions
from conformance.verdicts import NotExercised

PERCEPTORS = ("Perceptors", "Expressions")

_MOMENT = 0.002  # seconds in which what has come already is read


@contextlib.asynccontextmanager
async def playing(
    iut: Iut,
    instance: Instance,
    team: str = "Lefts",
    unum: int = 1,
    *,
    segmentation: Segmentation = whole,
) -> AsyncIterator[Session]:
    """An agent that is established: created, initialised, and served with perceptors.

    The first team that comes is the left one. Raises Violation where no perceptors come.
    """
    async with iut.connect(instance, channel="agent", segmentation=segmentation) as session:
        await create(iut, session)
        await session.send(expressions(f"(init (unum {unum})(teamname {team}))"))
        await passed_over(session)
        for _ in range(4):
            await perceptors(session)
        yield session


async def create(iut: Iut, session: Session) -> None:
    """Ask for a robot, and wait for perceptors if they come before the robot is initialised."""
    await session.send(expressions(f"(scene {iut.configuration.value('scene')})"))
    await session.watch(*PERCEPTORS)


async def passed_over(session: Session) -> None:
    """Pass over the perceptors that have come already."""
    while await session.watch(*PERCEPTORS, within=_MOMENT):
        pass


async def perceptors(session: Session) -> Message:
    """The next group of perceptors. Raises Violation where there is none."""
    return await session.expect(
        *PERCEPTORS, to="to come again and again", requirement="agents.perceptors"
    )


async def fresh(agent: Session) -> Message:
    """A group of perceptors that comes from now on."""
    await passed_over(agent)
    return await perceptors(agent)


def hinge(message: Message, name: str) -> float | None:
    """The degrees of a hinge perceptor in a group of perceptors; None where it has none."""
    for perceptor in message.value:
        match perceptor:
            case ["HJ", ["n", str(found), *_], ["ax", str(text)]] if found == name:
                with contextlib.suppress(ValueError):
                    return float(text)
    return None


def hinge_names(iut: Iut) -> tuple[str, str]:
    """The names of the effector and the perceptor of the hinge that is tried."""
    effector, _, perceptor = iut.configuration.value("hinge").partition(" ")
    return effector, perceptor.strip()


async def hinge_angle(iut: Iut, agent: Session) -> float:
    """Where the hinge stands. Raises NotExercised where the robot has none of that name."""
    _, name = hinge_names(iut)
    await passed_over(agent)
    for _ in range(10):  # what is perceived at a time may come in several messages
        message = await perceptors(agent)
        if (angle := hinge(message, name)) is not None:
            return angle
    raise NotExercised(
        f"the robot has no hinge {name}; declare --set 'hinge=EFFECTOR PERCEPTOR', "
        "and --set scene=FILE where it needs another"
    )
