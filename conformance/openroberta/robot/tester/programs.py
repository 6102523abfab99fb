"""Programs that a robot has run, from its own report or its files."""

import base64
from pathlib import Path
from typing import Any

from conformance.openroberta.robot.tester import PROGRAM, SILENT, LabTester
from conformance.openroberta.robot.tester.exchange import Exchange
from conformance.openroberta.values import difference
from conformance.verdicts import Inconclusive, Violation

_RUNNING_TIME = 0.4  # seconds; a slow program runs at least 0.5 s, so it is still running then
_EXTRA_TIME = 1.0  # seconds; additional time for a program that is slower than necessary


async def run_in_silence(tester: LabTester, push: Exchange, slow: str) -> Exchange:
    """Let the robot run a slow program; return the push after its end."""
    before = await number_run(tester)
    await push.command("download")
    asked = await tester.program_request("run.requests-file")
    await asked.file(slow.encode())
    other = await tester.wait_for("Push", "Register", within=_RUNNING_TIME)
    if other is not None:
        # A robot that does not run the program, or runs another program, also pushes now. This is
        # a different fault.
        loud = other.violation("nothing while a program runs", f"received {other.name}", SILENT)
        if before is not None:
            # Some robots report a program only after its end.
            await other.session.poll_until(
                lambda: _more_run(tester, before),
                "its program to have been run",
                tester.iut.countdown(*PROGRAM),
            )
            await assert_all_run(tester, 1, before)
            _, data = await find_latest_program(tester) or ("", None)
            if data is not None and data != slow.encode():
                expected, came = difference(slow.encode(), data)
                raise Violation(f"of the slow program {expected}", came, "run.stores-bytes")
        raise loud
    push = await tester.next("Push", within=PROGRAM, requirement="run.pushes-after")
    pushed_early = tester.pushed_early
    # A push during an even slower program is not the last one: another push follows the end.
    second = await tester.wait_for("Push", within=_EXTRA_TIME)
    if second and push.is_waiting and not pushed_early:
        expected, came = (
            "nothing while a program runs",
            "received two pushes without an answer between them",
        )
        loud = Violation(expected, came, SILENT, push.message.event).shown_in(push.session)
        for each in (push, second):
            await each.command("repeat")
        idle = await tester.wait_for("Push", within=tester.iut.countdown("response"))
        another = await tester.wait_for("Push", within=_EXTRA_TIME) if idle else None
        if idle and another and idle.is_waiting:
            # This robot pushes twice without a program too, which is a different fault.
            loud.requirement = "push.one-at-a-time"
        raise loud
    return second or push


async def list_programs(tester: LabTester) -> list[Any]:
    """Return the programs that were run.

    Raises NotExercised if the operation 'executed' is not available, and Inconclusive if its result
    is not a list.
    """
    answered = await tester.instance.upper("executed")
    if not answered.ok or not isinstance(answered.result, list):
        why = answered.result if answered.ok else answered.error
        raise Inconclusive(
            f"expected a list of programs from the operation 'executed'; received {str(why)[:200]}"
        )
    return answered.result


async def number_run(tester: LabTester) -> int | None:
    """Return the number of programs that were run; None if the robot does not report them."""
    return len(await list_programs(tester)) if tester.instance.upper.offers("executed") else None


async def _more_run(tester: LabTester, before: int) -> bool:
    return len(await list_programs(tester)) > before


async def assert_all_run(tester: LabTester, got: int, before: int | None, last: str = "") -> None:
    """Raise Violation if fewer than `got` programs were run.

    ``before`` is the number of earlier programs. ``last`` describes the last program.
    """
    number = await number_run(tester)
    if number is not None and before is not None and number - before < got:
        came = f"{number - before} were run"
        raise Violation(f"{got} programs to have been run{last}", came, "run.executes")


def name_of(entry: Any) -> Any:
    return entry.get("name") if isinstance(entry, dict) else entry


def bytes_of(entry: Any) -> bytes | None:
    """Return the bytes of a program that was run; None if the robot does not report them."""
    text = entry.get("base64") if isinstance(entry, dict) else None
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError as error:
        raise Inconclusive(f"expected Base64 from the operation 'executed'; {error}") from error


def scratch_folder(tester: LabTester) -> Path | None:
    """Return the robot's scratch folder, or None."""
    folder = tester.instance.values.get("directory")
    return Path(folder) if folder else None


async def traces(tester: LabTester, name: str) -> tuple[list[str], list[bytes]]:
    """Return the names and the contents by which the last program is visible.

    Raises NotExercised if the robot offers neither its files nor the operation 'executed'.
    """
    names, contents = [], []
    folder = scratch_folder(tester)
    if folder:
        files = [path for path in folder.rglob("*") if path.is_file()]
        names += [path.name for path in files]
        contents += [path.read_bytes() for path in files if path.name == name]
    if tester.instance.upper.offers("executed"):
        found = await list_programs(tester)
        names += [Path(str(name_of(entry))).name for entry in found]
        contents += [data for entry in found[-1:] if (data := bytes_of(entry)) is not None]
    elif not folder:
        await tester.instance.upper("executed")
    return names, contents


async def find_latest_program(tester: LabTester) -> tuple[str, bytes | None] | None:
    """Return the name and bytes of the last program; None if there is none or it is not reported.

    Raises Inconclusive if the operation 'executed' is available but does not answer with programs.
    """
    if not tester.instance.upper.offers("executed"):
        return None
    found = await list_programs(tester)
    return (str(name_of(found[-1])), bytes_of(found[-1])) if found else None
