"""The runtime's shared memory: catalogs, golden images, layouts, and mutexes."""

import asyncio
import ctypes
import errno
import json
import mmap
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from conformance import bus_errors, generation, mutex
from conformance.definitions import locations, protocols
from conformance.harness import memory
from conformance.harness.deadlines import countdown_from
from conformance.harness.memory import Locked, NoObject, SharedObject
from conformance.runtime.memory import lists, strategies
from conformance.runtime.memory.catalog import CatalogError, Parameter, Peripheral, load
from conformance.runtime.memory.declared_layout import LayoutError, parse_layout
from conformance.runtime.memory.layout import PLANS, Field, plan_layout
from conformance.runtime.memory.samples import fill_values, sample
from conformance.selftest.driving import Place
from conformance.selftest.standing import ask, ended, mock
from conformance.verdicts import Hindered

FOLDER = locations.folder("captures", "runtime") or Path()
CATALOGS = sorted((FOLDER / "catalogs").glob("*.yaml"))
IMAGES = sorted((FOLDER / "images").glob("*.json"))
BRIEFLY = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
ROLES = ("buffer-owner", "buffer-consumer", "gamepad-receiver")


@pytest.fixture
def name() -> Iterator[str]:
    """Yield the name of a shared memory object, and remove the object afterwards."""
    made = f"rt-selftest-{uuid.uuid4().hex}"
    yield made
    memory.remove(made)


# The catalog


@pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.stem)
def test_golden_catalogs(path: Path) -> None:
    """Catalogs with a violation are refused by the loader and by the schema."""
    schemas = protocols.load("runtime").schemas
    if path.stem.startswith("violation"):
        with pytest.raises(CatalogError):
            load(path.read_bytes())
        requirement = path.read_text("utf-8").removeprefix("# Violates ").partition(":")[0]
        [error, *_] = schemas.errors("catalog.json", yaml.safe_load(path.read_bytes()))
        assert error.requirement == requirement
    else:
        assert load(path.read_bytes())
        assert schemas.errors("catalog.json", yaml.safe_load(path.read_bytes())) == []


@given(generation.valid(protocols.load("runtime").schemas.schema("catalog.json")))
@BRIEFLY
def test_loader_takes_what_the_schema_takes(value: Any) -> None:
    params = [param for entry in value.values() for param in entry.get("params", [])]
    text = yaml.safe_dump(value, allow_unicode=True)
    if all(param["name"].isidentifier() for param in params):
        assert list(load(text)) == [*yaml.safe_load(text)]
    else:
        with pytest.raises(CatalogError):
            load(text)


@given(generation.near_misses(protocols.load("runtime").schemas.schema("catalog.json")))
@BRIEFLY
def test_loader_refuses_what_the_schema_refuses(miss: Any) -> None:
    with pytest.raises(CatalogError) as error:
        load(yaml.safe_dump(miss.value, allow_unicode=True))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "a: 1", "1: {}", "&a [*a]", b"\xff", "a: \0"])
def test_what_is_no_catalog(text: Any) -> None:
    with pytest.raises(CatalogError) as error:
        load(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("type_", "bounds", "value", "stored"),
    [
        ("float", {"lower": -1.0, "upper": 1.0}, 3.0, 1.0),
        ("int16", {"lower": -5}, -6, -5),
        ("int16", {"lower": -5}, 32767, 32767),
        ("uint8", {"upper": 200}, 300, 200),
        ("bool", {"lower": 0, "upper": 0}, True, True),
    ],
)
def test_clamp(type_: str, bounds: dict[str, Any], value: Any, stored: Any) -> None:
    clamped = Parameter("p", type_, **bounds).clamp(value)
    assert (clamped, type(clamped)) == (stored, type(stored))


# Layouts


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.stem)
def test_golden_images(path: Path) -> None:
    """Fields have the offsets of the image, and bytes and values match in both directions."""
    image = json.loads(path.read_text("utf-8"))
    catalog = load((FOLDER / "catalogs" / image["catalog"]).read_bytes())
    layout = plan_layout(catalog[image["type"]])
    assert layout.size == image["size"]
    assert {"mutex", *(row[0] for row in image["fields"])} == set(layout.fields)
    for field, offset, text, value in image["fields"]:
        raw = bytes.fromhex(text)
        assert (layout[field].offset, layout[field].size) == (offset, len(raw)), field
        assert layout[field].encode(value) == raw, field
        assert layout[field].decode(raw) == value, field


@given(strategies.catalogs())
@BRIEFLY
def test_any_legal_catalog(text: str) -> None:
    """Fields never overlap, and a layout survives its JSON form."""
    for peripheral in load(text).values():
        for plan in PLANS.values():
            layout = plan_layout(peripheral, plan)
            assert layout.overlaps == []
            assert parse_layout(json.loads(json.dumps(layout.to_json())), peripheral) == layout


def test_overlaps_are_told() -> None:
    layout = plan_layout(Peripheral("p", ()))
    wrong = {**layout.fields, "valid": Field("valid", 39, 1), "more": Field("more", 60, 40)}
    assert len(type(layout)(layout.size, wrong).overlaps) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"size": 0},
        {"mutex": None},
        {"valid": {"offset": -1, "size": 1}},
        {"read": {"timestamp": {"offset": 1}, "params": {"q": {"offset": 0, "type": "word"}}}},
        {"control": {"uid": {"offset": 1, "size": 1}}},
    ],
)
def test_what_is_no_layout(change: dict[str, Any]) -> None:
    peripheral = Peripheral("p", ())
    with pytest.raises(LayoutError):
        parse_layout({**plan_layout(peripheral).to_json(), **change}, peripheral)


def test_a_layout_of_another_kind() -> None:
    """Blocks can be missing, types can have C names, and a double can have 32 bits."""
    peripheral = Peripheral("p", (Parameter("x", "double"), Parameter("n", "int8", 3)))
    declared = {
        "size": 200,
        "mutex": {"offset": 8, "size": 44},
        "valid": {"offset": 0, "size": 4},
        "read": {
            "timestamp": {"offset": 100, "size": 8},
            "params": {
                "x": {"offset": 60, "type": "c_float", "count": 1},
                "n": {"offset": 64, "type": "int8", "count": 3},
            },
        },
        "write": None,
    }
    layout = parse_layout(declared, peripheral)
    assert layout["read.params.x"].encode(1.0) == bytes.fromhex("0000803f")
    assert layout["read.params.n"].decode(b"\xff\x00\x7f") == [-1, 0, 127]
    assert not layout.control
    assert layout.overlaps == []


def test_fillings_are_within_bounds_and_not_zero() -> None:
    for peripheral in load((FOLDER / "catalogs" / "robot.yaml").read_bytes()).values():
        layout = plan_layout(peripheral)
        values = fill_values(peripheral, layout)
        assert {*values} == {*layout.fields} - {"mutex", "valid"}
        for name, value in values.items():
            assert any(layout[name].encode(value)), name
        for param in peripheral.params:
            for number in range(200):
                value = sample(param, number)
                assert param.clamp(value) == value
                assert sample(param, number + 1) != value


# Shared memory


RUBBISH = """
import contextlib, ctypes, random
from conformance import mutex

draw = random.Random(1)
for _ in range(20_000):
    words = [draw.choice([0, 1, 1 << 30, 3 << 30, draw.getrandbits(32)]) for _ in range(5)]
    words[4] = draw.getrandbits(draw.choice([2, 8, 12, 32]))
    head = b"".join(word.to_bytes(4, "little") for word in words)
    memory = ctypes.create_string_buffer(head + draw.randbytes(mutex.SIZE - len(head)))
    with contextlib.suppress(mutex.BrokenMutex):
        if mutex.trylock(ctypes.addressof(memory)):
            mutex.unlock(ctypes.addressof(memory))
"""


def test_rubbish_for_a_mutex() -> None:
    """Arbitrary bytes in place of a mutex neither block nor crash the suite."""
    subprocess.run([sys.executable, "-c", RUBBISH], check=True, timeout=120)


def test_a_mutex_of_musl_is_known() -> None:
    shared = (128).to_bytes(4, sys.byteorder)
    memory = ctypes.create_string_buffer(shared + bytes(mutex.SIZE - len(shared)))
    with pytest.raises(mutex.ForeignMutex):
        mutex.trylock(ctypes.addressof(memory))


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("by", [b"\x55" * mutex.SIZE, bytes(4)], ids=["noise", "free"])
def test_a_mutex_written_over_while_it_is_held(by: bytes, robust: bool) -> None:
    memory = ctypes.create_string_buffer(mutex.SIZE)
    mutex.initialise(ctypes.addressof(memory), robust=robust)
    assert mutex.trylock(ctypes.addressof(memory))
    ctypes.memmove(memory, by, len(by))
    with pytest.raises(mutex.WrittenOver):
        mutex.unlock(ctypes.addressof(memory))
    assert mutex.trylock(ctypes.addressof(memory))
    mutex.unlock(ctypes.addressof(memory))


# The code runs in a separate process, because a failure would crash it.
SEVERAL = """
import ctypes, itertools
from conformance import mutex

memories = [ctypes.create_string_buffer(mutex.SIZE) for _ in range(3)]
places = [ctypes.addressof(memory) for memory in memories]
for order in itertools.permutations(range(3)):
    for spoiled in (None, *range(3)):
        for place in places:
            mutex.initialise(place, robust=True)
            assert mutex.trylock(place)
        if spoiled is not None:
            memories[spoiled].raw = b"\\x55" * mutex.SIZE
        indexes = []
        for index in order:
            try:
                mutex.unlock(places[index])
            except mutex.WrittenOver:
                indexes.append(index)
        assert indexes == [index for index in order if index == spoiled], (order, spoiled, indexes)
"""


def test_several_mutexes_held_at_once() -> None:
    """Robust mutexes of one thread are unlocked in any order, also after damage to one."""
    subprocess.run([sys.executable, "-c", SEVERAL], check=True, timeout=120)


@pytest.mark.asyncio
async def test_objects_and_their_mutex(name: str) -> None:
    """Two views of an object share their bytes, and one locks out the other."""
    shared = SharedObject.create(name, 200, 8)
    theirs = SharedObject.open(name, 8)
    shared.write(100, b"abc")
    assert theirs.read()[100:103] == b"abc"
    async with shared.locked(countdown_from(1)):
        assert not theirs.trylock()
        with pytest.raises(Locked, match="still locked"):
            async with theirs.locked(countdown_from(0.01)):
                pass
    assert theirs.trylock()
    theirs.unlock()
    with pytest.raises(NoObject):
        shared.write(199, b"ab")
    with pytest.raises(NoObject):
        SharedObject.create(name, 200, 8)
    os.truncate(memory.FOLDER / name, 50)
    assert len(shared.read()) == 50
    with pytest.raises(NoObject, match="was shortened"):
        shared.trylock()
    shared.close()
    theirs.close()
    assert memory.inode(name) is not None
    memory.remove(name)
    assert memory.inode(name) is None


@pytest.mark.asyncio
async def test_an_object_that_is_shortened(name: str) -> None:
    """An object that loses its bytes ends no process, even if its mutex is used."""
    shared = SharedObject.create(name, 4 * mmap.PAGESIZE, 3 * mmap.PAGESIZE)
    other = SharedObject.create(f"{name}-2", 100, 0)
    try:
        async with other.locked(countdown_from(1)):
            with pytest.raises(memory.Shortened):
                async with shared.locked(countdown_from(1)):
                    os.truncate(memory.FOLDER / name, 0)
            with pytest.raises(memory.Shortened):
                shared.trylock()
            assert not shared.read()
        assert other.trylock()
        other.unlock()
    finally:
        shared.close()
        other.close()
        memory.remove(f"{name}-2")


def test_a_mutex_whose_memory_is_lost(name: str) -> None:
    """Access to a lost mutex continues with zeros, and is remembered."""
    shared = SharedObject.create(name, 4 * mmap.PAGESIZE, 3 * mmap.PAGESIZE)
    os.truncate(memory.FOLDER / name, 0)
    assert mutex.trylock(shared._mutex)
    mutex.unlock(shared._mutex)
    assert bus_errors.is_lost(shared._start)
    shared.close()


def test_other_bus_errors_end_a_process() -> None:
    """A bus error in memory that is not watched ends the process."""
    code = (
        "import mmap, tempfile; from conformance import bus_errors as b; b.announce(4096, 10);"
        "f = tempfile.TemporaryFile(); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096);"
        "f.truncate(0); m[0]"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGBUS


@pytest.mark.parametrize("reason", ["EROFS", "ENOSPC"])
def test_a_machine_without_room(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """A read-only or full folder is a fault of the machine."""

    def refuse(*_: Any) -> None:
        raise OSError(getattr(errno, reason), "refused")

    assert not memory.obstacle()
    monkeypatch.setattr(os, "write", refuse)
    assert "this machine cannot write" in memory.obstacle()


@pytest.mark.parametrize("wrong", ["", "/", "..", "a/b", "x" * 300, "rt-none", "a\0b"])
def test_names_that_are_none(wrong: str) -> None:
    with pytest.raises(NoObject):
        SharedObject.open(wrong, 0)
    assert memory.inode(wrong) is None
    memory.remove(wrong)


def test_what_is_no_object(name: str) -> None:
    os.mkfifo(memory.FOLDER / name)
    with pytest.raises(NoObject):
        SharedObject.open(name, 0)
    memory.remove(name)
    (memory.FOLDER / name).write_bytes(bytes(mutex.SIZE - 1))
    with pytest.raises(NoObject):
        SharedObject.open(name, 0)


# The mocks


@pytest.mark.asyncio
@pytest.mark.parametrize("plan", PLANS)
async def test_owner_and_consumer(plan: str) -> None:
    """Owner and consumer agree on the layout and values, and leave nothing behind."""
    words = ("--layout", plan, "--catalog", str(FOLDER / "catalogs" / "robot.yaml"))
    async with (
        mock("runtime/buffer-owner", *words) as one,
        mock("runtime/buffer-consumer", *words) as other,
    ):
        owner, consumer = partial(ask, one), partial(ask, other)
        for type_ in ("arm", "panel", "gamepad"):
            assert await owner("layout", type=type_) == await consumer("layout", type=type_)
        name = (await owner("connect", type="arm", uid="7"))["result"]["buffer"]
        assert (await owner("set_data", buffer=name, values={"angle": 9, "trim": [1, 2, 3, 4]}))[
            "warnings"
        ] == ["angle: 9 was clamped to 1.5"]
        assert (await consumer("get_value", buffer=name, param="trim"))["result"] == [1, 2, 3, 4]
        assert name in (await consumer("list"))["result"]
        written = await consumer("set_value", buffer=name, param="speed", value=1000)
        assert written["ok"] and len(written["warnings"]) == 1
        assert (await owner("get_write", buffer=name))["result"] == {"speed": 100}
        assert (await owner("get_write", buffer=name))["result"] == {}
        assert (await owner("get_update", buffer=name))["result"] == {
            "angle": 1.5,
            "trim": [1, 2, 3, 4],
        }
        assert (await owner("set_read", buffer=name, params=["light", "angle"]))["ok"]
        assert (await owner("get_read", buffer=name))["result"] == ["angle", "light"]
        assert (await owner("disconnect", type="arm", uid="7"))["ok"]
        assert name not in (await consumer("list"))["result"]
        assert not (await consumer("get_value", buffer=name, param="angle"))["ok"]
        assert not (await owner("set_data", buffer=name, values={"angle": 1}))["ok"]
        assert await ended(other) == 0
        assert memory.inode(name) is not None
        assert await ended(one) == 0
        assert memory.inode(name) is None


# The tester


@pytest.mark.parametrize("type_", ["arm", "limit-switch"])
def test_a_buffer_that_another_program_keeps_locked(place: Place, type_: str) -> None:
    """A consumer that waits for another program's lock is not judged, for any layout."""
    foreign = SharedObject.create(f"rt-{type_}-{uuid.uuid4().int % 10**15}", 4096, 0)
    try:
        assert foreign.trylock()
        words = ("--mock", "--test", "lifecycle::list", "--timing", "response=0.2")
        done = place.run("runtime/buffer-consumer", *words)
        foreign.unlock()
    finally:
        foreign.close()
        memory.remove(foreign.name)
    assert done.verdict("lifecycle.listed") == "inconclusive"
    # During other runs, one of their buffers can be named instead.
    assert ", which another program has locked" in done.reason("lifecycle.listed")


def test_a_folder_that_another_run_has_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suite does nothing there without the lock, for any owner of the lock."""
    monkeypatch.setattr(memory, "FOLDER", tmp_path)
    iut: Any = SimpleNamespace(
        countdown=countdown_from, configuration=SimpleNamespace(max_wait=0.05)
    )

    async def tries() -> None:
        async with lists.lock_folder(iut, shared=True), lists.lock_folder(iut, shared=True):
            with pytest.raises(Hindered):
                async with lists.lock_folder(iut, shared=False):
                    pytest.fail("it was not for itself")

    asyncio.run(tries())
