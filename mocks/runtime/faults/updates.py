"""Faults of the update publisher."""

import json
from typing import Any

from conformance.runtime.codec import encode
from mocks.datagrams import Datagrams
from mocks.deviations import fault
from mocks.runtime.faults.dying import die
from mocks.runtime.update_publisher import Publisher, Values


@fault("json", violates="encoding.messagepack")
class Json(Publisher):
    """Sends JSON."""

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode())


@fault("long-updates-in-two", violates="encoding.messagepack", subtle=True)
class LongUpdatesInTwo(Publisher):
    """Splits an update of more than 500 bytes into several datagrams."""

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), 500):
            super().write(data[start : start + 500])


@fault("cut-at-a-packet", violates="encoding.messagepack", subtle=True)
class CutAtAPacket(Publisher):
    """Truncates an update to the size of one Ethernet packet."""

    def write(self, data: bytes) -> None:
        super().write(data[:1472])


@fault("counts-of-four-bits", violates="encoding.messagepack", subtle=True)
class CountsOfFourBits(Publisher):
    """Writes the count of a map of 16 as four bits, which is 0."""

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
    """Writes aliases with characters beyond ASCII as bins."""

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
    """Sends an update within a map with its time."""

    def send(self, message: Any) -> None:
        self.write(encode({"time": 0.0, "update": message}))


@fault("no-empty-aliases", violates="update.aliases-present", subtle=True)
class NoEmptyAliases(Publisher):
    """Omits aliases if there are none."""

    def message(self) -> dict[str, Any]:
        whole = super().message()
        return {name: part for name, part in whole.items() if name == "sd" or part}


@fault("nothing-as-nil", violates="update.form", subtle=True)
class NothingAsNil(Publisher):
    """Writes nil for a device without changes."""

    def values(self, uid: str) -> Any:
        return super().values(uid) or None


@fault("uids-in-hex", violates="update.uid-form")
class UidsInHex(Publisher):
    """Writes UIDs in hex."""

    def uid(self, uid: str) -> Any:
        return hex(int(uid))


@fault("uids-of-64-bits", violates="update.uid-width", subtle=True)
class UidsOf64Bits(Publisher):
    """Truncates a UID to its lower 64 bits."""

    def uid(self, uid: str) -> Any:
        return str(int(uid) % 2**64)


@fault("uids-up-to-64-bits", violates="update.uid-width", subtle=True)
class UidsUpTo64Bits(Publisher):
    """Writes the largest number of 64 bits for every larger UID, even repeatedly."""

    def send(self, message: Any) -> None:
        for part, members in message.items():
            pairs = [[str(min(int(uid), 2**64 - 1)), members[uid]] for uid in members]
            message[part] = {"$map": pairs}
        super().send(message)


@fault("uids-as-doubles", violates="update.uid-form", subtle=True)
class UidsAsDoubles(Publisher):
    """Stores UIDs in doubles, as JavaScript does."""

    def uid(self, uid: str) -> Any:
        return str(int(float(uid)))


@fault("aliases-turned-round", violates="update.uid-form", subtle=True)
class AliasesTurnedRound(Publisher):
    """Maps aliases to UIDs instead of UIDs to aliases."""

    def named(self) -> dict[Any, Any]:
        return {alias: uid for uid, alias in super().named().items()}


@fault("changed-devices-only", violates="update.all-uids", subtle=True)
class ChangedDevicesOnly(Publisher):
    """Omits devices without changes."""

    def sd(self) -> dict[Any, Any]:
        return {uid: values for uid, values in super().sd().items() if values}


@fault("quiet-devices-leave", violates="update.all-uids", subtle=True)
class QuietDevicesLeave(Publisher):
    """Omits a device after eight updates without changes."""

    def __init__(self, out: Datagrams, period: float) -> None:
        super().__init__(out, period)
        self.quiet: dict[str, int] = {}

    def sd(self) -> dict[Any, Any]:
        for uid in self.devices:
            self.quiet[uid] = 0 if self.changed[uid] else self.quiet.get(uid, 0) + 1
        return {uid: values for uid, values in super().sd().items() if self.quiet[uid] <= 8}


@fault("two-devices", violates="update.all-uids", subtle=True)
class TwoDevices(Publisher):
    """Sends only two devices in each update, in turn."""

    turn = 0

    def sd(self) -> dict[Any, Any]:
        self.turn += 1
        whole = list(super().sd().items())
        start = self.turn % max(len(whole), 1)
        return dict((whole + whole)[start : start + 2])


@fault("one-goes-two-missing", violates="update.all-uids", subtle=True)
class OneGoesTwoMissing(Publisher):
    """Omits another device in the first update after a disconnect."""

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


@fault("floats-of-four-digits", violates="update.values", subtle=True)
class FloatsOfFourDigits(Publisher):
    """Rounds floats to four digits."""

    def values(self, uid: str) -> Any:
        return {name: _round(value) for name, value in super().values(uid).items()}


def _round(value: Any) -> Any:
    if isinstance(value, list):
        return [_round(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


@fault("bytes-with-sign", violates="update.values", subtle=True)
class BytesWithSign(Publisher):
    """Writes numbers from 128 to 255 as negative numbers."""

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
    """Adds a timestamp to the changed parameters."""

    def values(self, uid: str) -> Any:
        changed = super().values(uid)
        return {**changed, "timestamp": 1.5} if changed else {}


@fault("parameters-of-the-first", violates="update.values", subtle=True)
class ParametersOfTheFirst(Publisher):
    """Sends the parameters of the first device for the other devices too."""

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
    """Truncates an alias to 31 characters."""

    def named(self) -> dict[Any, Any]:
        return {uid: alias[:31] for uid, alias in super().named().items()}


@fault("aliases-of-1024-bytes-lost", violates="update.aliases", subtle=True)
class AliasesOf1024BytesLost(Publisher):
    """Omits an alias of more than 1024 bytes."""

    def named(self) -> dict[Any, Any]:
        known = super().named()
        return {uid: alias for uid, alias in known.items() if len(alias.encode()) <= 1024}


@fault("aliases-in-lower-case", violates="update.aliases", subtle=True)
class AliasesInLowerCase(Publisher):
    """Writes aliases in lower case."""

    def named(self) -> dict[Any, Any]:
        return {uid: alias.lower() for uid, alias in super().named().items()}


@fault("aliases-once", violates="update.aliases", subtle=True)
class AliasesOnce(Publisher):
    """Keeps the first alias of a device, and ignores later ones."""

    def alias(self, uid: str, alias: str) -> None:
        self.aliases.setdefault(uid, alias)


@fault("no-aliases", violates="update.aliases")
class NoAliases(Publisher):
    """Ignores all aliases."""

    def alias(self, uid: str, alias: str) -> None:
        pass


@fault("never-forgets", violates="update.disconnected")
class NeverForgets(Publisher):
    """Continues to send disconnected devices."""

    def disconnect(self, uid: str) -> None:
        pass


@fault("aliases-stay", violates="update.disconnected", subtle=True)
class AliasesStay(Publisher):
    """Continues to send the alias of a disconnected device."""

    def disconnect(self, uid: str) -> None:
        alias = self.aliases.get(uid)
        super().disconnect(uid)
        if alias is not None:
            self.aliases[uid] = alias


@fault("only-on-changes", violates="update.goes-on", subtle=True)
class OnlyOnChanges(Publisher):
    """Sends no update if nothing has changed."""

    latest: Any = None

    def update(self) -> None:
        now = (self.devices.keys(), dict(self.aliases))
        if any(self.changed.values()) or now != self.latest:
            super().update()
        self.latest = (set(self.devices), dict(self.aliases))


@fault("first-values-left-out", violates="update.first-values")
class FirstValuesLeftOut(Publisher):
    """Does not send the first values of a device."""

    def connect(self, uid: str, params: Values, alias: str | None) -> None:
        super().connect(uid, params, alias)
        self.changed[uid] = {}


@fault("second-device-without-values", violates="update.first-values", subtle=True)
class SecondDeviceWithoutValues(Publisher):
    """Does not send the first values of any device except the first."""

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
    """Stops after thirty updates, which is three seconds."""

    sent = 0

    def update(self) -> None:
        self.sent += 1
        if self.sent <= 30:
            super().update()


@fault("one-goes-aliases-go", violates="update.aliases", subtle=True)
class OneGoesAliasesGo(Publisher):
    """Forgets all aliases when any device disconnects."""

    def disconnect(self, uid: str) -> None:
        super().disconnect(uid)
        self.aliases.clear()


@fault("dies-of-its-last-device", violates="update.first-values", subtle=True)
class DiesOfItsLastDevice(Publisher):
    """Crashes when its only device disconnects."""

    def disconnect(self, uid: str) -> None:
        super().disconnect(uid)
        if not self.devices:
            die()
