"""The catalog file: what has to be understood of it, and what has to be refused."""

from collections.abc import Sequence

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.runtime.memory.bench import Bench, bench, catalogs, new_uid
from conformance.runtime.memory.catalog import OTHER, Peripheral, load
from conformance.runtime.memory.declared import fits
from conformance.runtime.memory.layout import Layout, width
from conformance.verdicts import Violation


async def understood(on: Bench, name: str) -> dict[str, tuple[Peripheral, Layout]]:
    """Every type of a catalog that the IUT must take, and the IUT's layout of it."""
    path = catalogs() / name
    on.catalog = load(path.read_bytes())
    await on.tested("catalog", path=str(path))
    found = {}
    for type_, peripheral in on.catalog.items():
        await on.tested("layout", type=type_)
        found[type_] = peripheral, await on.layout(type_)
    return found


async def refused(on: Bench, name: str, type_: str) -> bool:
    """Whether the IUT refuses a catalog: when it reads it, or at the latest when it uses it."""
    if not (await on.ask("catalog", path=str(catalogs() / name))).ok:
        return True
    if not (await on.ask("layout", type=type_)).ok:
        return True
    if "connect" not in on.session.role.hooks:
        return False
    answer = await on.with_uid("connect", new_uid(), type=type_)
    if isinstance(answer.result, dict):
        on.names.add(str(answer.result.get("buffer")))
    return not answer.ok


def has(layout: Layout, peripheral: Peripheral, block: str, names: Sequence[str]) -> None:
    """Raise Violation unless a block has the parameters of these names, and no others."""
    expected, came = sorted(names), sorted(layout.params(block))
    check(
        expected == came,
        f"the {block} block of {peripheral.name} to have {', '.join(expected) or 'no parameter'}",
        f"it has {', '.join(came) or 'none'}",
    )


def fitting(layout: Layout, peripheral: Peripheral) -> None:
    """Raise Violation unless every parameter has as many bytes as its type."""
    for block in ("read", "write"):
        for name, field in layout.params(block).items():
            if name in {param.name for param in peripheral.params}:
                param = peripheral[name]
                wanted = width(param.type) * (param.count or 1)
                kind = param.type if param.count is None else f"{param.type}[{param.count}]"
                check(
                    fits(param, field),
                    f"{block}.params.{name}, a {kind}, to have {wanted} bytes",
                    f"it has {field.size} at offset {field.offset}",
                )


@requirement("catalog.yaml")
async def test_styles_of_yaml(iut: Iut) -> None:
    """The order of keys, quotes, comments, indentation and forms of numbers make no difference."""
    async with bench(iut, None) as on:
        for peripheral, layout in (await understood(on, "styles.yaml")).values():
            has(layout, peripheral, "read", ["open", "opening"])
            has(layout, peripheral, "write", ["opening"])
            check(layout.control, "a device control block", "there is none")


@requirement("catalog.yaml-flow")
async def test_flow_style(iut: Iut) -> None:
    """Flow style, anchors and merges are YAML as well."""
    async with bench(iut, None) as on:
        types = await understood(on, "flow.yaml")
        has(types["pump"][1], types["pump"][0], "read", ["rate", "running"])
        has(types["pump-2"][1], types["pump-2"][0], "read", ["dry"])


@requirement("catalog.optional-keys")
async def test_name_and_type_are_enough(iut: Iut) -> None:
    """A parameter of which only name and type are told is one."""
    async with bench(iut, None) as on:
        for peripheral, layout in (await understood(on, "minimal.yaml")).values():
            check(
                layout.control == (peripheral.device_id is not None),
                f"a device control block in {peripheral.name} if it has a device_id",
                "there is one" if layout.control else "there is none",
            )


@requirement("catalog.required-keys")
async def test_missing_keys(iut: Iut) -> None:
    """A catalog in which a parameter has no name, or no type, is refused."""
    async with bench(iut, None) as on:
        for key in ("name", "type"):
            was = await refused(on, f"violation-no-{key}.yaml", "sensor")
            check(was, f"a catalog with a parameter without a {key} to be refused", "it was used")


@requirement("catalog.known-types")
async def test_unknown_types(iut: Iut) -> None:
    """A catalog with a type that ctypes does not have is refused."""
    async with bench(iut, None) as on:
        for which, type_ in (("unknown", "integer"), ("wide", "int128"), ("unclosed", "int8[3")):
            was = await refused(on, f"violation-type-{which}.yaml", "sensor")
            check(was, f"a catalog with the type {type_} to be refused", "it was used")


@requirement("catalog.names")
async def test_identifiers(iut: Iut) -> None:
    """Every legal Python identifier is a name."""
    async with bench(iut, None) as on:
        for peripheral, layout in (await understood(on, "names.yaml")).values():
            for block in ("read", "write"):
                has(layout, peripheral, block, [param.name for param in peripheral.params])


@requirement("catalog.types")
async def test_types(iut: Iut) -> None:
    """Every type of integer, float or boolean takes as many bytes as in ctypes."""
    async with bench(iut, None) as on:
        peripheral, layout = (await understood(on, "types.yaml"))["zoo"]
        fitting(layout, peripheral)
        for block in ("read", "write"):
            has(layout, peripheral, block, [param.name for param in peripheral.params])


@requirement("catalog.other-types")
async def test_other_types(iut: Iut) -> None:
    """Characters, pointers and long doubles have their place in a buffer, too."""
    async with bench(iut, None) as on:
        for peripheral, layout in (await understood(on, "other-types.yaml")).values():
            assert any(param.kind == OTHER for param in peripheral.params)
            fitting(layout, peripheral)
            has(layout, peripheral, "read", [param.name for param in peripheral.params])


@requirement("catalog.arrays")
async def test_arrays(iut: Iut) -> None:
    """An array takes the bytes of all its values, be it of one or of 255."""
    async with bench(iut, None) as on:
        peripheral, layout = (await understood(on, "types.yaml"))["herd"]
        fitting(layout, peripheral)
        has(layout, peripheral, "read", [param.name for param in peripheral.params])


@requirement("catalog.at-most-16")
async def test_16_parameters(iut: Iut) -> None:
    """A Smart Device may have 16 parameters."""
    async with bench(iut, None) as on:
        peripheral, layout = (await understood(on, "many.yaml"))["sixteen"]
        has(layout, peripheral, "read", [param.name for param in peripheral.params])


@requirement("catalog.at-most-16")
async def test_17_parameters(iut: Iut) -> None:
    """A catalog in which a Smart Device has 17 parameters is refused."""
    async with bench(iut, None) as on:
        was = await refused(on, "violation-17-parameters.yaml", "sensor")
        check(
            was, "a catalog in which a Smart Device has 17 parameters to be refused", "it was used"
        )


@requirement("catalog.no-limit")
async def test_more_than_16_parameters(iut: Iut) -> None:
    """What is no Smart Device may have 17 parameters, or 40."""
    async with bench(iut, None) as on:
        types = await understood(on, "many.yaml")
        for peripheral, layout in (types["seventeen"], types["field"]):
            for block in ("read", "write"):
                has(layout, peripheral, block, [param.name for param in peripheral.params])


@requirement("catalog.device-id")
async def test_device_id(iut: Iut) -> None:
    """A buffer has a device control block if its catalog entry has a device_id, be it 0."""
    async with bench(iut) as on:
        for type_, peripheral in on.catalog.items():
            layout = await on.layout(type_)
            wanted = peripheral.device_id is not None
            told = "no device_id" if peripheral.device_id is None else f"id {peripheral.device_id}"
            check(
                layout.control == wanted,
                f"{type_} ({told}) to have {'a' if wanted else 'no'} device control block",
                f"it has {'one' if layout.control else 'none'}",
            )


@requirement("catalog.ignored-keys")
async def test_ignored_keys(iut: Iut) -> None:
    """delay and subscribed make nothing a Smart Device, and bounds of booleans are no mistake."""
    async with bench(iut, None) as on:
        for peripheral, layout in (await understood(on, "ignored.yaml")).values():
            check(not layout.control, "no device control block without a device_id", "there is one")
            has(layout, peripheral, "read", ["flash", "frames"])


async def blocks(iut: Iut, block: str) -> None:
    """A block of every type has what the catalog says; all four kinds of access are there."""
    async with bench(iut) as on:
        for type_, peripheral in on.catalog.items():
            layout = await on.layout(type_)
            access = {
                param.name: param.readable if block == "read" else param.writeable
                for param in peripheral.params
            }
            has(layout, peripheral, block, [name for name, allowed in access.items() if allowed])


@requirement("format.read-block")
async def test_read_block(iut: Iut) -> None:
    """The read block has the parameters that are readable, and no others."""
    await blocks(iut, "read")


@requirement("format.write-block")
async def test_write_block(iut: Iut) -> None:
    """The write block has the parameters that are writeable, and no others."""
    await blocks(iut, "write")


@requirement("format.control-block")
async def test_control_block(iut: Iut) -> None:
    """In a device control block the UID has at least 88 bits, and all else at least 16."""
    async with bench(iut) as on:
        layout = await on.layout("arm")
        if not layout.control:
            raise Violation("a device control block", "there is none", "catalog.device-id")
        for name, field in layout.fields.items():
            if name.startswith("control."):
                wanted = 11 if name == "control.uid" else 2
                check(
                    field.size >= wanted,
                    f"{name} to have {8 * wanted} bits at least",
                    f"it has {field.size} bytes at offset {field.offset}",
                )
