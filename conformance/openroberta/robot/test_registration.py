"""Tests of the registration: how long a robot waits, and its reaction to each answer."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from conformance.cases import each_of, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta.codec import response
from conformance.openroberta.robot.tester import RESTART, LabTester, playing
from conformance.openroberta.robot.tester.exchange import POLLING, Exchange
from conformance.verdicts import Hindered, NotExercised

_MIN_FACTOR = 1.2
"""Factor on push_hold: how long a robot must wait for its registration at least.

The test uses this time if register_hold is longer than --max-wait. A robot that uses its push
timeout for registrations fails the test.
"""


@requirement("register.first")
async def test_first(iut: Iut) -> None:
    """The first request at /rest/pushcmd is a registration.

    No other request precedes its answer.
    """
    async with playing(iut) as tester:
        asked = await tester.next("Register")
        other = await tester.wait_for("Push", "DownloadRequest", within=2 * tester.seconds("quiet"))
        if other is not None:
            raise other.violation(
                "no request before the answer to the registration", f"received {other.name}"
            )
        await asked.command("repeat")
        await tester.next("Push", requirement="register.then-push")


@each_of("http.paths", "http.post", "http.json")
async def test_requests(iut: Iut, statement: str) -> None:
    """Registrations, pushes and requests for programs are POST requests of JSON to their paths."""
    async with playing(iut) as tester:
        push = await tester.link()
        await tester.run(push)


@requirement("http.messages")
async def test_messages(iut: Iut) -> None:
    """All requests of a whole session are valid HTTP."""
    async with playing(iut) as tester:
        push = await tester.run(await tester.link())
        if tester.updates:
            await push.command("update")
            await tester.other("UpdateRequest", within=tester.seconds("response"))


@requirement("robustness.host")
async def test_host(iut: Iut) -> None:
    """Each request names the port that the robot was given in its field Host.

    The host name can differ: a host has several names, and a launcher can use another one.
    """
    if "{url}" not in " ".join(iut.configuration.command):
        raise NotExercised("needs {url} in the command, to know the port that the robot was given")
    async with playing(iut) as tester:
        await tester.run(await tester.link())
        port = tester.instance.values["url"].rpartition(":")[2]
        for asked in tester.asked:
            host = asked.message.value["headers"].get("host")
            if host is not None and host.rpartition(":")[2] != port:
                raise asked.violation(
                    f"the port {port} in the header field Host", f"received {host!r}"
                )


@requirement("commands.robot")
async def test_commands(iut: Iut) -> None:
    """The commands are register and push, from the registration to the end of a program."""
    async with playing(iut) as tester:
        push = await tester.repeats(await tester.link(), 1)
        await tester.run(push)
        for asked in tester.asked:
            if asked.data.get("cmd") not in ("register", "push"):
                came = f"received {asked.data.get('cmd')!r}"
                requirement_ = "run.download-push" if asked.name == "DownloadRequest" else None
                raise asked.violation("register or push", came, requirement_)


@requirement("register.patient")
@lasting
async def test_patient(iut: Iut) -> None:
    """The robot waits for the answer to its registration for the whole register_hold.

    The robot waits equally long after an abort, if it registers again. If register_hold is longer
    than --max-wait, the test only checks that the robot waits longer than for a push.
    """
    async with playing(iut) as tester:
        patience, limit = tester.seconds("register_hold"), iut.configuration.max_wait
        longer = _MIN_FACTOR * tester.seconds("push_hold")
        seconds = patience if patience <= limit else min(longer, limit)
        asked = await tester.next("Register", requirement="register.first")
        expected = f"the robot to wait {patience:g} s for its registration"
        await asked.check_waits(seconds, expected)
        tester.iut.skip_if_longer(patience, "register_hold")
        await asked.command("abort")
        again = await tester.wait_for(*POLLING, within=tester.seconds("response"))
        if again is None:
            return
        if again.name != "Register":
            came = f"received {again.name}"
            raise again.violation("a registration after abort", came, "register.after-abort")
        await again.check_waits(seconds, f"{expected} after an abort")
        await again.command("repeat")
        await tester.next("Push", requirement="register.then-push")


@requirement("register.after-abort")
@pytest.mark.parametrize("times", [1, 3])
async def test_after_abort(iut: Iut, times: int) -> None:
    """A robot whose registration was aborted once or three times registers again or stops."""
    async with playing(iut) as tester:
        asked = await tester.next("Register", requirement="register.first")
        for _ in range(times):
            await asked.command("abort")
            within = tester.seconds("response")
            following = await tester.wait_for(*POLLING, within=within)
            if following is None:
                return
            if following.name != "Register":
                raise following.violation(
                    "a registration after abort", f"received {following.name}"
                )
            asked = following
        await asked.command("repeat")
        await tester.next("Push", requirement="register.then-push")


@requirement("register.then-push")
async def test_then_push(iut: Iut) -> None:
    """A robot whose registration was answered with repeat pushes with the same data object."""
    async with playing(iut) as tester:
        push = await tester.link()
        first = tester.asked[0]
        if push.data.get("token") != first.data.get("token"):
            came = f"received {push.data.get('token')!r}"
            raise push.violation(f"the token {first.data.get('token')!r}", came, "data.same-object")


TRIES = 10  # requests that are refused one after another
IN_A_ROW = 5  # tries whose pauses are added
STORM = 0.1  # seconds that these pauses last at least; a loop without a pause adds nothing
LOSSES = 5  # pushes whose connections are closed one after another

REFUSALS: dict[str, Callable[[Exchange], Awaitable[None]]] = {
    "error": lambda asked: asked.refuse(500),
    "closed": lambda asked: asked.session.close(),
    "text": lambda asked: asked.answer(response(200, {}, b"the lab is closed")),
}


@requirement("robustness.no-storm")
@pytest.mark.parametrize("answer", REFUSALS)
async def test_no_storm(iut: Iut, answer: str) -> None:
    """A robot whose registration is refused ten times pauses between its tries."""
    usual = await usual_pause(iut)
    async with playing(iut) as tester:
        asked = await tester.next("Register", requirement="register.first")
        await raise_if_storming(tester, asked, REFUSALS[answer], usual)


@requirement("robustness.no-storm")
@pytest.mark.parametrize("answer", REFUSALS)
async def test_no_storm_of_pushes(iut: Iut, answer: str) -> None:
    """A robot whose push is refused ten times pauses between its tries."""
    usual = await usual_pause(iut)
    async with playing(iut) as tester:
        await raise_if_storming(tester, await tester.link(), REFUSALS[answer], usual)


async def usual_pause(iut: Iut) -> tuple[float, float]:
    """Return the least and the most seconds from an answer to the next push.

    The robot needs no pause there, so that this is the time that robot and machine need.
    """

    async def find() -> tuple[float, float]:
        async with playing(iut) as tester:
            push, took = await tester.link(), []
            for _ in range(IN_A_ROW):
                await push.command("repeat")
                answered = asyncio.get_running_loop().time()
                push = await tester.next("Push", requirement="push.again")
                took.append(push.at - answered)
            return min(took), max(took)

    return await iut.cached("pause after repeat", find)


async def raise_if_storming(
    tester: LabTester,
    asked: Exchange,
    refuse: Callable[[Exchange], Awaitable[None]],
    usual: tuple[float, float],
) -> None:
    """Refuse ten tries. Raises Violation if five successive tries came without pauses.

    A pause lasts from the end of an answer to the next try. ``usual`` contains the shortest and the
    longest time that robot and machine need without a pause. Raises Hindered if the machine is too
    busy for a decision.
    """
    loop, (least, most) = asyncio.get_running_loop(), usual
    pauses: list[float] = []
    doubtful = False
    for _ in range(TRIES):
        await refuse(asked)
        answered = loop.time()
        following = await tester.wait_for(*POLLING, within=tester.seconds("response"))
        if following is None:
            return
        asked = following
        pauses.append(asked.at - answered)
        if len(pauses) < IN_A_ROW:
            continue
        total = sum(pauses[-IN_A_ROW:])
        if total < STORM + IN_A_ROW * least:
            came = f"received {IN_A_ROW} with pauses of {total:.3f} s altogether"
            expected = f"pauses of {STORM:g} s or more before {IN_A_ROW} further tries"
            raise asked.violation(expected, came)
        doubtful |= total < STORM + IN_A_ROW * most
        if sum(pauses) > tester.seconds("response"):
            break
    if doubtful:
        raise Hindered(f"the busy machine needs up to {most:.2f} s from an answer to a push")


@requirement("robustness.lost-answers")
async def test_lab_gone(iut: Iut) -> None:
    """A robot whose lab disconnects several times goes on when the lab answers again."""
    async with playing(iut) as tester:
        push = await tester.link()
        for _ in range(LOSSES):
            await push.session.close()
            lost = "a push whose connection was closed without an answer"
            push = await tester.next("Push", "Register", within=RESTART, after=lost)
        await push.command("repeat")
        await tester.next("Push", within=RESTART)


@requirement("robustness.lost-answers")
async def test_lab_unreachable(iut: Iut) -> None:
    """A robot whose lab refuses connections goes on when the lab is back."""
    async with playing(iut) as tester:
        await tester.repeats(await tester.link(), 1)
        async with tester.unreachable():
            await tester.wait_for(*POLLING, within=tester.seconds("response"))
        lost = f"a lab that refused connections for {tester.seconds('response'):g} s"
        push = await tester.next("Push", "Register", within=RESTART, after=lost)
        await push.command("repeat")
        await tester.next("Push", within=RESTART)
