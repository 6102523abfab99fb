"""Checks that a declared layout has all fields of a peripheral's buffer.

All other tests of a buffer need a correct layout, so every declared layout is checked.
"""

from collections.abc import Mapping

from conformance import mutex
from conformance.runtime.memory.catalog import MAX_PARAMETERS, OTHER, Parameter, Peripheral
from conformance.runtime.memory.declared_layout import is_fitting
from conformance.runtime.memory.layout import BITMAPS, Layout, width
from conformance.verdicts import Violation


def check_layout(layout: Layout, peripheral: Peripheral, access: bool = True) -> None:
    """Raise Violation unless all fields exist with sufficient size.

    ``access`` is True if the catalog specifies readable and writeable for every parameter.
    """
    _check_no_overlap(layout, peripheral)
    _check_control(layout, peripheral)
    for block in ("read", "write"):
        if access:
            _check_members(layout, peripheral, block)
        for param in peripheral.params:
            field = layout.params(block).get(param.name)
            if field is not None and not is_fitting(param, field):
                kind = param.type if param.count is None else f"{param.type}[{param.count}]"
                wanted = width(param.type) * (param.count or 1)
                raise Violation(
                    f"{wanted} bytes for {field.name}, a {kind}",
                    f"it has {field.size} bytes at offset {field.offset}",
                    _requirement_of(param, field.size),
                )


def _check_no_overlap(layout: Layout, peripheral: Peripheral) -> None:
    name, place = peripheral.name, layout["mutex"]
    if found := layout.overlaps:
        raise Violation(
            f"separate fields within the {layout.size} bytes of {name}",
            f"found {'; '.join(found[:3])}",
            "format.fields-apart",
        )
    if place.size < mutex.SIZE:
        raise Violation(
            f"{mutex.SIZE} bytes for the mutex of {name}, the size of a pthread mutex",
            f"it has {place.size} bytes at offset {place.offset}",
            "format.fields-apart",
        )


def _requirement_of(param: Parameter, size: int) -> str:
    # The array has the right number of values, but each has the wrong size.
    count = param.count or 1
    if size % count or (count > 1 and size == width(param.type)):
        return "catalog.arrays"
    return "catalog.other-types" if param.kind == OTHER else "catalog.types"


def _check_control(layout: Layout, peripheral: Peripheral) -> None:
    smart = peripheral.device_id is not None
    if layout.control != smart:
        why = f"device_id {peripheral.device_id}" if smart else "no device_id"
        raise Violation(
            f"{'a' if smart else 'no'} device control block for {peripheral.name} ({why})",
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
                f"{field.name} to have at least {8 * size} bits",
                f"it has {field.size} bytes at offset {field.offset}",
                requirement,
            )


def _check_members(layout: Layout, peripheral: Peripheral, block: str) -> None:
    expected = sorted(
        param.name
        for param in peripheral.params
        if (param.readable if block == "read" else param.writeable)
    )
    came = sorted(layout.params(block))
    many = len(peripheral.params) > MAX_PARAMETERS
    if expected != came:
        raise Violation(
            f"the {block} block of {peripheral.name} to have {_join(expected)}",
            f"it has {_join(came)}",
            "catalog.no-limit" if many else f"format.{block}-block",
        )


def _join(names: list[str]) -> str:
    return ", ".join(names)[:400] or "no parameter"
