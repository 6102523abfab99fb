"""Faults about the interpretation of the catalog."""

import re
from dataclasses import replace
from math import inf
from typing import Any

import yaml

from conformance.runtime.memory import catalog
from conformance.runtime.memory.catalog import CatalogError, Parameter, Peripheral
from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.memory.changes import (
    edit_params,
    first_of_smart,
    lay_out,
    lay_out_params,
    refuse_catalog,
    refuse_layout,
)
from mocks.runtime.memory.peer import Asked, Peer
from mocks.steps import Change, Function, alter, before, fail, instead, skip

Raw = dict[str, Any]


def _refuse_text(why: str, part: bytes) -> Change:
    """Refuse a catalog with these bytes."""
    return before("read_catalog", fail(CatalogError, why), lambda _, text: part in text)


def _has_odd_name(peripheral: Peripheral) -> bool:
    return re.fullmatch("[a-z-]+", peripheral.name) is None


def _has_type_first(_: Asked, text: bytes) -> bool:
    peripherals = yaml.safe_load(text).values()
    return any(next(iter(param)) == "type" for of in peripherals for param in of.get("params", []))


def _without_float_bounds(param: Raw) -> Raw:
    """Drop the bounds of an integer that are written as floats."""
    if catalog.KINDS.get(str(param.get("type"))) != catalog.INTEGER:
        return param
    bounds = [key for key in ("lower", "upper") if isinstance(param.get(key), float)]
    return {key: param[key] for key in param if key not in bounds}


def _read_lists_once(usual: Function, peer: Asked, text: bytes) -> dict[str, Peripheral]:
    known: dict[str, Peripheral] = usual(peer, text)
    lists: list[Any] = []
    for name, raw in yaml.safe_load(text).items():
        if any(raw["params"] is each for each in lists):
            known[name] = replace(known[name], params=())
        lists.append(raw["params"])
    return known


def _with_access(param: Raw) -> Raw:
    if "name" in param and "readable" not in param:
        raise CatalogError(f"{param['name']} has no key readable")
    return param


def _close_brackets(param: Raw) -> Raw:
    of = param.get("type", "")
    return {**param, "type": f"{of}]"} if "[" in of and "]" not in of else param


def _with_known_type(param: Raw) -> Raw:
    known = param.get("type", "int").partition("[")[0] in catalog.KINDS
    return param if known else {**param, "type": "int"}


def _types(**others: str) -> Change:
    """Make the layout with other types."""
    return lay_out_params(lambda param: replace(param, type=others.get(param.type, param.type)))


def _has_bounds(param: Parameter) -> bool:
    return (param.lower, param.upper) != (-inf, inf)


def _clamp_first(_: Asked, param: Parameter, value: Any, warnings: list[str]) -> Any:
    return [max(param.lower, min(param.upper, value[0])), *value[1:]]


# An owner that clamps silently violates catalog.clamped-data instead.
ANY = Table(Peer)
ANY["catalog.clamp-warning"] = {
    "clamped-silently": Fault(
        "Clamps without a warning.", skip("warn"), roles=("buffer-consumer",)
    ),
}


def _clamped_boolean(_: Asked, param: Parameter, value: Any, warnings: list[str]) -> Any:
    if param.type == "bool" and isinstance(value, bool):
        value = bool(min(max(value, param.lower), param.upper))
    return param, value, warnings


FAULTS = Table(Asked)

FAULTS["catalog.yaml"] = {
    "name-first": Subtle(
        "Refuses a parameter whose first key is its type.",
        before("read_catalog", fail(CatalogError, "no name comes first"), _has_type_first),
    ),
    "decimal-ids": Subtle(
        "Ignores a device_id in hexadecimal.",
        alter("read_catalog", lambda _, text: re.sub(rb"device_id: 0x\w+", b"x_id: 0", text)),
    ),
    "line-feeds-alone": Subtle(
        "Refuses a catalog whose lines end with carriage return and line feed.",
        _refuse_text("there is no such type", b"\r"),
    ),
    "names-of-letters": Subtle(
        "Refuses a peripheral whose name has a digit or an underscore.",
        refuse_catalog("a name has letters and hyphens", _has_odd_name),
    ),
    "bounds-of-their-type": Subtle(
        "Ignores a bound that is written as a float for an integer parameter.",
        edit_params(_without_float_bounds),
        roles=("buffer-consumer",),
    ),
}

FAULTS["catalog.yaml-flow"] = {
    "block-style-only": Fault(
        "Refuses a catalog in flow style.", _refuse_text("expected block style; received {", b"{")
    ),
    "small-booleans": Subtle(
        "Takes only true and false for booleans.",
        _refuse_text("readable: expected a boolean", b" True"),
    ),
    "finite-bounds": Subtle(
        "Refuses a catalog with an infinite bound.", _refuse_text("expected a number", b".inf")
    ),
    "lists-used-up": Subtle(
        "Empties a list of parameters after its use, so its YAML aliases are empty.",
        Change("read_catalog", _read_lists_once),
    ),
}

FAULTS["catalog.device-id"] = {
    "all-smart": Fault(
        "Gives every buffer a device control block.",
        lay_out(lambda of: replace(of, device_id=of.device_id or 0)),
    ),
    "zero-is-no-id": Subtle(
        "Treats a device_id of 0 as missing.",
        lay_out(lambda of: replace(of, device_id=of.device_id or None)),
    ),
}

FAULTS["catalog.required-keys"] = {
    "nameless-skipped": Fault(
        "Drops a parameter without a name.",
        edit_params(lambda param: param if "name" in param else None),
    ),
    "typeless-is-int": Subtle(
        "Uses int for a parameter without a type.",
        edit_params(lambda param: {"type": "int", **param}),
    ),
}

FAULTS["catalog.optional-access"] = {
    "access-required": Fault(
        "Refuses a parameter without the key readable.", edit_params(_with_access)
    ),
}

FAULTS["catalog.names"] = {
    "ascii-names": Subtle(
        "Refuses a name with letters beyond ASCII.",
        refuse_catalog(
            "a name is not ASCII", lambda of: not all(p.name.isascii() for p in of.params)
        ),
    ),
}

FAULTS["catalog.known-types"] = {
    "unknown-is-int": Fault("Uses int for every unknown type.", edit_params(_with_known_type)),
    "int128-is-int64": Subtle(
        "Uses int64 for the type int128.",
        edit_params(
            lambda param: {**param, "type": "int64"} if param.get("type") == "int128" else param
        ),
    ),
}

FAULTS["catalog.malformed"] = {
    "open-brackets": Subtle(
        "Accepts an array type without its closing bracket.", edit_params(_close_brackets)
    ),
}

FAULTS["catalog.types"] = {
    "int-of-16-bits": Fault(
        "Uses 16 bits for an int, as on a small controller.", _types(int="int16", uint="uint16")
    ),
    "long-of-32-bits": Subtle(
        "Uses 32 bits for a long, as on other systems.", _types(long="int", ulong="uint")
    ),
}

FAULTS["catalog.other-types"] = {
    "no-pointers": Fault(
        "Refuses pointers.",
        refuse_layout(
            "pointers are not supported", lambda of: any(p.type.endswith("_p") for p in of.params)
        ),
    ),
}

FAULTS["catalog.arrays"] = {
    "one-element": Fault(
        "Reserves space for only one value of an array.",
        lay_out_params(lambda param: replace(param, count=param.count and 1)),
    ),
    "count-of-7-bits": Subtle(
        "Truncates the length of an array to 7 bits.",
        lay_out_params(lambda p: replace(p, count=p.count and (p.count & 127 or 1))),
    ),
}

FAULTS["catalog.more-than-16"] = {
    "up-to-17": Subtle("Accepts a Smart Device with 17 parameters.", first_of_smart(16)),
}

FAULTS["catalog.at-most-16"] = {
    "up-to-15": Subtle(
        "Refuses a Smart Device with 16 parameters if its device_id is 3.",
        refuse_catalog("too many parameters", lambda of: len(of.params) > 15 and of.device_id == 3),
    ),
}

FAULTS["catalog.no-limit"] = {
    "16-for-all": Fault(
        "Reports no layout for a peripheral with more than 16 parameters.",
        refuse_layout("too many parameters", lambda of: len(of.params) > 16),
    ),
    "catalogs-of-16": Subtle(
        "Refuses a catalog with a peripheral of more than 16 parameters.",
        refuse_catalog("too many parameters", lambda of: len(of.params) > 16),
    ),
    "up-to-32": Subtle(
        "Uses only the first 32 parameters of a peripheral.",
        lay_out(lambda of: replace(of, params=of.params[:32])),
    ),
}

FAULTS["catalog.ignored-keys"] = {
    "booleans-clamped": Subtle(
        "Clamps a boolean to its bounds.",
        alter("clamp", _clamped_boolean),
        roles=("buffer-owner", "buffer-consumer"),
    ),
    "delay-makes-smart": Fault(
        "Treats every peripheral with a delay as a Smart Device.",
        lay_out(lambda of: of if of.delay is None else replace(of, device_id=of.device_id or 0)),
    ),
    "bounds-of-booleans": Subtle(
        "Refuses a boolean with an upper bound of 0 without a device_id.",
        refuse_layout(
            "a boolean has bounds",
            lambda of: (
                of.device_id is None and any(p.type == "bool" and p.upper == 0 for p in of.params)
            ),
        ),
    ),
}

FAULTS["catalog.optional-keys"] = {
    "bounds-required": Fault(
        "Reports no layout of a peripheral without delay and without any bounds.",
        refuse_layout(
            "no bounds", lambda of: of.delay is None and not any(map(_has_bounds, of.params))
        ),
    ),
}

FAULTS["catalog.array-bounds"] = {
    "first-element-clamped": Subtle(
        "Clamps only the first element of an array.",
        instead("clamp", _clamp_first, lambda _, param, value, *rest: isinstance(value, list)),
    ),
}
