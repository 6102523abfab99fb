"""What an agent says, in which order, and what it makes of what it perceives."""

from typing import Any

from conformance.cases import each_of, explore, in_one_loop, requirement
from conformance.iut import Iut
from conformance.simspark import drawn
from conformance.simspark.agent.serving import bytes_of, serving
from conformance.simspark.stage import expressions, held

pytestmark = in_one_loop


async def _ordinary(iut: Iut) -> None:
    async with serving(iut) as served:
        for served.mode in COURSE:
            for _ in range(20):
                await served.tell("(hear Reference 0.00 self hello)")
                await served.session.watch(within=served.session.seconds("cycle"))
        await served.acts(5)
        if served.session.instance.upper.offers("act"):
            for effectors in TOLD:
                await served.is_told(effectors)


COURSE = ("BeforeKickOff", "KickOff_Left", "PlayOn", "Goal_Left", "GameOver")
"""The play modes of a short game."""
TOLD = ("(he1 0.5)", "(lae1 -1.25)(rae1 1.25)", "(he2 0.1)" * 30)
"""Effectors that it is told to send, the last of them longer than a byte can count."""


@each_of(
    "agents.create-first",
    "agents.init-second",
    "frame.length-prefix",
    "text.s-expressions",
    "text.ascii",
    "text.predicates",
    "monitors.only-commands-of-trainers",
)
async def test_ordinary_session(iut: Iut, statement: str) -> None:
    """All that an agent says in the course of a session keeps this rule."""
    await held(iut, "ordinary", _ordinary)


@requirement("agents.understood")
async def test_what_it_perceives(iut: Iut) -> None:
    """It knows the latest of what it was told, wherever in a group that stands."""
    async with serving(iut) as served:
        await served.knows("a first group of perceptors")
        await served.knows("a later group of perceptors")
        for angle in (-12.5, 118.75):
            await served.tell(angle=angle)
            await served.knows_angle(angle, f"the angle {angle:g} was told")
        group = served.group(angle=33.25)
        await served.session.send(group[::-1])
        await served.knows_angle(33.25, "a group in the reverse order")


@requirement("text.unknown-ignored")
async def test_unknown_perceptors(iut: Iut) -> None:
    """Perceptors that it does not know, and more in those that it knows, are passed over."""
    async with serving(iut) as served:
        await served.session.send(
            expressions(
                "(lidar 0 1.5 3.0)(compass (deg 12.5) (accuracy (low)))(alone)(x (((y)))) z"
            )
        )
        await served.goes_on("unknown perceptors")
        known = f"(HJ (n {served.hinge}) (ax 55.00) (rate 1.5))"
        await served.session.send(
            expressions(
                "(compass (deg 12.5))(time (now 20.00) (zone utc))"
                f"(GS (t 0.00) (pm NewMode) (k left) (ti (a)(b))){known}"
                "(See (X (pol 1 2 3)) (B (pol 1 2 3) (vel 1 2 3)))(HJ (n new) (ax 1))"
            )
        )
        if served.session.instance.upper.offers("state"):
            await served.knows_angle(55.0, "unknown parts in known perceptors")
        await served.goes_on("unknown parts in known perceptors")


@requirement("text.unknown-ignored")
@explore(groups=drawn.perceptors())
async def test_any_perceptors(iut: Iut, groups: list[Any]) -> None:
    """Any perceptors of the known forms are taken, in any order and number."""
    async with serving(iut) as served:
        for group in groups:
            await served.session.send([group])
        await served.session.send(groups)
        await served.goes_on("any perceptors")


@requirement("text.unknown-ignored")
async def test_groups_of_nothing_in_sight(iut: Iut) -> None:
    """Perceptors without contents, and numbers that are none, do no harm."""
    async with serving(iut) as served:
        await served.session.send(
            expressions(
                "(time (now 11))(See )(ACC (n torso) (a nan -nan inf))"
                "(GYR (n torso) (rt 0 -0.00 1e-05))"
            )
        )
        await served.goes_on("a group without anything in sight")


@requirement("frame.length-prefix")
async def test_lengths_of_more_than_a_byte(iut: Iut) -> None:
    """Groups of any length are taken in full."""
    async with serving(iut) as served:
        for size in (255, 256, 1024, 65_536, 70_000):
            group = served.group(angle=1.0)
            text = bytes_of(group)[4:]
            more = b"(hear Reference 0.00 self x)" * (max(size - len(text), 0) // 28)
            payload = text + more
            payload += b" " * (size - len(payload))
            await served.session.send_bytes(len(payload).to_bytes(4, "big") + payload)
            await served.goes_on(f"a group of {len(payload)} bytes")
