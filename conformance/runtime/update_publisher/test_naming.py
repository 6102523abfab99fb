"""Tests of names in updates: aliases, and devices that were disconnected."""

from typing import Any

from conformance.cases import absent, requirement
from conformance.definitions.keywords import shown
from conformance.iut import Iut
from conformance.runtime.shapes import UPDATE
from conformance.runtime.tester import done, operated
from conformance.runtime.update_publisher.tester import (
    aliases,
    change,
    connect,
    devices,
    in_each,
    listed,
    new_uids,
    until,
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
    async with operated(iut) as session:
        await connect(session, one, {"value": 1}, "Left Motor")
        await connect(session, other, {"value": 1})
        update = await listed(session, one, other)
        await _named(session, {one: "Left Motor", other: None})
        for message in session.received:
            if message.event >= update.event and other in aliases(message):
                absent(message, f"no alias of {other}")
        given = [
            (other, "ä€ arm"),
            *((one, alias) for alias in ("Right Motor", *("x" * length for length in LENGTHS))),
        ]
        now: dict[str, str | None] = {one: "Left Motor"}
        for number, (uid, alias) in enumerate(given, 2):
            await done(session, "alias", uid=uid, alias=alias)
            # A publisher can send updates only after a parameter has changed.
            await change(session, other, {"value": number})
            now[uid] = alias
            await _named(session, now)
        await done(session, "disconnect", uid=one)
        await change(session, other, {"value": 0})
        await until(session, f"updates without {one}", lambda update: one not in devices(update))
        await _named(session, {other: "ä€ arm"})


async def _named(session: Session, wanted: dict[str, str | None]) -> None:
    """Wait for an update in which these devices have these aliases, or none."""
    expected = f"the aliases {shown(wanted)}"

    def named(update: Message) -> dict[str, Any]:
        return {uid: aliases(update).get(uid) for uid in wanted}

    try:
        await until(session, expected, lambda update: named(update) == wanted)
    except Violation as missing:
        if not (updates := [message for message in session.received if message.name == UPDATE]):
            raise
        latest = updates[-1]
        if lacking := wanted.keys() - devices(latest).keys():
            # If the device itself is missing, the violated requirement is update.all-uids.
            in_each(session, min(lacking), latest)
        raise Violation(
            expected, f"received {shown(aliases(latest))}", event=latest.event
        ) from missing


@requirement("update.disconnected")
async def test_disconnected(iut: Iut) -> None:
    """A disconnected device disappears from the updates, and reappears after it reconnects."""
    one, other, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"value": 1}, "gone soon")
        await connect(session, other, {"value": 1})
        await listed(session, one, other)
        await done(session, "disconnect", uid=one)
        # A publisher can send updates only after a parameter has changed.
        await change(session, other, {"value": 2})
        await until(
            session,
            f"updates without {one}",
            lambda update: one not in {*devices(update), *aliases(update)},
        )
        await connect(session, one, {"value": 2})
        await listed(session, one, other)
