"""Measure how fast a deltarobot stream is decoded: by our codec, `struct` and `construct`.

All three turn the same bytes into the same objects with named values. Our codec also looks up the
layouts in the schema files, keeps the bytes of each message, and converts every float for JSON.
Only this measurement needs `construct`: `pip install construct`.
"""

import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from conformance.deltarobot.codec import Decoder, encode, message

ROUNDS = 5  # of which the best counts
CHUNK = 64 * 1024  # bytes that a read returns

KINDS = {
    0x3001: ("ProtocolMagic", struct.Struct("<8s"), ("magic",)),
    0x2002: ("ProtocolVersion", struct.Struct("<I"), ("version",)),
    0x3004: ("Ping", struct.Struct("<Q"), ("number",)),
    0x4003: ("CurrentActuatorPosition", struct.Struct("<4f"), ("x", "y", "z", "u")),
    0x4007: ("CurrentDirectionVector", struct.Struct("<4f"), ("x", "y", "z", "u")),
    0x4008: ("DesiredDirectionVector", struct.Struct("<4f"), ("x", "y", "z", "u")),
}
SIZES = {0: 1, 1: 2, 2: 4, 3: 8, 4: 16}

Decoded = list[tuple[str | None, Any]]


def stream() -> bytes:
    """Return ten minutes of an exercise at 30 Hz: vectors, pings, some curves and unknowns."""
    messages: list[Any] = []
    for step in range(18_000):
        value = step / 1000
        names = ("CurrentActuatorPosition", "CurrentDirectionVector", "DesiredDirectionVector")
        messages += [message(name, x=value, y=-value, z=0.125, u=0.0) for name in names]
        if step % 30 == 0:
            messages.append(message("Ping", number=step * 0x123456789))
            messages.append({"identifier": "0x1123", "data": "beba"})
        if step % 3000 == 0:
            points = [[value, 0.5, number / 8] for number in range(64)]
            messages.append(message("Curve", points=points))
    return b"".join(map(encode, messages))


def ours(data: bytes) -> Decoded:
    decoder = Decoder()
    found: Decoded = []
    for at in range(0, len(data), CHUNK):
        found += [(frame.name, frame.value) for frame in decoder.feed(data[at : at + CHUNK])]
    return found


def by_hand(data: bytes) -> Decoded:
    found: Decoded = []
    left = b""
    for begin in range(0, len(data), CHUNK):
        left += data[begin : begin + CHUNK]
        at = 0
        while len(left) - at >= 6:
            (identifier,) = struct.unpack_from("<H", left, at)
            start = at + 2
            if identifier >> 12 == 0xF:
                (size,) = struct.unpack_from("<I", left, start)
                start += 4
            else:
                size = SIZES[identifier >> 12]
            if start + size > len(left):
                break
            value: dict[str, Any] = {"identifier": f"{identifier:#06x}"}
            if known := KINDS.get(identifier):
                name, layout, names = known
                value.update(zip(names, layout.unpack_from(left, start), strict=True))
                found.append((name, value))
            elif identifier == 0xF009:
                points = struct.iter_unpack("<3f", left[start : start + size])
                found.append(("Curve", {**value, "points": [list(point) for point in points]}))
            else:
                found.append(("Unknown", {**value, "data": left[start : start + size].hex()}))
            at = start + size
        left = left[at:]
    return found


def by_construct() -> Callable[[bytes], Decoded] | None:
    try:
        import construct as c  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return None
    vector = c.Struct("x" / c.Float32l, "y" / c.Float32l, "z" / c.Float32l, "u" / c.Float32l)
    known = {
        0x3004: c.Struct("number" / c.Int64ul),
        0x4003: vector,
        0x4007: vector,
        0x4008: vector,
        0xF009: c.Prefixed(c.Int32ul, c.Struct("points" / c.GreedyRange(c.Array(3, c.Float32l)))),
    }
    names = {identifier: name for identifier, (name, _, _) in KINDS.items()} | {0xF009: "Curve"}
    sizes = {size: c.Bytes(count) for size, count in SIZES.items()}
    unknown = c.Switch(
        lambda this: this.identifier >> 12,
        {**sizes, 0xF: c.Prefixed(c.Int32ul, c.GreedyBytes)},
    )
    one = c.Struct(
        "identifier" / c.Int16ul, "body" / c.Switch(c.this.identifier, known, default=unknown)
    )
    everything = c.GreedyRange(one)

    def decode(data: bytes) -> Decoded:
        return [(names.get(entry.identifier), entry.body) for entry in everything.parse(data)]

    return decode


def main() -> None:
    data = stream()
    ways: dict[str, Callable[[bytes], Decoded]] = {"struct": by_hand, "ours": ours}
    if decode := by_construct():
        ways["construct"] = decode
    else:
        print("measured without construct: pip install construct", file=sys.stderr)
    assert by_hand(data) == ours(data)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            began = time.process_time()
            count = len(way(data))
            best[name] = min(best[name], time.process_time() - began)
            assert count == len(by_hand(data))
    print(f"{count} messages, {len(data) / 1e6:.1f} MB; best of {ROUNDS} rounds")
    for name, seconds in best.items():
        rate = count / seconds / 1000
        print(
            f"{name:10} {seconds:7.3f} s  {rate:7.0f} k/s  {seconds / best['struct']:6.2f} x struct"
        )


if __name__ == "__main__":
    main()
