"""The commands of a trainer, and their forms."""

import asyncio
import contextlib
from math import isclose
from typing import Any

from conformance.cases import compared, each_of, requirement
from conformance.connections import Connections
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark import messages
from conformance.simspark.monitor import SMOKE
from conformance.simspark.monitor.tester import Tester, introduce_monitor
from conformance.simspark.sexp import write
from conformance.simspark.tester import (
    LONG_TEXTS,
    expressions,
    judge_one_session,
    raise_if_unreadable,
    raise_unless_whole,
)
from conformance.verdicts import Inconclusive, NotExercised, Violation

EACH = {
    "agent": "(agent (unum 3)(team Right)(pos 1 -2.5 0.4)(battery 50))",
    "ball": "(ball (pos 1 2 0.042)(vel -1 0.5 0))",
    "playMode": "(playMode PlayOn)",
    "dropBall": "(dropBall)",
    "kickOff": "(kickOff None)",
    "select": "(select (unum 3)(team Left))",
    "kill": "(kill (unum 3)(team Left))",
    "repos": "(repos (unum 3)(team Right))",
    "time": "(time 12.5)",
    "score": "(score (left 1)(right 2))",
    "reqfullstate": "(reqfullstate)",
    "getAck": "(time 13)(getAck cookie)",
}
"""A command of each kind, as on the wire, for the trainer to send."""


async def _play_training(iut: Iut) -> None:
    """Play a session: the trainer commands on its own, then sends each command on request."""
    async with introduce_monitor(iut) as tester:
        session, connections = tester.session, tester.connections
        await tester.tick(3)
        for mode in ("KickOff_Left", "PlayOn", "Goal_Right"):
            await _show_mode(tester, mode)
        answers: dict[str, str] = {}
        with contextlib.suppress(NotExercised):
            for word, text in EACH.items():
                answer = await session.operate("command", command=text)
                answers[word] = "" if answer.ok else str(answer.error or "the operation failed")
                await tester.tick()
        await (_wait_for_messages(tester, len(answers)) if answers else _wait_quietly(session))
        # A monitor can leave at the end of the game.
        with contextlib.suppress(Violation):
            await _show_mode(tester, "GameOver")
        await session.assert_alive("the end of the game")
        await _judge_unfinished(connections)
        iut.facts["training"] = connections
        iut.facts["sent"] = _words(connections)
        iut.facts["asked for"] = answers
        iut.facts["spoiled"] = any(each.judge.spoiled for each in connections.sessions)


async def _show_mode(tester: Tester, mode: str) -> None:
    """Send 20 states with a play mode."""
    await tester.tick(more=f"(play_mode {messages.MODES.index(mode)})")
    await tester.tick(19)


async def _wait_quietly(session: Session) -> None:
    await session.until_closed(session.seconds("quiet"))


async def _wait_for_messages(tester: Tester, count: int) -> None:
    """Wait for `count` messages. Stop at the first timeout."""
    for number in range(count):
        if not await tester.has_received_commands(number + 1):
            return


async def _judge_unfinished(connections: Connections) -> None:
    """End all connections if no message arrived, so that the judge sees incomplete messages."""
    for session in connections.sessions if not connections.received else ():
        await session.finish()
        await session.until_closed()


FORMS = {
    "move-agent.unum-and-team": "agent",
    "move-agent.not-bare": "agent",
    "move-agent.operations": "agent",
    "ball.form": "ball",
    "play-mode.known": "playMode",
    "kick-off.team": "kickOff",
    "select.form": "select kill repos",
    "ack.appended": "getAck",
    "time.form": "time",
    "score.form": "score",
    "no-arguments.form": "dropBall reqfullstate",
}
"""The commands that each requirement is about."""
GENERAL = (
    *("text.s-expressions", "text.ascii", "text.predicates", "frame.length-prefix"),
    "trainer.known-commands",
)


@each_of(*GENERAL, *FORMS)
async def test_commands(iut: Iut, statement: str) -> None:
    """All commands of the trainer, sent on its own or on request, satisfy this requirement."""
    await judge_one_session(iut, "trained", _play_training)
    sent, answers = iut.facts.get("sent", set()), iut.facts.get("asked for", {})
    wanted = set(FORMS.get(statement, "").split())
    spoiled = iut.facts.get("spoiled")
    if statement == SMOKE and not spoiled:
        _check_none_lost(iut.facts["training"], sent, answers)
    if wanted & sent if wanted else sent:
        return
    what = " or ".join(sorted(wanted)) or "command"
    failed = [answers[word] for word in wanted or answers if answers.get(word)]
    if failed:
        raise Inconclusive(f"the operation 'command' failed for {what}: {failed[0]:.200}")
    if answers and spoiled:
        raise Inconclusive(f"the stream cannot be split into messages; it can contain the {what}")
    if answers:
        raise Inconclusive(f"did not receive the {what} that the trainer was asked to send")
    hook = iut.role.hooks["command"]
    raise NotExercised(f"received no {what}; give --hook command=COMMAND ({hook.description})")


def _check_none_lost(training: Connections, sent: set[str], answers: dict[str, str]) -> None:
    """Raise Violation if fewer commands arrived than the trainer reported as sent."""
    asked = [word for word, error in answers.items() if not error]
    lost = [word for word in asked if word not in sent]
    if lost and (not sent or len(training.received) < len(asked)):
        came = f"did not receive {', '.join(lost)}" if sent else "received none"
        # Messages without any command are not what the trainer was asked to write either.
        about = None if training.received and not sent else "trainer.as-asked"
        expected = f"the {len(asked)} commands that the trainer was asked to send"
        missed = Violation(expected, came, about)
        raise missed.shown_in(training.session, training.sessions)


def _words(connections: Connections) -> set[str]:
    """Return the first words of all received commands."""
    return {command[0] for command in _commands(connections)}


def _commands(connections: Connections) -> list[list[Any]]:
    """Return all received commands, including commands wrapped in an extra list."""
    lists = [item for message in connections.received for item in message.value if _is_list(item)]
    wrapped = [item for outer in lists if _is_list(outer[0]) for item in outer if _is_list(item)]
    return [item for item in lists + wrapped if isinstance(item[0], str)]


def _is_list(item: Any) -> bool:
    return isinstance(item, list) and bool(item)


ASKED = (
    "(agent (unum 11)(team Left)(move -7.5 3.25 0.5 -90)(battery 0))",
    "(ball (pos -3.5 0 0.042)(vel 0 -1.25 2))",
    "(ball (pos -0.5 -0.25 0.5)(vel -0.75 0.5 0))",
    "(playMode free_kick_right)",
    "(kickOff Right)",
    "(select (unum 2)(team Right))",
    "(kill (unum 7)(team Right))",
    "(repos (unum 10)(team Left))",
    "(time 0)",
    "(score (left 4)(right 3))(getAck both_scores)",
    "(score (left 0)(right 12))",
    "(select (unum 6)(team None))",
    "(kill (unum 8)(team None))",
    "(repos (unum 9)(team None))",
    "(time 4250e-2)",
    "(ball (pos 2.5e-1 -35e-1 1))",
    "(agent (unum 5)(team Right)(temperature 1.25e+01))",
)
"""A command of each word, with values that differ from those of the other commands."""


@requirement("trainer.as-asked")
async def test_as_it_is_asked(iut: Iut) -> None:
    """The trainer sends each requested command once, with the requested values."""
    async with introduce_monitor(iut) as tester:
        for text in ASKED:
            answer = await tester.session.operate("command", command=text)
            if answer.ok:
                await tester.tick()
                await _check_comes(tester, text)
        _check_any_sent(tester)
        for text in ASKED:
            for wanted in expressions(text):
                times = _count(tester, wanted)
                if times > 1:
                    again = Violation(f"the command {text} once", f"received it {times} times")
                    raise again.shown_in(tester.session, tester.connections.sessions)


TIMES = 3  # requests of the same command


@requirement("trainer.as-asked")
async def test_as_often_as_it_is_asked(iut: Iut) -> None:
    """The trainer sends a command again that is requested again."""
    async with introduce_monitor(iut) as tester:
        for times in range(1, TIMES + 1):
            answer = await tester.session.operate("command", command="(dropBall)")
            if not answer.ok:
                raise Inconclusive(f"the operation 'command' failed: {answer.why}")

            def has_come(times: int = times) -> bool:
                return _count(tester, ["dropBall"]) >= times

            if not await tester.is_sent(has_come, "the command again"):
                _check_any_sent(tester)
                lost = Violation(
                    f"the command (dropBall) {times} times", f"received it {times - 1} times"
                )
                raise lost.shown_in(tester.session, tester.connections.sessions)


@requirement("frame.length-prefix")
async def test_commands_at_once(iut: Iut) -> None:
    """Commands that are requested at the same time arrive one after another."""

    async def play(at_once: bool) -> None:
        async with introduce_monitor(iut) as tester:
            upper = tester.session.instance.upper
            step = AT_ONCE if at_once else 1
            for begin in range(0, TIMES * AT_ONCE, step):
                times = range(begin, begin + step)
                async with asyncio.TaskGroup() as asking:
                    for time in times:
                        asking.create_task(upper("command", command=f"(time {time}.5)"))

                def have_come(times: range = times) -> bool:
                    return all(_count(tester, ["time", f"{time}.5"]) for time in times)

                if not await tester.is_sent(have_come, "each command"):
                    how = "at the same time" if at_once else "one by one"
                    raise_unless_whole(tester.connections.sessions, f"commands requested {how}")

    await compared(iut, play, True, False, "trainer.as-asked")


AT_ONCE = 6  # commands that are requested at the same time


def _count(tester: Tester, wanted: list[Any]) -> int:
    """Return how often the trainer has sent a command."""
    return sum(_equal(each, wanted) for each in _commands(tester.connections))


def _check_any_sent(tester: Tester) -> None:
    """Raise Inconclusive if the trainer has sent no command."""
    if not _commands(tester.connections):
        raise Inconclusive("the trainer sent none of the commands that it was asked to send")


async def _check_comes(tester: Tester, text: str) -> None:
    """Raise Violation if another command of the same word arrives, Inconclusive if none arrives.

    Parameters can have any order, and numbers any form.
    """
    wanted = expressions(text)
    sent: list[list[Any]] = []

    def has_come() -> bool:
        sent[:] = [each for each in _commands(tester.connections) if each[0] == wanted[0][0]]
        return all(_count(tester, each) for each in wanted)

    if await tester.is_sent(has_come, "the command as it was asked for"):
        return
    if not sent:
        raise Inconclusive(f"did not receive the {wanted[0][0]} that the trainer was asked to send")
    sessions = tester.connections.sessions
    came_instead = f"received {write(sent[-1:]).decode()}"
    other = Violation(f"the requested command {text}", came_instead)
    raise other.shown_in(tester.session, sessions)


def _equal(one: Any, other: Any) -> bool:
    """Return True if two expressions have the same meaning according to the specification."""
    if isinstance(one, str) or isinstance(other, str):
        with contextlib.suppress(TypeError, ValueError):
            return isclose(float(one), float(other), abs_tol=0.005)
        return bool(one == other)
    atoms = [[item for item in each if isinstance(item, str)] for each in (one, other)]
    return (
        len(one) == len(other)
        and len(atoms[0]) == len(atoms[1])
        and all(map(_equal, *atoms))
        and all(any(_equal(item, each) for each in one) for item in other)
    )


@requirement("frame.length-prefix")
async def test_long_commands(iut: Iut) -> None:
    """A command of any length has a correct length."""
    async with introduce_monitor(iut) as tester:
        upper = tester.session.instance.upper
        for number, size in enumerate(LONG_TEXTS, len(tester.connections.received) + 1):
            text = f"(time 5.{'0' * (size - 29)})(getAck a_long_way_)"
            answer = await upper("command", command=text)
            if not answer.ok:
                break  # A trainer can refuse a command that is too long for it.
            if not await tester.has_received_commands(number):
                for session in tester.connections.sessions:
                    raise_if_unreadable(session, f"a message of {size} bytes")
                raise Inconclusive(f"did not receive the {size} bytes that it was asked to send")
            await tester.tick()
        _check_any_sent(tester)


@requirement("play-mode.known")
async def test_play_mode_of_another_list(iut: Iut) -> None:
    """Every play mode that the trainer sets is in the list of the server."""
    async with introduce_monitor(iut) as tester:
        if not tester.session.instance.upper.offers("command"):
            raise NotExercised(
                f"give --hook command=COMMAND ({tester.session.role.hooks['command'].description})"
            )
        before = len(tester.connections.received)
        for number, mode in enumerate(("KickIn_Left", "free_kick_right", "GameOver"), before + 1):
            await tester.session.instance.upper("command", command=f"(playMode {mode})")
            if not await tester.has_received_commands(number):
                break
        _check_any_sent(tester)
