"""Agents: they are created, perceive and act; commands of trainers are not theirs."""

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.codec import encode, frame
from conformance.simspark.server.tester.agents import (
    PERCEPTORS,
    TURNED,
    Name,
    angles,
    fresh,
    hinge,
    hinge_angle,
    hinge_angles,
    hinge_names,
    name_of,
    passed_over,
    perceptors,
    playing,
    turns,
)
from conformance.simspark.server.tester.monitors import watching
from conformance.simspark.tester import expressions, for_long
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

LONG = 5.0  # seconds, in which a server at its usual rate sends 250 groups of perceptors
GROUPS = 220  # that it has sent by then, unless the machine is busy
SILENT = 10  # groups of perceptors by which all that was said has been heard
ACTS = frame(b"(he1 0)(he2 0)".ljust(300))
"""What an agent sends in each cycle: by then more bytes than a count of 16 bits holds."""
STIFF = 0.5  # degrees that the stiffest hinge turns before it is at its stop


async def _attends_for_long(agent: Session, acts: bytes = b"") -> None:
    """Take what comes for long, and act upon each group."""

    async def take() -> None:
        await perceptors(agent)
        await agent.send_bytes(acts)

    await for_long(agent, LONG, GROUPS, take)


@requirement("agents.perceptors")
@lasting
async def test_perceptors_keep_coming(iut: Iut) -> None:
    """Once it is created and initialised, an agent is sent perceptors again and again."""
    async with iut.instance() as instance, playing(iut, instance) as agent:
        await _attends_for_long(agent)


@requirement("agents.perceptors")
async def test_perceptors_of_several_agents(iut: Iut) -> None:
    """Every agent is sent perceptors: of either team, and one that comes after one has left."""
    async with (
        iut.instance() as instance,
        playing(iut, instance, "Lefts") as first,
        playing(iut, instance, "Lefts") as second,
    ):
        async with playing(iut, instance, "Rights") as third:
            for agent in (first, second, third, first):
                await perceptors(agent)
        async with playing(iut, instance, "Rights") as fourth:
            for agent in (first, second, fourth):
                await fresh(agent)


@requirement("agents.perceptors")
async def test_perceptors_in_every_play_mode(iut: Iut) -> None:
    """They come whatever the play mode is; at the end of the game an agent may be let go."""
    async with (
        iut.instance() as instance,
        watching(iut, instance) as watch,
        playing(iut, instance) as agent,
    ):
        for mode in sorted(watch.view.play_modes, key="GameOver".__eq__):
            await watch.command(f"(playMode {mode})")
            await watch.some(2)
            if not agent.ended:
                await fresh(agent)


@requirement("agents.perceptors")
async def test_perceptors_of_one_that_acts(iut: Iut) -> None:
    """Effectors, one by one and several in a message, do not stop them."""
    async with iut.instance() as instance, playing(iut, instance) as agent:
        for text in ("(syn)", "(he1 0.1)(he2 -0.1)", "(say hello)", "(beam -2 1 0)", "(he1 0)"):
            await agent.send(expressions(text))
            await fresh(agent)


@requirement("agents.joints")
async def test_hinges_are_told_again_and_again(iut: Iut) -> None:
    """The position of a hinge comes with every group of perceptors, or nearly so."""
    async with iut.instance() as instance, playing(iut, instance) as agent:
        _, name = hinge_names(iut)
        groups = [message for message in agent.received if message.name in PERCEPTORS]
        if not any(hinge(message, name) is not None for message in groups):
            await hinge_angle(iut, agent)
        await passed_over(agent)
        came = len(await hinge_angles(agent, name, 20))
        check(came > 1, f"the position of {name} again and again", f"it came {came} times more")


@requirement("agents.joints")
async def test_hinges_of_every_agent(iut: Iut) -> None:
    """The second agent is sent its hinges as well."""
    async with (
        iut.instance() as instance,
        playing(iut, instance, "Lefts") as first,
        playing(iut, instance, "Rights") as second,
    ):
        await hinge_angle(iut, first)
        _, name = hinge_names(iut)
        await passed_over(second)
        check(
            len(await hinge_angles(second, name, 1)) > 0,
            f"the position of {name} to the second agent",
            "it does not come, and does to the first",
        )


@requirement("agents.effectors")
async def test_a_hinge_turns(iut: Iut) -> None:
    """A hinge turns by its effector while the game goes on, and back by the opposite speed."""
    async with (
        iut.instance() as instance,
        watching(iut, instance),
        playing(iut, instance) as agent,
    ):
        there = await turns(iut, agent, 0.75)
        back = await turns(iut, agent, -0.75)
        check(
            there * back < 0,
            "opposite speeds to turn a hinge in opposite directions",
            f"it turned by {there:.1f} and by {back:.1f} degrees",
        )


@requirement("agents.effectors")
@lasting
async def test_a_hinge_turns_after_long(iut: Iut) -> None:
    """The hinge of each agent turns as well when both have been there, and one acted, for long."""
    async with (
        iut.instance() as instance,
        playing(iut, instance, "Lefts") as one,
        playing(iut, instance, "Rights") as other,
    ):
        await hinge_angle(iut, other)
        await _attends_for_long(other, ACTS)
        for agent in (other, one):
            await turns(iut, agent, 1.5, f", {LONG:g} s after agents have come")


@requirement("agents.effectors")
async def test_a_hinge_turns_among_others(iut: Iut) -> None:
    """An effector counts behind others in one message, known or not."""

    def last(effector: str) -> bytes:
        return encode(expressions(f"(syn)(say x)(he2 0)(nothing 1 2){effector}"))

    async with iut.instance() as instance, playing(iut, instance) as agent:
        await turns(iut, agent, 2.0, ", the last of five effectors", last)


@requirement("frame.segmentation")
async def test_a_hinge_turns_by_one_of_several_messages(iut: Iut) -> None:
    """Of several messages of an agent in one write each counts, also one in the middle."""

    def between(effector: str) -> bytes:
        others = encode(expressions("(he2 0)(syn)")) * 3
        return others + encode(expressions(effector)) + others

    async with iut.instance() as instance, playing(iut, instance) as agent:
        await turns(iut, agent, 2.0)
        await turns(iut, agent, -2.0, " amid six other messages", between, None)


@requirement("agents.effectors")
async def test_each_agent_moves_its_own_hinge(iut: Iut) -> None:
    """The hinge of one agent turns by its own effectors only."""
    async with (
        iut.instance() as instance,
        playing(iut, instance, "Lefts") as one,
        playing(iut, instance, "Rights") as other,
    ):
        still = await hinge_angle(iut, other)
        await turns(iut, one, 2.0)
        now = await hinge_angle(iut, other)
        check(
            abs(now - still) < TURNED,
            "the hinge of the other agent to stay where it is",
            f"it turned from {still:.1f} to {now:.1f} degrees",
        )
        await turns(iut, other, 2.0, ", which the second agent sent")


class _Hinges:
    """How far each hinge has turned in what was looked at: its least and its greatest angle."""

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
    """Each hinge that is told turns, in one direction or the other, by the effector of its name."""
    effector, name = hinge_names(iut)
    if name.replace("j", "e") != effector:
        raise NotExercised(f"{effector} and {name} do not tell how effectors of hinges are named")
    hinges = _Hinges()

    def one_turned(message: Message) -> bool:
        hinges.look(message)
        return hinges.turned(name) > TURNED

    def all_turned(message: Message) -> bool:
        hinges.look(message)
        return not hinges.stiff

    async with iut.instance() as instance, playing(iut, instance) as agent:
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
                raise Inconclusive("most hinges have effectors of other names") from none
            expected = f"each of {count} hinges to turn by the effector of its name"
            raise Violation(expected, f"{', '.join(stiff)} did not turn") from none


@requirement("agents.heard")
async def test_own_words_are_heard(iut: Iut) -> None:
    """What an agent says it hears itself, as it was said."""
    async with iut.instance() as instance, playing(iut, instance) as agent:
        said = "Hello_17-World"
        heard: list[str] = []
        for _ in range(3):
            await agent.send(expressions(f"(say {said})"))
            deadline = agent.now + agent.seconds("response") / 3
            while not heard and (
                message := await agent.watch(*PERCEPTORS, within=deadline - agent.now)
            ):
                found = [p for p in message.value if p[:1] == ["hear"] and "self" in p]
                heard += [str(perceptor[-1]) for perceptor in found]
        if not heard:
            raise Inconclusive("no hear perceptor came: the robot may have no ears")
        check(heard[0] == said, f"{said} to be heard", f"{heard[0][:60]} was")
        for _ in range(SILENT):
            await fresh(agent)
        again = len(_heard(agent))
        await fresh(agent)
        came = f"it still is after {SILENT} groups of perceptors more"
        check(len(_heard(agent)) == again, f"{said} to be heard when it was said", came)


@requirement("agents.heard")
async def test_words_of_others_are_heard(iut: Iut) -> None:
    """What one agent says another of its team hears, which is near by."""
    async with (
        iut.instance() as instance,
        playing(iut, instance) as one,
        playing(iut, instance) as other,
    ):
        for agent, across in ((one, 1), (other, -1)):
            await agent.send(expressions(f"(beam -2 {across} 0)"))
        own: list[str] = []
        for speaker, listener in ((one, other), (other, one)):
            said, heard = f"from_{speaker.number}", list[str]()
            left = listener.left("response")
            while said not in heard and left() > 0:
                await speaker.send(expressions(f"(say {said})"))
                await fresh(listener)
                heard, own = _heard(listener), own + _heard(speaker)
            if said not in heard and not own:
                raise Inconclusive("no hear perceptor came: the robot may have no ears")
            check(
                said in heard,
                f"{said}, which another agent says near by, to be heard",
                f"{', '.join(heard[-3:]) or 'nothing'} was",
            )


def _heard(agent: Session) -> list[str]:
    """What an agent has been told so far that it heard."""
    groups = (message.value for message in agent.received if message.name in PERCEPTORS)
    return [str(item[-1]) for group in groups for item in group if item[:1] == ["hear"]]


@requirement("monitors.not-for-agents")
async def test_commands_of_a_trainer_from_an_agent(iut: Iut) -> None:
    """Commands of a trainer that an agent sends change nothing, whenever it does."""
    async with iut.instance() as instance, watching(iut, instance) as watch:
        async with playing(iut, instance) as agent:
            await watch.settle()
            modes = watch.view.play_modes
            if "PlayOn" in modes:
                await watch.play()
            state, now = dict(watch.view.state), watch.view.play_mode
            asked = {modes[-1], *(mode for mode in modes if mode.startswith("KickOff_R"))} - {now}
            commands = (
                "(score (left 7)(right 8))",
                "(time 77)",
                "(kickOff Right)",
                f"(playMode {modes[-1]})",
                "((score (left 7)(right 8)))",
            )
            for text in commands:
                await agent.send(expressions(text))
            quiet = await watch.never(
                lambda view: (
                    view.value("score_left") == 7
                    or view.play_mode in asked
                    or 77 <= view.clock < 90
                ),
                2 * watch.session.seconds("quiet"),
            )
            check(
                quiet,
                f"the state to stay {state}",
                f"it became {watch.view.state} by commands that an agent sent",
            )
            await fresh(agent)
        await watch.obeys("commands of a trainer from an agent")


@requirement("monitors.not-for-agents")
async def test_an_agent_does_not_move_the_ball(iut: Iut) -> None:
    """A trainer's commands from an agent move neither the ball nor another agent."""
    async with (
        iut.instance() as instance,
        watching(iut, instance) as watch,
        playing(iut, instance, "Lefts") as agent,
    ):
        await watch.settle()
        await watch.play()
        place, other = watch.place(0.31, -0.43), watch.place(-0.37, 0.41)
        await watch.empty(place)
        await watch.empty(other)
        await agent.send(expressions(f"(ball (pos {place.x} {place.y} 0.1))"))
        name = name_of(agent) or Name(1, "Left")
        await agent.send(expressions(f"(agent {name}(pos {other.x} {other.y} 0.4))"))
        stayed = await watch.never(
            lambda view: place.taken(view) or other.taken(view),
            2 * watch.session.seconds("quiet"),
        )
        check(stayed, "ball and agents to stay", f"something is at {place} or {other} now")
