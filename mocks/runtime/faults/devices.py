"""Faults of the update publisher about its devices and their values."""

import asyncio
from collections.abc import Callable
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.update_publisher import Publisher, Values
from mocks.runtime.values import in_all_parts, of_type, to_four_digits
from mocks.steps import (
    Change,
    Function,
    alter,
    before,
    die,
    every,
    note,
    noted,
    put,
    returning,
    skip,
    then,
)


def _each_value(change: Callable[[Any], Any]) -> Change:
    """Send other values, also in arrays."""
    return returning("values", in_all_parts(change))


def _changes(holds: Callable[[Values, str, Any], object]) -> Change:
    """Ignore the changes without a property of the known values, the name and the new value."""

    def kept(publisher: Publisher, uid: str, values: Values) -> Any:
        known = publisher.devices.get(uid, {})
        return uid, {name: new for name, new in values.items() if holds(known, name, new)}

    return alter("change", kept)


def _has_other_first(known: Values, name: str, new: Any) -> bool:
    return not isinstance(new, list) or new[:1] != (known.get(name) or [])[:1]


def _has_moved(known: Values, name: str, new: Any) -> bool:
    return not isinstance(new, float) or abs(new - known.get(name, 0.0)) >= 0.01


def _keep_latest(publisher: Publisher, uid: str, values: Values) -> None:
    publisher.changed[uid] = dict(values)


def _keep_first(usual: Function, publisher: Publisher, uid: str, values: Values) -> None:
    told = dict(publisher.changed[uid])
    usual(publisher, uid, values)
    publisher.changed[uid].update(told)


def _with_old_values(publisher: Publisher, uid: str, params: Values, alias: str | None) -> Any:
    known = vars(publisher).setdefault("known", {})
    return uid, known.setdefault(uid, params), alias


def _forget_next(usual: Function, publisher: Publisher, uid: str) -> None:
    order = list(publisher.devices)
    following = order[order.index(uid) + 1 :][:1] if uid in order else []
    for each in (uid, *following):
        usual(publisher, each)


def _keep_alias(usual: Function, publisher: Publisher, uid: str) -> None:
    alias = publisher.aliases.get(uid)
    usual(publisher, uid)
    if alias is not None:
        publisher.aliases[uid] = alias


def _disconnect_later(usual: Function, publisher: Publisher, uid: str) -> None:
    asyncio.get_running_loop().call_later(0.3, usual, publisher, uid)


def _with_values_of_first(usual: Function, publisher: Publisher, uid: str) -> Values:
    return {**usual(publisher, next(iter(publisher.devices))), **usual(publisher, uid)}


def _with_alias(usual: Function, publisher: Publisher, uid: str) -> Values:
    values: Values = usual(publisher, uid)
    known = publisher.aliases.get(uid)
    return {**values, "alias": known} if values and known is not None else values


def _without_quiet(usual: Function, publisher: Publisher) -> Values:
    quiet = vars(publisher).setdefault("quiet", {})
    for uid in publisher.devices:
        quiet[uid] = 0 if publisher.changed[uid] else quiet.get(uid, 0) + 1
    return {uid: values for uid, values in usual(publisher).items() if quiet[uid] <= 8}


def _two_in_turn(usual: Function, publisher: Any) -> Values:
    publisher.turn = vars(publisher).get("turn", 0) + 1
    whole = list(usual(publisher).items())
    start = publisher.turn % max(len(whole), 1)
    return dict((whole + whole)[start : start + 2])


def _everything_in_tenth(usual: Function, publisher: Publisher, uid: str) -> Values:
    values: Values = usual(publisher, uid)
    return values | publisher.devices[uid] if vars(publisher).get("tenth") else values


def _forget_values(publisher: Publisher, uid: str, *rest: Any) -> None:
    publisher.changed[uid] = {}


ONE_CHANGE = then("change", _keep_latest)
WITHOUT_FALSE = returning("values", lambda values: {n: v for n, v in values.items() if v})
EVERYTHING_NOW_AND_THEN = (
    before("update", note("tenth", every(10))),
    Change("values", _everything_in_tenth),
)
"""Send all values in every tenth update, so that lost changes are sent later."""

FAULTS = Table(Publisher)

FAULTS["update.all-uids"] = {
    "changed-devices-only": Subtle(
        "Omits devices without changes.",
        returning("sd", lambda sd: {uid: values for uid, values in sd.items() if values}),
    ),
    "forgets-later": Subtle(
        "Forgets a device 300 ms after its disconnect, also if the device is back.",
        Change("disconnect", _disconnect_later),
    ),
    "quiet-devices-leave": Subtle(
        "Omits a device after eight updates without changes.", Change("sd", _without_quiet)
    ),
    "two-devices": Subtle(
        "Sends only two devices in each update, in turn.", Change("sd", _two_in_turn)
    ),
    "one-goes-two-missing": Subtle(
        "Omits another device in the first update after a disconnect.",
        then("disconnect", note("gone")),
        returning("sd", lambda sd: dict([*sd.items()][1:]), noted("gone")),
        then("sd", put("gone", False)),
    ),
    "one-goes-two-forgotten": Subtle(
        "Also forgets the next device when a device disconnects.",
        Change("disconnect", _forget_next),
    ),
}

FAULTS["update.values"] = {
    "floats-as-integers": Fault(
        "Writes floats as integers.", _each_value(of_type(float, int, lambda v: abs(v) < 2**53))
    ),
    "names-in-small-letters": Subtle(
        "Writes the names of parameters in lower case.",
        returning("values", lambda values: {name.lower(): values[name] for name in values}),
    ),
    "floats-of-four-digits": Subtle(
        "Rounds floats to four digits.", _each_value(of_type(float, to_four_digits))
    ),
    "bytes-with-sign": Subtle(
        "Writes numbers from 128 to 255 as negative numbers.",
        _each_value(of_type(int, lambda number: number - 256, lambda n: 128 <= n < 256)),
    ),
    "booleans-as-integers": Subtle("Writes booleans as 0 and 1.", _each_value(of_type(bool, int))),
    "time-among-parameters": Subtle(
        "Adds a timestamp to the changed parameters.",
        returning("values", lambda values: values and {**values, "timestamp": 1.5}),
    ),
    "alias-among-parameters": Subtle(
        "Adds the alias of a device to its changed parameters.", Change("values", _with_alias)
    ),
    "parameters-of-the-first": Subtle(
        "Sends the parameters of the first device for the other devices too.",
        Change("values", _with_values_of_first),
    ),
}

FAULTS["update.changed"] = {
    "changes-go-with-a-device": Subtle(
        "Forgets the changes of all devices when one disconnects.",
        then("disconnect", lambda publisher, uid: publisher.clear()),
    ),
    "first-elements-compared": Subtle(
        "Compares only the first elements of arrays, and misses other changes.",
        _changes(_has_other_first),
    ),
    "first-values-for-ever": Fault("Always sends the first values of a device.", skip("change")),
    "one-change-an-update": Subtle(
        "Keeps only the latest change of a device between two updates.", ONE_CHANGE
    ),
    "false-is-no-change": Subtle("Omits values that have become false or 0.", WITHOUT_FALSE),
    "one-change-and-everything-later": Subtle(
        "Loses all but the latest change of a device until it sends all values.",
        ONE_CHANGE,
        *EVERYTHING_NOW_AND_THEN,
    ),
    "false-comes-later": Subtle(
        "Omits values that have become false or 0 until it sends all values.",
        WITHOUT_FALSE,
        *EVERYTHING_NOW_AND_THEN,
    ),
    "small-changes-left-out": Subtle(
        "Ignores changes of a float by less than 0.01.", _changes(_has_moved)
    ),
    "first-of-a-period": Subtle(
        "Sends the first value of a parameter since the last update, not the latest.",
        Change("change", _keep_first),
    ),
}

FAULTS["update.first-values"] = {
    "values-of-before": Subtle(
        "Sends the old values of a device that reconnects.", alter("connect", _with_old_values)
    ),
    "first-values-left-out": Fault(
        "Does not send the first values of a device.", then("connect", _forget_values)
    ),
    "second-device-without-values": Subtle(
        "Does not send the first values of any device except the first.",
        then("connect", _forget_values, lambda publisher, *_: len(publisher.devices) > 1),
    ),
    "dies-of-its-last-device": Subtle(
        "Crashes when its only device disconnects.",
        then("disconnect", die, lambda publisher, uid: not publisher.devices),
    ),
}

FAULTS["update.disconnected"] = {
    "never-forgets": Fault("Continues to send disconnected devices.", skip("disconnect")),
    "aliases-stay": Subtle(
        "Continues to send the alias of a disconnected device.", Change("disconnect", _keep_alias)
    ),
}
