"""Tests of the catalog file: valid files are understood, invalid files are refused."""

import tempfile
from pathlib import Path

from conformance.cases import check, explore, requirement
from conformance.iut import Iut
from conformance.runtime.both import PLAIN
from conformance.runtime.both.drawn_catalog import ACCEPTED, open_with_drawn
from conformance.runtime.memory import strategies
from conformance.runtime.memory.layout import BITMAPS, SHORT, UID_BYTES
from conformance.runtime.memory.layout_checks import check_widths
from conformance.runtime.memory.tester import ROBOT, Tester, catalogs, memory_tester
from conformance.verdicts import Violation


async def check_understood(iut: Iut, name: str | Path, requirement: str) -> None:
    """Make the IUT read a catalog that differs from the usual one in one respect.

    A violation counts against ``requirement``, unless the usual catalog shows the same violation.
    """
    async with memory_tester(iut, None) as tester:
        try:
            await tester.check_understands(name)
        except Violation as found:
            try:
                await tester.check_understands(ROBOT)
            except Violation as plain:
                if plain.requirement == found.requirement:
                    raise found from plain
            found.requirement = requirement
            raise


async def is_refused(iut: Iut, name: str, type_: str = "sensor") -> bool:
    """Return True if the IUT refuses to read or to use a catalog."""
    async with memory_tester(iut, None) as tester:
        try:
            return not await _is_used(tester, name, type_)
        except Violation:
            # An exit counts as a refusal; a missing answer does not.
            process = tester.session.instance.process
            if process and await process.wait(tester.session.seconds("quiet")):
                return True
            raise


async def _is_used(tester: Tester, name: str, type_: str) -> bool:
    """Return True if a catalog can be read and used without an error."""
    if not (await tester.ask("catalog", path=str(catalogs() / name))).ok:
        return False
    if not (await tester.ask("layout", type=type_)).ok:
        return False
    return not tester.owns or await tester.can_connect(type_)


@requirement("catalog.yaml")
async def test_styles_of_yaml(iut: Iut) -> None:
    """Order, quotes, comments, indentation, forms of numbers and line ends make no difference."""
    await check_understood(iut, "styles.yaml", "catalog.yaml")
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "crlf.yaml"
        path.write_bytes((catalogs() / "styles.yaml").read_bytes().replace(b"\n", b"\r\n"))
        await check_understood(iut, path, "catalog.yaml")


@requirement(ACCEPTED)
@explore(text=strategies.catalogs())
async def test_any_catalog(iut: Iut, text: str) -> None:
    """No valid catalog is refused."""
    async with open_with_drawn(iut, text):
        pass


@requirement("catalog.yaml-flow")
async def test_flow_style(iut: Iut) -> None:
    """Flow style, anchors, and other spellings of booleans are accepted."""
    await check_understood(iut, "flow.yaml", "catalog.yaml-flow")


@requirement("catalog.yaml-flow")
async def test_forms_of_numbers(iut: Iut) -> None:
    """Bounds with signs, exponents and zero fractions are accepted, and infinite bounds."""
    await check_understood(iut, "forms.yaml", "catalog.yaml-flow")


@requirement("catalog.optional-keys")
async def test_without_bounds(iut: Iut) -> None:
    """Bounds, delay and device_id are optional."""
    async with memory_tester(iut, None) as tester:
        await tester.check_understands(PLAIN)


@requirement("catalog.optional-access")
async def test_name_and_type_are_enough(iut: Iut) -> None:
    """A parameter needs only a name and a type."""
    async with memory_tester(iut, None) as tester:
        await tester.check_understands("minimal.yaml", access=False)


@requirement("catalog.required-keys")
async def test_missing_keys(iut: Iut) -> None:
    """A catalog with a parameter without a name or a type is refused."""
    for key in ("name", "type"):
        was = await is_refused(iut, f"violation-no-{key}.yaml")
        check(was, f"a catalog with a parameter without a {key} to be refused", "it was used")


@requirement("catalog.known-types")
async def test_unknown_types(iut: Iut) -> None:
    """A catalog with a type that ctypes does not have is refused."""
    for which, type_ in (("unknown", "integer"), ("wide", "int128")):
        was = await is_refused(iut, f"violation-type-{which}.yaml")
        check(was, f"a catalog with the type {type_} to be refused", "it was used")


@requirement("catalog.names")
async def test_identifiers(iut: Iut) -> None:
    """Every legal Python identifier is accepted as a name."""
    await check_understood(iut, "names.yaml", "catalog.names")


@requirement("catalog.types")
async def test_types(iut: Iut) -> None:
    """Every type of integer, float or boolean has the size of its ctypes type."""
    async with memory_tester(iut, None) as tester:
        await tester.check_understands("types.yaml")


@requirement("catalog.other-types")
async def test_other_types(iut: Iut) -> None:
    """Characters, pointers and long doubles have fields in a buffer too."""
    async with memory_tester(iut, None) as tester:
        await tester.check_understands("other-types.yaml")


@requirement("catalog.arrays")
async def test_arrays(iut: Iut) -> None:
    """An array has the size of all its values, from one value to 255."""
    async with memory_tester(iut) as tester:
        for name in (ROBOT, "types.yaml"):
            await tester.load(name)
            for type_, peripheral in tester.catalog.items():
                if any(param.count for param in peripheral.params):
                    await tester.layout(type_)


@requirement("catalog.at-most-16")
async def test_16_parameters(iut: Iut) -> None:
    """A Smart Device can have 16 parameters."""
    await check_understood(iut, "sixteen.yaml", "catalog.at-most-16")


@requirement("catalog.more-than-16")
async def test_17_parameters(iut: Iut) -> None:
    """A catalog with a Smart Device with 17 parameters is refused."""
    was = await is_refused(iut, "violation-17-parameters.yaml")
    check(was, "a Smart Device with 17 parameters to be refused", "it was used")


@requirement("catalog.malformed")
async def test_unclosed_brackets(iut: Iut) -> None:
    """An array type without its closing bracket is refused."""
    was = await is_refused(iut, "violation-type-unclosed.yaml")
    check(was, "a catalog with the type int8[3 to be refused", "it was used")


@requirement("catalog.no-limit")
async def test_more_than_16_parameters(iut: Iut) -> None:
    """A peripheral that is not a Smart Device can have 17 or 40 parameters."""
    await check_understood(iut, "many.yaml", "catalog.no-limit")


@requirement("catalog.device-id")
async def test_device_id(iut: Iut) -> None:
    """A device_id in the catalog, even 0, adds a device control block to the buffer."""
    async with memory_tester(iut) as tester:
        for type_ in tester.catalog:
            await tester.layout(type_)


@requirement("catalog.ignored-keys")
async def test_ignored_keys(iut: Iut) -> None:
    """The keys delay and subscribed make no Smart Device; bounds of booleans are no error."""
    await check_understood(iut, "ignored.yaml", "catalog.ignored-keys")


@requirement("format.read-block")
async def test_read_block(iut: Iut) -> None:
    """The read block has exactly the readable parameters, for all four kinds of access."""
    async with memory_tester(iut) as tester:
        for type_ in tester.catalog:
            await tester.layout(type_)


@requirement("format.write-block")
async def test_write_block(iut: Iut) -> None:
    """The write block has exactly the writeable parameters, for all four kinds of access."""
    async with memory_tester(iut) as tester:
        for type_ in tester.catalog:
            await tester.layout(type_)


@requirement("format.control-block")
async def test_control_block(iut: Iut) -> None:
    """A device control block has all fields, with a bit for each parameter."""
    async with memory_tester(iut) as tester:
        for type_, peripheral in tester.catalog.items():
            if peripheral.device_id is not None:
                await tester.layout(type_)


@requirement("format.control-widths")
async def test_control_widths(iut: Iut) -> None:
    """The UID has at least 88 bits, and each other field at least 16 bits."""
    async with memory_tester(iut) as tester:
        for type_, peripheral in tester.catalog.items():
            if peripheral.device_id is not None:
                layout = await tester.layout(type_)
                wanted = dict.fromkeys(("subscription", "delay", *BITMAPS), SHORT)
                check_widths(layout, {"uid": UID_BYTES, **wanted}, None)


@requirement("catalog.array-bounds")
async def test_array_bounds(iut: Iut) -> None:
    """Array elements beyond a bound are either all clamped or all stored unchanged."""
    cases: list[tuple[str, list[float]]] = [
        ("levels", [50, 3, -50, 11]),
        ("levels", [1, 2, 3, 11]),
        ("curve", [0.25, -9.0, 9.0]),
    ]
    async with memory_tester(iut, "arrays.yaml") as tester:
        buffer = await tester.valid_buffer("gauge")
        for name, values in cases:
            if tester.owns:
                await tester.check_operation("set_data", **buffer.arguments, values={name: values})
            else:
                await tester.check_operation(
                    "set_value", **buffer.arguments, param=name, value=values
                )
            field = f"{'read' if tester.owns else 'write'}.params.{name}"
            param = buffer.peripheral[name]
            bounded = [max(param.lower, min(param.upper, value)) for value in values]
            came = (await buffer.look())[field]
            expected = f"{buffer.place(field)} to be {bounded} or {values}"
            check(came in (bounded, values), expected, f"it is {came}")
