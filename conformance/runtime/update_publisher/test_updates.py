"""Tests of updates: all devices, and their changed parameters."""

import asyncio
from collections.abc import Sequence
from typing import Any

from conformance.cases import check, lasting, requirement
from conformance.definitions.keywords import short_json
from conformance.iut import Iut
from conformance.runtime.numbers import is_same
from conformance.runtime.shapes import UPDATE
from conformance.runtime.tester import LONG_CALL, open_operated, run_operation
from conformance.runtime.update_publisher.tester import (
    DEVICE_CHECK_INTERVAL,
    ROUNDS,
    KnownValues,
    change,
    change_deadline,
    check_in_each,
    connect,
    devices,
    expect_listed,
    has_aliases,
    new_uids,
)
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Violation

VALUES: dict[str, Any] = {
    "yes": True,
    "no": False,
    "zero": 0,
    "large": 2**53 - 1,
    "negative": -32769,
    "real": 0.123456,
    "tiny": 1e-300,
    "numbers": [1, -2, 300],
    "reals": [0.5, -0.25, 0.1],
    "flags": [True, False],
    "a_parameter_whose_name_has_more_than_31_bytes": 1,
    "many": list(range(16)),
    "widths": [127, 128, 200, 255, 256, 65535, 65536, 2**31, -32, -33, -100, -128, -129],
    "angle": -1.5,
    "maxSpeed_2": 40,
    # A device has up to 16 parameters.
    "last": 32,
}
CHANGED: dict[str, Any] = {
    "yes": False,
    "no": True,
    "zero": 7,
    "large": 0,
    "negative": -(2**31),
    "real": -0.654321,
    "tiny": 1e300,
    "numbers": [1, -2, 299],
    "reals": [0.1, 0.2, 0.3],
    "flags": [False, False],
    "a_parameter_whose_name_has_more_than_31_bytes": 2,
    "many": list(range(20, 4, -1)),
    "widths": [-32768, -1, 2**32, 32768, 32767, 0, 1, -2, 31, 32, 63, 64, 2**40],
    "angle": 2.25,
    "maxSpeed_2": -40,
    "last": -101,
}
TEXTS = {"text": "ä€", "long": "x" * 256}
OTHER_TEXTS = {"text": "", "long": "x" * 32}


@requirement("update.form")
async def test_form(iut: Iut) -> None:
    """An update has the maps sd and aliases."""
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1}, "arm")
        await expect_listed(session, one)
        await _wait_for_updates(session, 2)


@requirement("update.aliases-present")
async def test_empty_aliases(iut: Iut) -> None:
    """An update has the map aliases, also if no device has an alias."""
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1})
        await expect_listed(session, one)


@requirement("update.uid-form")
async def test_uids(iut: Iut) -> None:
    """A UID is written in decimal digits, for any number from 0 to 64 bits."""
    one, *_ = new_uids()
    uids = ["0", "1", one, "4294967296", "9007199254740993", "18446744073709551615"]
    await _check_listed(iut, uids, "update.uid-form")


@requirement("update.uid-width")
async def test_wide_uids(iut: Iut) -> None:
    """A UID of 65 to 88 bits is written completely."""
    for uid in (2**64, 2**80 + 1, 2**88 - 1):
        await _check_listed(iut, [str(uid)], "update.uid-width")


async def _check_listed(iut: Iut, uids: Sequence[str], form: str) -> None:
    async with open_operated(iut) as session:
        for uid in uids:
            await connect(session, uid, {"value": 1}, f"alias of {uid}")
        await expect_listed(session, *uids, form=form)
        if has_aliases(session):
            await expect_listed(session, *uids, part="aliases", form=form)


@requirement("update.all-uids")
async def test_all_uids(iut: Iut) -> None:
    """Every update contains all connected devices, whichever device has changed."""
    one, other, largest = new_uids()
    async with open_operated(iut) as session:
        for uid in (one, other, largest):
            await connect(session, uid, {"value": 0})
        seen = await expect_listed(session, one, other, largest)
        for number in range(1, ROUNDS):
            await change(session, other, {"value": number})
            await KnownValues(session, other).expect_values({"value": number}, "update.changed")
        for message in session.received:
            if message.name == UPDATE and message.event >= seen.event:
                missing = {one, other, largest} - devices(message).keys()
                check(
                    not missing,
                    "all three devices in every update",
                    f"{', '.join(missing)} was missing",
                    message.event,
                )


@requirement("update.all-uids")
async def test_others_have_gone(iut: Iut) -> None:
    """A connected device stays in every update when other devices disconnect."""
    one, other, largest = new_uids()
    async with open_operated(iut) as session:
        uids = (one, other, largest)
        for uid in uids:
            await connect(session, uid, {"value": 0})
        seen = await expect_listed(session, *uids)
        try:
            for number, gone in enumerate((one, largest), 1):
                await run_operation(session, "disconnect", uid=gone)
                await change(session, other, {"value": number})
                await KnownValues(session, other).expect_values({"value": number}, "update.changed")
        except Conclusion:
            # The device can be missing in the update with the change, or in the next one. A
            # publisher that has lost the device can also refuse the change.
            await session.wait_for(UPDATE, within=change_deadline(session))
            check_in_each(session, other, seen)
            raise
        check_in_each(session, other, seen)


@requirement("update.all-uids")
async def test_first_after_the_last(iut: Iut) -> None:
    """A device that connects some time after all others have gone is in the updates."""
    one, other, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1})
        await expect_listed(session, one)
        await run_operation(session, "disconnect", uid=one)
        # Without devices, a publisher can send updates or not.
        await session.drain(within=ROUNDS * session.seconds("update"))
        await session.assert_alive("the disconnection of all devices")
        await connect(session, other, {"value": 1})
        await expect_listed(session, other)


@requirement("update.all-uids")
@lasting
async def test_back_at_once(iut: Iut) -> None:
    """A device that reconnects immediately stays in the updates.

    A publisher that forgets devices later must not forget a device that is back.
    """
    one, other, *_ = new_uids()
    async with open_operated(iut) as session:
        for uid in (one, other):
            await connect(session, uid, {"value": 1})
        await expect_listed(session, one, other)
        await run_operation(session, "disconnect", uid=one)
        await connect(session, one, {"value": 1})
        session.pass_over()
        seen = await session.expect(
            UPDATE, where=lambda update: one in devices(update), within=change_deadline(session)
        )
        await session.drain(within=DEVICE_CHECK_INTERVAL + ROUNDS * session.seconds("update"))
        check_in_each(session, one, seen)


@requirement("update.goes-on")
async def test_goes_on(iut: Iut) -> None:
    """Updates continue without changes, and contain all devices."""
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1})
        await expect_listed(session, one)
        for _ in range(12):
            update = await session.expect(UPDATE, within=change_deadline(session))
            if one not in devices(update):
                expected, came = f"{one} in every update", f"received {short_json(update.value)}"
                raise Violation(expected, came, "update.all-uids", event=update.event)
        await change(session, one, {"value": 2})
        await KnownValues(session, one).expect_values({"value": 2}, "update.changed")


@requirement("update.changed")
async def test_changes_while_another_comes_and_goes(iut: Iut) -> None:
    """A change is sent if another device disconnects or connects immediately after it."""
    one, other, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1})
        await connect(session, other, {"value": 1})
        await expect_listed(session, one, other)
        known = KnownValues(session, one)
        for number in range(2, 8):
            await change(session, one, {"value": number})
            if number % 2 == 0:
                await run_operation(session, "disconnect", uid=other)
            else:
                await connect(session, other, {"value": number})
            await known.expect_values({"value": number})


@requirement("update.changed")
@lasting
async def test_goes_on_for_long(iut: Iut) -> None:
    """A change is sent after several seconds without changes."""
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1})
        await expect_listed(session, one)
        await asyncio.sleep(LONG_CALL)
        await change(session, one, {"value": 2})
        await KnownValues(session, one).expect_values({"value": 2})


@requirement("update.first-values")
async def test_first_values(iut: Iut) -> None:
    """The values of a newly connected device are sent, for a second device too."""
    one, other, *_ = new_uids()
    values = {"a": 7, "b": True, "c": -0.5, "d": [1, 2]}
    async with open_operated(iut) as session:
        for uid in (one, other):
            await connect(session, uid, values)
            await KnownValues(session, uid).expect_values(values)


@requirement("update.first-values")
async def test_values_of_a_device_that_is_back(iut: Iut) -> None:
    """A device that reconnects is sent with its current values."""
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        for number in (1, 2, 3):
            await connect(session, one, {"a": number, "b": 0})
            await KnownValues(session, one).expect_values({"a": number})
            await run_operation(session, "disconnect", uid=one)


@requirement("update.changed")
async def test_changes(iut: Iut) -> None:
    """Each changed value is sent, for one parameter after another."""
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"a": 0, "b": False, "c": 0.5})
        known = KnownValues(session, one)
        for number in range(1, 6):
            await change(session, one, {"a": number})
            await known.expect_values({"a": number})
        await change(session, one, {"b": True, "c": -0.5})
        await known.expect_values({"a": 5, "b": True, "c": -0.5})
        await change(session, one, {"b": False})
        await known.expect_values({"b": False})
        await change(session, one, {"a": 6, "c": -0.5001})
        await known.expect_values({"a": 6, "c": -0.5001})


@requirement("update.changed")
async def test_changes_at_any_moment(iut: Iut) -> None:
    """No change is lost, at any time between two updates."""
    one, other, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"a": 0, "b": 0})
        await connect(session, other, {"a": 0})
        await expect_listed(session, one, other)
        for number in range(1, 61):
            await change(session, one, {"ab"[number % 2]: number})
            if number % 3 == 0:
                await change(session, other, {"a": number})
        await KnownValues(session, one).expect_values({"a": 60, "b": 59})
        await KnownValues(session, other).expect_values({"a": 60})


@requirement("update.changed")
async def test_changes_together(iut: Iut) -> None:
    """Earlier changes are sent before a later change or together with it.

    An update contains all changes since the previous update, even if the publisher is slow.
    """
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"a": 0, "flag": True, "zero": 1, "mark": 0})
        known = KnownValues(session, one)
        for number in range(1, 6):
            wanted = {"a": number, "flag": number % 2 == 0, "zero": 1 - number % 2}
            for name in wanted:
                await change(session, one, {name: wanted[name]})
            await change(session, one, {"mark": number})
            await known.expect_values({"mark": number})
            came = known.values()
            if not all(name in came and is_same(wanted[name], came[name]) for name in wanted):
                expected = (
                    f"{short_json(wanted)} to be sent for {one} before 'mark', which changed last"
                )
                sent = short_json({name: came.get(name) for name in wanted})
                raise Violation(expected, f"received {sent}", known.violated_requirement(wanted))


@requirement("update.changed")
async def test_changes_of_two_devices(iut: Iut) -> None:
    """Simultaneous changes of two devices are sent under the UID of each device."""
    one, other, *_ = new_uids()
    async with open_operated(iut) as session:
        for uid in (one, other):
            await connect(session, uid, {"value": 0})
        await expect_listed(session, one, other)
        await change(session, one, {"value": 1})
        await change(session, other, {"value": 2})
        await KnownValues(session, one).expect_values({"value": 1})
        await KnownValues(session, other).expect_values({"value": 2})


@requirement("update.values")
async def test_values(iut: Iut) -> None:
    """Values keep their types: booleans, integers, floats, and arrays of them.

    Floats are compared within single precision, because a parameter can be a `float`.
    """
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, VALUES)
        await _check_values(session, one, VALUES, CHANGED)


@requirement("update.values")
async def test_texts(iut: Iut) -> None:
    """Values that are text are sent as they are, if the publisher supports them."""
    one, *_ = new_uids()
    async with open_operated(iut) as session:
        try:
            await connect(session, one, TEXTS)
        except Inconclusive as refused:
            raise NotExercised("needs a publisher with parameters that are text") from refused
        await _check_values(session, one, TEXTS, OTHER_TEXTS)


async def _check_values(
    session: Session, uid: str, values: dict[str, Any], others: dict[str, Any]
) -> None:
    """Raise Violation unless a device with ``values`` is sent with the others, and then with these.

    The specification leaves open if the first values count as a change.
    """
    known = KnownValues(session, uid)
    for before, now in ((values, others), (others, values)):
        await change(session, uid, now)
        try:
            await known.expect_values(now)
        except Violation as missing:
            came = {**before, **known.values()}
            if not known.unknown_names() and all(
                is_same(before[name], came[name]) or is_same(now[name], came[name]) for name in now
            ):
                # The wrong values are still the old values: the change was not sent.
                missing.requirement = "update.changed"
            raise


@requirement("update.values")
async def test_own_parameters(iut: Iut) -> None:
    """Every update has only the device's own parameters, with their values, and no alias."""
    one, other, *_ = new_uids()
    params = {one: {"a": 1, "b": 2}, other: {"c": 3}}
    async with open_operated(iut) as session:
        for uid, values in params.items():
            await connect(session, uid, dict.fromkeys(values, 0), f"the device {uid}")
        await expect_listed(session, *params)
        for uid, values in params.items():
            await change(session, uid, values)
            await KnownValues(session, uid).expect_values(values, "update.changed")
        since = session.received[-1].event
        await _wait_for_updates(session, 2)
        for message in session.received:
            sent = devices(message) if message.name == UPDATE else {}
            for uid, known in params.items():
                values = sent.get(uid, {})
                late = message.event > since
                right = all(
                    name in known and (not late or is_same(known[name], values[name]))
                    for name in values
                )
                expected = f"only {short_json(known)} of {uid}"
                check(right, expected, f"received {short_json(values)}", message.event)


@requirement("encoding.messagepack")
async def test_one_update_a_datagram(iut: Iut) -> None:
    """Each datagram is exactly one update, even if it exceeds one packet."""
    uids = [str(2**60 + number) for number in range(24)]
    async with open_operated(iut) as session:
        for number, uid in enumerate(uids):
            # Long aliases: they can be in every update, while values need not be repeated.
            await connect(session, uid, {"value": number}, f"{number} " + "x" * 60)
        await expect_listed(session, *uids)
        if has_aliases(session):
            await expect_listed(session, *uids, part="aliases")


async def _wait_for_updates(session: Session, count: int) -> None:
    """Wait for some updates, at most for their usual time."""
    for _ in range(count):
        await session.wait_for(UPDATE, within=2 * session.seconds("update"))


@requirement("encoding.strings")
async def test_strings(iut: Iut) -> None:
    """All text is str of UTF-8: UIDs, names of parameters, and aliases."""
    one, other, *_ = new_uids()
    async with open_operated(iut) as session:
        await connect(session, one, {"value": 1, "über": 2}, "linker Motor, ä€😀")
        await connect(session, other, {"value": 1}, "arm")
        await expect_listed(session, one, other)
        await change(session, one, {"value": 2})
        await KnownValues(session, one).expect_values({"value": 2}, "update.changed")
