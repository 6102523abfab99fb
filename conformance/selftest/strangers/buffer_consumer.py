"""A consumer of peripheral buffers: buffer_consumer.py [SWITCH[,SWITCH...]]."""

import contextlib
import ctypes
import json
import math
import mmap
import os
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import yaml

SWITCHES = set(",".join(sys.argv[1:]).split(","))
LIBC = ctypes.CDLL(None)
Raw = dict[str, Any]


def structure(**fields: Any) -> Any:
    return type("Structure", (ctypes.Structure,), {"_fields_": [*fields.items()]})


def place(of: Any, name: str, start: int = 0) -> Raw:
    return {"offset": start + getattr(of, name).offset, "size": getattr(of, name).size}


CONTROL: Raw = {"uid": ctypes.c_ubyte * 11}
CONTROL |= dict.fromkeys(("subscription", "delay", "read", "write", "update"), ctypes.c_uint16)
START: Raw = {"mutex": ctypes.c_ulong * 5, "valid": ctypes.c_bool}


def c_type(text: str) -> Any:
    match: Any = re.fullmatch(r"(\w+)(?:\[([1-9]\d*)\])?", text)
    kind, count = match.groups()
    if not isinstance(base := getattr(ctypes, f"c_{kind}"), type(ctypes.c_int)):
        raise ValueError(f"there is no type {text}")
    return base * int(count) if count else base


class Kind:
    def __init__(self, raw: Raw) -> None:
        params = raw.get("params", [])
        if "device_id" in raw and len(params) > 16:
            raise ValueError("a Smart Device has at most 16 parameters")
        self.params = {each["name"]: each | {"bit": 1 << at} for at, each in enumerate(params)}
        self.fields = START | ({"control": structure(**CONTROL)} if "device_id" in raw else {})
        self.blocks: dict[str, list[Raw]] = {}
        for name, access in (("read", "readable"), ("write", "writeable")):
            self.blocks[name] = [each for each in self.params.values() if each.get(access)]
            values = {f"of {each['name']}": c_type(each["type"]) for each in self.blocks[name]}
            self.fields[name] = structure(timestamp=ctypes.c_double, **values)
        self.structure = structure(**self.fields)

    def layout(self) -> Raw:
        answer: Raw = {"size": ctypes.sizeof(self.structure), "control": None}
        for name, of in self.fields.items():
            answer[name] = at = place(self.structure, name)
            if name not in START:
                answer[name] = {part: place(of, part, at["offset"]) for part, _ in of._fields_}
            for param in self.blocks.get(name, []):
                kind, _, count = param["type"].partition("[")
                own = answer[name].pop(f"of {param['name']}") | {"type": kind}
                own["count"] = int(count[:-1] or 1)
                answer[name].setdefault("params", {})[param["name"]] = own
        return answer


kinds: dict[str, Kind] = {}


def opened(name: str, of: Any) -> Any:
    file = os.open("/dev/shm/" + os.path.basename(name), os.O_RDWR | os.O_NONBLOCK)
    with open(file, "r+b", buffering=0):
        return of.from_buffer(mmap.mmap(file, 0))


@contextlib.contextmanager
def locked(buffer: Any) -> Iterator[None]:
    LIBC.pthread_mutex_lock(ctypes.byref(buffer.mutex))
    try:
        if not buffer.valid:
            raise ValueError("the buffer is invalid")
        yield
    finally:
        LIBC.pthread_mutex_unlock(ctypes.byref(buffer.mutex))


def clamp(param: Raw, value: Any, warnings: list[str]) -> Any:
    low, high = param.get("lower", -math.inf), param.get("upper", math.inf)
    ignored = "pairs" in SWITCHES and not {"lower", "upper"} <= param.keys()
    if ignored or param["type"] == "bool" or "[" in param["type"] or low <= value <= high:
        return value
    warnings.append(f"{param['name']} is limited: {value}")
    return type(value)(low if value < low else high)


def load(args: Raw, warnings: list[str]) -> None:
    with open(args["path"], encoding="utf-8-sig") as file:
        kinds.update({name: Kind(raw) for name, raw in yaml.safe_load(file).items()})


def list_buffers(args: Raw, warnings: list[str]) -> list[str]:
    found = []
    for name in os.listdir("/dev/shm"):
        with contextlib.suppress(ValueError, OSError):
            found += [name] * (name.startswith("rt-") and opened(name, structure(**START)).valid)
    return found


def use(args: Raw, warnings: list[str]) -> Any:
    """Read a value, or write the one in the arguments."""
    kind, write = kinds[args["type"]], "value" in args
    param, buffer = kind.params[args["param"]], opened(args["buffer"], kind.structure)
    block, field = (buffer.write if write else buffer.read), f"of {param['name']}"
    new, before = clamp(param, args["value"], warnings) if write else [], bytes(block)
    bit = param["bit"] if write and hasattr(buffer, "control") else 0
    with locked(buffer):
        if bit and "early-bit" in SWITCHES:
            buffer.control.write |= bit
        if param not in kind.blocks["write" if write else "read"]:
            return warnings.append(f"the access to {param['name']} is forbidden")
        if write:
            if "write-back" in SWITCHES:
                ctypes.memmove(ctypes.byref(block), before, len(before))
            setattr(block, field, c_type(param["type"])(*new) if "[" in param["type"] else new)
            block.timestamp = time.time() * (1000 if "milliseconds" in SWITCHES else 1)
        if bit:
            buffer.control.write |= bit
        value = getattr(block, field)
        return list(value) if "[" in param["type"] else value


OPERATIONS: dict[str, Any] = {"get_value": use, "set_value": use, "list": list_buffers}
OPERATIONS |= {"catalog": load, "layout": lambda args, warnings: kinds[args["type"]].layout()}
for line in sys.stdin:
    asked, told = json.loads(line), list[str]()
    answer: Raw = {"id": asked["id"], "warnings": told}
    answer["ok"] = answer["offered"] = asked["op"] in OPERATIONS
    try:
        if answer["ok"]:
            answer["result"] = OPERATIONS[asked["op"]](asked["args"], told)
    except (ValueError, TypeError, OSError, AttributeError, LookupError) as error:
        if "die-unknown" in SWITCHES and isinstance(error, KeyError):
            raise
        answer |= {"ok": False, "error": str(error)}
    print(json.dumps(answer), flush=True)
