"""Whole sessions, derived by hand from the specification, played to the frontend."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import compared, requirement
from conformance.definitions import locations
from conformance.iut import Iut
from conformance.judging import captures
from conformance.judging.captures import Capture
from conformance.running.replay import replay
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation
from conformance.vexide.codec import Decoder
from conformance.vexide.commands import START
from conformance.vexide.events import EXITED
from conformance.vexide.frontend.tester import open_session, plain_session, start_program
from conformance.vexide.tester import messages_named

SPELT = "session-spelling"

# Sessions with unusual features, and the requirements that these features test.
PECULIAR = {
    SPELT: "robustness.unknown-fields",
    "session-unknown-kinds": "devices.status-open",
    "session-simulator-breaks-off": "robustness.input-end",
}


def _sessions() -> Iterator[Any]:
    folder = locations.folder("captures", "vexide")
    for path in sorted(folder.glob("*.jsonl")) if folder else ():
        if path.stem.startswith(("session-", "example-")) and _playable(captures.read(path)):
            decides = PECULIAR.get(path.stem, "encoding.externally-tagged")
            yield pytest.param(path, id=path.stem, marks=requirement(decides))


def _playable(capture: Capture) -> bool:
    """Return True if the simulator's side of a capture suits any frontend.

    A suitable simulator answers without extensions, and the frontend does not leave before Exited.
    """
    if capture.extra.get("fragment") or capture.iut not in (None, "frontend"):
        return False
    decoder, names = Decoder(), []
    for event in capture.events:
        if event.sender == "simulator" and event.data:
            for frame in decoder.feed(event.data):
                names.append(frame.name)
                if frame.name == "Handshake" and frame.value["Handshake"]["extensions"]:
                    return False
    left = any(event.sender == "frontend" and event.event == "closed" for event in capture.events)
    return EXITED in names or not left


@pytest.mark.parametrize("path", [*_sessions()])
async def test_session(iut: Iut, path: Path) -> None:
    """The frontend takes part in a whole session, and the oracle finds no violation."""
    (await plain_session(iut)).require_start()
    if path.stem == SPELT:
        known = "framing.white-space or handshake.unknown-fields"
        await compared(iut, functools.partial(_play, iut), path, None, known)
    else:
        await _play(iut, path)


async def _play(iut: Iut, path: Path | None) -> None:
    """Play a session to the frontend.

    Without a path, play a plain session that only has an unusual spelling of the Handshake.
    """
    if path is None:
        async with open_session(iut) as session:
            await session.send({"Handshake": {"build": "0.9", "extensions": [], "version": 1}})
            await start_program(session)
        return
    async with iut.session() as session, _user_who_starts(session):
        try:
            await replay(session, captures.read(path))
        except Violation as violation:
            if path.stem in PECULIAR:
                raise
            # If StartExecution came, the frontend took part in the session and crashed later.
            gone = "robustness.input-end" if messages_named(session, START) else ""
            about = gone or violation.requirement
            raise Violation(violation.expected, violation.came, about, violation.event) from None


@contextlib.asynccontextmanager
async def _user_who_starts(session: Session) -> AsyncIterator[None]:
    """Press start at intervals until the program starts, if the operation is available."""

    async def press() -> None:
        while True:
            # A frontend that starts by itself has started before the quiet time is over.
            await asyncio.sleep(session.seconds("quiet"))
            if messages_named(session, START) or session.ended:
                return
            with contextlib.suppress(Inconclusive):
                await session.operate("start")

    if not session.instance.upper.offers("start"):
        yield
        return
    task = asyncio.create_task(press())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
