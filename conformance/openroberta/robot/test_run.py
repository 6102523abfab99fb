"""Tests of programs: how a robot fetches, stores and runs them, and reports their end."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from conformance.cases import check, compared, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta.codec import chunks, response
from conformance.openroberta.message_names import MANDATORY
from conformance.openroberta.robot.tester import PROGRAM, RESTART, playing
from conformance.openroberta.robot.tester.exchange import (
    BYTES,
    NAME,
    POLLING,
    Exchange,
    head,
)
from conformance.openroberta.robot.tester.programs import (
    assert_all_run,
    list_programs,
    number_run,
    run_in_silence,
    scratch_folder,
    traces,
)
from conformance.openroberta.values import difference, same
from conformance.verdicts import Inconclusive, NotExercised, Violation

_START_TIME = 0.02  # seconds that the start of a program takes at most

PROGRAMS = {
    "every-byte": (BYTES, "prog0.bin"),
    "ends-of-lines": (b"\r\n\n\r\r\n0\r\n\r\n\x1a\x00", "prog1.bin"),
    "long": (BYTES * 1024, "prog2.bin"),
    "just-over-4096": (BYTES * 16 + b"!", "prog3.bin"),
    "just-over-65536": (BYTES * 256 + b"!", "prog4.bin"),
    "another-of-one-name": (b"changed since", "prog0.bin"),
}
FRAMINGS = {
    "length": "run.pushes-after",
    "chunks": "http.chunked-answers",
    "close": "http.persistence",
}
"""By end mark of a program: the requirement that missing the end violates."""


@requirement("run.requests-file")
async def test_requests_file(iut: Iut) -> None:
    """After download, the robot requests the program, both times."""
    async with playing(iut) as tester:
        push = await tester.link()
        for _ in range(2):
            await push.command("download")
            asked = await tester.program_request()
            await asked.file(tester.program)
            push = await tester.next("Push", within=PROGRAM, requirement="run.pushes-after")


@requirement("run.requests-file")
async def test_requests_file_when_registered_again(iut: Iut) -> None:
    """After an update and a new registration, the robot requests the program after download."""
    async with playing(iut) as tester:
        push = await tester.link_again(await tester.run(await tester.link()))
        if push is None:
            raise NotExercised("needs a robot that comes back by itself from an update")
        await tester.repeats(await tester.run(push), 1)


@requirement("run.download-push")
async def test_download_push(iut: Iut) -> None:
    """The request for a program has the whole data object with the command push."""
    async with playing(iut) as tester:
        push = await tester.link()
        await push.command("download")
        asked = await tester.program_request("run.requests-file")
        left_out = [name for name in push.data if name not in asked.data and name in MANDATORY]
        if left_out:
            raise asked.violation("the whole object", f"received none of: {', '.join(left_out)}")
        for name, wanted in (("cmd", "push"), ("token", push.data.get("token"))):
            came = asked.data.get(name)
            if came != wanted:
                raise asked.violation(f"the {name} {wanted!r}", f"received {came!r}")


@requirement("run.asks-once")
async def test_asks_once(iut: Iut) -> None:
    """The robot requests each program only once before its next push."""
    async with playing(iut) as tester:
        push = await tester.link()
        for _ in range(2):
            await push.command("download")
            asked = await tester.program_request("run.requests-file")
            await asked.file(tester.program)
            found = await tester.wait_for("DownloadRequest", "Push", within=iut.countdown(*PROGRAM))
            if found is None:
                raise Inconclusive("received no push after the program (run.pushes-after)")
            if found.name != "Push":
                raise found.violation(
                    "a single request for the program", "received a second request"
                )
            push = found


@requirement("run.pushes-after")
async def test_pushes_after(iut: Iut) -> None:
    """Pushes go on after each of three programs."""
    async with playing(iut) as tester:
        push = await tester.link()
        for _ in range(3):
            push = await tester.repeats(await tester.run(push), 1)


@requirement("run.pushes-after")
async def test_pushes_after_an_empty_program(iut: Iut) -> None:
    """Pushes go on after a program of 0 bytes."""
    async with playing(iut) as tester:
        await tester.run(await tester.link(), b"")


@requirement("run.silent-while-fetching")
async def test_silent_while_fetching(iut: Iut) -> None:
    """The robot does not push while its program is being sent."""
    async with playing(iut) as tester:
        push = await tester.link()
        await push.command("download")
        asked = await tester.program_request("run.requests-file")
        other = await tester.wait_for("Push", within=tester.seconds("quiet"))
        if other is None:
            value = response(200, {"Filename": NAME}, BYTES)
            await asked.session.send_bytes(head(value) + BYTES[:100])
            other = await tester.wait_for("Push", within=tester.seconds("quiet"))
        if other is not None:
            raise other.violation("no push before the end of the download", "received one")


@requirement("run.silent")
@lasting
async def test_silent_while_running(iut: Iut) -> None:
    """The robot does not push while its program runs."""
    slow = iut.configuration.value("slow_program")
    if not slow:
        raise NotExercised(
            "needs a program that this robot runs for half a second or longer: "
            "--set slow_program=TEXT"
        )
    async with playing(iut) as tester:
        push = await tester.link()
        for _ in range(2):
            push = await run_in_silence(tester, push, slow)


@requirement("run.stores-bytes")
@pytest.mark.parametrize("framing", FRAMINGS)
async def test_stores_bytes(iut: Iut, framing: str) -> None:
    """A program is stored byte for byte, for each way to mark its end."""
    if iut.configuration.value("program"):
        raise NotExercised("this robot takes the declared program only; leave IXIT program out")
    play = partial(check_stores_bytes, iut)
    if framing == "length":
        await play(framing)
    else:
        await compared(iut, play, framing, "length", "run.stores-bytes")


async def check_stores_bytes(iut: Iut, framing: str) -> None:
    """Raise Violation unless programs with this end mark are stored byte for byte."""
    async with playing(iut) as tester:
        push, before = await tester.link(), await number_run(tester)
        for got, (what, (data, name)) in enumerate(PROGRAMS.items(), 1):
            await push.command("download")
            asked = await tester.program_request("run.requests-file")
            if framing == "length" or asked.message.value["version"] == "1.0":
                await asked.file(data, name)
            elif framing == "chunks":
                value = response(200, {"Filename": name, "transfer-encoding": "chunked"}, b"")
                pieces = [data[:1], data[1:200], data[200:]]
                await asked.raw(head(value) + chunks(pieces))
            else:
                top = f"HTTP/1.1 200 OK\r\nFilename: {name}\r\nConnection: close\r\n\r\n"
                await asked.raw(top.encode() + data, ends=True)
            push = await tester.next("Push", within=PROGRAM, requirement=FRAMINGS[framing])
            _, contents = await traces(tester, name)
            if not contents and what == "every-byte":
                raise NotExercised(
                    "needs bytes from the operation 'executed', or a file in {directory}"
                )
            wrong = [came for came in contents if came != data]
            if wrong or not contents:
                await assert_all_run(tester, got, before, f", the last of {len(data)} bytes")
                expected, came = difference(data, wrong[0] if wrong else b"")
                about = None if framing == "length" else FRAMINGS[framing]
                raise Violation(f"of the program '{what}' {expected}", came, about)


@requirement("run.stores-name")
async def test_stores_name(iut: Iut) -> None:
    """The robot takes the program's name from the header field Filename, the only name sent."""
    async with playing(iut) as tester:
        push, before = await tester.link(), await number_run(tester)
        for got, name in enumerate(("first.py", "Second_Program2.py"), 1):
            await push.command("download")
            asked = await tester.program_request("run.requests-file")
            await asked.answer(response(200, {"Filename": name}, tester.program))
            push = await tester.next("Push", within=PROGRAM, requirement="run.pushes-after")
            names, _ = await traces(tester, name)
            if not names:
                raise Inconclusive("no program is visible under any name")
            if name not in names:
                await assert_all_run(tester, got, before)
            check(
                name in names,
                f"a program named {name!r}",
                f"received {', '.join(map(repr, names[:5]))}",
            )


@requirement("run.executes")
async def test_executes(iut: Iut) -> None:
    """Each program is run once, before the next push."""
    async with playing(iut) as tester:
        push = await tester.link()
        before = len(await list_programs(tester))
        for number in range(1, 4):
            push = await tester.run(push)
            count = len(await list_programs(tester)) - before
            check(count == number, f"{number} programs to have been run", f"{count} were run")
        push = await tester.repeats(push, 1)
        count = len(await list_programs(tester)) - before
        check(
            count == 3, "no program to be run after repeat", f"{count} were run after 3 downloads"
        )


@requirement("run.executes")
async def test_executes_while_fetching(iut: Iut) -> None:
    """A program is not run before all its bytes have arrived."""
    async with playing(iut) as tester:
        push = await tester.link()
        before = len(await list_programs(tester))
        await push.command("download")
        asked = await tester.program_request("run.requests-file")
        value = response(200, {"Filename": NAME}, tester.program)
        await asked.session.send_bytes(head(value))
        # A robot that waits for the rest sends nothing, so only time can show it.
        await asyncio.sleep(_START_TIME)
        count = len(await list_programs(tester)) - before
        check(not count, "no program to be run before all its bytes have arrived", "it was run")


NO_PROGRAMS: dict[str, Callable[[Exchange], Awaitable[None]]] = {
    "half": lambda asked: asked.raw(
        b"HTTP/1.1 200 OK\r\nFilename: half.py\r\nContent-Length: 256\r\n\r\n" + BYTES[:100],
        ends=True,
    ),
    "error": lambda asked: asked.answer(response(500, {"Filename": "error.py"}, b"no program")),
}


@requirement("robustness.no-program")
@pytest.mark.parametrize("what", NO_PROGRAMS)
async def test_no_program(iut: Iut, what: str) -> None:
    """An incomplete program, or an error instead, is not run, nor is the program before."""
    async with playing(iut) as tester:
        push = await tester.run(await tester.link())
        before = len(await list_programs(tester))
        await push.command("download")
        asked = await tester.program_request("run.requests-file")
        await NO_PROGRAMS[what](asked)
        again = await tester.next("Push", "Register", "DownloadRequest", within=RESTART)
        count = len(await list_programs(tester)) - before
        check(not count, "no program to be run, because none has arrived", f"{count} was run")
        if again.name == "DownloadRequest":
            await again.file(tester.program)
            again = await tester.next("Push", within=PROGRAM)
        await again.command("repeat")
        await tester.next("Push", within=RESTART)


# Exit values


@requirement("exit.value")
async def test_exit_values(iut: Iut) -> None:
    """The first push after a program has the exit value of that program."""
    async with playing(iut) as tester:
        push, reported = await tester.link(), 0
        before = await number_run(tester)
        for got, value in enumerate((0, 7, 0, 143, 1), 1):
            (await tester.instance.upper("exit", value=value)).require_result("exit")
            push = await tester.run(push)
            if "nepoexitvalue" not in push.data:
                continue
            reported += 1
            came = push.data["nepoexitvalue"]
            if not same(came, value):
                await assert_all_run(tester, got, before)
                raise push.violation(f"the exit value {value}", f"received {came!r}")
        if not reported:
            raise NotExercised("this robot sends no exit value after a program")


@requirement("exit.reported")
async def test_exit_reported(iut: Iut) -> None:
    """The first push after a program has an exit value, even if the program failed."""
    async with playing(iut) as tester:
        push = await tester.link()
        for value in (0, 143):
            if tester.instance.upper.offers("exit"):
                await tester.instance.upper("exit", value=value)
            push = await tester.run(push)
            if "nepoexitvalue" not in push.data:
                raise push.violation("nepoexitvalue after a program", "received none")


PATHS = ("../{}", "sub/../../{}", "..\\{}", "{folder}/../{}", "a/{}", "../own/../{}")


@requirement("robustness.file-paths")
async def test_file_paths(iut: Iut) -> None:
    """A path in the Filename does not make the robot write outside its own folder."""
    async with playing(iut) as tester:
        folder = scratch_folder(tester)
        if folder is None:
            raise NotExercised(
                "needs a robot that stores its programs in the suite's folder: put "
                "{directory} into its command"
            )
        push = await tester.link()
        for path in PATHS:
            name = f"escaped-{secrets.token_hex(4)}"
            await push.command("download")
            asked = await tester.program_request("run.requests-file")
            await asked.file(tester.program, path.format(name, folder=folder))
            again = await tester.wait_for(*POLLING, within=iut.countdown(*PROGRAM))
            if again and again.name == "DownloadRequest":
                await again.file(tester.program, path.format(name, folder=folder))
                again = await tester.wait_for(*POLLING, within=iut.countdown(*PROGRAM))
            # The robot writes its files before it sends the next request.
            outside = [path.name for path in folder.parent.iterdir() if path != folder]
            check(
                not outside,
                f"nothing outside its folder after the Filename {path.format('x', folder='DIR')!r}",
                f"{', '.join(outside)} appeared outside",
            )
            if again is None:
                return
            if again.name == "Register":
                await again.command("repeat")
                again = await tester.next("Push")
            push = again
