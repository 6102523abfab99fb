"""The handshake, which a frontend must begin."""

from typing import Any

import pytest

from conformance.cases import absent, check, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import NotExercised
from conformance.vexide.codec import name_of
from conformance.vexide.commands import START, raw_state
from conformance.vexide.events import READY, SIGNATURE, answer, log
from conformance.vexide.frontend.tester import (
    expect_offer,
    learn_operations,
    open_session,
    start_program,
)
from conformance.vexide.spellings import UNKNOWN_FIELDS, UNKNOWN_FIRST
from conformance.vexide.tester import check_handshake_types
from conformance.wire import Message

MOTOR = {"Motor": {"physical_gearset": "Blue", "moment_of_inertia": 1.0}}
MODE = {"enabled": False, "connected": True, "mode": "Auto", "is_competition": True}
OPERATIONS: dict[str, dict[str, Any]] = {
    "start": {},
    "configure": {"port": 5, "device": MOTOR},
    "competition": MODE,
    "controller": raw_state(axis1=65)["ControllerUpdate"],
    "touch": {"x": 10, "y": 10, "event": "Pressed"},
    "sdcard": {"root": None},
    "battery": {"capacity": 7.0},
    "adi": {"port": 3, "voltage": 1.5},
}


@requirement("handshake.frontend-begins")
async def test_begins_unasked(iut: Iut) -> None:
    """The first message of a frontend is a Handshake, while the simulator is silent."""
    async with iut.session() as session:
        first = await session.expect(to="without a request, because a frontend begins the session")
        check(
            first.name == "Handshake",
            "Handshake as the first message",
            f"{first.name} came",
            first.event,
        )


@requirement("handshake.version-one")
async def test_version_is_one(iut: Iut) -> None:
    """The frontend offers version 1."""
    async with iut.session() as session:
        offer = await expect_offer(session)
        version = _fields(offer).get("version")
        check(version == 1, "version 1", f"version {version!r} was offered", offer.event)


@requirement("handshake.field-types")
async def test_field_types(iut: Iut) -> None:
    """The offer has an integer as version and an array of strings as extensions."""
    async with iut.session() as session:
        offer = await expect_offer(session)
        check_handshake_types(_fields(offer), offer.event)


@requirement("handshake.nothing-before")
async def test_waits_for_the_answer(iut: Iut) -> None:
    """No message but the Handshake comes before the simulator has answered."""
    async with iut.session() as session:
        await expect_offer(session)
        await _check_no_other_message(session)


@requirement("handshake.nothing-before")
async def test_user_cannot_hurry(iut: Iut) -> None:
    """Actions of the user send no command before the simulator has answered the Handshake."""
    await learn_operations(iut)
    async with iut.session() as session:
        await expect_offer(session)
        upper = session.instance.upper
        offered = [name for name in OPERATIONS if upper.offers(name)]
        if not offered:
            raise NotExercised(f"needs one of the hooks {', '.join(OPERATIONS)}: give --hook")
        for name in offered:
            # A frontend can refuse an operation that is not possible yet.
            await session.operate(name, **OPERATIONS[name])
        await _check_no_other_message(session)


@requirement("handshake.nothing-before")
@pytest.mark.parametrize("event", [READY, SIGNATURE, log("loading")], ids=name_of)
async def test_silent_upon_an_early_event(iut: Iut, event: Any) -> None:
    """An event before the simulator's Handshake does not finish the handshake."""
    async with iut.session() as session:
        await expect_offer(session)
        # A frontend can close the stream after this event.
        await session.send(event)
        if session.instance.upper.offers("start"):
            await session.operate("start")
        # After Ready, StartExecution is allowed: the specification does not say which rule comes
        # first.
        await _check_no_other_message(session, *([START] if event == READY else []))


@requirement("handshake.unknown-fields")
@pytest.mark.parametrize("unknown", UNKNOWN_FIELDS.values(), ids=UNKNOWN_FIELDS)
async def test_unknown_fields(iut: Iut, unknown: dict[str, Any]) -> None:
    """Unknown fields in the Handshake change nothing: setup and StartExecution follow."""
    async with open_session(iut) as session:
        await session.send(answer(**unknown))
        await start_program(
            session, to=f"despite the fields {', '.join(map(repr, unknown))} in the Handshake"
        )


@requirement("handshake.unknown-fields")
async def test_unknown_field_first(iut: Iut) -> None:
    """An unknown field can come first and can contain fields with known names."""
    async with open_session(iut) as session:
        await session.send({"Handshake": {**UNKNOWN_FIRST, "version": 1, "extensions": []}})
        await start_program(session, to="despite an unknown field in the Handshake")


async def _check_no_other_message(session: Session, *spared: str) -> None:
    deadline = session.now + session.seconds("quiet")
    # The requirement does not forbid a second Handshake.
    early = await session.wait_for()
    while early and early.name in ("Handshake", *spared):
        early = await session.wait_for(within=deadline - session.now)
    absent(early, "no message but Handshake before the simulator has answered")


def _fields(offer: Message) -> dict[str, Any]:
    fields = offer.value["Handshake"] if isinstance(offer.value, dict) else None
    return fields if isinstance(fields, dict) else {}
