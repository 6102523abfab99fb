"""Tests of the form of an owner's buffers."""

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.runtime.buffer_owner.tester import OPERATIONS, check_own_bits, set_alone
from conformance.runtime.memory.bits import check_bitmap
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.hold_mutex import check_waits_for_mutex
from conformance.runtime.memory.operations import offered_operations
from conformance.runtime.memory.tester import Tester, memory_tester, new_uid
from conformance.verdicts import Inconclusive, Violation

_PERIPHERALS = 20  # more than a robot usually has


@requirement("buffers.shared-memory")
async def test_objects(iut: Iut) -> None:
    """Each buffer is under /dev/shm, and at least as large as its layout."""
    async with memory_tester(iut) as tester:
        for type_ in tester.catalog:
            buffer = await tester.connect(type_)
            size = buffer.layout.size
            check(
                buffer.object.size >= size,
                f"{buffer.name} to have {size} bytes",
                f"it has {buffer.object.size} bytes",
            )


@requirement("buffers.one-each")
async def test_one_buffer_each(iut: Iut) -> None:
    """Each peripheral has its own buffer, even with an equal type or a similar UID."""
    async with memory_tester(iut) as tester:
        uid = new_uid()
        first = await tester.connect("arm", uid)
        # The lower 32 bits of both UIDs are equal.
        second = await tester.connect("arm", uid ^ 1 << 40)
        third = await tester.connect("panel", uid ^ 1)
        fourth = await tester.connect("limit-switch", uid ^ 1 << 32)
        every = [first, second, third, fourth]
        check(
            len({buffer.object.inode for buffer in every}) == len(every),
            "a buffer for each peripheral",
            f"found {', '.join(buffer.name for buffer in every)}",
        )
        # An owner need not support UIDs of more than 64 bits. These UIDs have equal beginnings or
        # ends.
        for type_, one, other in (
            ("arm", uid, uid + 2**80),
            ("limit-switch", 2**87 + uid, 2**87 + (uid ^ 1)),
        ):
            names = [await _buffer_name(tester, type_, each) for each in (one, other)]
            expected = f"different buffers for the {type_} {other} and the {type_} {one}"
            check(None in names or names[0] != names[1], expected, f"both have {names[0]}")
        before = {buffer.name: await buffer.fill() for buffer in every}
        await tester.check_operation(
            "set_data", **second.arguments, values={"angle": 0.25, "touched": True}
        )
        await tester.check_operation("set_read", **second.arguments, params=["speed"])
        await tester.with_uid("disconnect", uid ^ 1, type="panel")
        for buffer in (first, fourth):
            (await buffer.look()).check_only(before[buffer.name], ())


async def _buffer_name(tester: Tester, type_: str, uid: int) -> str | None:
    """Connect a peripheral; return the name of its buffer, or None if the IUT refuses."""
    answer = await tester.ask("connect", type=type_, uid=tester.uid(uid))
    name = answer.result.get("buffer") if isinstance(answer.result, dict) else None
    if not (answer.ok and isinstance(name, str)):
        return None
    tester.names.add(name)
    return name[:80]


@requirement("format.control-widths")
async def test_wide_uids(iut: Iut) -> None:
    """A Smart Device with a UID of 65 to 88 bits can be connected."""
    async with memory_tester(iut) as tester:
        await tester.connect("arm")
        for uid in (2**64, 2**80 + 1, 2**88 - 1):
            name = await _buffer_name(tester, "arm", uid)
            check(name is not None, f"connect of the UID {uid} to succeed", "it was refused")


@requirement("buffers.many")
async def test_many(iut: Iut) -> None:
    """Each of twenty peripherals has a valid buffer with its own data."""
    async with memory_tester(iut) as tester:
        buffers: list[Buffer] = []
        while len(buffers) < _PERIPHERALS:
            try:
                buffers.append(await tester.connect("arm"))
            except Inconclusive as refused:
                came = f"{len(buffers)} were connected; {refused}"
                raise Violation(f"{_PERIPHERALS} peripherals to be connected", came) from refused
            values = {"angle": len(buffers) / 32}
            await tester.check_operation("set_data", **buffers[-1].arguments, values=values)
        for number, buffer in enumerate(buffers, 1):
            image = await buffer.look()
            image.check_valid()
            image.check_fields({"read.params.angle": number / 32})


@requirement("format.mutex")
async def test_mutex_between_processes(iut: Iut) -> None:
    """An operation that waits for a mutex continues after another process unlocks it."""
    async with memory_tester(iut) as tester:
        first, second = await tester.connect("arm"), await tester.connect("arm")
        first.check_shared()
        second.check_shared()
        for buffer, angle in ((first, 0.25), (second, -0.25), (first, 0.5)):
            arguments = {**buffer.arguments, "values": {"angle": angle}}
            await check_waits_for_mutex(tester, buffer, "set_data", arguments)
            (await buffer.look()).check_fields({"read.params.angle": angle})


@requirement("format.bit-order")
async def test_order_of_bits(iut: Iut) -> None:
    """Each parameter's bit is its index in the catalog, or declared by the layout."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "latch"):
            declared = (await tester.layout(type_)).bits
            buffer = await tester.connect(type_)
            for index, param in enumerate(buffer.peripheral.params):
                if param.readable:
                    bits = 1 << declared.get(param.name, index)
                    came = (await set_alone(buffer, param))["control.update"]
                    names = [param.name]
                    check_bitmap(buffer, "control.update", bits, came, names, "set-data.bits")


@requirement("format.bitmaps")
async def test_every_bit(iut: Iut) -> None:
    """Each parameter has its own bit, up to the last of 16."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "latch"):
            await check_own_bits(await tester.connect(type_))


@requirement("format.bitmaps")
async def test_other_bitmaps(iut: Iut) -> None:
    """In Read, Write and Update, the same bits mean the same parameters."""
    chosen = ["angle", "track", "light"]
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        bits = buffer.bits(chosen)
        await buffer.put({"control.read": 0})
        await tester.check_operation("set_read", **buffer.arguments, params=chosen)
        came = (await buffer.look())["control.read"]
        check_bitmap(buffer, "control.read", bits, came, chosen, "set-read.sets")
        known = {
            operation.name for operation in await offered_operations(tester, buffer, OPERATIONS)
        }
        for bitmap in ("read", "write", "update"):
            if f"get_{bitmap}" in known:
                await buffer.put({f"control.{bitmap}": bits})
                answer = await tester.check_operation(f"get_{bitmap}", **buffer.arguments)
                names = sorted(answer.result) if answer.result else []
                if names != sorted(chosen):
                    # The bits are assigned wrongly only if one parameter is extra and another is
                    # missing.
                    mixed = set(names) - {*chosen} and {*chosen} - set(names)
                    taken = f"get-{bitmap}.{'names' if bitmap == 'read' else 'values'}"
                    raise Violation(
                        f"the bits {bits:#06x} of {bitmap} to mean {', '.join(chosen)}",
                        f"it answered {str(names)[:200]}",
                        None if mixed else taken,
                    )
