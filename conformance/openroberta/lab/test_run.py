"""Tests of programs: their announcement, their transfer, and the running state."""

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta.codec import plain_content
from conformance.openroberta.lab.tester import GONE, RobotsTester, playing
from conformance.openroberta.lab.tester.programs import program_bytes
from conformance.openroberta.lab.tester.robot import Robot
from conformance.openroberta.values import difference
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

TRIES = 5  # programs; the quickest of them counts
EARLIEST_END = 0.8  # fraction of push_hold; an answer after that can be the end of the period
_AT_ONCE = 0.1  # seconds; a shorter push_hold cannot be distinguished from an immediate answer


@requirement("run.command")
async def test_command(iut: Iut) -> None:
    """If the user runs a program, the unanswered push is answered with download."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        await robot.run_and_receive("run", "Download", "run.command")


@requirement("run.command")
async def test_command_again(iut: Iut) -> None:
    """A second and a third program are announced after the previous program was run."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        for number in range(3):
            await robot.fetch()
            robot.data["nepoexitvalue"] = number


@requirement("run.immediately")
async def test_immediately(iut: Iut) -> None:
    """The push is answered when the user acts, not at the end of push_hold."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        for _ in range(2):
            await assert_announced_at_once(tester, robot)


@requirement("run.immediately")
async def test_immediately_beside_another(iut: Iut) -> None:
    """The push is answered immediately, also while an older push of another is held."""
    async with playing(iut) as tester:
        other = await tester.open_linked()
        await assert_announced_at_once(tester, await tester.open_linked(), other)


async def assert_announced_at_once(
    tester: RobotsTester, robot: Robot, other: Robot | None = None
) -> None:
    """Let programs run until one is announced immediately; raise Violation if none is.

    ``other`` is a robot that pushes before each program.
    """
    period = tester.seconds("push_hold")
    if period < 2 * _AT_ONCE:
        raise NotExercised(
            f"a push_hold of {period:g} s is too short to recognise an immediate answer; "
            "build the lab with a longer one and declare --timing push_hold=SECONDS"
        )
    took, after, held = [], [], None
    for _ in range(TRIES):
        if other and (held is None or await held.session.wait_for(within=0)):
            held = await other.push()
            await held.session.wait_until_taken()
        result = await robot.run_and_receive("run", "Download", "run.command")
        await (await robot.download()).answer(requirement="run.bytes")
        # The command can also come immediately in answer to another push.
        after.append(result.after)
        took.append(max(result.message.at - result.exchange.asked, result.after))
        if took[-1] < period / 2 and result.after < _AT_ONCE:
            return
    quickest = f"the quickest of {TRIES} took {min(took):.2f} s"
    if min(took) < EARLIEST_END * period or min(after) < period / 2:
        raise Inconclusive(f"expected download immediately, within {period:g} s; {quickest}")
    raise Violation(f"download immediately, not after {period:g} s", quickest)


async def fetch_reported_program(tester: RobotsTester, robot: Robot) -> tuple[bytes, Message]:
    """Return the program that the user's operation reported, and the file that was received.

    Raises NotExercised if the operation does not return the program.
    """
    result, file = await robot.fetch()
    wanted = program_bytes(result)
    if wanted is None:
        raise NotExercised(
            "needs the program for the robot as the result of the operation 'run': "
            '{"name": …, "base64": …}'
        )
    return wanted, file


@requirement("run.bytes")
async def test_bytes(iut: Iut) -> None:
    """The program arrives byte for byte, both times."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        for _ in range(2):
            wanted, file = await fetch_reported_program(tester, robot)
            came = plain_content(file.value)
            check(came == wanted, *difference(wanted, came), file.event)


@requirement("run.bytes")
async def test_fetched_twice(iut: Iut) -> None:
    """A robot that lost the connection while it fetched its program can fetch it again."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        wanted, _ = await fetch_reported_program(tester, robot)
        message = await (await robot.download()).unless_closed()
        if message and message.name == "File":
            check(plain_content(message.value) == wanted, "the same program", "received another")


@requirement("run.filename")
async def test_filename(iut: Iut) -> None:
    """The header field Filename contains the name of the program, both times."""
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        for _ in range(2):
            result, file = await robot.fetch()
            came = file.value["headers"]["filename"]
            check(bool(came.strip()), "a name in Filename", "received an empty name", file.event)
            if isinstance(result, dict) and result.get("name"):
                wanted = f"the Filename {str(result['name'])!r}"
                named = came.strip('"') == str(result["name"])
                check(named, wanted, f"received {came!r}", file.event)


@requirement("running.patient")
@lasting
async def test_running(iut: Iut) -> None:
    """After the download, the robot is reported as running, also after the offline time."""
    async with playing(iut) as tester:
        silence = 2 * max(tester.seconds("offline"), tester.seconds("push_hold"))
        tester.iut.skip_if_longer(silence, "offline", "push_hold")
        robot = await tester.open_linked()
        await robot.fetch()
        seen = await tester.wait_for_state(robot, "state", "running", "response")
        check(seen == "running", "a robot with a program to be running", f"it is {seen}")
        seen = await tester.wait_for_state(robot, "state", GONE, silence)
        check(seen == "running", f"it to be running after {silence:.1f} s, too", f"it is {seen}")


@requirement("running.until-push")
async def test_running_until_push(iut: Iut) -> None:
    """A robot that pushes again is no longer running, with or without an exit value."""
    async with playing(iut) as tester:
        robot, exchange = await tester.open_linked(), None
        for value in (None, 0):
            await robot.fetch(exchange=exchange)
            robot.data["nepoexitvalue"] = value
            exchange = await robot.push()
            await exchange.check_idle()
            seen = await tester.wait_for_state(robot, "state", "waiting", "response")
            check(seen == "waiting", "a robot that pushes to be waiting", f"it is {seen}")
