"""Faults of the update publisher in which devices it knows, and which values of theirs."""

from typing import Any

from mocks.deviations import fault
from mocks.runtime.update_publisher import Publisher, Values


@fault("first-elements-compared", violates="update.changed", subtle=True)
class FirstElementsCompared(Publisher):
    """Takes an array for the same whose first element is."""

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
    """Forgets the next device as well when one that is not the last disconnects."""

    def disconnect(self, uid: str) -> None:
        order = list(self.devices)
        after = order[order.index(uid) + 1 :][:1] if uid in order else []
        for each in (uid, *after):
            super().disconnect(each)


@fault("values-of-before", violates="update.first-values", subtle=True)
class ValuesOfBefore(Publisher):
    """Keeps what it knew of a device that is connected again."""

    known: dict[str, Values]

    def connect(self, uid: str, params: Values, alias: str | None) -> None:
        self.known = getattr(self, "known", {})
        super().connect(uid, self.known.setdefault(uid, params), alias)


@fault("first-values-for-ever", violates="update.changed")
class FirstValuesForEver(Publisher):
    """Tells the values with which a device was connected."""

    def change(self, uid: str, values: Values) -> None:
        pass


@fault("one-change-an-update", violates="update.changed", subtle=True)
class OneChangeAnUpdate(Publisher):
    """Keeps the latest change of a device, and loses others before the next update."""

    def change(self, uid: str, values: Values) -> None:
        super().change(uid, values)
        self.changed[uid] = dict(values)


@fault("false-is-no-change", violates="update.changed", subtle=True)
class FalseIsNoChange(Publisher):
    """Leaves out what has become false or 0."""

    def values(self, uid: str) -> Any:
        return {name: value for name, value in super().values(uid).items() if value}


class EverythingNowAndThen(Publisher):
    """Sends all values in every tenth update, so that what was left out comes some time."""

    updates = 0

    def update(self) -> None:
        self.updates += 1
        super().update()

    def values(self, uid: str) -> Any:
        return super().values(uid) | (self.devices[uid] if self.updates % 10 == 0 else {})


@fault("one-change-and-everything-later", violates="update.changed", subtle=True)
class OneChangeAndEverythingLater(EverythingNowAndThen, OneChangeAnUpdate):
    """Loses all changes of a device but the latest until it sends everything."""


@fault("false-comes-later", violates="update.changed", subtle=True)
class FalseComesLater(EverythingNowAndThen, FalseIsNoChange):
    """Leaves out what has become false or 0 until it sends everything."""


@fault("small-changes-left-out", violates="update.changed", subtle=True)
class SmallChangesLeftOut(Publisher):
    """Takes a change of a float by less than 0.01 for noise."""

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
    """Tells the first value that a parameter has had since the last update."""

    def change(self, uid: str, values: Values) -> None:
        told = dict(self.changed[uid])
        super().change(uid, values)
        self.changed[uid].update(told)
