"""Faults of the update publisher about its devices and their values."""

from typing import Any

from mocks.deviations import fault
from mocks.runtime.update_publisher import Publisher, Values


@fault("first-elements-compared", violates="update.changed", subtle=True)
class FirstElementsCompared(Publisher):
    """Compares only the first elements of arrays, and misses other changes."""

    def change(self, uid: str, values: Values) -> None:
        known = self.devices.get(uid, {})
        same = [
            name
            for name, value in values.items()
            if isinstance(value, list) and value[:1] == (known.get(name) or [])[:1]
        ]
        super().change(uid, {name: values[name] for name in values if name not in same})


@fault("one-goes-two-forgotten", violates="update.all-uids", subtle=True)
class OneGoesTwoForgotten(Publisher):
    """Also forgets the next device when a device disconnects."""

    def disconnect(self, uid: str) -> None:
        order = list(self.devices)
        after = order[order.index(uid) + 1 :][:1] if uid in order else []
        for each in (uid, *after):
            super().disconnect(each)


@fault("values-of-before", violates="update.first-values", subtle=True)
class ValuesOfBefore(Publisher):
    """Sends the old values of a device that reconnects."""

    known: dict[str, Values]

    def connect(self, uid: str, params: Values, alias: str | None) -> None:
        self.known = getattr(self, "known", {})
        super().connect(uid, self.known.setdefault(uid, params), alias)


@fault("first-values-for-ever", violates="update.changed")
class FirstValuesForEver(Publisher):
    """Always sends the first values of a device."""

    def change(self, uid: str, values: Values) -> None:
        pass


@fault("one-change-an-update", violates="update.changed", subtle=True)
class OneChangeAnUpdate(Publisher):
    """Keeps only the latest change of a device between two updates."""

    def change(self, uid: str, values: Values) -> None:
        super().change(uid, values)
        self.changed[uid] = dict(values)


@fault("false-is-no-change", violates="update.changed", subtle=True)
class FalseIsNoChange(Publisher):
    """Omits values that have become false or 0."""

    def values(self, uid: str) -> Any:
        return {name: value for name, value in super().values(uid).items() if value}


class EverythingNowAndThen(Publisher):
    """Sends all values in every tenth update, so that lost changes are sent later."""

    updates = 0

    def update(self) -> None:
        self.updates += 1
        super().update()

    def values(self, uid: str) -> Any:
        return super().values(uid) | (self.devices[uid] if self.updates % 10 == 0 else {})


@fault("one-change-and-everything-later", violates="update.changed", subtle=True)
class OneChangeAndEverythingLater(EverythingNowAndThen, OneChangeAnUpdate):
    """Loses all but the latest change of a device until it sends all values."""


@fault("false-comes-later", violates="update.changed", subtle=True)
class FalseComesLater(EverythingNowAndThen, FalseIsNoChange):
    """Omits values that have become false or 0 until it sends all values."""


@fault("small-changes-left-out", violates="update.changed", subtle=True)
class SmallChangesLeftOut(Publisher):
    """Ignores changes of a float by less than 0.01."""

    def change(self, uid: str, values: Values) -> None:
        before = self.devices[uid]
        told = {
            name: value
            for name, value in values.items()
            if not isinstance(value, float) or abs(value - before.get(name, 0.0)) >= 0.01
        }
        super().change(uid, told)


@fault("first-of-a-period", violates="update.changed", subtle=True)
class FirstOfAPeriod(Publisher):
    """Sends the first value of a parameter since the last update, not the latest."""

    def change(self, uid: str, values: Values) -> None:
        told = dict(self.changed[uid])
        super().change(uid, values)
        self.changed[uid].update(told)
