"""Test cases for a frontend: the suite plays the simulator."""

import asyncio
from typing import Any

from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.verdicts import Violation
from conformance.vexide.events import LEVELS, READY, SIGNATURE, log
from conformance.vexide.frontend.tester import begun, in_setup, plain_session, started

SMOKE = "handshake.frontend-begins"


async def smoke(iut: Iut) -> None:
    """The frontend sends its Handshake without a request."""
    async with iut.session() as session:
        await begun(session)


async def basis(iut: Iut) -> str:
    """Find the requirement that fails although a plain session starts.

    - "framing.segmentation": the frontend does not start if all events come in one write
    - "log.tolerated": the frontend does not start after Logs
    - "": neither error was found
    """
    if (await plain_session(iut)).why is not None:
        return ""
    logs = [log("a line", level) for level in LEVELS]
    if iut.configuration.fixed:
        at_once = await _starts_after(iut, SIGNATURE, segmentation=whole)
        after_logs = at_once and await _starts_after(iut, *logs)
    else:
        at_once, after_logs = await asyncio.gather(
            _starts_after(iut, SIGNATURE, segmentation=whole), _starts_after(iut, *logs)
        )
    if not at_once:
        return "framing.segmentation"
    return "" if after_logs else "log.tolerated"


async def _starts_after(iut: Iut, *events: Any, segmentation: Segmentation | None = None) -> bool:
    async with in_setup(iut) as session:
        await session.send(*events, READY, segmentation=segmentation)
        try:
            await started(session)
        except Violation:
            return False
        return True
