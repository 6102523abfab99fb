"""Input that a server must survive: wrong commands, malformed texts, wrong lengths."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.cases import check, explore, lasting, requirement
from conformance.iut import Iut
from conformance.many_clients import visit_often
from conformance.memory import check_growth, final_growth, memory_growth
from conformance.session import Session
from conformance.simspark import malformed, strategies
from conformance.simspark.codec import STATES, encode
from conformance.simspark.server.tester.agents import (
    LATER_PERCEPTORS,
    check_served,
    check_turns,
    create,
    play_agent,
)
from conformance.simspark.server.tester.match import match
from conformance.simspark.server.tester.monitors import Watch, watch_server
from conformance.simspark.tester import LONG_NUMBERS, ODD_NUMBERS, expressions
from conformance.verdicts import NotExercised, Unreachable, Violation

CLIENT_COUNT = 22
"""Connections that come and go, and messages in one write.

The number is that of the players in a match.
"""

WRONG = (
    "(fly me to the moon)",
    f"(fly {'x' * 1000})",
    "(playMode NoSuchMode)",
    "(playMode)",
    "(ball (pos here))",
    "(ball (pos 1))",
    "(agent (unum 99)(team Purple)(pos 0 0 0))",
    "(agent)",
    "(kickOff Nobody)",
    "(kickOff)",
    "(kill (unum 5)(team Left))",
    "(kill)",
    "(repos)",
    "(select (unum 3)(team Left))",
    "(time)",
    "(time soon)",
    "(score (left 1))",
    "(score)",
    "(dropBall x y)",
    "(select (unum 99)(team Left))",
    "(kill (unum -1)(team Right))",
    "(score (left 99999999999999999999)(right 0))",
    "(select (unum 5)(team None))",
    "(kill (unum 5)(team None))",
    "(repos (unum 5)(team None))",
    "()",
    "word",
    "((()))",
    "((fly))",
)


@requirement("trainer.errors-silent")
async def test_errors_are_not_returned(iut: Iut) -> None:
    """Wrong commands produce no answer, and the states continue."""
    async with watch_server(iut) as watch:
        seen = len(watch.session.received)
        for text in WRONG:
            await watch.command(text)
        await _check_silence(watch, seen)


async def _check_silence(watch: Watch, seen: int) -> None:
    """Raise Violation if other messages than states have arrived, or the states stop.

    The first `seen` messages do not count.
    """
    async with watch.blaming_errors():
        await watch.check_obeyed("wrong commands", "robustness.unknown-commands")
        await watch.wait_for_states(3)
    # An empty message returns nothing. It can keep a connection alive.
    strange = [m for m in watch.session.received[seen:] if m.name not in (*STATES, "Empty")]
    for message in strange:
        check(False, "nothing but states", f"received {message.name}", message.event)


@requirement("robustness.unknown-commands")
async def test_unknown_commands(iut: Iut) -> None:
    """After unknown and wrong commands, the server still executes correct commands."""
    async with watch_server(iut) as watch:
        for text in WRONG:
            await watch.command(text)
            if text in WRONG[::5]:
                await watch.check_obeyed(text)
        await watch.check_obeyed("wrong commands")


@requirement("robustness.unknown-commands")
@explore(commands=strategies.wrong_commands())
async def test_any_wrong_commands(iut: Iut, commands: list[Any]) -> None:
    """Commands with one error each do not disturb the server."""
    async with watch_server(iut) as watch:
        for command in commands:
            await watch.session.send([command])
        await watch.check_obeyed("commands with one error each")


EFFECTORS = (
    "(dance)",
    f"(dance {'x' * 1000})",
    "(he1)",
    "(he1 fast)",
    "(he1 1 2 3)",
    "(beam)",
    "(beam here and there)",
    "(say)",
    "(say far_too_long_a_text_for_anybody_to_hear)",
    "(kick 1 2)",
    "()",
    "word",
    "(())",
    "(init)",
    "(he1 nan)(he1 inf)(he1 1e400)(he1 0)",
)
OUT_OF_RANGE = (
    "(init (unum 3)(teamname Lefts))",
    "(init (unum 12)(teamname Lefts))",
    "(init (unum -1)(teamname Lefts))",
    "(init (unum 4294967296)(teamname Lefts))",
    "(he1 1e30)(he1 0)",
    "(beam 1e30 -1e30 1e30)",
)
"""A second init, player numbers out of range, and huge values."""


@requirement("robustness.unknown-effectors")
async def test_unknown_effectors(iut: Iut) -> None:
    """An agent that sends unknown or wrong effectors is still served."""
    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        for text in EFFECTORS:
            await agent.send(expressions(text))
        for _ in range(4):
            await check_served(agent, "wrong effectors")
        async with watch_server(iut, instance) as watch:
            await watch.check_obeyed("wrong effectors")


@requirement("robustness.unknown-effectors")
@pytest.mark.parametrize("text", OUT_OF_RANGE)
async def test_values_out_of_range(iut: Iut, text: str) -> None:
    """An agent that sends a second init or values out of range is still served.

    Another agent and a monitor are served too.
    """
    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        await agent.send(expressions(text))
        for _ in range(4):
            await check_served(agent, text)
        async with watch_server(iut, instance) as watch:
            await watch.check_obeyed(text)
        async with play_agent(iut, instance) as other:
            await check_served(other, f"{text} from another agent")


@requirement("robustness.unknown-effectors")
async def test_odd_numbers_of_an_agent(iut: Iut) -> None:
    """An agent is still served after numbers that are non-finite, out of range or long."""
    async with iut.instance() as instance, play_agent(iut, instance) as agent:
        for number in (*ODD_NUMBERS, *LONG_NUMBERS):
            await agent.send(expressions(f"(he1 {number})(he1 0)"))
            await agent.send(expressions(f"(beam {number} {number} {number})(beam -1 0 0)"))
            await check_served(agent, f"effectors with the number {number:.30}")
        async with watch_server(iut, instance) as watch:
            await watch.check_obeyed("effectors with odd numbers")


WITH_NUMBERS = (
    *("(ball (pos {0} 0 1))", "(ball (pos 0 0 {0}))", "(ball (pos 1 1 1)(vel {0} {0} {0}))"),
    *("(agent {1}(pos {0} 0 1))", "(agent {1}(move 0 3 {0} 0))", "(agent {1}(move 0 3 1 {0}))"),
    *("(agent {1}(battery {0}))", "(agent {1}(temperature {0}))"),
    *("(agent (unum {0})(team Left)(pos 0 3 1))", "(select (unum {0})(team Left))"),
    *("(kill (unum {0})(team Left))", "(repos (unum {0})(team Right))"),
    *("(score (left {0})(right 1))", "(score (left 1)(right {0}))"),
)
"""Commands with a number at {0}, one for each place of a number; {1} names an agent."""
TIMES = ("-1e80", "1e-400", "5e-324", f"{'0' * 300}5", f"5.{'0' * 300}1")
"""Numbers for the time of the game. A great time would end the game."""


@requirement("robustness.odd-numbers")
@pytest.mark.parametrize("kind", ["odd", "long"])
async def test_odd_numbers(iut: Iut, kind: str) -> None:
    """A server survives numbers that are not finite, out of range, or very long."""
    async with match(iut) as game:
        for number in ODD_NUMBERS if kind == "odd" else LONG_NUMBERS:
            for text in WITH_NUMBERS:
                await game.watch.command(text.format(number, game.left))
            await game.watch.command(f"(ball (pos 0 0 1)(vel 0 0 0))(agent {game.left}(pos 0 3 1))")
            await game.watch.check_obeyed(f"commands with the number {number:.30}")
        for number in TIMES:
            await game.watch.command(f"(time {number})")
            await game.watch.check_obeyed(f"a command with the time {number:.30}")


@requirement("robustness.unknown-effectors")
async def test_numbers_out_of_range_before_init(iut: Iut) -> None:
    """An init with a number out of range does not crash the server."""
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        for unum in (12, -1, 4294967296):
            async with iut.connect(instance, channel="agent") as agent:
                await create(iut, agent)
                await agent.send(expressions(f"(init (unum {unum})(teamname Lefts))"))
                await watch.check_obeyed(f"an init with the number {unum}")
        await watch.session.assert_alive("numbers out of range")


@requirement("robustness.malformed")
@pytest.mark.parametrize("kind", malformed.TEXTS)
async def test_malformed(iut: Iut, kind: str) -> None:
    """A malformed text at either port disturbs neither the server nor another monitor."""
    async with iut.instance() as instance, watch_server(iut, instance) as other:
        for port in ("monitor", "agent"):
            async with iut.connect(instance, channel=port) as session:
                await session.send_bytes(malformed.TEXTS[kind])
                await other.check_obeyed(f"a text that is {kind}")
                await session.send_bytes(encode(expressions("(ball)")))
                await other.check_obeyed(f"a text that is {kind}, and a correct one after it")
        await other.session.assert_alive(kind)


@contextlib.contextmanager
def _excuse_closed(session: Session) -> Iterator[None]:
    """Ignore failures of a client if the server closed its connection."""
    try:
        yield
    except (Violation, NotExercised) as failure:
        if session.ended:
            return
        if isinstance(failure, Violation) and failure.requirement == LATER_PERCEPTORS:
            failure.requirement = None  # The server stopped serving only this client.
        raise


@requirement("robustness.malformed")
async def test_a_monitor_after_malformed_texts(iut: Iut) -> None:
    """After a malformed text, a monitor is disconnected, or its next command has its effect."""
    async with iut.instance() as instance, contextlib.AsyncExitStack() as stack:
        watch = await stack.enter_async_context(watch_server(iut, instance))
        for kind, text in malformed.TEXTS.items():
            if watch.session.ended:
                watch = await stack.enter_async_context(watch_server(iut, instance))
            with _excuse_closed(watch.session):
                await watch.check_obeyed(
                    f"a text from the same monitor that is {kind}", prefix=text
                )
            await watch.session.assert_alive(kind)


@requirement("robustness.malformed")
async def test_an_agent_after_malformed_texts(iut: Iut) -> None:
    """After a malformed text, an agent is disconnected, or its next effector has its effect."""
    async with iut.instance() as instance, contextlib.AsyncExitStack() as stack:
        agent = await stack.enter_async_context(play_agent(iut, instance))
        speed = 2.0
        await check_turns(iut, agent, speed)
        for kind, text in malformed.TEXTS.items():
            if agent.ended:
                agent = await stack.enter_async_context(play_agent(iut, instance))
            await agent.send_bytes(text)
            speed = -speed
            with _excuse_closed(agent):
                await check_turns(
                    iut, agent, speed, f", sent after a text that is {kind}", about=None
                )
            await agent.assert_alive(kind)


@requirement("robustness.empty-message")
async def test_empty_messages(iut: Iut) -> None:
    """Messages of length 0 have no effect, between other messages and many at once."""
    async with watch_server(iut) as watch:
        await watch.session.send([])
        await watch.check_obeyed("an empty message")
        await watch.session.send_bytes(bytes(4 * CLIENT_COUNT))
        watch.waiting = CLIENT_COUNT
        await watch.check_obeyed(f"{CLIENT_COUNT} empty messages")
        together = encode(expressions("(score (left 1)(right 71))"))
        await watch.session.send_bytes(bytes(4 * CLIENT_COUNT) + together)
        watch.waiting = CLIENT_COUNT
        await watch.wait_until(
            lambda view: view.value("score_right") == 71,
            f"show a score sent in one write with {CLIENT_COUNT} empty messages",
            within=watch.effect_deadline(),
            now=lambda view: f"score_right is {view.state.get('score_right')}",
        )
        await watch.session.send_bytes(bytes(2))
        await watch.session.wait_until_taken()
        await watch.session.send_bytes(bytes(2))
        await watch.check_obeyed("an empty message in two halves")


@requirement("robustness.huge-length")
@pytest.mark.parametrize("port", ["monitor", "agent"])
async def test_huge_length(iut: Iut, port: str) -> None:
    """A length of gigabytes disturbs no other client and allocates no memory."""
    async with iut.instance() as instance, watch_server(iut, instance) as other:
        for length in (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
            async with (
                iut.connect(instance, channel=port) as session,
                memory_growth(session) as growth,
            ):
                await session.send_bytes(length.to_bytes(4, "big") + b" " * 40_000)
                await other.check_obeyed(f"a length of {length:#x} at the port of the {port}s")
                check_growth(await final_growth(session, growth))
            await other.check_obeyed("the sender of a huge length disconnected")
        await other.session.assert_alive("a huge length")


@requirement("robustness.wrong-length")
async def test_wrong_length(iut: Iut) -> None:
    """A wrong length disturbs only the connection of its sender."""
    async with iut.instance() as instance, watch_server(iut, instance) as other:
        for kind, data in malformed.LENGTHS.items():
            async with iut.connect(instance, channel="monitor") as session:
                await session.send_bytes(data)
                await other.check_obeyed(f"a length that is {kind}")
                # A length that is too large is now complete. The length of this message becomes
                # part of its text.
                await session.send(expressions("(reqfullstate)"))
            await other.check_obeyed(f"a length that is {kind}, whose sender disconnected")
        async with watch_server(iut, instance) as next_one:
            await next_one.check_obeyed("an earlier monitor with wrong lengths")


@requirement("robustness.several-clients")
async def test_clients_come_and_go(iut: Iut) -> None:
    """When monitors and agents disconnect, even inside a message, the others are still served."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance) as agent,
    ):
        for channel in ("monitor", "agent", "monitor", "agent"):
            async with iut.connect(instance, channel=channel) as session:
                await session.send_bytes(encode(expressions("(score (left 9)(right 9))"))[:9])
                await session.close()
            await watch.check_obeyed(f"a disconnect of a {channel} inside a message")
            await check_served(agent, f"a disconnect of a {channel} inside a message")
        async with play_agent(iut, instance, "Rights"), watch_server(iut, instance) as another:
            await another.check_obeyed("disconnects of other clients")
        await check_served(agent, "disconnects of other clients")
        for number in range(CLIENT_COUNT):
            async with iut.connect(instance, channel="monitor") as passing:
                await passing.expect(*STATES, to=f"after {number} monitors have come and gone")
                await passing.close()
        await watch.check_obeyed("disconnects of all other monitors")
        await watch.session.assert_alive("clients that come and go")


@requirement("robustness.several-clients")
async def test_many_monitors(iut: Iut) -> None:
    """Three monitors are all served at the same time."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as a,
        watch_server(iut, instance) as b,
        watch_server(iut, instance) as c,
    ):
        for watch in (c, a, b):
            await watch.check_obeyed("the commands of others")


@requirement("robustness.several-clients")
@lasting
@pytest.mark.parametrize("channel", ["monitor", "agent"])
async def test_very_many_clients(iut: Iut, channel: str) -> None:
    """Clients are served after more clients than a process can have open files."""
    scene = expressions(f"(scene {iut.configuration.value('scene')})")
    visit = encode(scene) if channel == "agent" else b""
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        number = await visit_often(watch.session, lambda: visit, iut.seconds("quiet"), channel)
        after = f"{number} other clients at the port of the {channel}s"
        await watch.session.assert_alive(after)
        try:
            async with watch_server(iut, instance) as later, play_agent(iut, instance) as agent:
                await later.check_obeyed(after)
                await check_served(agent, after)
        except (Unreachable, Violation) as none:
            came = none.came if isinstance(none, Violation) else str(none)
            raise Violation(f"new clients to be served after {after}", came) from none


PARTS = {"nothing": 0, "half a length": 2, "half a text": 9}
"""The part of a message that has arrived, with its size in bytes."""


@requirement("robustness.several-clients")
@pytest.mark.parametrize("channel", ["monitor", "agent"])
async def test_clients_that_break_off(iut: Iut, channel: str) -> None:
    """When a client resets its connection, the others are still served."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance) as agent,
    ):
        for part, size in PARTS.items():
            what = f"a reset by another {channel}, which had sent {part}"
            async with (
                watch_server(iut, instance) if channel == "monitor" else play_agent(iut, instance)
            ) as other:
                session = other.session if isinstance(other, Watch) else other
                await session.send_bytes(encode(expressions("(score (left 9)(right 9))"))[:size])
                await session.break_off()
            await watch.check_obeyed(what)
            await check_served(agent, what)


@requirement("robustness.several-clients")
async def test_clients_that_wait(iut: Iut) -> None:
    """While a client is inside a message, other clients are served, and new clients too."""
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance) as agent,
    ):
        for channel in ("monitor", "agent"):
            for part, size in PARTS.items():
                what = f"another {channel} sent {part} and paused"
                async with iut.connect(instance, channel=channel) as session:
                    await session.send_bytes(encode(expressions("(time 5)"))[:size])
                    await session.wait_until_taken()
                    await watch.check_obeyed(what)
                    await check_served(agent, what)
                    async with iut.connect(instance, channel="monitor") as passing:
                        await passing.expect(*STATES, to=f"after {what}")
