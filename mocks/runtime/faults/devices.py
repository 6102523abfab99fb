"""Faults of the update publisher in which devices it knows, and which values of theirs."""

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
