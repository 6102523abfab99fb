"""The layout that an implementation declares, in the form of `layout.json`."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.definitions import protocols
from conformance.runtime.memory.catalog import KINDS, Parameter, Peripheral
from conformance.runtime.memory.layout import TIMESTAMP, Field, Layout, width


class LayoutError(ValueError):
    """An impossible layout. The text is the reason."""


def parse_layout(raw: Any, peripheral: Peripheral) -> Layout:
    """Return the layout that an implementation declares for a peripheral's buffer.

    Raises LayoutError if the layout is invalid.
    """
    if errors := protocols.load("runtime").schemas.errors("layout.json", raw):
        raise LayoutError(errors[0].message)
    found = [*_parse_fields(raw, {param.name: param for param in peripheral.params})]
    bits = raw.get("bits") or {}
    if missing := [param.name for param in peripheral.params if bits and param.name not in bits]:
        raise LayoutError(f"bits has no bit for {', '.join(missing)}"[:200])
    return Layout(raw["size"], {entry.name: entry for entry in found}, bits)


def _parse_fields(raw: Mapping[str, Any], params: Mapping[str, Parameter]) -> Iterator[Field]:
    for name in ("mutex", "valid"):
        yield Field(name, raw[name]["offset"], raw[name]["size"])
    for block in ("read", "write"):
        if raw.get(block) is not None:
            at = raw[block]["timestamp"]["offset"]
            yield Field(f"{block}.timestamp", at, width(TIMESTAMP), TIMESTAMP)
            for name, entry in raw[block].get("params", {}).items():
                # The declared type gives only the width; the catalog gives the meaning of the
                # bytes.
                type_, param = entry["type"].removeprefix("c_"), params.get(name)
                kind = param.type if param else type_
                if kind not in KINDS:
                    raise LayoutError(f"{name} has the unknown type {kind!r}")
                one = width(type_ if type_ in KINDS else kind)
                size, count = one * (entry.get("count") or 1), param.count if param else None
                yield Field(f"{block}.params.{name}", entry["offset"], size, kind, count)
    for name, place in (raw.get("control") or {}).items():
        yield Field(f"control.{name}", place["offset"], place["size"])


def is_fitting(param: Parameter, entry: Field) -> bool:
    """Return True if a field has the size of all values of a parameter.

    A double can be stored in 32 bits, for peripherals without wider numbers.
    """
    wanted = {width(param.type)} | ({4} if param.type == "double" else set())
    return entry.size in {one * (param.count or 1) for one in wanted}
