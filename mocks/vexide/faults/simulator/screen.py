"""Faults of the simulator in drawings."""

import base64
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.steps import Change, skip
from mocks.vexide.faults.bases import edit, fields, named
from mocks.vexide.simulator import Simulator

DRAWINGS = named("ScreenDraw", "ScreenClear", "ScreenDoubleBufferMode", "ScreenRender")


def copy(**changes: Any) -> Change:
    """Send CopyBuffer with other fields."""
    return fields("ScreenDraw", "command", "CopyBuffer", **changes)


def _packed(pixels: str) -> str:
    data = base64.b64decode(pixels)
    packed = b"".join(data[i : i + 3] for i in range(0, len(data) - 4, 4))
    return base64.b64encode(packed).decode()


def _tagged_adjacently(_: Any, draw: dict[str, Any]) -> None:
    for command in draw["command"].values():
        circle = command.get("shape", {}).get("Circle")
        if circle is not None:
            command["shape"] = {"type": "Circle", "content": circle}


FAULTS = Table(Simulator)

FAULTS["execution.reports-changes"] = {
    "draws-nothing": Subtle(
        "Sends no drawings of the program.",
        skip("send", DRAWINGS),
    ),
    "render-untold": Subtle(
        "Reports that double buffering is on, but never sends ScreenRender.",
        skip("send", named("ScreenRender")),
    ),
}

FAULTS["screen.pixel-buffer"] = {
    "pixels-in-hex": Fault(
        "Writes pixels as hexadecimal digits with spaces.",
        copy(buffer=lambda pixels: base64.b64decode(pixels).hex(" ")),
    ),
    "pixels-of-24-bits": Subtle(
        "Packs pixels into three bytes each, and loses the last byte.", copy(buffer=_packed)
    ),
}

FAULTS["types.color-range"] = {
    "color-256": Fault(
        "Writes 256 for a full colour component.",
        fields("ScreenDraw", color=lambda c: {key: at + at // 255 for key, at in c.items()}),
    ),
    "background-negative": Subtle(
        "Writes -1 for the background colour of copied pixels.",
        fields(
            "ScreenDraw", "background", b=-1, when=lambda _, draw: "CopyBuffer" in draw["command"]
        ),
    ),
}

FAULTS["types.stride-nonzero"] = {
    "stride-zero": Fault(
        "Writes a stride of zero, as if the width determined the stride.", copy(stride=0)
    ),
}

FAULTS["encoding.externally-tagged"] = {
    "circle-adjacent": Subtle(
        "Tags a circle, but no other shape, adjacently.", edit("ScreenDraw", _tagged_adjacently)
    ),
}
