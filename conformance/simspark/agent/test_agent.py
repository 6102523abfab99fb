"""What an agent sends, in which order, and what it knows of its perceptors."""

from typing import Any

from conformance.cases import each_of, explore, in_one_loop, requirement
from conformance.iut import Iut
from conformance.simspark import strategies
from conformance.simspark.agent.tester import bytes_of, established
from conformance.simspark.tester import expressions, in_one_session

pytestmark = in_one_loop


async def _ordinary(iut: Iut) -> None:
    async with established(iut) as tester:
        for tester.mode in COURSE:
            for _ in range(20):
                await tester.tell("(hear Reference 0.00 self hello)")
                await tester.session.watch(within=tester.session.seconds("cycle"))
        await tester.acts(5)
        if tester.session.instance.upper.offers("act"):
            for effectors in ASKED:
                await tester.is_told(effectors)


COURSE = ("BeforeKickOff", "KickOff_Left", "PlayOn", "Goal_Left", "GameOver")
"""The play modes of a short game."""
ASKED = ("(he1 0.5)", "(lae1 -1.25)(rae1 1.25)", "(he2 0.1)" * 30)
"""Effectors that it is asked to send, the last of them longer than a byte can count."""


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
    """All that an agent sends in the course of a session keeps this rule."""
    await in_one_session(iut, "ordinary", _ordinary)


@requirement("agents.understood")
async def test_what_it_perceives(iut: Iut) -> None:
    """It knows the latest value of a hinge, wherever that stands in a group."""
    async with established(iut) as tester:
        await tester.knows("a first group of perceptors")
        await tester.knows("a later group of perceptors")
        for angle in (-12.5, 118.75):
            await tester.tell(angle=angle)
            await tester.knows_angle(angle, f"the angle {angle:g} was sent")
        group = tester.group(angle=33.25)
        await tester.session.send(group[::-1])
        await tester.knows_angle(33.25, "a group in the reverse order")


@requirement("text.unknown-ignored")
async def test_unknown_perceptors(iut: Iut) -> None:
    """Perceptors that it does not know, and more in those that it knows, are passed over."""
    async with established(iut) as tester:
        await tester.session.send(
            expressions(
                "(lidar 0 1.5 3.0)(compass (deg 12.5) (accuracy (low)))(alone)(x (((y)))) z"
            )
        )
        await tester.goes_on("unknown perceptors")
        known = f"(HJ (n {tester.hinge}) (ax 55.00) (rate 1.5))"
        await tester.session.send(
            expressions(
                "(compass (deg 12.5))(time (now 20.00) (zone utc))"
                f"(GS (t 0.00) (pm NewMode) (k left) (ti (a)(b))){known}"
                "(See (X (pol 1 2 3)) (B (pol 1 2 3) (vel 1 2 3)))(HJ (n new) (ax 1))"
            )
        )
        if tester.session.instance.upper.offers("state"):
            await tester.knows_angle(55.0, "unknown parts in known perceptors")
        await tester.goes_on("unknown parts in known perceptors")


@requirement("text.unknown-ignored")
@explore(groups=strategies.perceptors())
async def test_any_perceptors(iut: Iut, groups: list[Any]) -> None:
    """Any perceptors of the known forms are taken, in any order and number."""
    async with established(iut) as tester:
        for group in groups:
            await tester.session.send([group])
        await tester.session.send(groups)
        await tester.goes_on("any perceptors")


@requirement("text.unknown-ignored")
async def test_groups_of_nothing_in_sight(iut: Iut) -> None:
    """Perceptors without contents, and values that are not numbers, are passed over."""
    async with established(iut) as tester:
        await tester.session.send(
            expressions(
                "(time (now 11))(See )(ACC (n torso) (a nan -nan inf))"
                "(GYR (n torso) (rt 0 -0.00 1e-05))"
            )
        )
        await tester.goes_on("a group without anything in sight")


@requirement("frame.length-prefix")
async def test_lengths_of_more_than_a_byte(iut: Iut) -> None:
    """Groups of any length are taken in full."""
    async with established(iut) as tester:
        for size in (255, 256, 1024, 65_536, 70_000):
            group = tester.group(angle=1.0)
            text = bytes_of(group)[4:]
            more = b"(hear Reference 0.00 self x)" * (max(size - len(text), 0) // 28)
            payload = text + more
            payload += b" " * (size - len(payload))
            await tester.session.send_bytes(len(payload).to_bytes(4, "big") + payload)
            await tester.goes_on(f"a group of {len(payload)} bytes")
