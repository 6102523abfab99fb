"""Whether a declared layout is one of a buffer of this peripheral: what has to be in it is there.

All other tests of a buffer rest on it, so it is checked whenever an IUT gives a layout.
"""

from collections.abc import Mapping

from conformance import mutex
from conformance.runtime.memory.catalog import MOST, OTHER, Parameter, Peripheral
from conformance.runtime.memory.declared import fits
from conformance.runtime.memory.layout import BITMAPS, Layout, width
from conformance.verdicts import Violation


def check_layout(layout: Layout, peripheral: Peripheral, access: bool = True) -> None:
    """Raise Violation unless all fields are there, and have room for what they are to hold.

    ``access``: the catalog says of every parameter whether it can be read and written.
    """
    _apart(layout, peripheral)
    _control(layout, peripheral)
    for block in ("read", "write"):
        if access:
            _members(layout, peripheral, block)
        for param in peripheral.params:
            field = layout.params(block).get(param.name)
            if field is not None and not fits(param, field):
                kind = param.type if param.count is None else f"{param.type}[{param.count}]"
                wanted = width(param.type) * (param.count or 1)
                raise Violation(
                    f"{field.name}, a {kind}, to have {wanted} bytes",
                    f"it has {field.size} at offset {field.offset}",
                    _about(param, field.size),
                )


def _apart(layout: Layout, peripheral: Peripheral) -> None:
    name, place = peripheral.name, layout["mutex"]
    if found := layout.overlaps:
        raise Violation(
            f"the fields of {name} to lie apart and within its {layout.size} bytes",
            f"there is {'; '.join(found[:3])}",
            "format.fields-apart",
        )
    if place.size < mutex.SIZE:
        raise Violation(
            f"the mutex of {name} to have the {mutex.SIZE} bytes of a pthread mutex",
            f"it has {place.size} at offset {place.offset}",
            "format.fields-apart",
        )


def _about(param: Parameter, size: int) -> str:
    # As many values as there should be, each of a wrong size, are no wrong array.
    count = param.count or 1
    if size % count or (count > 1 and size == width(param.type)):
        return "catalog.arrays"
    return "catalog.other-types" if param.kind == OTHER else "catalog.types"


def _control(layout: Layout, peripheral: Peripheral) -> None:
    smart = peripheral.device_id is not None
    if layout.control != smart:
        told = f"device_id {peripheral.device_id}" if smart else "no device_id"
        raise Violation(
            f"{peripheral.name} ({told}) to have {'a' if smart else 'no'} device control block",
            f"it has {'one' if layout.control else 'none'}",
            "catalog.device-id" if smart or peripheral.delay is None else "catalog.ignored-keys",
        )
    if smart:
        needed = -(-len(peripheral.params) // 8)
        check_widths(layout, dict.fromkeys(BITMAPS, needed), "format.control-block")


def check_widths(layout: Layout, wanted: Mapping[str, int], requirement: str | None) -> None:
    """Raise Violation unless these fields of the control block have at least that many bytes."""
    for name, size in wanted.items():
        field = layout[f"control.{name}"]
        if field.size < size:
            raise Violation(
                f"{field.name} to have {8 * size} bits at least",
                f"it has {field.size} bytes at offset {field.offset}",
                requirement,
            )


def _members(layout: Layout, peripheral: Peripheral, block: str) -> None:
    expected = sorted(
        param.name
        for param in peripheral.params
        if (param.readable if block == "read" else param.writeable)
    )
    came = sorted(layout.params(block))
    if expected != came:
        raise Violation(
            f"the {block} block of {peripheral.name} to have {_listed(expected)}",
            f"it has {_listed(came)}",
            f"format.{block}-block" if len(peripheral.params) <= MOST else "catalog.no-limit",
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names)[:400] or "no parameter"
