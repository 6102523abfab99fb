"""The handshake, which a simulator must answer."""

from typing import Any

import pytest
from hypothesis import strategies as st

from conformance.cases import absent, check, explore, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.vexide.commands import START, competition, hello, motor, raw_state
from conformance.vexide.simulator.observations import EXECUTION
from conformance.vexide.simulator.probe_sessions import open_session
from conformance.vexide.simulator.tester import (
    SETUP,
    expect_ready,
    first_answer_deadline,
    shake_hands,
)
from conformance.vexide.spellings import UNKNOWN_FIELDS, UNKNOWN_FIRST
from conformance.vexide.tester import check_handshake_types, messages_named
from conformance.wire import Message

MAX_VERSION = 2**31 - 1
ANSWERED, CLOSES = "handshake.answered", "handshake.closes-incompatible"
"""The requirements that a missing answer to version 1, or to a later version, violates."""


@requirement("handshake.answered")
async def test_answered(iut: Iut) -> None:
    """A Handshake command is answered by a Handshake event."""
    async with iut.session() as session:
        await shake_hands(session)


@requirement("handshake.answered")
async def test_answered_with_extensions(iut: Iut) -> None:
    """A Handshake that offers extensions is answered."""
    async with iut.session() as session:
        await session.send(hello(extensions=["x-conformance", "x-other"]))
        await session.expect("Handshake", to="in answer to a Handshake with extensions")


@requirement("handshake.answered")
async def test_answered_once(iut: Iut) -> None:
    """Each Handshake command gets exactly one Handshake event."""
    async with open_session(iut) as session:
        await shake_hands(session)
        await session.send(motor(session, 1), competition())
        again = await session.wait_for("Handshake")
        absent(again, "no further Handshake event")


@requirement("handshake.nothing-before")
async def test_silent_before_handshake(iut: Iut) -> None:
    """No event comes before the frontend has sent its Handshake."""
    async with iut.session() as session:
        early = await session.wait_for()
        absent(early, "no event before the Handshake command")
        await shake_hands(session)
        check(
            session.received[0].name == "Handshake",
            "Handshake as the first event",
            f"{session.received[0].name} was the first event",
            session.received[0].event,
        )


@requirement("handshake.nothing-before")
async def test_silent_upon_an_early_command(iut: Iut) -> None:
    """A command before the Handshake causes no event."""
    async with iut.session() as session:
        # A simulator can close the stream after this command.
        await session.send(START)
        early = await session.wait_for()
        absent(early, "no event after a StartExecution before the Handshake command")


@requirement("handshake.version-at-most-offered")
@pytest.mark.parametrize(
    "offered", [1, 2, 255, 65_536, MAX_VERSION, MAX_VERSION + 1, 2**32, 2**53 + 1]
)
async def test_version_at_most_offered(iut: Iut, offered: int) -> None:
    """The version of the answer is at most the offered version."""
    async with iut.session() as session:
        await session.send(hello(version=offered))
        answer = await _answer_or_end(session, offered)
        if answer is None:
            return
        version = answer.value["Handshake"]["version"]
        check(
            not isinstance(version, int) or 1 <= version <= offered,
            f"a version between 1 and {offered}",
            f"received version {version!r}",
            answer.event,
        )


@requirement("handshake.version-one")
@pytest.mark.parametrize("offered", [1, 2])
async def test_version_is_one(iut: Iut, offered: int) -> None:
    """The version of the answer is 1, also if the frontend offers a later version."""
    async with iut.session() as session:
        await session.send(hello(version=offered))
        answer = await _answer_or_end(session, offered)
        if answer is None:
            return
        version = answer.value["Handshake"]["version"]
        check(version == 1, "version 1", f"received version {version!r}", answer.event)


async def _answer_or_end(session: Session, offered: int, about: str = ANSWERED) -> Message | None:
    """Return the answer to an offer; None if the simulator closes because of a later version.

    ``about`` is the requirement that a missing answer to version 1 violates.
    """
    answer = await session.wait_for("Handshake", within=first_answer_deadline(session))
    if answer or (session.ended and offered > 1):
        return answer
    expected, came = f"an answer to an offer of version {offered}", "received none"
    if offered > 1:
        expected, came, about = f"{expected}, or the end of the stream", "received neither", CLOSES
    raise Violation(expected, came, about)


@requirement("handshake.field-types")
async def test_field_types(iut: Iut) -> None:
    """The answer has an integer as version and an array of strings as extensions."""
    async with iut.session() as session:
        answer = await shake_hands(session)
        check_handshake_types(answer.value["Handshake"], answer.event)


@requirement("handshake.closes-incompatible")
@pytest.mark.parametrize("offered", [0, -1])
async def test_closes_incompatible(iut: Iut, offered: int) -> None:
    """An offer of a version below 1 gets no answer, and the simulator closes the stream."""
    async with iut.session() as session:
        await session.send(hello(version=offered))
        closed = await session.until_closed(within=first_answer_deadline(session))
        answers = messages_named(session, "Handshake")
        absent(answers[0] if answers else None, f"no answer to an offer of version {offered}")
        check(
            closed,
            f"the end of the stream after an offer of version {offered}",
            "the stream stayed open",
        )


@requirement("handshake.extensions-offered")
@pytest.mark.parametrize(
    "offered",
    [[], ["x-conformance"], ["x-Conformance", "X-Conformance"], [f"x-{n}" for n in range(100)]],
    ids=["none", "one", "two-alike", "hundred"],
)
async def test_extensions_offered(iut: Iut, offered: list[str]) -> None:
    """The answer contains only extensions that the frontend offered."""
    async with iut.session() as session:
        await session.send(hello(extensions=offered))
        answer = await session.expect("Handshake", requirement="handshake.answered")
        extra = [entry for entry in answer.value["Handshake"]["extensions"] if entry not in offered]
        check(
            not extra,
            "only offered extensions in the answer",
            f"received also {extra!r}",
            answer.event,
        )
        await expect_ready(session, "after a handshake with extensions")


@requirement("handshake.extensions-offered")
@explore(
    version=st.integers(1, MAX_VERSION),
    extensions=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=5),
)
async def test_any_offer(iut: Iut, version: int, extensions: list[str]) -> None:
    """A legal offer is answered with offered values, or the stream is closed."""
    async with iut.session() as session:
        await session.send(hello(version, extensions))
        about = ANSWERED if "".join(extensions).isascii() else "framing.white-space"
        if answer := await _answer_or_end(session, version, about):
            agreed = answer.value["Handshake"]["extensions"]
            extra = [entry for entry in agreed if entry not in extensions]
            check(
                not extra,
                "only offered extensions in the answer",
                f"received also {extra!r}",
                answer.event,
            )


@requirement("handshake.unknown-fields")
@pytest.mark.parametrize("unknown", UNKNOWN_FIELDS.values(), ids=UNKNOWN_FIELDS)
async def test_unknown_fields(iut: Iut, unknown: dict[str, Any]) -> None:
    """Unknown fields in the Handshake change nothing: the answer and Ready follow."""
    async with iut.session() as session:
        await session.send(hello(**unknown))
        despite = f"despite the fields {', '.join(map(repr, unknown))} in the Handshake"
        await session.expect("Handshake", to=despite)
        await expect_ready(session, despite)


@requirement("handshake.unknown-fields")
async def test_unknown_field_first(iut: Iut) -> None:
    """An unknown field can come first and can contain fields with known names."""
    async with iut.session() as session:
        await session.send({"Handshake": {**UNKNOWN_FIRST, "version": 1, "extensions": []}})
        await session.expect("Handshake", to="despite an unknown field in the Handshake")
        await expect_ready(session, "despite an unknown field in the Handshake")


@requirement("roles.own-messages")
async def test_sends_events_only(iut: Iut) -> None:
    """All messages of a whole session are events of the specification."""
    async with open_session(iut) as session:
        await shake_hands(session)
        await session.send(motor(session, 1), competition())
        await expect_ready(session, requirement=SETUP)
        await session.send(START)
        await session.wait_for(*EXECUTION, within=session.seconds("quiet"))
        await session.send(competition(mode="Auto"), motor(session, 2), raw_state(axis1=5))
        await session.wait_for("Exited")
