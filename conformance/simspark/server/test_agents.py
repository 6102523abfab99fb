"""Agents: they are created, perceive and act, and cannot send trainer commands."""

from conformance.cases import absent, check, lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.codec import PERCEPTORS, encode, frame
from conformance.simspark.server.tester.agents import (
    MOVED,
    TURNED,
    Name,
    angles,
    check_turns,
    create,
    hinge,
    hinge_angle,
    hinge_angles,
    hinge_names,
    name_of,
    next_perceptors,
    perceptors,
    play_agent,
    skip_received,
)
from conformance.simspark.server.tester.monitors import watch_server
from conformance.simspark.tester import expressions, repeat_for
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

DURATION = 5.0  # seconds; the published server sends 250 groups of perceptors in this time
GROUPS = 220  # groups that a server has sent by then, unless the machine is busy
SILENT = 10  # groups of perceptors; earlier ones contain all words of the agents
AMONG = 40  # messages in one write; more than a small queue of messages has room for
ACTS = frame(b"(he1 0)(he2 0)".ljust(300))
"""The effectors that an agent sends in each cycle.

Over the test they exceed 65,535 bytes, the range of a 16-bit counter.
"""
STIFF = 0.5  # degrees that even the stiffest hinge turns before it reaches its stop


async def _check_long_attendance(agent: Session, acts: bytes = b"") -> None:
    """Take perceptors for DURATION seconds, and send `acts` after each group."""

    async def take() -> None:
        await perceptors(agent)
        await agent.send_bytes(acts)

    await repeat_for(agent, DURATION, GROUPS, take)


@requirement("agents.perceptors")
async def test_no_perceptors_before_the_scene(iut: Iut) -> None:
    """Perceptors begin only after the scene message of an agent."""
    async with iut.instance() as instance, iut.connect(instance, channel="agent") as agent:
        absent(await agent.wait_for("Perceptors"), "no perceptors before the scene message")
        await create(iut, agent)
        await agent.send(expressions("(init (unum 1)(teamname Lefts))"))
        await perceptors(agent)


@requirement("agents.perceptors")
@lasting
async def test_perceptors_keep_coming(iut: Iut) -> None:
    """A created and initialised agent receives perceptors again and again."""
    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        await _check_long_attendance(agent)


@requirement("agents.perceptors")
async def test_perceptors_of_several_agents(iut: Iut) -> None:
    """Every agent of both teams receives perceptors.

    This includes an agent that comes after another agent has left.
    """
    async with (
        iut.instance() as instance,
        play_agent(iut, instance, "Lefts") as first,
        play_agent(iut, instance, "Lefts") as second,
    ):
        async with play_agent(iut, instance, "Rights") as third:
            for agent in (first, second, third, first):
                await perceptors(agent)
        async with play_agent(iut, instance, "Rights") as fourth:
            for agent in (first, second, fourth):
                await next_perceptors(agent)


@requirement("agents.perceptors")
async def test_perceptors_in_every_play_mode(iut: Iut) -> None:
    """An agent receives perceptors in every play mode.

    The server can disconnect agents at the end of the game.
    """
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance) as agent,
    ):
        for mode in sorted(watch.view.play_modes, key="GameOver".__eq__):
            await watch.command(f"(playMode {mode})")
            await watch.wait_for_states(2)
            if not agent.ended:
                await next_perceptors(agent)


@requirement("agents.perceptors")
async def test_perceptors_of_one_that_acts(iut: Iut) -> None:
    """An agent that sends effectors, singly and several in a message, still receives perceptors."""
    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        for text in ("(syn)", "(he1 0.1)(he2 -0.1)", "(say hello)", "(beam -2 1 0)", "(he1 0)"):
            await agent.send(expressions(text))
            await next_perceptors(agent)


@requirement("agents.joints")
async def test_hinges_are_told_again_and_again(iut: Iut) -> None:
    """The position of a hinge is in nearly every group of perceptors."""
    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        _, name = hinge_names(iut)
        groups = [message for message in agent.received if message.name in PERCEPTORS]
        if not any(hinge(message, name) is not None for message in groups):
            await hinge_angle(iut, agent)
        await skip_received(agent)
        came = len(await hinge_angles(agent, name, 20))
        check(came > 1, f"the position of {name} again and again", f"received it {came} more times")


@requirement("agents.joints")
async def test_hinges_of_every_agent(iut: Iut) -> None:
    """The second agent also receives the positions of its hinges."""
    async with (
        iut.instance() as instance,
        play_agent(iut, instance, "Lefts") as first,
        play_agent(iut, instance, "Rights") as second,
    ):
        await hinge_angle(iut, first)
        _, name = hinge_names(iut)
        await skip_received(second)
        check(
            len(await hinge_angles(second, name, 1)) > 0,
            f"the position of {name} to the second agent",
            "only the first agent receives it",
        )


@requirement("agents.effectors")
async def test_a_hinge_turns(iut: Iut) -> None:
    """A hinge turns by its effector, and turns back at the opposite speed."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance),
        play_agent(iut, instance) as agent,
    ):
        there = await check_turns(iut, agent, 0.75)
        back = await check_turns(iut, agent, -0.75)
        check(
            there * back < 0,
            "opposite speeds to turn a hinge in opposite directions",
            f"it turned by {there:.1f} and by {back:.1f} degrees",
        )


@requirement("agents.effectors")
@lasting
async def test_a_hinge_turns_after_long(iut: Iut) -> None:
    """The hinge of each agent still turns after some seconds in which one agent acted."""
    async with (
        iut.instance() as instance,
        play_agent(iut, instance, "Lefts") as one,
        play_agent(iut, instance, "Rights") as other,
    ):
        await hinge_angle(iut, other)
        await _check_long_attendance(other, ACTS)
        for agent in (other, one):
            await check_turns(iut, agent, 1.5, f", {DURATION:g} s after agents have come")


@requirement("agents.effectors")
async def test_a_hinge_turns_among_others(iut: Iut) -> None:
    """An effector has its effect after other effectors in one message."""

    def last(effector: str) -> bytes:
        return encode(expressions(f"(syn)(say x)(say y){effector}"))

    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        await check_turns(iut, agent, 2.0, ", the last of four effectors", last)


@requirement("frame.segmentation")
async def test_a_hinge_turns_by_one_of_several_messages(iut: Iut) -> None:
    """Each of several messages of an agent in one write has its effect.

    The tested effector is in a message in the middle.
    """

    def between(effector: str) -> bytes:
        others = encode(expressions("(syn)(say x)")) * (AMONG // 2)
        return others + encode(expressions(effector)) + others

    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        await check_turns(iut, agent, 2.0)
        await check_turns(iut, agent, -2.0, f" among {AMONG} other messages", between, None)


@requirement("agents.effectors")
async def test_each_agent_moves_its_own_hinge(iut: Iut) -> None:
    """The hinge of an agent turns only by the effectors of that agent."""
    async with (
        iut.instance() as instance,
        play_agent(iut, instance, "Lefts") as one,
        play_agent(iut, instance, "Rights") as other,
    ):
        still = await hinge_angle(iut, other)
        await check_turns(iut, one, 2.0)
        now = await hinge_angle(iut, other)
        check(
            abs(now - still) < TURNED,
            "the hinge of the other agent to stay in its position",
            f"it turned from {still:.1f} to {now:.1f} degrees",
        )
        await check_turns(iut, other, 2.0, ", which the second agent sent")


class _Hinges:
    """The least and the greatest angle of each hinge, in degrees, over all messages seen."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[float, float]] = {}

    def look(self, message: Message) -> None:
        for name, angle in angles(message).items():
            least, most = self.seen.get(name, (angle, angle))
            self.seen[name] = min(least, angle), max(most, angle)

    def turned(self, name: str) -> float:
        least, most = self.seen[name]
        return most - least

    @property
    def stiff(self) -> list[str]:
        return [name for name in self.seen if self.turned(name) < STIFF]


@requirement("agents.every-hinge")
async def test_every_hinge_turns(iut: Iut) -> None:
    """Each reported hinge turns by the effector of its name.

    A turn in either direction is enough.
    """
    effector, name = hinge_names(iut)
    if name.replace("j", "e") != effector:
        raise NotExercised(
            f"the names {effector} and {name} do not show how effectors of hinges are named"
        )
    hinges = _Hinges()

    def one_turned(message: Message) -> bool:
        hinges.look(message)
        # A server can apply an effector in a single cycle.
        return hinges.turned(name) > MOVED

    def all_turned(message: Message) -> bool:
        hinges.look(message)
        return not hinges.stiff

    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        await hinge_angle(iut, agent)
        for message in agent.received:
            if message.name in PERCEPTORS:
                hinges.look(message)
        await agent.send([[each.replace("j", "e"), "1.5"] for each in hinges.seen])
        await agent.expect(*PERCEPTORS, where=one_turned, requirement="agents.effectors")
        if not hinges.stiff:
            return
        await agent.send([[each.replace("j", "e"), "-1.5"] for each in hinges.stiff])
        try:
            await agent.expect(*PERCEPTORS, where=all_turned)
        except Violation as none:
            count, stiff = len(hinges.seen), hinges.stiff
            if len(stiff) > count / 2:
                raise Inconclusive("most hinges do not have effectors named after them") from none
            expected = f"each of {count} hinges to turn by the effector of its name"
            raise Violation(expected, f"{', '.join(stiff)} did not turn") from none


@requirement("agents.heard")
async def test_own_words_are_heard(iut: Iut) -> None:
    """An agent hears its own words unchanged, and only once."""
    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        word = "Hello_17-World"
        words: list[str] = []
        for _ in range(3):
            await agent.send(expressions(f"(say {word})"))
            deadline = agent.now + agent.seconds("response") / 3
            while not words and (
                message := await agent.wait_for(*PERCEPTORS, within=deadline - agent.now)
            ):
                found = [p for p in message.value if p[:1] == ["hear"] and "self" in p]
                words += [str(perceptor[-1]) for perceptor in found]
        if not words:
            raise Inconclusive("received no hear perceptor: the robot can be without ears")
        check(words[0] == word, f"the agent to hear {word}", f"it heard {words[0][:60]}")
        for _ in range(SILENT):
            await next_perceptors(agent)
        again = len(_heard_words(agent))
        await next_perceptors(agent)
        came = f"received it again after {SILENT} more groups of perceptors"
        check(
            len(_heard_words(agent)) == again,
            f"the agent to hear {word} only once",
            came,
        )


@requirement("agents.heard")
async def test_words_of_others_are_heard(iut: Iut) -> None:
    """An agent hears the words of a teammate near by."""
    async with (
        iut.instance() as instance,
        play_agent(iut, instance) as one,
        play_agent(iut, instance) as other,
    ):
        for agent, across in ((one, 1), (other, -1)):
            await agent.send(expressions(f"(beam -2 {across} 0)"))
        own: list[str] = []
        for speaker, listener in ((one, other), (other, one)):
            word, words = f"from_{speaker.number}", list[str]()
            left = listener.countdown("response")
            while word not in words and left() > 0:
                await speaker.send(expressions(f"(say {word})"))
                await next_perceptors(listener)
                words, own = _heard_words(listener), own + _heard_words(speaker)
            if word not in words and not own:
                raise Inconclusive("received no hear perceptor: the robot can be without ears")
            check(
                word in words,
                f"the agent to hear {word}, said by a teammate near by",
                f"it heard {', '.join(words[-3:]) or 'nothing'}",
            )


def _heard_words(agent: Session) -> list[str]:
    """Return all words that an agent has heard so far."""
    groups = (message.value for message in agent.received if message.name in PERCEPTORS)
    return [str(item[-1]) for group in groups for item in group if item[:1] == ["hear"]]


@requirement("monitors.not-for-agents")
async def test_commands_of_a_trainer_from_an_agent(iut: Iut) -> None:
    """Trainer commands on the connection of an agent do not change the game."""
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        async with play_agent(iut, instance) as agent:
            await watch.settle()
            modes = watch.view.play_modes
            if "PlayOn" in modes:
                await watch.play()
            state, now = dict(watch.view.state), watch.view.play_mode
            half = watch.view.parameter("RuleHalfTime", 300.0)
            # The clock itself cannot reach a time that is half of a half away.
            time = round((watch.view.clock + half / 2) % half)
            other_modes = {modes[-1], *(mode for mode in modes if mode.startswith("KickOff_R"))} - {
                now
            }
            commands = (
                "(score (left 7)(right 8))",
                f"(time {time})",
                "(kickOff Right)",
                f"(playMode {modes[-1]})",
                "((score (left 7)(right 8)))",
            )
            for text in commands:
                await agent.send(expressions(text))
            quiet = await watch.is_still_false(
                lambda view: (
                    view.value("score_left") == 7
                    or view.play_mode in other_modes
                    or time <= view.clock < time + half / 8
                ),
                2 * watch.session.seconds("quiet"),
            )
            check(
                quiet,
                f"the state to stay {state}",
                f"it became {watch.view.state} after commands from an agent",
            )
            await next_perceptors(agent)
        await watch.check_obeyed("commands of a trainer from an agent")


@requirement("monitors.not-for-agents")
async def test_an_agent_does_not_move_the_ball(iut: Iut) -> None:
    """Trainer commands on the connection of an agent move neither the ball nor an agent."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance, "Lefts") as agent,
    ):
        await watch.settle()
        await watch.play()
        place, other = watch.find_vacant(0.31, -0.43), watch.find_vacant(-0.37, 0.41)
        await agent.send(expressions(f"(ball (pos {place.x} {place.y} 0.1))"))
        name = name_of(agent) or Name(1, "Left")
        await agent.send(expressions(f"(agent {name}(pos {other.x} {other.y} 0.4))"))
        stayed = await watch.is_still_false(
            lambda view: place.is_occupied(view) or other.is_occupied(view),
            2 * watch.session.seconds("quiet"),
        )
        check(stayed, "the ball and the agents to stay", f"something is now at {place} or {other}")
