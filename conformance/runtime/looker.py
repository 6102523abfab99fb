"""Observes buffers in shared memory while a real owner and real consumers use them.

Objects are opened read-only and no mutex is ever locked. An image counts only if the mutex was free
before and after reading, and a second read returned the same bytes. Therefore changes between two
images are not seen. The use of mutexes, bits and the valid bit is not judged.
"""

import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.configuration import ConfigurationError
from conformance.harness.memory import FOLDER, LARGEST
from conformance.judging.judge import Finding
from conformance.runtime.memory import catalog, declared_layout
from conformance.runtime.memory.catalog import INTEGER, REAL, Parameter, Peripheral
from conformance.runtime.memory.layout import Field, Layout, plan_layout

OWNER, CONSUMER = "buffer-owner", "buffer-consumer"
PARTIES = (OWNER, CONSUMER)
_BEFORE = 1.0  # seconds that a timestamp can be early: fractions of a second are optional
_SLACK = 0.05  # seconds of tolerance between two clocks
_MAX_OBJECTS = 1000  # objects that are observed at most, to limit memory and time
_SHORT_IMAGES = 20  # consecutive images of a too short object after which this is reported
_FUTEX = 4  # bytes at the beginning of a mutex that are 0 if the mutex is free
# by block: the role that writes it, and the requirements for its timestamp and its numbers
_ABOUT = {
    "read": (OWNER, "set-data.timestamp", "catalog.clamped-data"),
    "write": (CONSUMER, "set-value.timestamp", "catalog.clamped"),
}


@dataclass
class _Seen:
    """An object, with the state of its last complete image."""

    name: str
    peripheral: Peripheral
    layout: Layout
    descriptor: int
    inode: int
    image: bytes = b""
    at: float = 0.0
    short: int = 0


Found = tuple[str, Finding]
"""The role that a finding is about, and the finding."""


class Looker:
    """Observes all buffers of a catalog.

    ``catalog`` is the path of the catalog file. ``layout`` is the path of a JSON file: an object
    from types to layouts, each as the operation `layout` returns it. The default layouts are those
    of a C compiler. ``names`` is the pattern of the objects' names. Raises ConfigurationError.
    """

    def __init__(self, catalog: str = "", layout: str = "", names: str = "rt-{type}-{uid}") -> None:
        if not catalog:
            raise ConfigurationError("--look catalog=FILE is needed")
        if names.count("{type}") != 1 or names.count("{uid}") > 1:
            raise ConfigurationError("--look names: expected {type} once and {uid} at most once")
        self._types = _types(Path(catalog), Path(layout) if layout else None)
        some = "|".join(map(re.escape, sorted(self._types, key=len, reverse=True)))
        words = {"{type}": f"(?P<type>{some})", "{uid}": ".+"}
        parts = re.split(r"(\{type\}|\{uid\})", names)
        self._named = re.compile("".join(words.get(part) or re.escape(part) for part in parts))
        self._objects: dict[str, _Seen] = {}
        self.exercised: dict[str, set[str]] = {role: set() for role in PARTIES}
        self.looks = self.held = 0
        """Number of attempts to read an object, and number of attempts that found it in use."""

    @property
    def objects(self) -> int:
        """Number of objects that are present now."""
        return len(self._objects)

    @property
    def unseen(self) -> list[str]:
        """Descriptions of everything that could not be observed."""
        texts = ["changes between two observations, and the use of mutexes and bitmaps"]
        texts += [
            f"{seen.name}, which is shorter than its layout"
            for seen in self._objects.values()
            if seen.short
        ]
        if self.held:
            texts.append(f"{self.held} of {self.looks} observations, because a buffer was in use")
        return texts

    def find(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Search for new and removed objects. Yield the name of each object and its facts."""
        present = {entry.name: entry.inode() for entry in os.scandir(FOLDER)}
        for name, seen in list(self._objects.items()):
            if present.get(name) != seen.inode:
                os.close(self._objects.pop(name).descriptor)
                yield name, {"what": "gone"}
        for name in sorted(present.keys() - self._objects.keys()):
            match = self._named.fullmatch(name)
            room = match and len(self._objects) < _MAX_OBJECTS
            if match and room and (opened := self._open(name, match["type"])):
                self._objects[name] = opened
                size = os.fstat(opened.descriptor).st_size
                yield name, {"what": "found", "type": opened.peripheral.name, "size": size}

    def look(self) -> Iterator[tuple[str, dict[str, Any], list[Found]]]:
        """Read each object. Yield the name, the changes and the findings of each changed object."""
        for seen in self._objects.values():
            self.looks += 1
            size = os.fstat(seen.descriptor).st_size
            if size < seen.layout.size:
                seen.short += 1
                # An object can also be short while it is being created or removed.
                if seen.image and seen.short == _SHORT_IMAGES:
                    what = (
                        f"expected {seen.layout.size} bytes in {seen.name}; it shrank to "
                        f"{size} bytes"
                    )
                    found = [(OWNER, Finding("lifecycle.kept", what))]
                    yield seen.name, {"size": size}, found
                continue
            seen.short = 0
            image = self._image(seen)
            if image is None:
                self.held += 1
            elif image != seen.image:
                yield self._describe_changes(seen, image)

    def close(self) -> None:
        """Close all objects without changing them."""
        for seen in self._objects.values():
            os.close(seen.descriptor)
        self._objects.clear()

    def _open(self, name: str, kind: str) -> _Seen | None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(FOLDER / name, flags)
        except OSError:
            return None
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            os.close(descriptor)
            return None
        return _Seen(name, *self._types[kind], descriptor, status.st_ino)

    @staticmethod
    def _image(seen: _Seen) -> bytes | None:
        """Return an object's bytes without the mutex, or None if it may be in use."""
        mutex = seen.layout["mutex"]
        images = []
        for _ in range(2):
            image = os.pread(seen.descriptor, seen.layout.size, 0)
            if len(image) < seen.layout.size or any(mutex.of(image)[:_FUTEX]):
                return None
            images.append(image[: mutex.offset] + bytes(mutex.size) + image[mutex.end :])
        return images[0] if images[0] == images[1] else None

    def _describe_changes(
        self, seen: _Seen, image: bytes
    ) -> tuple[str, dict[str, Any], list[Found]]:
        now = time.time()
        before, seen.image = seen.image, image
        since, seen.at = seen.at, now
        if not before:
            self.exercised[OWNER].add("buffers.shared-memory")
            return seen.name, {"bytes": image.hex()}, []
        fields = {
            name: field
            for name, field in seen.layout.fields.items()
            if field.of(before) != field.of(image)
        }
        changes = {f"{n} @{f.offset}": f.of(image).hex() for n, f in fields.items()}
        found: list[Found] = []
        for block in _ABOUT:
            params = seen.layout.params(block)
            changed = [name for name, field in params.items() if field.name in fields]
            if changed:
                found += self._block(seen, block, changed, since, now)
        return seen.name, {"changed": changes}, found

    def _block(
        self, seen: _Seen, block: str, changed: list[str], since: float, now: float
    ) -> Iterator[Found]:
        """Yield the findings about a block whose parameters ``changed``."""
        role, stamped, bounded = _ABOUT[block]
        self.exercised[role].add(stamped)
        stamp = seen.layout[f"{block}.timestamp"]
        at = stamp.decode(stamp.of(seen.image))
        if not since - _BEFORE - _SLACK <= at <= now + _SLACK:
            what = f"{', '.join(changed)} changed at about {now:.3f}, but the timestamp is {at!r}"
            yield role, Finding(stamped, f"{seen.name}: {block}: {what}"[:400])
        params = seen.layout.params(block)
        for name in changed:
            param = seen.peripheral[name]
            if param.kind not in (INTEGER, REAL) or param.count is not None:
                continue
            self.exercised[role].add(bounded)
            value = params[name].decode(params[name].of(seen.image))
            if value == value and not _is_within(param, params[name], value):
                what = (
                    f"expected {name} between {param.lower:g} and {param.upper:g}; it is {value!r}"
                )
                yield role, Finding(bounded, f"{seen.name}: {block}: {what}")


def _is_within(param: Parameter, field: Field, value: Any) -> bool:
    """Return True if a number is within its bounds, at the precision of its field."""
    bound = param.clamp(value)
    return bool(bound == value or field.decode(field.encode(bound)) == value)


def _types(path: Path, layouts: Path | None) -> Mapping[str, tuple[Peripheral, Layout]]:
    """Return the peripherals of a catalog, each with the layout of its buffers."""
    try:
        peripherals = catalog.load(path.read_bytes())
        raw = json.loads(layouts.read_text("utf-8")) if layouts else {}
        if not isinstance(raw, dict) or not peripherals:
            raise ValueError(
                "expected an object from types to layouts, and at least one peripheral"
            )
        return {
            name: (
                entry,
                declared_layout.parse_layout(raw[name], entry) if layouts else plan_layout(entry),
            )
            for name, entry in peripherals.items()
            if not layouts or name in raw
        }
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"--look: {error}") from error
