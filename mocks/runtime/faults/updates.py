"""The faults of the update publisher."""

import json
from typing import Any

from conformance.runtime.codec import encode
from mocks.datagrams import Datagrams
from mocks.deviations import fault
from mocks.runtime.update_publisher import Publisher, Values


@fault("json", violates="encoding.messagepack")
class Json(Publisher):
    """Sends JSON."""

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode())


@fault("long-updates-in-two", violates="encoding.messagepack", subtle=True)
class LongUpdatesInTwo(Publisher):
    """Cuts an update of more than 500 bytes into two datagrams."""

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), 500):
            super().write(data[start : start + 500])


@fault("cut-at-a-packet", violates="encoding.messagepack", subtle=True)
class CutAtAPacket(Publisher):
    """Sends as much of an update as one packet of an Ethernet has room for."""

    def write(self, data: bytes) -> None:
        super().write(data[:1472])


@fault("counts-of-four-bits", violates="encoding.messagepack", subtle=True)
class CountsOfFourBits(Publisher):
    """Writes the count of a map of 16 into four bits."""

    def write(self, data: bytes) -> None:
        super().write(data.replace(b"\xde\x00\x10", b"\x80"))


@fault("keys-as-bytes", violates="encoding.strings")
class KeysAsBytes(Publisher):
    """Writes UIDs as bins."""

    def sd(self) -> dict[Any, Any]:
        pairs = [[{"$bin": uid.encode().hex()}, self.values(uid)] for uid in self.devices]
        return {"$map": pairs} if pairs else {}


@fault("aliases-as-bytes", violates="encoding.strings", subtle=True)
class AliasesAsBytes(Publisher):
    """Writes aliases beyond ASCII as bins."""

    def named(self) -> dict[Any, Any]:
        return {
            uid: alias if alias.isascii() else {"$bin": alias.encode().hex()}
            for uid, alias in self.aliases.items()
        }


@fault("wrapped", violates="update.form")
class Wrapped(Publisher):
    """Wraps an update in an RPC notification, without sd and aliases."""

    def send(self, message: Any) -> None:
        self.write(encode([2, "update", [message["sd"]]]))


@fault("within-a-map", violates="update.form")
class WithinAMap(Publisher):
    """Puts an update into a map with its time."""

    def send(self, message: Any) -> None:
        self.write(encode({"time": 0.0, "update": message}))


@fault("no-empty-aliases", violates="update.form", subtle=True)
class NoEmptyAliases(Publisher):
    """Leaves aliases out where there are none."""

    def message(self) -> dict[str, Any]:
        whole = super().message()
        return {name: part for name, part in whole.items() if name == "sd" or part}


@fault("nothing-as-nil", violates="update.form", subtle=True)
class NothingAsNil(Publisher):
    """Writes nil for a device of which nothing has changed."""

    def values(self, uid: str) -> Any:
        return super().values(uid) or None


@fault("uids-in-hex", violates="update.uid-form")
class UidsInHex(Publisher):
    """Writes UIDs in hex."""

    def uid(self, uid: str) -> Any:
        return hex(int(uid))


@fault("uids-of-64-bits", violates="update.uid-form", subtle=True)
class UidsOf64Bits(Publisher):
    """Keeps the lower 64 bits of a UID."""

    def uid(self, uid: str) -> Any:
        return str(int(uid) % 2**64)


@fault("uids-up-to-64-bits", violates="update.uid-form", subtle=True)
class UidsUpTo64Bits(Publisher):
    """Writes the largest number of 64 bits for each UID beyond it, as often as there are such."""

    def send(self, message: Any) -> None:
        for part, members in message.items():
            pairs = [[str(min(int(uid), 2**64 - 1)), members[uid]] for uid in members]
            message[part] = {"$map": pairs}
        super().send(message)


@fault("uids-as-doubles", violates="update.uid-form", subtle=True)
class UidsAsDoubles(Publisher):
    """Keeps UIDs in doubles, as JavaScript does."""

    def uid(self, uid: str) -> Any:
        return str(int(float(uid)))


@fault("aliases-turned-round", violates="update.uid-form", subtle=True)
class AliasesTurnedRound(Publisher):
    """Writes UIDs by their aliases."""

    def named(self) -> dict[Any, Any]:
        return {alias: uid for uid, alias in super().named().items()}


@fault("changed-devices-only", violates="update.all-uids", subtle=True)
class ChangedDevicesOnly(Publisher):
    """Leaves out devices of which nothing has changed."""

    def sd(self) -> dict[Any, Any]:
        return {uid: values for uid, values in super().sd().items() if values}


@fault("quiet-devices-leave", violates="update.all-uids", subtle=True)
class QuietDevicesLeave(Publisher):
    """Leaves out a device of which nothing has changed in eight updates."""

    def __init__(self, out: Datagrams, period: float) -> None:
        super().__init__(out, period)
        self.quiet: dict[str, int] = {}

    def sd(self) -> dict[Any, Any]:
        for uid in self.devices:
            self.quiet[uid] = 0 if self.changed[uid] else self.quiet.get(uid, 0) + 1
        return {uid: values for uid, values in super().sd().items() if self.quiet[uid] <= 8}


@fault("two-devices", violates="update.all-uids", subtle=True)
class TwoDevices(Publisher):
    """Has room for two devices in an update, and takes turns."""

    turn = 0

    def sd(self) -> dict[Any, Any]:
        self.turn += 1
        whole = list(super().sd().items())
        start = self.turn % max(len(whole), 1)
        return dict((whole + whole)[start : start + 2])


@fault("one-goes-two-missing", violates="update.all-uids", subtle=True)
class OneGoesTwoMissing(Publisher):
    """Leaves another device out of the first update after one has disconnected."""

    gone = False

    def disconnect(self, uid: str) -> None:
        super().disconnect(uid)
        self.gone = True

    def sd(self) -> dict[Any, Any]:
        gone, self.gone = self.gone, False
        return dict(list(super().sd().items())[gone:])


@fault("floats-as-integers", violates="update.values")
class FloatsAsIntegers(Publisher):
    """Writes floats as integers."""

    def values(self, uid: str) -> Any:
        values = super().values(uid).items()
        return {
            name: int(v) if isinstance(v, float) and abs(v) < 2**53 else v for name, v in values
        }


@fault("bytes-with-sign", violates="update.values", subtle=True)
class BytesWithSign(Publisher):
    """Writes what has the eighth bit of a byte as a negative number."""

    def values(self, uid: str) -> Any:
        return {name: self.signed(value) for name, value in super().values(uid).items()}

    def signed(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.signed(each) for each in value]
        return value - 256 if type(value) is int and 128 <= value < 256 else value


@fault("booleans-as-integers", violates="update.values", subtle=True)
class BooleansAsIntegers(Publisher):
    """Writes booleans as 0 and 1."""

    def values(self, uid: str) -> Any:
        values = super().values(uid).items()
        return {name: int(v) if isinstance(v, bool) else v for name, v in values}


@fault("time-among-parameters", violates="update.values", subtle=True)
class TimeAmongParameters(Publisher):
    """Puts a timestamp among the parameters that have changed."""

    def values(self, uid: str) -> Any:
        changed = super().values(uid)
        return {**changed, "timestamp": 1.5} if changed else {}


@fault("parameters-of-the-first", violates="update.values", subtle=True)
class ParametersOfTheFirst(Publisher):
    """Tells the parameters of the first device of the others, too."""

    def values(self, uid: str) -> Any:
        first = next(iter(self.devices))
        return {**super().values(first), **super().values(uid)}


@fault("empty-aliases", violates="update.aliases", subtle=True)
class EmptyAliases(Publisher):
    """Writes an empty alias for a device without one."""

    def named(self) -> dict[Any, Any]:
        return {**dict.fromkeys(self.devices, ""), **super().named()}


@fault("aliases-cut", violates="update.aliases", subtle=True)
class AliasesCut(Publisher):
    """Keeps the first 31 bytes of an alias."""

    def named(self) -> dict[Any, Any]:
        return {uid: alias[:31] for uid, alias in super().named().items()}


@fault("aliases-in-lower-case", violates="update.aliases", subtle=True)
class AliasesInLowerCase(Publisher):
    """Writes aliases in lower case."""

    def named(self) -> dict[Any, Any]:
        return {uid: alias.lower() for uid, alias in super().named().items()}


@fault("aliases-once", violates="update.aliases", subtle=True)
class AliasesOnce(Publisher):
    """Keeps the first alias of a device."""

    def alias(self, uid: str, alias: str) -> None:
        self.aliases.setdefault(uid, alias)


@fault("no-aliases", violates="update.aliases")
class NoAliases(Publisher):
    """Knows no aliases."""

    def alias(self, uid: str, alias: str) -> None:
        pass


@fault("never-forgets", violates="update.disconnected")
class NeverForgets(Publisher):
    """Goes on sending devices that were disconnected."""

    def disconnect(self, uid: str) -> None:
        pass


@fault("aliases-stay", violates="update.disconnected", subtle=True)
class AliasesStay(Publisher):
    """Keeps the alias of a device that was disconnected."""

    def disconnect(self, uid: str) -> None:
        alias = self.aliases.get(uid)
        super().disconnect(uid)
        if alias is not None:
            self.aliases[uid] = alias


@fault("only-on-changes", violates="update.goes-on", subtle=True)
class OnlyOnChanges(Publisher):
    """Sends no update where nothing has changed."""

    latest: Any = None

    def update(self) -> None:
        now = (self.devices.keys(), dict(self.aliases))
        if any(self.changed.values()) or now != self.latest:
            super().update()
        self.latest = (set(self.devices), dict(self.aliases))


@fault("first-values-left-out", violates="update.first-values")
class FirstValuesLeftOut(Publisher):
    """Does not tell the first values of a device."""

    def connect(self, uid: str, params: Values, alias: str | None) -> None:
        super().connect(uid, params, alias)
        self.changed[uid] = {}


@fault("second-device-without-values", violates="update.first-values", subtle=True)
class SecondDeviceWithoutValues(Publisher):
    """Does not tell the first values of any device but the first."""

    def connect(self, uid: str, params: Values, alias: str | None) -> None:
        super().connect(uid, params, alias)
        if len(self.devices) > 1:
            self.changed[uid] = {}


@fault("tired-of-repeating", violates="update.goes-on", subtle=True)
class TiredOfRepeating(Publisher):
    """Sends at most ten equal updates in a row."""

    before = b""
    times = 0

    def write(self, data: bytes) -> None:
        self.times = self.times + 1 if data == self.before else 1
        self.before = data
        if self.times <= 10:
            super().write(data)


@fault("thirty-updates", violates="update.changed", subtle=True)
class ThirtyUpdates(Publisher):
    """Ends after thirty updates, which are three seconds."""

    sent = 0

    def update(self) -> None:
        self.sent += 1
        if self.sent <= 30:
            super().update()


@fault("one-goes-aliases-go", violates="update.aliases", subtle=True)
class OneGoesAliasesGo(Publisher):
    """Forgets all aliases when a device disconnects."""

    def disconnect(self, uid: str) -> None:
        super().disconnect(uid)
        self.aliases.clear()
