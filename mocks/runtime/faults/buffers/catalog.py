"""Faults in what is made of the catalog."""

import re
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import yaml

from conformance.runtime.memory import catalog
from conformance.runtime.memory.catalog import CatalogError, Parameter, Peripheral
from conformance.runtime.memory.layout import Layout
from mocks.deviations import fault
from mocks.runtime.memory.peer import Asked, Peer


def altered(text: bytes, alter: Callable[[dict[str, Any]], Any]) -> bytes:
    """A catalog whose every parameter has been altered; one altered to None is left out."""
    raw = yaml.safe_load(text)
    for peripheral in raw.values():
        kept = [alter(dict(param)) for param in peripheral.get("params", [])]
        peripheral["params"] = [param for param in kept if param is not None]
    return yaml.safe_dump(raw, sort_keys=False).encode()


def retyped(peripheral: Peripheral, types: dict[str, str]) -> Peripheral:
    """A peripheral with other types in place of some."""
    params = (replace(p, type=types.get(p.type, p.type)) for p in peripheral.params)
    return replace(peripheral, params=tuple(params))


@fault("name-first", violates="catalog.yaml", subtle=True)
class NameFirst(Asked):
    """Refuses a parameter whose first key is not its name."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        for peripheral in yaml.safe_load(text).values():
            for param in peripheral.get("params", []):
                if next(iter(param)) == "type":
                    raise CatalogError("the name is to come first")
        return super().read_catalog(text)


@fault("decimal-ids", violates="catalog.yaml", subtle=True)
class DecimalIds(Asked):
    """Takes a device_id in hexadecimal for none."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        return super().read_catalog(re.sub(rb"device_id: 0x\w+", b"x_id: 0", text))


@fault("line-feeds-alone", violates="catalog.yaml", subtle=True)
class LineFeedsAlone(Asked):
    """Refuses a catalog whose lines end with a carriage return and a line feed."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        if b"\r" in text:
            raise CatalogError("there is no such type")
        return super().read_catalog(text)


@fault("bounds-of-their-type", violates="catalog.yaml", subtle=True, roles=("buffer-consumer",))
class BoundsOfTheirType(Asked):
    """Takes a bound for none that is of a float where the parameter is of an integer."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def whole(param: dict[str, Any]) -> dict[str, Any]:
            integer = catalog.KINDS.get(str(param.get("type"))) == catalog.INTEGER
            bounds = [key for key in ("lower", "upper") if isinstance(param.get(key), float)]
            return {key: param[key] for key in param if not (integer and key in bounds)}

        return super().read_catalog(altered(text, whole))


@fault("block-style-only", violates="catalog.yaml-flow")
class BlockStyleOnly(Asked):
    """Refuses a catalog in flow style."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        if b"{" in text:
            raise CatalogError("what is { supposed to mean?")
        return super().read_catalog(text)


@fault("lists-used-up", violates="catalog.yaml-flow", subtle=True)
class ListsUsedUp(Asked):
    """Takes parameters out of the list that it has read: who has it by an alias has none."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        known = super().read_catalog(text)
        lists: list[Any] = []
        for name, raw in yaml.safe_load(text).items():
            if any(raw["params"] is each for each in lists):
                known[name] = replace(known[name], params=())
            lists.append(raw["params"])
        return known


@fault("all-smart", violates="catalog.device-id")
class AllSmart(Asked):
    """Gives every buffer a device control block."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(replace(peripheral, device_id=peripheral.device_id or 0))


@fault("zero-is-no-id", violates="catalog.device-id", subtle=True)
class ZeroIsNoId(Asked):
    """Takes a device_id of 0 for none."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(replace(peripheral, device_id=peripheral.device_id or None))


@fault("nameless-skipped", violates="catalog.required-keys")
class NamelessSkipped(Asked):
    """Leaves out a parameter that has no name."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            return param if "name" in param else None

        return super().read_catalog(altered(text, alter))


@fault("typeless-is-int", violates="catalog.required-keys", subtle=True)
class TypelessIsInt(Asked):
    """Takes a parameter without a type for an int."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        return super().read_catalog(altered(text, lambda param: {"type": "int", **param}))


@fault("access-required", violates="catalog.optional-access")
class AccessRequired(Asked):
    """Refuses a parameter that does not say whether it can be read."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            if "name" in param and "readable" not in param:
                raise CatalogError(f"{param['name']} does not say whether it is readable")
            return param

        return super().read_catalog(altered(text, alter))


@fault("ascii-names", violates="catalog.names", subtle=True)
class AsciiNames(Asked):
    """Refuses a name with letters beyond ASCII."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        read = super().read_catalog(text)
        for peripheral in read.values():
            for param in peripheral.params:
                if not param.name.isascii():
                    raise CatalogError(f"{param.name!r} is not ASCII")
        return read


@fault("unknown-is-int", violates="catalog.known-types")
class UnknownIsInt(Asked):
    """Takes every type that it does not know for an int."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            known = param.get("type", "int").partition("[")[0] in catalog.KINDS
            return param if known else {**param, "type": "int"}

        return super().read_catalog(altered(text, alter))


@fault("open-brackets", violates="catalog.malformed", subtle=True)
class OpenBrackets(Asked):
    """Does not mind that the bracket behind the length of an array is missing."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            of = param.get("type", "")
            return {**param, "type": f"{of}]"} if "[" in of and "]" not in of else param

        return super().read_catalog(altered(text, alter))


@fault("int128-is-int64", violates="catalog.known-types", subtle=True)
class Int128IsInt64(Asked):
    """Takes the widest integer that there is where a wider one is asked for."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            wide = param.get("type") == "int128"
            return {**param, "type": "int64"} if wide else param

        return super().read_catalog(altered(text, alter))


@fault("int-of-16-bits", violates="catalog.types")
class IntOf16Bits(Asked):
    """Gives an int 16 bits, as on a small controller."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(retyped(peripheral, {"int": "int16", "uint": "uint16"}))


@fault("long-of-32-bits", violates="catalog.types", subtle=True)
class LongOf32Bits(Asked):
    """Gives a long 32 bits, as on another system."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(retyped(peripheral, {"long": "int", "ulong": "uint"}))


@fault("no-pointers", violates="catalog.other-types")
class NoPointers(Asked):
    """Refuses pointers."""

    def layout(self, peripheral: Peripheral) -> Layout:
        if any(param.type.endswith("_p") for param in peripheral.params):
            raise CatalogError("what would a pointer be good for?")
        return super().layout(peripheral)


@fault("one-element", violates="catalog.arrays")
class OneElement(Asked):
    """Gives an array the place of one value."""

    def layout(self, peripheral: Peripheral) -> Layout:
        params = (replace(p, count=p.count and 1) for p in peripheral.params)
        return super().layout(replace(peripheral, params=tuple(params)))


@fault("count-of-7-bits", violates="catalog.arrays", subtle=True)
class CountOf7Bits(Asked):
    """Takes the length of an array for a signed byte."""

    def layout(self, peripheral: Peripheral) -> Layout:
        def cut(param: Parameter) -> Parameter:
            return replace(param, count=param.count and (param.count & 127 or 1))

        return super().layout(replace(peripheral, params=tuple(map(cut, peripheral.params))))


@fault("up-to-17", violates="catalog.more-than-16", subtle=True)
class UpTo17(Asked):
    """Takes a Smart Device with 17 parameters."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        raw = yaml.safe_load(text)
        for peripheral in raw.values():
            if "device_id" in peripheral:
                peripheral["params"] = peripheral["params"][:16]
        return super().read_catalog(yaml.safe_dump(raw, sort_keys=False).encode())


@fault("up-to-15", violates="catalog.at-most-16", subtle=True)
class UpTo15(Asked):
    """Refuses a Smart Device with 16 parameters that is not the first of its catalog."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        read = super().read_catalog(text)
        if any(len(p.params) > 15 and p.device_id == 3 for p in read.values()):
            raise CatalogError("that are too many parameters")
        return read


@fault("16-for-all", violates="catalog.no-limit")
class SixteenForAll(Asked):
    """Has no layout for any peripheral with more than 16 parameters."""

    def layout(self, peripheral: Peripheral) -> Layout:
        if len(peripheral.params) > 16:
            raise CatalogError(f"{peripheral.name} has too many parameters")
        return super().layout(peripheral)


@fault("catalogs-of-16", violates="catalog.no-limit", subtle=True)
class CatalogsOf16(Asked):
    """Refuses a catalog in which any peripheral has more than 16 parameters."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        read = super().read_catalog(text)
        if any(len(peripheral.params) > 16 for peripheral in read.values()):
            raise CatalogError("that are too many parameters")
        return read


@fault("up-to-32", violates="catalog.no-limit", subtle=True)
class UpTo32(Asked):
    """Uses only the first 32 parameters of a peripheral."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(replace(peripheral, params=peripheral.params[:32]))


@fault("delay-makes-smart", violates="catalog.ignored-keys")
class DelayMakesSmart(Asked):
    """Takes whatever has a delay for a Smart Device."""

    def layout(self, peripheral: Peripheral) -> Layout:
        if peripheral.delay is not None and peripheral.device_id is None:
            peripheral = replace(peripheral, device_id=0)
        return super().layout(peripheral)


@fault("bounds-of-booleans", violates="catalog.ignored-keys", subtle=True)
class BoundsOfBooleans(Asked):
    """Refuses a boolean with bounds, unless its peripheral is a Smart Device."""

    def layout(self, peripheral: Peripheral) -> Layout:
        for param in peripheral.params:
            if param.type == "bool" and param.upper == 0 and peripheral.device_id is None:
                raise CatalogError(f"{param.name} is a boolean and has bounds")
        return super().layout(peripheral)


# An owner that clamps silently violates catalog.clamped-data.
@fault("clamped-silently", violates="catalog.clamp-warning", roles=("buffer-consumer",))
class ClampedSilently(Peer):
    """Clamps without a warning."""

    def warn(self, text: str, warnings: list[str]) -> None:
        pass


@fault("bounds-required", violates="catalog.optional-keys")
class BoundsRequired(Asked):
    """Has no layout of a peripheral without a delay, none of whose parameters has bounds."""

    def layout(self, peripheral: Peripheral) -> Layout:
        unbounded = all((p.lower, p.upper) == (-inf, inf) for p in peripheral.params)
        if unbounded and peripheral.delay is None:
            raise CatalogError(f"nothing of {peripheral.name} has bounds")
        return super().layout(peripheral)


@fault("first-element-clamped", violates="catalog.array-bounds", subtle=True)
class FirstElementClamped(Asked):
    """Clamps the first element of an array."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        if not isinstance(value, list):
            return super().clamp(param, value, warnings)
        return [max(param.lower, min(param.upper, value[0])), *value[1:]]
