"""Tests of an owner's data operations: values written to and read from a buffer."""

import contextlib
import struct
import sys
import time
from collections.abc import Mapping
from typing import Any

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.runtime.memory.answers import check_values
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.hold_mutex import check_waits_for_mutex, seconds_until_early
from conformance.runtime.memory.read_and_clear import check_alone, check_answers_bits, check_clears
from conformance.runtime.memory.samples import UID, extremes, fit, sample
from conformance.runtime.memory.tester import Tester, memory_tester
from conformance.verdicts import Inconclusive, NotExercised

EXTREMES: dict[str, list[Any]] = {
    "angle": [0.0, -1.5, 1.5],
    "speed": [-100, 0, 100],
    "power": [0, 200],
    "floor": [-5, 2**31 - 1],
    "ratio": [-0.5, 1024.0],
    "big": [-(2**63), 2**53],
    "huge": [0, 2**63],
    "trim": [[-128, -1, 0, 127]],
    "track": [[-1.0, 0.0, 0.25]],
    "ticks": [2**32 - 1, 1],
    "touched": [True, False],
}


@requirement("set-data.values")
async def test_values(iut: Iut) -> None:
    """Every value is stored in the parameter's type, including its extremes."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name, values in EXTREMES.items():
            for value in values:
                await tester.check_operation("set_data", **buffer.arguments, values={name: value})
                (await buffer.look()).check_fields({f"read.params.{name}": value})


@requirement("set-data.values")
async def test_values_of_every_type(iut: Iut) -> None:
    """Parameters of every type are set together, and then one by one to their extremes."""
    async with memory_tester(iut, "types.yaml") as tester:
        for type_ in tester.catalog:
            buffer = await tester.connect(type_)
            params = buffer.peripheral.params
            for number in (1, 2):
                values = {param.name: sample(param, number + i) for i, param in enumerate(params)}
                await tester.check_operation("set_data", **buffer.arguments, values=values)
                (await buffer.look()).check_fields(
                    {f"read.params.{n}": v for n, v in values.items()}
                )
            for param in params:
                for value in extremes(param, buffer.layout[f"read.params.{param.name}"]):
                    only = {param.name: value}
                    await tester.check_operation("set_data", **buffer.arguments, values=only)
                    (await buffer.look()).check_fields({f"read.params.{param.name}": value})


@requirement("set-data.values")
async def test_values_one_after_the_other(iut: Iut) -> None:
    """Values stay unchanged when other parameters are set."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        first, second = {"angle": 0.5, "touched": True}, {"ticks": 99, "trim": [1, 2, 3, 4]}
        await tester.check_operation("set_data", **buffer.arguments, values=first)
        await tester.check_operation("set_data", **buffer.arguments, values=second)
        image = await buffer.look()
        image.check_fields({f"read.params.{n}": v for n, v in {**first, **second}.items()})


@requirement("set-data.bits")
async def test_bits(iut: Iut) -> None:
    """set_data adds bits, for equal values and for all parameters at once."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        bits = buffer.bits
        await buffer.put({"control.update": bits(["speed"])})
        for angle in (0.5, 0.25, 0.25):
            await tester.check_operation("set_data", **buffer.arguments, values={"angle": angle})
            (await buffer.look()).check_fields({"control.update": bits(["speed", "angle"])})
        await tester.check_operation(
            "set_data", **buffer.arguments, values={"light": True, "ticks": 5}
        )
        (await buffer.look()).check_fields(
            {"control.update": bits(["speed", "angle", "light", "ticks"])}
        )
        await buffer.put({"control.update": 0})
        await tester.check_operation("set_data", **buffer.arguments, values={"angle": 0.25})
        (await buffer.look()).check_fields({"control.update": bits(["angle"])})
        known = [param for param in buffer.peripheral.params if param.readable]
        every = {param.name: sample(param, 1) for param in known}
        await tester.check_operation("set_data", **buffer.arguments, values=every)
        (await buffer.look()).check_fields({"control.update": bits(every)})


@requirement("set-data.timestamp")
async def test_timestamp(iut: Iut) -> None:
    """Each set_data updates the timestamp of the read block, even for equal values."""
    async with memory_tester(iut) as tester:
        for type_, name in (("arm", "light"), ("panel", "shown")):
            buffer = await tester.connect(type_)
            for value in (True, True, False):
                await buffer.put({"read.timestamp": 1.0})
                since = time.time()
                await tester.check_operation("set_data", **buffer.arguments, values={name: value})
                (await buffer.look()).check_stamped("read", since)


@requirement("set-data.timestamp")
@lasting
async def test_time_behind_the_mutex(iut: Iut) -> None:
    """The timestamp is the exact time of the write, after waiting for the mutex."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        arguments = {**buffer.arguments, "values": {"angle": 0.5}}
        # An implementation that caches the time would use the time of this operation.
        await tester.check_operation("set_data", **arguments)
        hold = seconds_until_early()
        since = await check_waits_for_mutex(tester, buffer, "set_data", arguments, hold)
        (await buffer.look()).check_stamped("read", since)


@requirement("get-write.values")
async def test_get_write(iut: Iut) -> None:
    """get_write answers the values in the write block whose bits are set."""
    await check_answers_bits(iut, "get_write", "write")


@requirement("get-write.clears")
async def test_get_write_clears(iut: Iut) -> None:
    """get_write clears all bits."""
    await check_clears(iut, "get_write")


async def read_names(tester: Tester, buffer: Buffer) -> list[str]:
    """Return the sorted names that get_read answers."""
    answer = await tester.check_operation("get_read", **buffer.arguments)
    result = answer.result or []
    if not isinstance(result, list) or not all(isinstance(name, str) for name in result):
        raise Inconclusive(f"expected names from get_read; it answered {str(result)[:200]}")
    return sorted(result)


@requirement("get-read.names")
async def test_get_read(iut: Iut) -> None:
    """get_read answers exactly the parameters whose bits are set, each once."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for names in (["angle", "light", "ticks"], ["light"], [], ["speed", "touched"]):
            await buffer.put({"control.read": buffer.bits(names)})
            came = await read_names(tester, buffer)
            check(
                came == sorted(names),
                f"get_read to answer {', '.join(sorted(names)) or 'nothing'}",
                f"it answered {', '.join(came) or 'nothing'}",
            )


@requirement("get-read.clears")
async def test_get_read_clears(iut: Iut) -> None:
    """get_read clears all bits."""
    await check_clears(iut, "get_read")


@requirement("set-read.sets")
async def test_set_read(iut: Iut) -> None:
    """set_read sets the bits of the given parameters, also if they are set already."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for names in (["angle"], ["light", "speed"], ["ticks", "touched", "temperature"]):
            await buffer.put({"control.read": 0})
            for _ in range(2):
                await tester.check_operation("set_read", **buffer.arguments, params=names)
                (await buffer.look()).check_fields({"control.read": buffer.bits(names)})


@requirement("set-data.values")
async def test_each_element(iut: Iut) -> None:
    """Each array element is set to its own value; the others are unchanged."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name in ("trim", "track"):
            values = sample(buffer.peripheral[name], 1)
            for index in range(len(values)):
                values = [*values]
                values[index] = -values[index]
                await tester.check_operation("set_data", **buffer.arguments, values={name: values})
                (await buffer.look()).check_fields({f"read.params.{name}": values})


@requirement("cycle.dev-read")
async def test_cycle_reads(iut: Iut) -> None:
    """A cycle requests the parameters in the Read bitmap once, and clears it."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        await _check_parts_alone(tester, buffer, get_read=dict.fromkeys(["angle", "light"]))
        await buffer.put({"control.write": 0})
        for names in (["angle", "light"], [], ["ticks"]):
            await buffer.put({"control.read": buffer.bits(names)})
            asked = [
                sorted(m.get("params") or []) for m in await run_cycle(tester, buffer, "DEV_READ")
            ]
            wanted = [sorted(names)] if names else []
            check(asked == wanted, f"DEV_READ messages of {wanted}", f"received {asked}")
            (await buffer.look()).check_fields({"control.read": 0})
        check(
            not await run_cycle(tester, buffer, "DEV_READ"), "no DEV_READ", "another one was sent"
        )


@requirement("cycle.dev-write")
async def test_cycle_writes(iut: Iut) -> None:
    """A cycle sends the values in the Write bitmap once, and clears it."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        plain = {name: sample(buffer.peripheral[name], 4) for name in ("speed", "target", "light")}
        await _check_parts_alone(tester, buffer, get_write=plain)
        await buffer.put({"control.read": 0})
        for number, names in enumerate((["speed", "target", "light"], [], ["mode"])):
            values = {name: sample(buffer.peripheral[name], number + 1) for name in names}
            fields = {f"write.params.{name}": value for name, value in values.items()}
            await buffer.put({**fields, "control.write": buffer.bits(names)})
            sent: dict[str, Any] = {}
            for message in await run_cycle(tester, buffer, "DEV_WRITE"):
                sent |= message.get("values") or {}
            check_values(buffer.peripheral, values, sent, "a DEV_WRITE")
            (await buffer.look()).check_fields({"control.write": 0})
        check(
            not await run_cycle(tester, buffer, "DEV_WRITE"), "no DEV_WRITE", "another one was sent"
        )


@requirement("cycle.dev-write")
async def test_cycle_reads_and_writes(iut: Iut) -> None:
    """A cycle with bits in both bitmaps sends a DEV_READ and a DEV_WRITE."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        value = sample(buffer.peripheral["target"], 1)
        await _check_parts_alone(
            tester, buffer, get_read={"angle": None}, get_write={"target": value}
        )
        read, write = buffer.bits(["angle"]), buffer.bits(["target"])
        fields = {"write.params.target": value, "control.read": read, "control.write": write}
        await buffer.put(fields)
        answer = await tester.require("cycle", **buffer.arguments)
        sent = {m.get("message") for m in answer.result or () if isinstance(m, dict)}
        check(sent == {"DEV_READ", "DEV_WRITE"}, "a DEV_READ and a DEV_WRITE", f"received {sent}")
        (await buffer.look()).check_fields({"control.read": 0, "control.write": 0})


async def _check_parts_alone(tester: Tester, buffer: Buffer, **taken: Mapping[str, Any]) -> None:
    """Raise Violation if the operations that make up a cycle fail when they run alone.

    ``taken`` are the expected values by operation. An operation that is not offered is skipped.
    """
    for operation, values in taken.items():
        with contextlib.suppress(NotExercised, Inconclusive):
            await check_alone(tester, buffer, operation, values)


async def run_cycle(tester: Tester, buffer: Buffer, name: str) -> list[dict[str, Any]]:
    """Return the messages of a name that one cycle sends."""
    answer = await tester.require("cycle", **buffer.arguments)
    sent = answer.result if isinstance(answer.result, list) else []
    return [m for m in sent if isinstance(m, dict) and m.get("message") == name]


@requirement("set-valid.sets")
async def test_set_valid(iut: Iut) -> None:
    """set_valid sets and clears the bit, from either state."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "panel"):
            buffer = await tester.connect(type_)
            for before, wanted in ((1, False), (0, False), (0, True), (1, True)):
                await buffer.put({"valid": before})
                await tester.check_operation("set_valid", **buffer.arguments, valid=wanted)
                came = (await buffer.look())["valid"]
                check(
                    bool(came) == wanted,
                    f"{buffer.place('valid')} to be {'set' if wanted else 'clear'}",
                    f"it is {came:#04x}",
                )


@requirement("set-sub.fields")
async def test_set_sub_state(iut: Iut) -> None:
    """set_sub stores different bytes for different arguments, and equal bytes for equal ones."""
    params = [["angle"], [], ["angle", "light"], ["light"], ["ticks"], ["angle"]]
    delays = [40, 0, 256, 296, 65535, 40]
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        seen: dict[str, dict[bytes, Any]] = {"subscription": {}, "delay": {}}
        for names, delay in zip(params, delays, strict=True):
            await subscribe(tester, buffer, names, delay)
            image = await buffer.look()
            for part, given in (("subscription", names), ("delay", delay)):
                raw = image.raw(f"control.{part}")
                other = seen[part].setdefault(raw, given)
                check(
                    other == given,
                    f"different bytes in {buffer.place(f'control.{part}')} for {other} and {given}",
                    f"it is {raw.hex()} for both",
                    image.event,
                )
        for part, states in seen.items():
            came = f"there were {len(states)} different values"
            check(
                len(states) == 5,
                f"5 different values of control.{part} for 5 different arguments",
                came,
            )


@requirement("set-sub.form")
async def test_set_sub(iut: Iut) -> None:
    """Subscription is a bitmap of the parameters, and Delay is the delay in milliseconds."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        bits = buffer.bits
        for names, delay in (
            (["angle", "light"], 40),
            ([], 0),
            (["ticks"], 65535),
            (["light"], 256),
        ):
            await subscribe(tester, buffer, names, delay)
            image = await buffer.look()
            image.check_fields({"control.subscription": bits(names)})
            came = image.raw("control.delay")
            check(
                came in numbers(delay, len(came)),
                f"{buffer.place('control.delay')} to be {delay}, as an integer or a float",
                f"it is {came.hex()}",
                image.event,
            )


@requirement("set-sub.fields")
async def test_set_sub_uid(iut: Iut) -> None:
    """Every bit of a UID is stored, up to the width of the field."""
    async with memory_tester(iut) as tester:
        layout = await tester.layout("arm")
        plain, bits = fit(UID, layout), 8 * layout["control.uid"].size
        seen: dict[bytes, int] = {}
        for uid in (
            plain,
            0,
            *(
                plain ^ (1 << bit)
                for bit in (0, 7, 8, 31, 32, 63, 64, 71, 72, 80, 87)
                if bit < bits
            ),
        ):
            buffer = await tester.connect("arm", uid)
            await subscribe(tester, buffer, ["angle"], 40)
            raw = (await buffer.look()).raw("control.uid")
            same = seen.setdefault(raw, uid)
            check(
                same == uid,
                f"different bytes in {buffer.place('control.uid')} for the UIDs {same} and {uid}",
                f"it is {raw.hex()} for both",
            )
        buffer = await tester.connect("arm", plain)
        await subscribe(tester, buffer, ["angle"], 40)
        again = seen.get((await buffer.look()).raw("control.uid"))
        check(again == plain, "the same bytes whenever the same UID is set", "they differ")


def numbers(value: int, size: int) -> list[bytes]:
    """Return the possible bytes of a number in a field of unknown type."""
    reals = {4: "f", 8: "d"}
    made = [value.to_bytes(size, sys.byteorder)]
    return made + ([struct.pack(f"={reals[size]}", value)] if size in reals else [])


async def subscribe(tester: Tester, buffer: Buffer, names: list[str], delay: int) -> None:
    """Run set_sub with the UID of the device. Raises Inconclusive if it fails."""
    more = {"params": names, "delay": delay}
    answer = await tester.with_uid("set_sub", buffer.uid, **buffer.arguments, **more)
    if not answer.ok:
        raise Inconclusive(f"set_sub failed with the UID {buffer.uid}: {answer.why}")
