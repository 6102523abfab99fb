"""What a robot has done with its programs, by its own account or by its files."""

import base64
from pathlib import Path
from typing import Any

from conformance.openroberta.robot.tester import PROGRAM, SILENT, LabTester
from conformance.openroberta.robot.tester.exchange import Exchange
from conformance.openroberta.values import difference
from conformance.verdicts import Inconclusive, Violation

_MEANWHILE = 0.4  # seconds in which a slow program is still running
_LONGER = 1.0  # seconds more in which one may run that is slower than it has to be


async def run_in_silence(tester: LabTester, push: Exchange, slow: str) -> Exchange:
    """Have the robot run a slow program: its next push, which comes once that has ended."""
    before = await number_run(tester)
    await push.command("download")
    asked = await tester.program_request("run.requests-file")
    await asked.file(slow.encode())
    other = await tester.watch("Push", "Register", within=_MEANWHILE)
    if other is not None:
        # Others may come beside it before that is known: they are of one cause with it. One that
        # never runs is not loud, nor is another than it got.
        loud = other.violation("nothing while a program runs", f"{other.name} came", SILENT)
        if before is not None:
            # It may tell of a program only when that has ended.
            await other.session.shows(
                lambda: _more_run(tester, before),
                "its program to have been run",
                tester.iut.left(*PROGRAM),
            )
            await all_run(tester, 1, before)
            _, data = await latest(tester) or ("", None)
            if data is not None and data != slow.encode():
                expected, came = difference(slow.encode(), data)
                raise Violation(f"of the slow program {expected}", came, "run.stores-bytes")
        raise loud
    push = await tester.next("Push", within=PROGRAM, requirement="run.pushes-after")
    hasty = tester.hasty
    # One that came while a slower program runs is not the last: another comes behind that.
    beside = await tester.watch("Push", within=_LONGER)
    if beside and push.waits_still and not hasty:
        expected, came = "nothing while a program runs", "Push came, and another before its answer"
        raise Violation(expected, came, SILENT, push.message.event).shown_in(push.session)
    return beside or push


async def executed(tester: LabTester) -> list[Any]:
    """The programs that were run. Raises NotExercised or Inconclusive where that is not told."""
    answered = await tester.instance.upper("executed")
    if not answered.ok or not isinstance(answered.result, list):
        why = answered.result if answered.ok else answered.error
        raise Inconclusive(f"the operation 'executed' answered {str(why)[:200]}, and no programs")
    return answered.result


async def number_run(tester: LabTester) -> int | None:
    """How many programs were run so far; None where that is not told."""
    return len(await executed(tester)) if tester.instance.upper.offers("executed") else None


async def _more_run(tester: LabTester, before: int) -> bool:
    return len(await executed(tester)) > before


async def all_run(tester: LabTester, got: int, before: int | None, last: str = "") -> None:
    """Raise Violation where of so many programs not all were run: what rests on that is not seen.

    ``before`` is how many had been run before them; ``last`` says what the last one is.
    """
    number = await number_run(tester)
    if number is not None and before is not None and number - before < got:
        came = f"{number - before} were"
        raise Violation(f"{got} programs to have been run{last}", came, "run.executes")


def name_of(entry: Any) -> Any:
    return entry.get("name") if isinstance(entry, dict) else entry


def bytes_of(entry: Any) -> bytes | None:
    """The bytes of a program that was run; None where they are not told."""
    told = entry.get("base64") if isinstance(entry, dict) else None
    try:
        return base64.b64decode(told, validate=True) if isinstance(told, str) else None
    except ValueError as error:
        raise Inconclusive(f"the operation 'executed' answered no Base64: {error}") from error


def scratch_folder(tester: LabTester) -> Path | None:
    """The robot's scratch folder, if it has one."""
    folder = tester.instance.values.get("directory")
    return Path(folder) if folder else None


async def traces(tester: LabTester, name: str) -> tuple[list[str], list[bytes]]:
    """Under what names, and with what bytes, the last program is seen to have come.

    Raises NotExercised where there is no way to see it.
    """
    names, contents = [], []
    folder = scratch_folder(tester)
    if folder:
        files = [path for path in folder.rglob("*") if path.is_file()]
        names += [path.name for path in files]
        contents += [path.read_bytes() for path in files if path.name == name]
    if tester.instance.upper.offers("executed"):
        found = await executed(tester)
        names += [Path(str(name_of(entry))).name for entry in found]
        contents += [data for entry in found[-1:] if (data := bytes_of(entry)) is not None]
    elif not folder:
        await tester.instance.upper("executed")
    return names, contents


async def latest(tester: LabTester) -> tuple[str, bytes | None] | None:
    """The name and bytes of the program that was run last; None where none was, or it is not told.

    Raises Inconclusive where the robot does not tell it, though it could.
    """
    if not tester.instance.upper.offers("executed"):
        return None
    found = await executed(tester)
    return (str(name_of(found[-1])), bytes_of(found[-1])) if found else None
