"""Faults about the interpretation of the catalog."""

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


def alter_catalog(text: bytes, alter: Callable[[dict[str, Any]], Any]) -> bytes:
    """Return a catalog with every parameter altered; parameters altered to None are dropped."""
    raw = yaml.safe_load(text)
    for peripheral in raw.values():
        kept = [alter(dict(param)) for param in peripheral.get("params", [])]
        peripheral["params"] = [param for param in kept if param is not None]
    return yaml.safe_dump(raw, sort_keys=False).encode()


def change_types(peripheral: Peripheral, types: dict[str, str]) -> Peripheral:
    """Return a peripheral with some types replaced."""
    params = (replace(p, type=types.get(p.type, p.type)) for p in peripheral.params)
    return replace(peripheral, params=tuple(params))


@fault("name-first", violates="catalog.yaml", subtle=True)
class NameFirst(Asked):
    """Refuses a parameter whose first key is its type."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        for peripheral in yaml.safe_load(text).values():
            for param in peripheral.get("params", []):
                if next(iter(param)) == "type":
                    raise CatalogError("expected the name as the first key")
        return super().read_catalog(text)


@fault("decimal-ids", violates="catalog.yaml", subtle=True)
class DecimalIds(Asked):
    """Ignores a device_id in hexadecimal."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        return super().read_catalog(re.sub(rb"device_id: 0x\w+", b"x_id: 0", text))


@fault("line-feeds-alone", violates="catalog.yaml", subtle=True)
class LineFeedsAlone(Asked):
    """Refuses a catalog whose lines end with carriage return and line feed."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        if b"\r" in text:
            raise CatalogError("there is no such type")
        return super().read_catalog(text)


@fault("bounds-of-their-type", violates="catalog.yaml", subtle=True, roles=("buffer-consumer",))
class BoundsOfTheirType(Asked):
    """Ignores a bound that is written as a float for an integer parameter."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def whole(param: dict[str, Any]) -> dict[str, Any]:
            integer = catalog.KINDS.get(str(param.get("type"))) == catalog.INTEGER
            bounds = [key for key in ("lower", "upper") if isinstance(param.get(key), float)]
            return {key: param[key] for key in param if not (integer and key in bounds)}

        return super().read_catalog(alter_catalog(text, whole))


@fault("block-style-only", violates="catalog.yaml-flow")
class BlockStyleOnly(Asked):
    """Refuses a catalog in flow style."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        if b"{" in text:
            raise CatalogError("expected block style; received {")
        return super().read_catalog(text)


@fault("lists-used-up", violates="catalog.yaml-flow", subtle=True)
class ListsUsedUp(Asked):
    """Empties a list of parameters after its use, so its YAML aliases are empty."""

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
    """Treats a device_id of 0 as missing."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(replace(peripheral, device_id=peripheral.device_id or None))


@fault("nameless-skipped", violates="catalog.required-keys")
class NamelessSkipped(Asked):
    """Drops a parameter without a name."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            return param if "name" in param else None

        return super().read_catalog(alter_catalog(text, alter))


@fault("typeless-is-int", violates="catalog.required-keys", subtle=True)
class TypelessIsInt(Asked):
    """Uses int for a parameter without a type."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        return super().read_catalog(alter_catalog(text, lambda param: {"type": "int", **param}))


@fault("access-required", violates="catalog.optional-access")
class AccessRequired(Asked):
    """Refuses a parameter without the key readable."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            if "name" in param and "readable" not in param:
                raise CatalogError(f"{param['name']} has no key readable")
            return param

        return super().read_catalog(alter_catalog(text, alter))


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
    """Uses int for every unknown type."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            known = param.get("type", "int").partition("[")[0] in catalog.KINDS
            return param if known else {**param, "type": "int"}

        return super().read_catalog(alter_catalog(text, alter))


@fault("open-brackets", violates="catalog.malformed", subtle=True)
class OpenBrackets(Asked):
    """Accepts an array type without its closing bracket."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            of = param.get("type", "")
            return {**param, "type": f"{of}]"} if "[" in of and "]" not in of else param

        return super().read_catalog(alter_catalog(text, alter))


@fault("int128-is-int64", violates="catalog.known-types", subtle=True)
class Int128IsInt64(Asked):
    """Uses int64 for the type int128."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        def alter(param: dict[str, Any]) -> Any:
            wide = param.get("type") == "int128"
            return {**param, "type": "int64"} if wide else param

        return super().read_catalog(alter_catalog(text, alter))


@fault("int-of-16-bits", violates="catalog.types")
class IntOf16Bits(Asked):
    """Uses 16 bits for an int, as on a small controller."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(change_types(peripheral, {"int": "int16", "uint": "uint16"}))


@fault("long-of-32-bits", violates="catalog.types", subtle=True)
class LongOf32Bits(Asked):
    """Uses 32 bits for a long, as on other systems."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(change_types(peripheral, {"long": "int", "ulong": "uint"}))


@fault("no-pointers", violates="catalog.other-types")
class NoPointers(Asked):
    """Refuses pointers."""

    def layout(self, peripheral: Peripheral) -> Layout:
        if any(param.type.endswith("_p") for param in peripheral.params):
            raise CatalogError("pointers are not supported")
        return super().layout(peripheral)


@fault("one-element", violates="catalog.arrays")
class OneElement(Asked):
    """Reserves space for only one value of an array."""

    def layout(self, peripheral: Peripheral) -> Layout:
        params = (replace(p, count=p.count and 1) for p in peripheral.params)
        return super().layout(replace(peripheral, params=tuple(params)))


@fault("count-of-7-bits", violates="catalog.arrays", subtle=True)
class CountOf7Bits(Asked):
    """Truncates the length of an array to 7 bits."""

    def layout(self, peripheral: Peripheral) -> Layout:
        def cut(param: Parameter) -> Parameter:
            return replace(param, count=param.count and (param.count & 127 or 1))

        return super().layout(replace(peripheral, params=tuple(map(cut, peripheral.params))))


@fault("up-to-17", violates="catalog.more-than-16", subtle=True)
class UpTo17(Asked):
    """Accepts a Smart Device with 17 parameters."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        raw = yaml.safe_load(text)
        for peripheral in raw.values():
            if "device_id" in peripheral:
                peripheral["params"] = peripheral["params"][:16]
        return super().read_catalog(yaml.safe_dump(raw, sort_keys=False).encode())


@fault("up-to-15", violates="catalog.at-most-16", subtle=True)
class UpTo15(Asked):
    """Refuses a Smart Device with 16 parameters if its device_id is 3."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        read = super().read_catalog(text)
        if any(len(p.params) > 15 and p.device_id == 3 for p in read.values()):
            raise CatalogError("too many parameters")
        return read


@fault("16-for-all", violates="catalog.no-limit")
class SixteenForAll(Asked):
    """Reports no layout for a peripheral with more than 16 parameters."""

    def layout(self, peripheral: Peripheral) -> Layout:
        if len(peripheral.params) > 16:
            raise CatalogError(f"{peripheral.name} has too many parameters")
        return super().layout(peripheral)


@fault("catalogs-of-16", violates="catalog.no-limit", subtle=True)
class CatalogsOf16(Asked):
    """Refuses a catalog with a peripheral of more than 16 parameters."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        read = super().read_catalog(text)
        if any(len(peripheral.params) > 16 for peripheral in read.values()):
            raise CatalogError("too many parameters")
        return read


@fault("up-to-32", violates="catalog.no-limit", subtle=True)
class UpTo32(Asked):
    """Uses only the first 32 parameters of a peripheral."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return super().layout(replace(peripheral, params=peripheral.params[:32]))


@fault("delay-makes-smart", violates="catalog.ignored-keys")
class DelayMakesSmart(Asked):
    """Treats every peripheral with a delay as a Smart Device."""

    def layout(self, peripheral: Peripheral) -> Layout:
        if peripheral.delay is not None and peripheral.device_id is None:
            peripheral = replace(peripheral, device_id=0)
        return super().layout(peripheral)


@fault("bounds-of-booleans", violates="catalog.ignored-keys", subtle=True)
class BoundsOfBooleans(Asked):
    """Refuses a boolean with an upper bound of 0 without a device_id."""

    def layout(self, peripheral: Peripheral) -> Layout:
        for param in peripheral.params:
            if param.type == "bool" and param.upper == 0 and peripheral.device_id is None:
                raise CatalogError(f"{param.name} is a boolean and has bounds")
        return super().layout(peripheral)


# An owner that clamps silently violates catalog.clamped-data instead.
@fault("clamped-silently", violates="catalog.clamp-warning", roles=("buffer-consumer",))
class ClampedSilently(Peer):
    """Clamps without a warning."""

    def warn(self, text: str, warnings: list[str]) -> None:
        pass


@fault("bounds-required", violates="catalog.optional-keys")
class BoundsRequired(Asked):
    """Reports no layout of a peripheral without delay and without any bounds."""

    def layout(self, peripheral: Peripheral) -> Layout:
        unbounded = all((p.lower, p.upper) == (-inf, inf) for p in peripheral.params)
        if unbounded and peripheral.delay is None:
            raise CatalogError(f"{peripheral.name} has no bounds")
        return super().layout(peripheral)


@fault("first-element-clamped", violates="catalog.array-bounds", subtle=True)
class FirstElementClamped(Asked):
    """Clamps only the first element of an array."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        if not isinstance(value, list):
            return super().clamp(param, value, warnings)
        return [max(param.lower, min(param.upper, value[0])), *value[1:]]
