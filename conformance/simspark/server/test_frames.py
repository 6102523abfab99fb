"""Messages in a stream: correct lengths, any segmentation, ASCII text."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Iterable

import pytest

from conformance import generation
from conformance.cases import compared, each_of, explore, lasting, requirement
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation, byte_by_byte, split_at
from conformance.session import Session
from conformance.simspark import malformed, strategies
from conformance.simspark.codec import STATES, encode, frame
from conformance.simspark.server.tester.agents import (
    check_served,
    check_turns,
    create,
    perceptors,
    play_agent,
)
from conformance.simspark.server.tester.commands import check_order
from conformance.simspark.server.tester.monitors import (
    KEEPS_SENDING,
    Place,
    Watch,
    places_of_balls,
    watch_server,
)
from conformance.simspark.tester import (
    FORMS_OF_NUMBERS,
    blame_pieces,
    expressions,
    judge_one_session,
)
from conformance.simspark.view import View
from conformance.verdicts import Inconclusive, NotExercised, Violation

PLAYERS = 22  # the players of a match
HELD = 1_000_000  # bytes; twice what an operating system buffers in small unread segments
SIZES = (
    *(255, 256, 300, 1023, 1024, 1025, 4095, 4096, 4097),
    *(32_768, 65_535, 65_536, 65_537),
)
"""Sizes of texts in bytes, at the usual limits of lengths and buffers."""
BURST = 70  # messages in one write; more than a small queue of messages has room for
FULLS = 100  # requests for a full scene graph, to exceed HELD bytes


async def _play_ordinary_session(iut: Iut) -> None:
    """Play a session of a monitor and an agent, with some messages of each kind."""
    async with iut.instance() as instance, watch_server(iut, instance) as watch:
        async with play_agent(iut, instance) as agent:
            for _ in range(5):
                await perceptors(agent)
            await watch.settle()
        await watch.check_obeyed("an agent that came and went", "score.set")


@each_of("frame.length-prefix", "text.s-expressions", "text.ascii", "text.predicates")
async def test_ordinary_session(iut: Iut, statement: str) -> None:
    """All messages to a monitor and an agent in an ordinary session satisfy this requirement."""
    await judge_one_session(iut, "ordinary", _play_ordinary_session, fails=KEEPS_SENDING)


@requirement("frame.length-prefix")
async def test_lengths_of_more_than_two_bytes(iut: Iut) -> None:
    """A scene of more than 64 KiB has a correct length.

    The robots of a match make the scene large.
    """
    async with contextlib.AsyncExitStack() as others:
        instance = await others.enter_async_context(iut.instance())
        await _add_robots(iut, instance, others, PLAYERS)
        monitor = await others.enter_async_context(iut.connect(instance, channel="monitor"))
        left = monitor.countdown("response")
        while message := await monitor.wait_for(*STATES, within=left):
            if len(monitor.events[message.event].data or b"") > 1 << 16:
                await monitor.expect(*STATES)
                return
        raise NotExercised(f"scenes are shorter than 64 KiB even with {PLAYERS} robots")


async def _add_robots(
    iut: Iut, instance: Instance, others: contextlib.AsyncExitStack, count: int
) -> None:
    """Connect agents that create a robot each. Their perceptors are many, and are not read."""
    for _ in range(count):
        agent = await others.enter_async_context(iut.connect(instance, channel="agent"))
        others.enter_context(agent.stop_reading())
        await agent.send(expressions(f"(scene {iut.configuration.value('scene')})"))


async def _play_without_reading(iut: Iut) -> None:
    async with contextlib.AsyncExitStack() as stack:
        instance = await stack.enter_async_context(iut.instance())
        async with contextlib.AsyncExitStack() as others:
            watch = await others.enter_async_context(watch_server(iut, instance))
            agent = await others.enter_async_context(play_agent(iut, instance))
            await _add_robots(iut, instance, others, PLAYERS - 1)
            instance.narrow = True
            slow = await stack.enter_async_context(iut.connect(instance, channel="monitor"))
            what = "another monitor stops reading"
            enough = watch.session.size + HELD
            with slow.stop_reading():
                for _ in range(FULLS):
                    # A server sends the full graph to the monitor that requests it, or to all.
                    for monitor in (slow, watch.session):
                        await monitor.send(expressions("(reqfullstate)"))
                    if not await watch.session.wait_for(*STATES) or watch.session.size > enough:
                        break
                await watch.check_obeyed(what)
                await check_served(agent, what)
            # A server that gives up the monitor can leave the last message incomplete.
            slow.judge.reset(slow.role.name)
            late, left, score = View(), slow.countdown("response"), watch.view.value("score_left")

            def is_late() -> bool:
                return late.clock < watch.view.clock or late.value("score_left") != score

            while is_late() and (message := await slow.wait_for(*STATES, within=left)):
                late.take(message.value)
            if late.clock >= watch.view.clock and not slow.ended and is_late():
                raise Violation(
                    f"the slow monitor to get score_left {score:g}, set while it did not read",
                    f"its score_left is {late.state.get('score_left')}",
                )
        if watch.session.size <= enough:
            raise NotExercised(
                "the scene graphs are too short to fill the buffers of the operating system"
            )


@each_of("robustness.slow-monitor", "frame.length-prefix")
async def test_a_monitor_that_does_not_read(iut: Iut, statement: str) -> None:
    """While a monitor does not read, others are served.

    The slow monitor gets complete messages or is disconnected.
    """
    await judge_one_session(iut, "unread", _play_without_reading, fails="robustness.slow-monitor")


@requirement("robustness.slow-monitor")
@lasting
async def test_an_agent_that_does_not_read(iut: Iut) -> None:
    """While an agent does not read, others are served.

    Another agent, which reads, shows how many bytes the server has written for each of them.
    """
    async with (
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
        play_agent(iut, instance) as agent,
    ):
        instance.narrow = True
        async with iut.connect(instance, channel="agent") as slow:
            await create(iut, slow)
            with slow.stop_reading():
                await _check_served_beside(iut, agent, "another agent stops reading")
                await watch.check_obeyed("an agent stopped reading")


async def _check_served_beside(iut: Iut, agent: Session, what: str) -> None:
    """Check that an agent is served until the server has written `HELD` / 2 bytes for another.

    Raises NotExercised if that takes longer than --max-wait.
    """
    began, before, limit = agent.now, agent.size, iut.configuration.max_wait
    while (came := agent.size - before) < HELD / 2:
        await check_served(agent, what)
        passed = agent.now - began
        if passed > limit / 4 and HELD / 2 * passed > limit * max(came, 1):
            raise NotExercised(
                f"the perceptors of an agent take longer than --max-wait {limit:g} to fill the "
                "buffers of the operating system"
            )


async def _check_scores(watch: Watch, data: bytes, left: int, right: int, how: str) -> None:
    """Send bytes that set the score, and wait for that score."""
    await watch.session.send_bytes(data)
    await _is_shown(watch, left, right, how)


async def _is_shown(watch: Watch, left: int, right: int, how: str) -> None:
    await watch.check_score(left, right, f", which was set by {how}")


@contextlib.asynccontextmanager
async def _as_plain_scores(iut: Iut) -> AsyncIterator[None]:
    """Raise Inconclusive for a violation in this block if a plain command fails as well."""

    async def is_shown() -> bool:
        async with watch_server(Iut(iut.testbed, "")) as watch:
            for left, right in ((1, 1), (1, 2), (2, 1)):
                await watch.session.send_bytes(_score(left, right))
                try:
                    await watch.check_score(left, right, "")
                except Violation:
                    return False
        return True

    try:
        yield
    except Violation as wrong:
        if wrong.requirement is None and not await iut.cached("a plain score is shown", is_shown):
            text = f"{wrong}; the states do not show every score after a plain command either"
            raise Inconclusive(text) from wrong
        raise


def _score(left: int, right: int) -> bytes:
    return encode(expressions(f"(score (left {left})(right {right}))"))


@requirement("frame.segmentation")
async def test_cut_at_every_byte(iut: Iut) -> None:
    """A command has its effect if it is cut in two at any byte."""
    async with _as_plain_scores(iut), watch_server(iut) as watch:
        for place in range(1, len(_score(1, 1))):
            data = _score(place % 9, 1 + place % 2)
            await watch.session.send_bytes(data, segmentation=split_at([place]))
            if place < 6 or place > len(data) - 3 or place % 6 == 0:
                how = f"a command that was cut after byte {place}"
                await _is_shown(watch, place % 9, 1 + place % 2, how)


@requirement("frame.segmentation")
async def test_byte_by_byte(iut: Iut) -> None:
    """A command that arrives byte by byte has its effect."""
    async with _as_plain_scores(iut), watch_server(iut) as watch:
        await watch.session.send_bytes(_score(3, 4), segmentation=byte_by_byte)
        await _is_shown(watch, 3, 4, "a command that came byte by byte")


@requirement("frame.segmentation")
async def test_byte_by_byte_of_a_later_monitor(iut: Iut) -> None:
    """A command that arrives byte by byte from a later monitor has its effect."""
    async with _as_plain_scores(iut), iut.instance() as instance:
        async with watch_server(iut, instance) as watch:
            await _check_scores(watch, _score(1, 2), 1, 2, "the first monitor")
        async with watch_server(iut, instance) as watch:
            await watch.session.send_bytes(_score(3, 4), segmentation=byte_by_byte)
            await _is_shown(watch, 3, 4, "a later monitor, whose command came byte by byte")


@requirement("frame.segmentation")
async def test_several_in_one_write(iut: Iut) -> None:
    """Each of several messages in one write has its effect, the first and the last."""
    async with _as_plain_scores(iut), watch_server(iut) as watch:
        mode = watch.view.play_modes[-1]
        together = encode(expressions(f"(playMode {mode})")) + encode(expressions("(time 7)"))
        await watch.session.send_bytes(_score(1, 1) + together + _score(5, 6))
        await _is_shown(watch, 5, 6, "the last of several messages in one write")
        await watch.wait_until(
            lambda view: view.clock >= 7,
            "show the time that the third of several messages in one write has set",
        )


@requirement("frame.segmentation")
async def test_a_burst(iut: Iut) -> None:
    """Many messages in one write all arrive. A server can need a state for each of them."""
    async with _as_plain_scores(iut), watch_server(iut) as watch:
        await watch.session.send_bytes(b"".join(_score(goals, 1) for goals in range(1, BURST + 1)))
        shown = 0.0
        for _ in range(BURST):
            before = shown
            await watch.wait_until(
                lambda view, before=before: view.value("score_left") not in (before, None),  # type: ignore[misc]
                f"show the score of the last of {BURST} messages in one write",
                now=lambda view: f"score_left is {view.state.get('score_left')}, not {BURST}",
            )
            shown = watch.view.value("score_left") or 0.0
            if shown == BURST:
                return


@requirement("text.order")
async def test_commands_of_one_message(iut: Iut) -> None:
    """The last of several commands in one message takes effect last."""
    async with watch_server(iut) as watch:
        await watch.settle()
        time = round(0.4 * watch.view.parameter("RuleHalfTime", 300.0))
        await watch.command(f"(score (left 1)(right 2))(time {time})(score (left 3)(right 4))")
        try:
            await watch.wait_until(lambda view: view.clock >= time, f"show the time {time}")
        except Violation as none:
            raise Inconclusive(f"the second command has no effect: {none}") from none
        await watch.check_score(3, 4, ", the last one that a message set")


@requirement("frame.segmentation")
async def test_in_order(iut: Iut) -> None:
    """The server executes messages, long and short, in the order of their arrival."""
    async with watch_server(iut) as watch:
        await check_order(watch)


@requirement("frame.segmentation")
async def test_a_message_and_a_half(iut: Iut) -> None:
    """A message that begins in one write and ends in another has its effect."""
    async with _as_plain_scores(iut), watch_server(iut) as watch:
        for cut, (left, right) in zip((2, 4, 15), ((1, 2), (2, 3), (3, 4)), strict=True):
            last = _score(left, right)
            await watch.session.send_bytes(_score(9, 9) + last[:cut])
            await _is_shown(watch, 9, 9, "a message followed by the beginning of another")
            await watch.session.until_closed("quiet")
            await _check_scores(watch, last[cut:], left, right, f"a message cut after byte {cut}")


@requirement("frame.segmentation")
async def test_agents_cut_into_pieces(iut: Iut) -> None:
    """The server serves an agent whose messages all arrive byte by byte."""
    async with iut.instance() as instance, play_agent(iut, instance):
        try:
            async with play_agent(iut, instance, segmentation=byte_by_byte) as agent:
                await agent.send(expressions("(he1 0.1)"))
                await perceptors(agent)
        except Violation as none:
            expected = f"{none.expected} to an agent whose messages come byte by byte"
            raise Violation(expected, none.came, event=none.event) from none


@requirement("frame.segmentation")
async def test_two_streams_at_once(iut: Iut) -> None:
    """Half a message of one monitor does not mix with messages of another monitor."""
    async with (
        _as_plain_scores(iut),
        iut.instance() as instance,
        watch_server(iut, instance) as one,
        watch_server(iut, instance) as other,
    ):
        data = _score(4, 2)
        for place in (2, 4, 20):
            await one.session.send_bytes(data[:place])
            await other.session.wait_until_taken()
            await _check_scores(
                other,
                _score(place, 1),
                place,
                1,
                "another monitor, while the first one has sent half a message",
            )
            await one.state()
            await one.session.send_bytes(data[place:])
            await _is_shown(
                one, 4, 2, "a message in two parts, with a message of another monitor in between"
            )


@requirement("frame.length-prefix")
async def test_length_counts_the_text_alone(iut: Iut) -> None:
    """The length counts blanks after a command, which are not part of the next message."""
    async with _as_plain_scores(iut), watch_server(iut) as watch:
        for left, text in (
            (1, "(score (left 1)(right 0))"),
            (2, "(score (left 2)(right 0)) "),
            (3, "(score (left 3) (right 0))  "),
        ):
            payload = text.encode()
            data = len(payload).to_bytes(4, "big") + payload
            await _check_scores(watch, data, left, 0, f"the text {text!r}")


async def _command_in_pieces(iut: Iut, pieces: Segmentation | None) -> None:
    """Send a command in pieces, or whole. Raises Violation if it has no effect."""
    async with watch_server(iut) as watch:
        await watch.session.send_bytes(_score(3, 4), segmentation=pieces)
        await _is_shown(watch, 3, 4, "a short command")


async def _act_in_pieces(iut: Iut, pieces: Segmentation | None) -> None:
    """Send all messages of an agent in pieces, or whole. Raises Violation if one is lost."""
    async with (
        iut.instance() as instance,
        play_agent(iut, instance, segmentation=pieces) as agent,
    ):
        await check_turns(iut, agent, 2.0)


@requirement("frame.length-prefix")
@pytest.mark.parametrize("bit", malformed.HIGH_BITS)
async def test_all_bits_of_a_length(iut: Iut, bit: int) -> None:
    """The server reads all 32 bits of a length.

    It takes no message from inside an incomplete message.
    """
    async with (
        blame_pieces(iut, _command_in_pieces),
        iut.instance() as instance,
        watch_server(iut, instance) as watch,
    ):
        await watch.check_obeyed("nothing else")
        async with iut.connect(instance, channel="monitor") as session:
            await session.send_bytes(malformed.message_beyond_bit(bit, _score(93, 94)))
            is_unread = await watch.is_still_false(
                lambda view: view.value("score_right") == 94, watch.session.seconds("quiet")
            )
            malformed.check_read_in_full(bit, not is_unread)
            try:
                await watch.check_obeyed(f"a length of {1 << bit:#x}")
            except Violation as lost:
                lost.requirement = "robustness.huge-length"
                raise


@requirement("text.white-space")
async def test_white_space(iut: Iut) -> None:
    """Blanks, tabs and line ends around brackets and between atoms have no meaning."""
    async with _as_plain_scores(iut), watch_server(iut) as watch:
        await _check_scores(watch, _score(7, 0), 7, 0, "a command without more white space")
        for left, text in (
            (1, " (score (left 1)(right 0))"),
            (2, "( score ( left 2 ) ( right 0 ) )"),
            (3, "(score (left 3)\n  (right 0))\n"),
            (4, "\t(score\t(left\t4)\r\n(right\t0))\r\n"),
        ):
            payload = text.encode()
            data = len(payload).to_bytes(4, "big") + payload
            await _check_scores(watch, data, left, 0, f"the text {text!r}")


@requirement("frame.length-prefix")
async def test_lengths_of_more_than_a_byte(iut: Iut) -> None:
    """The server reads texts of 255 to 65,537 bytes in full.

    The messages after them show that the server is in step with the stream.
    """
    async with (
        blame_pieces(iut, _command_in_pieces),
        _as_plain_scores(iut),
        watch_server(iut) as watch,
    ):
        for goals, size in enumerate(SIZES, 1):
            # The end of the text contains a value, because a loss of blanks would not be noticed.
            end = f"(right {goals}))".encode()
            text = f"(score (left {goals})".encode().ljust(size - len(end)) + end
            data = size.to_bytes(4, "big") + text
            async with malformed.can_refuse(watch.session, size):
                await _check_scores(watch, data, goals, goals, f"a message of {size} bytes")
        await watch.check_obeyed("long messages")


@requirement("frame.length-prefix")
async def test_lengths_of_an_agent(iut: Iut) -> None:
    """The server reads effectors of 255 to 65,537 bytes in full."""
    async with (
        blame_pieces(iut, _act_in_pieces),
        iut.instance() as instance,
        play_agent(iut, instance) as agent,
    ):
        speed = 2.0
        await check_turns(iut, agent, speed)
        for size in SIZES:
            speed = -speed

            def padded(effector: str, size: int = size) -> bytes:
                # The end of the text contains the value.
                begin, _, value = effector.partition(" ")
                return frame(f"{begin}{value:>{size - len(begin)}}".encode())

            how = f", in a message of {size} bytes"
            async with malformed.can_refuse(agent, size):
                await check_turns(iut, agent, speed, how, padded, "frame.length-prefix")


@requirement("text.numbers")
async def test_forms_of_numbers(iut: Iut) -> None:
    """The server puts the ball at coordinates that are written in any usual form."""

    async def play(forms: Iterable[str]) -> None:
        async with watch_server(iut) as watch:
            for number, across in zip(forms, itertools.cycle((0.3, -0.3)), strict=False):
                place = Place(float(number), watch.place(0, across).y)
                await watch.command(f"(ball (pos {number} {place.y} {watch.radius}))")
                await watch.wait_until(
                    place.is_occupied,
                    f"show the ball at {place} after the coordinate {number}",
                    now=places_of_balls,
                )

    plain = [f"{float(number):g}" for number in FORMS_OF_NUMBERS]
    await compared(iut, play, FORMS_OF_NUMBERS, plain, "ball.pos")


@requirement("frame.segmentation")
@explore(script=strategies.scores(), cuts=generation.cuts())
async def test_any_commands_in_any_pieces(
    iut: Iut, script: list[tuple[str, int, int]], cuts: list[int]
) -> None:
    """After several commands in one write, cut at any places, the last command decides."""
    async with watch_server(iut) as watch:
        payloads = [text.encode() for text, _, _ in script]
        data = b"".join(len(payload).to_bytes(4, "big") + payload for payload in payloads)
        await watch.session.send_bytes(data, segmentation=split_at(cuts))
        _, left, right = script[-1]
        await _is_shown(watch, left, right, f"the last of {len(script)} commands")
        await watch.check_obeyed("any commands")
