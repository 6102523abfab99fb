"""Find the forms of ports and events that a frontend accepts, once in a run."""

from typing import Any

from conformance.iut import Iut
from conformance.verdicts import Conclusion, Violation
from conformance.vexide.commands import PORTS
from conformance.vexide.dialects import event_in_dialect
from conformance.vexide.events import PROGRAM, motor_status, update
from conformance.vexide.frontend.tester import check_normal_end, open_in_setup, start_program
from conformance.wire import Message

_TOLD_APART = ("serial", "screen-clear", "fill")  # one event for each kind with another form


async def accepted_events(iut: Iut, *events: Any) -> list[Any]:
    """Return the events except those that the frontend accepts only in another version's form."""
    refused = await iut.cached("events in another form", lambda: _find_refused_events(iut))
    return [event for event in events if not (isinstance(event, dict) and refused & event.keys())]


async def accepted_version(iut: Iut, event: Any) -> str | None:
    """Return the published version in whose form the frontend accepts an event.

    Returns None if the frontend accepts the form of the specification, or neither form. The event
    must be refused a second time, because an occasional failure shows nothing about the form.
    """
    known = event_in_dialect(event)
    if known is None or await _continues_after(iut, event):
        return None
    version, written = known
    return version if await _continues_after(iut, written) else None


async def _find_refused_events(iut: Iut) -> set[str]:
    """Return the names of the events that the frontend accepts only in another form."""
    events = [PROGRAM[name] for name in _TOLD_APART]
    if await _continues_after(iut, *events):
        return set()
    refused = [event for event in events if not await _continues_after(iut, event)]
    return {name for event in refused if await accepted_version(iut, event) for name in event}


async def _continues_after(iut: Iut, *events: Any) -> bool:
    """Return True if a session continues after these events, or if nothing shows the opposite."""
    try:
        async with open_in_setup(iut) as session:
            await start_program(session)
            await session.send(*events)
            await check_normal_end(iut, session, "events in another form")
    except Violation:
        return False
    except Conclusion:
        pass
    return True


async def port_form(iut: Iut) -> str:
    """Return the accepted form of ports: declared, the frontend's own, or found by trial."""
    declared = iut.configuration.value("ports")
    return await iut.cached(PORTS, lambda: _learn_form(iut)) if declared == "auto" else declared


def _port(configuration: Message) -> Any:
    fields = configuration.value["ConfigureDevice"]
    return fields.get("port") if isinstance(fields, dict) else None


async def _learn_form(iut: Iut) -> str:
    for form in ("tagged", "bare"):
        async with open_in_setup(iut) as session:
            if own := await session.wait_for("ConfigureDevice"):
                return "bare" if isinstance(_port(own), int) else "tagged"
            report = update(session, motor_status())
            if form == "bare":
                report["DeviceUpdate"]["port"] = 1
            await session.send(report)
            try:
                await start_program(session)
            except Violation:
                continue
            return form
    return "tagged"
