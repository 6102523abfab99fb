"""In which form a frontend reads what others write otherwise, found out once in a run."""

from typing import Any

from conformance.iut import Iut
from conformance.verdicts import Conclusion, Violation
from conformance.vexide.commands import PORTS
from conformance.vexide.dialects import event_in_dialect
from conformance.vexide.events import PROGRAM, moved, update
from conformance.vexide.frontend.tester import finishes, in_setup, starts

_TOLD_APART = ("serial", "screen-clear", "fill")  # one event of each kind that has another form


async def taken(iut: Iut, *events: Any) -> list[Any]:
    """These events but for those that the frontend reads in the form of another version only."""
    refused = await iut.once("events in another form", lambda: _refused(iut))
    return [event for event in events if not (isinstance(event, dict) and refused & event.keys())]


async def read_in(iut: Iut, event: Any) -> str | None:
    """The published version in whose form an event is taken that is refused as it should be.

    It has to be refused again: what fails now and then tells nothing of a form.
    """
    known = event_in_dialect(event)
    if known is None or await _goes_on(iut, event):
        return None
    version, written = known
    return version if await _goes_on(iut, written) else None


async def _refused(iut: Iut) -> set[str]:
    """The names of the events that are taken in another form only."""
    events = [PROGRAM[name] for name in _TOLD_APART]
    if await _goes_on(iut, *events):
        return set()
    refused = [event for event in events if not await _goes_on(iut, event)]
    return {name for event in refused if await read_in(iut, event) for name in event}


async def _goes_on(iut: Iut, *events: Any) -> bool:
    """Whether a session goes on after these; also where nothing shows it."""
    try:
        async with in_setup(iut) as session:
            await starts(session)
            await session.send(*events)
            await finishes(iut, session, "events in another form")
    except Violation:
        return False
    except Conclusion:
        pass
    return True


async def port_form(iut: Iut) -> None:
    """Find out how ports are to be written to a frontend that has configured none by itself."""
    if iut.configuration.value("ports") == "auto":
        await iut.once(PORTS, lambda: _learn_form(iut))


async def _learn_form(iut: Iut) -> str:
    for form in ("tagged", "bare"):
        async with in_setup(iut) as session:
            if await session.watch("ConfigureDevice"):
                break
            report = update(session, moved())
            if form == "bare":
                report["DeviceUpdate"]["port"] = 1
            await session.send(report)
            try:
                await starts(session)
            except Violation:
                continue
            return form
    return "tagged"
