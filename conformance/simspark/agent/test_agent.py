"""The messages of an agent, their order, and the agent's knowledge of its perceptors."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

import pytest

from conformance.cases import compared, each_of, explore, lasting, requirement
from conformance.iut import Iut
from conformance.simspark import malformed, strategies
from conformance.simspark.agent.tester import (
    Tester,
    compare_with_single_groups,
    connect_agent,
    send_in_pieces,
)
from conformance.simspark.codec import frame
from conformance.simspark.tester import (
    FORMS_OF_NUMBERS,
    LONG_NUMBERS,
    LONG_TEXTS,
    ODD_NUMBERS,
    blame_pieces,
    expressions,
    judge_one_session,
    raise_if_unreadable,
    raise_unless_whole,
)
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation


async def _play_ordinary_session(iut: Iut) -> str | None:
    async with connect_agent(iut) as tester:
        for tester.mode in COURSE:
            for _ in range(20):
                await tester.send_group("(hear Reference 0.00 self hello)")
                await tester.session.wait_for(within=tester.session.seconds("cycle"))
        await tester.session.assert_alive("the course of a short game")
        await tester.wait_for_action(5)
        with contextlib.suppress(NotExercised):
            # After a timeout or unreadable bytes, use the short timeout. The judge sees all
            # messages in any case.
            came = not tester.session.judge.spoiled
            for effectors in ASKED:
                await tester.session.operate("act", effectors=effectors)
                came = await tester.is_sent(expressions(effectors), "response" if came else "quiet")
        if tester.session.ended:
            closed = next(e.at for e in tester.session.iut_events if e.event == "closed")
            return f"the agent closed its connection {closed:.2f} s after opening it"
    return None


@requirement("agents.create-first")
async def test_a_later_connection(iut: Iut) -> None:
    """An agent that connects again creates its robot again, and initialises the robot again."""
    async with connect_agent(iut) as tester:
        instance = tester.session.instance
        for _ in range(3):
            await tester.send_group()
            await tester.session.wait_for(within=tester.session.seconds("cycle"))
        await tester.session.close()
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(tester.session.seconds("response")):
                    again = await stack.enter_async_context(iut.connect(instance))
            except (TimeoutError, Unreachable):
                raise NotExercised(
                    "needs an agent that connects again after a disconnect"
                ) from None
            await again.expect("Scene", to="as the first message of a later connection")
            await Tester(again, iut).welcome_again()


GROUP_COUNT = 400  # groups, one per cycle: eight seconds of a simulation
CYCLE = 0.02  # seconds
FIRST = ("agents.create-first", "agents.init-second")
"""Requirements that even a very short session decides."""
COURSE = ("BeforeKickOff", "KickOff_Left", "PlayOn", "Goal_Left", "GameOver")
"""The play modes of a short game, in order."""
MORE = "(See (B (pol 1.00 2.00 3.00)))(hear Lefts 0.00 -30.00 hello)"
"""Additional perceptors that some groups contain."""
HINGES = (
    *("hj1", "hj2", "raj1", "raj2", "raj3", "raj4", "laj1", "laj2", "laj3", "laj4"),
    *("rlj1", "rlj2", "rlj3", "rlj4", "rlj5", "rlj6"),
    *("llj1", "llj2", "llj3", "llj4", "llj5", "llj6"),
)
"""The hinges of the published robot, by the names of their perceptors."""
ASKED = ("(he1 0.5)", "(lae1 -1.25)(rae1 1.25)", "(he2 0.1)" * 30)
"""Effectors that the agent is asked to send; the last list is longer than 255 bytes."""


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
    """All messages of an agent in an ordinary session satisfy this requirement."""
    await judge_one_session(
        iut, "ordinary", _play_ordinary_session, FIRST, fails="agents.understood"
    )


@requirement("agents.understood")
async def test_what_it_perceives(iut: Iut) -> None:
    """The agent knows the latest angle of a hinge, anywhere in a group of perceptors."""

    async def play() -> None:
        async with connect_agent(iut) as tester:
            await tester.check_known("a first group of perceptors")
            await tester.check_known("a later group of perceptors")
            for angle, more in (
                (-12.5, ""),
                (118.75, MORE),
                (-3.0, MORE),
                (0.0, ""),
            ):
                await tester.send_group(more, angle=angle)
                await tester.check_angle_known(angle, f"the angle {angle:g} was sent")
            # Servers before the version 0.6.8 send no scores.
            begin = f"(time (now {tester.now_next()}))(GS (t 0.00) (pm PlayOn))"
            await tester.session.send(expressions(f"{begin}(HJ (n {tester.hinge}) (ax 7.25))"))
            await tester.check_angle_known(7.25, "a group with a game state without scores")
            group = tester.group(angle=33.25)
            await tester.session.send(group[::-1])
            await tester.check_angle_known(33.25, "a group in reverse order")
            await tester.session.send(expressions(f"(time (now {tester.now_next()}))"))
            await tester.check_angle_known(
                33.25, "a group with the angle and a group without hinges"
            )

    await compare_with_single_groups(iut, play)


@requirement("agents.understood")
async def test_each_hinge_by_itself(iut: Iut) -> None:
    """The agent knows the angle of each hinge that it reports, anywhere in a group."""
    async with connect_agent(iut) as tester:
        await tester.check_known("a first group of perceptors")
        hinges = [*dict.fromkeys((*HINGES, tester.hinge))]
        # Small angles, which every hinge of the robot can reach.
        angles = {name: (-1) ** place * place * 0.04 for place, name in enumerate(hinges, 1)}
        for names in (hinges, hinges[::-1]):
            angles = {name: -angles[name] for name in names}
            text = "".join(f"(HJ (n {name}) (ax {angle:.2f}))" for name, angle in angles.items())
            await tester.session.send(expressions(text))
            await tester.check_angle_known(angles[tester.hinge], "all hinges in one group")
            for name in (await tester.hinges()).keys() & angles.keys():
                await tester.check_angle_known(angles[name], "all hinges in one group", hinge=name)


@requirement("agents.understood")
@lasting
async def test_for_long(iut: Iut) -> None:
    """After eight seconds of a simulation, the agent still knows the latest angle."""
    async with connect_agent(iut) as tester:
        await tester.check_known("a first group of perceptors")
        for _ in range(GROUP_COUNT):
            await tester.send_group()
        # An agent can read one group in each of its cycles.
        tester.backlog = GROUP_COUNT * CYCLE
        await tester.check_known(f"{GROUP_COUNT} groups of perceptors")


@requirement("text.unknown-ignored")
async def test_unknown_perceptors(iut: Iut) -> None:
    """The agent ignores unknown perceptors, and unknown parts of known perceptors."""

    async def play(unknown: bool) -> None:
        async with connect_agent(iut) as tester:

            async def send(text: str, plain: str) -> None:
                """Send the text, or a plain text with the same known parts."""
                now = f"(time (now {tester.now_next()}))"
                await tester.session.send(expressions(now + (text if unknown else plain)))

            await send(
                "(lidar 0 1.5 3.0)(compass (deg 12.5) (accuracy (low)))"
                f"(alone)(x (((y)))) z ()(foo {'x' * 1000})",
                f"(hear Reference 0.00 self x){' ' * 1000}",
            )
            await tester.check_continues("unknown perceptors")
            for angle, form in (
                (55.0, "(n {}) (ax 55.00) (rate 1.5)"),
                (-5.5, "(k 1) (n {}) (of a) (ax -5.50)"),
            ):
                await send(
                    "(compass (deg 12.5)) z ()(GS (t 0.00) (pm NewMode) (k left) (ti (a)(b)))"
                    f"(HJ {form.format(tester.hinge)})"
                    "(See (mypos 1.0 2.0 0.4) (X (pol 1 2 3)) (B (pol 1 2 3) (vel 1 2 3)))"
                    "(HJ (n new) (ax 1))",
                    f"(GS (t 0.00) (pm PlayOn))(HJ (n {tester.hinge}) (ax {angle:.2f}))"
                    "(See (B (pol 1 2 3)))",
                )
                await tester.check_known_if_reported(angle, "unknown parts in known perceptors")
            await tester.check_continues("unknown parts in known perceptors")
            toes = ("llj7", "rlj7") if unknown else ()
            more = "".join(f"(HJ (n {name}) (ax 0.00))" for name in (*HINGES[4:], *toes))
            await tester.session.send(tester.group(angle=-21.5, more=more))
            await tester.check_known_if_reported(-21.5, "hinges of other robots")

    await compare_with_single_groups(
        iut, lambda: compared(iut, play, True, False, "agents.understood")
    )


@requirement("robustness.odd-perceptors")
@explore(groups=strategies.perceptors())
async def test_any_perceptors(iut: Iut, groups: list[Any]) -> None:
    """The agent accepts perceptors of the known forms in any order and number."""
    async with connect_agent(iut) as tester:
        for group in groups:
            await tester.session.send([_next_time(tester, group)])
        await tester.session.send([_next_time(tester, group) for group in groups])
        await tester.check_continues("any perceptors")


def _next_time(tester: Tester, perceptor: Any) -> Any:
    """Return the perceptor, or for a time perceptor the next time of the simulation."""
    return ["time", ["now", tester.now_next()]] if perceptor[:1] == ["time"] else perceptor


@requirement("robustness.odd-perceptors")
async def test_groups_of_nothing_in_sight(iut: Iut) -> None:
    """The agent takes the other perceptors of a group in which some have no contents."""
    async with connect_agent(iut) as tester:
        begin = f"(time (now {tester.now_next()}))(GS)(See )"
        await tester.session.send(expressions(f"{begin}(HJ (n {tester.hinge}) (ax 33.00))"))
        await tester.check_known_if_reported(33.0, "empty perceptors in the same group")
        await tester.check_continues("a group with empty perceptors")


@requirement("robustness.odd-perceptors")
async def test_perceptors_of_older_servers(iut: Iut) -> None:
    """The agent survives a hear perceptor without a team, as older servers send it."""
    async with connect_agent(iut) as tester:
        for more in ("(hear 0.00 self hello)", "(hear 12.50 -30.00 hello)"):
            await tester.send_group(more)
            await tester.check_continues(f"the perceptor {more}")


@requirement("robustness.odd-perceptors")
async def test_the_same_group_again(iut: Iut) -> None:
    """The agent survives the same group several times, with the same time.

    The published server repeats the last group for an agent whose robot was removed.
    """
    async with connect_agent(iut) as tester:
        group = tester.group(angle=44.0)
        for _ in range(3):
            await tester.session.send(group)
        await tester.check_known_if_reported(44.0, "the same group three times")
        await tester.check_continues("the same group three times")


@requirement("robustness.odd-perceptors")
async def test_odd_numbers(iut: Iut) -> None:
    """The agent survives numbers that are not finite or out of range, in any perceptor."""
    async with connect_agent(iut) as tester:
        for number in ODD_NUMBERS:
            three = f"{number} {number} {number}"
            await tester.session.send(
                expressions(
                    f"(time (now {tester.now_next()}))(GS (sl 0) (sr 0) (t {number}) (pm PlayOn))"
                    f"(GYR (n torso) (rt {three}))(ACC (n torso) (a {three}))"
                    f"(HJ (n {tester.hinge}) (ax {number}))(UJ (n uj) (ax1 {number}) (ax2 0))"
                    f"(FRP (n lf) (c {three}) (f {three}))(See (B (pol {three})))"
                    f"(hear Lefts {number} {number} hello)"
                    f"(AgentState (pan_tilt {number} 0) (battery {number}) (temp {number}))"
                )
            )
            await tester.check_continues(f"perceptors with the number {number}")
        for number in LONG_NUMBERS:
            begin = f"(time (now {tester.now_next()}))"
            text = f"{begin}(HJ (n {tester.hinge}) (ax {number}))"
            await tester.session.send(expressions(text))
            await tester.check_continues(f"an angle of {len(number)} characters")


@requirement("text.numbers")
async def test_forms_of_numbers(iut: Iut) -> None:
    """The agent knows angles that are written in any usual form."""

    async def play(forms: Iterable[str]) -> None:
        async with connect_agent(iut) as tester:
            for number in forms:
                await tester.check_known("a plain group of perceptors")
                begin = f"(time (now {tester.now_next()}))"
                text = f"{begin}(HJ (n {tester.hinge}) (ax {number}))"
                await tester.session.send(expressions(text))
                await tester.check_angle_known(float(number), f"the angle was written as {number}")

    plain = [f"{float(number):g}" for number in FORMS_OF_NUMBERS]
    await compared(iut, play, FORMS_OF_NUMBERS, plain, "agents.understood")


SIZES = (
    *(255, 256, 511, 512, 1023, 1024, 1025, 4095, 4096, 4097),
    *(33_008, 65_535, 65_536, 65_537, 70_000),
)
"""Sizes of texts in bytes, at the usual limits of lengths and buffers."""


@requirement("frame.length-prefix")
async def test_lengths_of_more_than_a_byte(iut: Iut) -> None:
    """The agent reads groups of any length in full."""

    async def play() -> None:
        async with connect_agent(iut) as tester:
            # The last byte of some of these lengths is negative if read as a signed byte.
            await tester.send_group("(hear Reference 0.00 self x)", angle=1.0)
            try:
                await tester.check_known_if_reported(1.0, "a short group of this kind")
            except Violation as lost:
                lost.requirement = "agents.understood"
                raise
            for size in SIZES:
                async with malformed.can_refuse(tester.session, size):
                    await tester.session.send_bytes(tester.long(size, angle := size % 83))
                    await tester.check_known_if_reported(
                        angle, f"a group of {size} bytes, in that group"
                    )
                    await tester.check_continues(f"a group of {size} bytes")

    async with blame_pieces(iut, send_in_pieces):
        await compare_with_single_groups(iut, play)


@requirement("frame.length-prefix")
async def test_long_effectors(iut: Iut) -> None:
    """Effectors of any length have a correct length."""
    async with connect_agent(iut) as tester:
        for number, size in enumerate(LONG_TEXTS):
            each = f"(he2 0.{number:02d})"
            text = each * (size // len(each) - 1)
            text += f"(he2 0.{number:02d}{'0' * (size - len(text) - len(each))})"
            answer = await tester.session.instance.upper("act", effectors=text)
            if not answer.ok and number:
                break  # An agent can refuse effectors that are too long for it.
            if not answer.ok:
                raise Inconclusive(f"the operation 'act' failed: {answer.why:.200}")
            if not await tester.is_sent(expressions(text)):
                raise_if_unreadable(tester.session, f"a message of {size} bytes")
                raise Inconclusive(f"did not receive the {size} bytes that it was asked to send")


AT_ONCE = 6  # effectors that are requested at the same time


@requirement("frame.length-prefix")
async def test_effectors_at_once(iut: Iut) -> None:
    """Effectors that are requested at the same time arrive one after another."""
    async with connect_agent(iut) as tester:
        for attempt in range(3):
            texts = [f"(he2 0.{attempt}{number})" for number in range(AT_ONCE)]
            async with asyncio.TaskGroup() as asking:
                for text in texts:
                    asking.create_task(tester.session.instance.upper("act", effectors=text))
            # The last of them can arrive before the others.
            if not await tester.is_sent(expressions(texts[-1])):
                raise_unless_whole([tester.session], "effectors requested at the same time")


@requirement("text.white-space")
@pytest.mark.parametrize(
    "text",
    [
        "( time ( now {now} ) )( GS ( t 0.00 ) ( pm PlayOn ) )( HJ ( n {hinge} ) ( ax 21.50 ) )",
        "(time (now {now}))\n(GS (t 0.00)\n (pm PlayOn))\n(HJ (n {hinge})\n(ax 21.50))\n",
        "\t(time\t(now\t{now}))\r\n(GS\t(t 0.00)(pm PlayOn))(HJ\t(n\t{hinge})\t(ax\t21.50))\r\n",
    ],
    ids=["blanks", "line ends", "tabs"],
)
async def test_white_space(iut: Iut, text: str) -> None:
    """Blanks, tabs and line ends around brackets and between atoms have no meaning."""

    async def play(text: str) -> None:
        async with connect_agent(iut) as tester:
            payload = text.format(hinge=tester.hinge, now=tester.now_next()).encode("ascii")
            await tester.session.send_bytes(frame(payload))
            await tester.check_known_if_reported(21.5, "a group with more white space")
            await tester.check_continues("a group with more white space")

    plain = "(time (now {now}))(GS (t 0.00) (pm PlayOn))(HJ (n {hinge}) (ax 21.50))"
    await compared(iut, play, text, plain, "agents.understood")
