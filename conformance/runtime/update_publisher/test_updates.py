"""Updates: all devices, what has changed about them, and their aliases."""

import asyncio
from typing import Any

from conformance.cases import check, lasting, requirement
from conformance.definitions.keywords import equal, shown
from conformance.iut import Iut
from conformance.runtime.shapes import UPDATE
from conformance.runtime.tester import A_WHILE, done, operated
from conformance.runtime.update_publisher.tester import (
    ROUNDS,
    Told,
    change,
    connect,
    devices,
    has_aliases,
    in_each,
    listed,
    new_uids,
    soon,
)
from conformance.session import Session
from conformance.verdicts import Conclusion, Violation

VALUES: dict[str, Any] = {
    "yes": True,
    "no": False,
    "zero": 0,
    "large": 2**53 - 1,
    "negative": -32769,
    "real": 0.3,
    "tiny": 1e-300,
    "numbers": [1, -2, 300],
    "reals": [0.5, -0.25, 0.1],
    "flags": [True, False],
    "text": "ä€",
    "long": "x" * 256,
    "a_parameter_whose_name_has_more_than_31_bytes": 1,
    "many": list(range(16)),
    "widths": [127, 128, 200, 255, 256, 65535, 65536, 2**31, -32, -33, -100, -128, -129],
    # A device has up to 16 of them.
    "last": 32,
}
CHANGED: dict[str, Any] = {
    "yes": False,
    "no": True,
    "zero": 7,
    "large": 0,
    "negative": -(2**31),
    "real": -0.7,
    "tiny": 1e300,
    "numbers": [1, -2, 299],
    "reals": [0.1, 0.2, 0.3],
    "flags": [False, False],
    "text": "",
    "long": "x" * 32,
    "a_parameter_whose_name_has_more_than_31_bytes": 2,
    "many": list(range(20, 4, -1)),
    "widths": [-32768, -1, 2**32, 32768, 32767],
    "last": -101,
}


@requirement("update.form")
async def test_form(iut: Iut) -> None:
    """An update has sd and aliases, both maps, with devices and without aliases."""
    one, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"value": 1})
        await listed(session, one)


@requirement("update.uid-form")
async def test_uids(iut: Iut) -> None:
    """A UID is its number in decimal digits, from 0 to 88 bits."""
    one, *_ = new_uids()
    uids = ["0", "1", one, str(2**88 - 1), "4294967296", "9007199254740993", "18446744073709551616"]
    async with operated(iut) as session:
        for uid in uids:
            await connect(session, uid, {"value": 1}, f"alias of {uid}")
        await listed(session, *uids)
        if has_aliases(session):
            await listed(session, *uids, part="aliases")


@requirement("update.all-uids")
async def test_all_uids(iut: Iut) -> None:
    """Once a device is connected every update has it, whichever device has changed."""
    one, other, largest = new_uids()
    async with operated(iut) as session:
        for uid in (one, other, largest):
            await connect(session, uid, {"value": 0})
        seen = await listed(session, one, other, largest)
        for number in range(1, ROUNDS):
            await change(session, other, {"value": number})
            await Told(session, other).comes_to({"value": number}, "update.changed")
        for message in session.received:
            if message.name == UPDATE and message.event >= seen.event:
                missing = {one, other, largest} - devices(message).keys()
                check(
                    not missing,
                    "all three devices in every update",
                    f"{', '.join(missing)} was not there",
                    message.event,
                )


@requirement("update.all-uids")
async def test_others_have_gone(iut: Iut) -> None:
    """A device that is connected stays in every update when others disconnect, first and last."""
    one, other, largest = new_uids()
    async with operated(iut) as session:
        uids = (one, other, largest)
        for uid in uids:
            await connect(session, uid, {"value": 0})
        seen = await listed(session, *uids)
        try:
            for number, gone in enumerate((one, largest), 1):
                await done(session, "disconnect", uid=gone)
                await change(session, other, {"value": number})
                await Told(session, other).comes_to({"value": number}, "update.changed")
        except Conclusion:
            # An update in which it is not there may have been the one that tells the change, or
            # may be the next one, where the change is refused because it is not there any more.
            await session.watch(UPDATE, within=soon(session))
            in_each(session, other, seen)
            raise
        in_each(session, other, seen)


@requirement("update.goes-on")
async def test_goes_on(iut: Iut) -> None:
    """Updates go on where nothing changes, and tell all devices."""
    one, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"value": 1})
        await listed(session, one)
        for _ in range(12):
            update = await session.expect(UPDATE, within=soon(session))
            if one not in devices(update):
                expected, came = f"{one} in every update", f"{shown(update.value)} came"
                raise Violation(expected, came, "update.all-uids", event=update.event)
        await change(session, one, {"value": 2})
        await Told(session, one).comes_to({"value": 2}, "update.changed")


@requirement("update.goes-on")
@lasting
async def test_goes_on_for_long(iut: Iut) -> None:
    """What has changed after a while in which nothing did is told as it was before."""
    one, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"value": 1})
        await listed(session, one)
        await asyncio.sleep(A_WHILE)
        await change(session, one, {"value": 2})
        await Told(session, one).comes_to({"value": 2}, "update.changed")


@requirement("update.first-values")
async def test_first_values(iut: Iut) -> None:
    """The values of a newly connected device are sent, also of a second device."""
    one, other, *_ = new_uids()
    values = {"a": 7, "b": True, "c": -0.5, "d": [1, 2]}
    async with operated(iut) as session:
        for uid in (one, other):
            await connect(session, uid, values)
            await Told(session, uid).comes_to(values)


@requirement("update.first-values")
async def test_values_of_a_device_that_is_back(iut: Iut) -> None:
    """A device that is connected again has the values that it has now."""
    one, *_ = new_uids()
    async with operated(iut) as session:
        for number in (1, 2, 3):
            await connect(session, one, {"a": number, "b": 0})
            await Told(session, one).comes_to({"a": number})
            await done(session, "disconnect", uid=one)


@requirement("update.changed")
async def test_changes(iut: Iut) -> None:
    """A changed value is sent, one parameter after another."""
    one, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"a": 0, "b": False, "c": 0.5})
        told = Told(session, one)
        for number in range(1, 6):
            await change(session, one, {"a": number})
            await told.comes_to({"a": number})
        await change(session, one, {"b": True, "c": -0.5})
        await told.comes_to({"a": 5, "b": True, "c": -0.5})
        await change(session, one, {"b": False})
        await told.comes_to({"b": False})
        await change(session, one, {"a": 6, "c": -0.5001})
        await told.comes_to({"a": 6, "c": -0.5001})


@requirement("update.changed")
async def test_changes_at_any_moment(iut: Iut) -> None:
    """No change is lost, whenever between two updates it comes."""
    one, other, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"a": 0, "b": 0})
        await connect(session, other, {"a": 0})
        await listed(session, one, other)
        for number in range(1, 61):
            await change(session, one, {"ab"[number % 2]: number})
            if number % 3 == 0:
                await change(session, other, {"a": number})
        await Told(session, one).comes_to({"a": 60, "b": 59})
        await Told(session, other).comes_to({"a": 60})


@requirement("update.changed")
async def test_changes_together(iut: Iut) -> None:
    """What has changed before another change is sent before it or with it, and not some time later.

    However far behind a publisher may be: what is in one update has changed since the one before.
    """
    one, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"a": 0, "flag": True, "zero": 1, "mark": 0})
        told = Told(session, one)
        for number in range(1, 6):
            wanted = {"a": number, "flag": number % 2 == 0, "zero": 1 - number % 2}
            for name in wanted:
                await change(session, one, {name: wanted[name]})
            await change(session, one, {"mark": number})
            await told.comes_to({"mark": number})
            came = told.values()
            if not all(name in came and equal(wanted[name], came[name]) for name in wanted):
                expected = f"{shown(wanted)} to be sent for {one} before 'mark', which changed last"
                sent = shown({name: came.get(name) for name in wanted})
                raise Violation(expected, f"{sent} was", told.about(wanted))


@requirement("update.changed")
async def test_changes_of_two_devices(iut: Iut) -> None:
    """Changes of two devices at the same time are sent under the UID of each."""
    one, other, *_ = new_uids()
    async with operated(iut) as session:
        for uid in (one, other):
            await connect(session, uid, {"value": 0})
        await listed(session, one, other)
        await change(session, one, {"value": 1})
        await change(session, other, {"value": 2})
        await Told(session, one).comes_to({"value": 1})
        await Told(session, other).comes_to({"value": 2})


@requirement("update.values")
async def test_values(iut: Iut) -> None:
    """Values keep their types: booleans, integers, floats, arrays of them, and text."""
    one, *_ = new_uids()
    async with operated(iut) as session:
        # Whether the first values count as a change is open.
        await connect(session, one, VALUES)
        told = Told(session, one)
        for before, values in ((VALUES, CHANGED), (CHANGED, VALUES)):
            await change(session, one, values)
            try:
                await told.comes_to(values)
            except Violation as missing:
                came = {**before, **told.values()}
                if all(
                    equal(came[name], before[name]) or equal(came[name], values[name])
                    for name in values
                ):
                    # What is not as it should be has not changed at all.
                    about = "update.changed"
                    raise Violation(missing.expected, missing.came, about) from missing
                raise


@requirement("update.values")
async def test_own_parameters(iut: Iut) -> None:
    """Every update has a device's own parameters and no others, with their values."""
    one, other, *_ = new_uids()
    params = {one: {"a": 1, "b": 2}, other: {"c": 3}}
    async with operated(iut) as session:
        for uid, values in params.items():
            await connect(session, uid, dict.fromkeys(values, 0))
        await listed(session, *params)
        for uid, values in params.items():
            await change(session, uid, values)
            await Told(session, uid).comes_to(values, "update.changed")
        since = session.received[-1].event
        await _rounds(session, 2)
        for message in session.received:
            sent = devices(message) if message.name == UPDATE else {}
            for uid, known in params.items():
                told = sent.get(uid, {})
                late = message.event > since
                right = all(
                    name in known and (not late or equal(known[name], told[name])) for name in told
                )
                expected = f"nothing but {shown(known)} of {uid}"
                check(right, expected, f"{shown(told)} came", message.event)


@requirement("encoding.messagepack")
async def test_one_update_a_datagram(iut: Iut) -> None:
    """Each datagram is one update and nothing else, also with more than fits in one packet."""
    uids = [str(2**80 + number) for number in range(24)]
    async with operated(iut) as session:
        for number, uid in enumerate(uids):
            # Long, for values need not be told again, while names may be in every update.
            await connect(session, uid, {"value": number}, f"{number} " + "x" * 60)
        await listed(session, *uids)
        if has_aliases(session):
            await listed(session, *uids, part="aliases")


async def _rounds(session: Session, count: int) -> None:
    """Wait for some updates, or as long as they would take, if none come without changes."""
    for _ in range(count):
        await session.watch(UPDATE, within=2 * session.seconds("update"))


@requirement("encoding.strings")
async def test_strings(iut: Iut) -> None:
    """All that is text is a str of UTF-8: UIDs, names of parameters, and aliases."""
    one, other, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"value": 1, "über": 2}, "linker Motor, ä€😀")
        await connect(session, other, {"value": 1}, "arm")
        await listed(session, one, other)
        await change(session, one, {"value": 2})
        await Told(session, one).comes_to({"value": 2}, "update.changed")
