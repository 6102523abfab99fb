"""Faults of the consumer about listing, opening and closing buffers."""

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Mapping
from multiprocessing import resource_tracker
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.memory.changes import IN_USE, UNLINK_AT_EXIT, VALID, nothing
from mocks.runtime.memory.mapped import FOLDER, Mapped
from mocks.runtime.memory.peer import Buffer
from mocks.steps import Change, Function, after, before, fail, instead, later, returning, then


def _list_all(_: Consumer) -> list[str]:
    return [name for name in sorted(os.listdir(FOLDER)) if name.startswith("rt-")]


def _eight_of_each(names: list[str]) -> list[str]:
    by_type: dict[str, list[str]] = {}
    for name in names:
        by_type.setdefault(name.rpartition("-")[0], []).append(name)
    return [name for names in by_type.values() for name in names[:8]]


async def _list_seen(usual: Function, consumer: Any) -> list[str]:
    seen: set[str] = vars(consumer).setdefault("seen", set())
    seen.update(await usual(consumer))
    return sorted(seen)


async def _list_open(usual: Function, consumer: Consumer) -> list[str]:
    opened = [name for name, buffer in consumer.buffers.items() if buffer["valid"]]
    return sorted({*opened, *await usual(consumer)})


def _give_up(times: int) -> Change:
    """Never use a buffer again that was invalid so many times."""

    def check(consumer: Consumer, buffer: Buffer) -> None:
        invalid = vars(consumer).setdefault("invalid", Counter())
        invalid[buffer.name] += not buffer["valid"]
        if invalid[buffer.name] >= times:
            raise ValueError(f"{buffer.name} was invalid too often")

    return before("check_valid", check)


def _open_unless_missed(usual: Function, consumer: Consumer, name: str, type_: str) -> Buffer:
    missed = vars(consumer).setdefault("missed", set())
    if name in missed:
        raise ValueError(f"there is no buffer {name!r}")
    try:
        buffer: Buffer = usual(consumer, name, type_)
    except ValueError:
        missed.add(name)
        raise
    return buffer


def _unlink_when_invalid(usual: Function, consumer: Consumer, args: Mapping[str, Any]) -> Buffer:
    buffer: Buffer = usual(consumer, args)
    used = vars(consumer).setdefault("used", set())
    if buffer["valid"] and IN_USE(consumer, args):
        used.add(buffer.name)
    elif not buffer["valid"] and buffer.name in used:
        buffer.mapped.unlink()
    return buffer


def _track(_: Consumer, args: Mapping[str, Any]) -> None:
    resource_tracker.register(f"/{args['buffer'].removeprefix('/')}", "shared_memory")


def _open_for_a_second(usual: Function, consumer: Consumer, name: str, type_: str) -> Buffer:
    def forget() -> None:
        if consumer.buffers.get(buffer.name) is buffer:
            del consumer.buffers[buffer.name]
            buffer.mapped.close()

    buffer: Buffer = usual(consumer, name, type_)
    asyncio.get_running_loop().call_later(1.0, forget)
    return buffer


def _open_all(consumer: Consumer, name: str, type_: str) -> None:
    for path in FOLDER.glob(f"rt-{type_}-*"):
        with contextlib.suppress(ValueError):
            consumer.buffer({"buffer": path.name})


FAULTS = Table(Consumer)

FAULTS["lifecycle.listed"] = {
    "lists-all": Fault("Lists invalid buffers too.", instead("list", _list_all)),
    "lists-eight": Subtle(
        "Lists at most eight buffers of each type.", returning("list", _eight_of_each)
    ),
    "lists-what-it-listed": Subtle(
        "Continues to list buffers that it has listed before.", Change("list", _list_seen)
    ),
    "lists-what-is-gone": Subtle(
        "Lists a buffer that it has opened, although the buffer is unlinked.",
        Change("list", _list_open),
    ),
}

FAULTS["get-value.value"] = {
    "files-left-open": Subtle(
        "Leaves a file open at each read, and fails after a thousand of them.",
        before("get_value", fail(ValueError, "too many open files"), after(1000)),
    ),
    "sixteen-views": Subtle(
        "Opens only sixteen buffers, and cannot read others.",
        before(
            "get_value",
            fail(ValueError, "too many buffers"),
            lambda consumer, buffer, name: buffer.name not in [*consumer.buffers][:16],
        ),
    ),
}

FAULTS["buffers.on-demand"] = {
    "missing-for-good": Subtle(
        "Remembers a missing buffer, and does not find the buffer later.",
        Change("open", _open_unless_missed),
    ),
}

FAULTS["lifecycle.invalid-absent"] = {
    "invalid-reads-nothing": Fault(
        "Answers nil for an invalid buffer, and fails for a missing one.",
        instead("get_value", nothing, ~VALID),
    ),
    "makes-the-missing": Subtle(
        "Creates an object if a buffer is missing.",
        before(
            "open",
            lambda _, name, type_: Mapped.create(name, 1).close(),
            lambda _, name, type_: name.startswith("rt-") and not (FOLDER / name).exists(),
        ),
    ),
    "invalid-writes-nowhere": Subtle(
        "Accepts a value for an invalid buffer, and drops it.",
        instead("set_value", nothing, ~VALID),
    ),
}

FAULTS["lifecycle.views-stay"] = {
    "never-valid-again": Fault("Never uses a buffer again that was invalid once.", _give_up(1)),
    "third-time-unlucky": Subtle(
        "Never uses a buffer again that was invalid three times.", _give_up(3)
    ),
}

FAULTS["lifecycle.never-unlinks"] = {
    "tracked": Subtle(
        "Registers buffers with Python's resource tracker, which unlinks them after its exit.",
        then("buffer", _track, IN_USE),
    ),
    "unlinks-at-exit": Fault(
        "Unlinks its open buffers at exit, as a resource tracker does.", *UNLINK_AT_EXIT
    ),
    "unlinks-invalid": Subtle(
        "Unlinks a buffer that has become invalid after its use.",
        Change("buffer", _unlink_when_invalid),
    ),
}

FAULTS["lifecycle.lazy"] = {
    "closes-in-the-background": Subtle(
        "Closes its views one second after it has opened them.", Change("open", _open_for_a_second)
    ),
    "opens-its-like": Subtle(
        "Opens all buffers of a type shortly after the first one.",
        before(
            "open",
            later(0.1, _open_all),
            lambda consumer, name, type_: all(
                buffer.peripheral.name != type_ for buffer in consumer.buffers.values()
            ),
        ),
    ),
}


@fault("opens-in-the-background", violates="lifecycle.lazy")
class OpensInTheBackground(Consumer):
    """Opens all existing buffers in the background."""

    def load(self, path: str) -> None:
        super().load(path)
        self.task = asyncio.get_running_loop().create_task(self.look())

    async def look(self) -> None:
        while True:
            for name in os.listdir(FOLDER):
                with contextlib.suppress(ValueError):
                    self.buffer({"buffer": name})
            await asyncio.sleep(0.05)
