"""Tests of names in updates: aliases, and devices that were disconnected."""

from typing import Any

from conformance.cases import absent, requirement
from conformance.definitions.keywords import short_json
from conformance.iut import Iut
from conformance.runtime.shapes import UPDATE
from conformance.runtime.tester import open_operated, run_operation
from conformance.runtime.update_publisher.tester import (
    aliases,
    change,
    check_in_each,
    connect,
    devices,
    expect_listed,
    expect_update,
    new_uids,
)
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.wire import Message

# The lengths around which formats and buffers of common sizes end.
LENGTHS = (31, 32, 255, 256, 1023, 1024, 1025, 4095, 4096, 4097)


@requirement("update.aliases")
async def test_aliases(iut: Iut) -> None:
    """Updates contain the alias of each device that has one."""
    one, other, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1}, "Left Motor")
        await connect(session, other, {"value": 1})
        update = await expect_listed(session, one, other)
        await _expect_aliases(session, {one: "Left Motor", other: None})
        for message in session.received:
            if message.event >= update.event and other in aliases(message):
                absent(message, f"no alias of {other}")
        given = [
            (other, "ä€ arm"),
            *((one, alias) for alias in ("Right Motor", *("x" * length for length in LENGTHS))),
        ]
        now: dict[str, str | None] = {one: "Left Motor"}
        for number, (uid, alias) in enumerate(given, 2):
            await run_operation(session, "alias", uid=uid, alias=alias)
            # A publisher can send updates only after a parameter has changed.
            await change(session, other, {"value": number})
            now[uid] = alias
            await _expect_aliases(session, now)
        await run_operation(session, "disconnect", uid=one)
        await change(session, other, {"value": 0})
        await expect_update(
            session,
            f"updates without {one}",
            lambda update: one not in devices(update),
            "update.disconnected",
        )
        await _expect_aliases(session, {other: "ä€ arm"})


async def _expect_aliases(session: Session, wanted: dict[str, str | None]) -> None:
    """Wait for an update in which these devices have these aliases, or none."""
    expected = f"the aliases {short_json(wanted)}"

    def named(update: Message) -> dict[str, Any]:
        return {uid: aliases(update).get(uid) for uid in wanted}

    try:
        await expect_update(session, expected, lambda update: named(update) == wanted)
    except Violation as missing:
        if not (updates := [message for message in session.received if message.name == UPDATE]):
            raise
        latest = updates[-1]
        if absent_uids := wanted.keys() - devices(latest).keys():
            # If the device itself is missing, the violated requirement is update.all-uids.
            check_in_each(session, min(absent_uids), latest)
        raise Violation(
            expected, f"received {short_json(aliases(latest))}", event=latest.event
        ) from missing


@requirement("update.disconnected")
async def test_disconnected(iut: Iut) -> None:
    """A disconnected device disappears from the updates, and reappears after it reconnects."""
    one, other, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1}, "gone soon")
        await connect(session, other, {"value": 1})
        await expect_listed(session, one, other)
        await run_operation(session, "disconnect", uid=one)
        # A publisher can send updates only after a parameter has changed.
        await change(session, other, {"value": 2})
        await expect_update(
            session,
            f"updates without {one}",
            lambda update: one not in {*devices(update), *aliases(update)},
        )
        await connect(session, one, {"value": 2})
        await expect_listed(session, one, other)
