"""Faults of the receiver about the interpretation of input."""

import sys
import time
from dataclasses import replace
from typing import Any

from conformance.runtime.codec import Decoder, encode
from conformance.runtime.memory.catalog import Parameter
from conformance.runtime.memory.layout import Field
from conformance.runtime.shapes import NOTIFICATION
from mocks.deviations import Subtle, Table, fault
from mocks.runtime.gamepad_receiver import AXES, Receiver
from mocks.runtime.memory.changes import TIME_OF_ASKING
from mocks.runtime.memory.peer import Buffer

FAULTS = Table(Receiver)
FAULTS["set-data.timestamp"] = {
    "asked-is-written": Subtle(
        "Writes timestamps of the time before it waited for the mutex.", *TIME_OF_ASKING
    ),
}


@fault("buffer-of-512-bytes", violates="receiver.several", subtle=True)
class BufferOf512Bytes(Receiver):
    """Reads only 512 bytes of a datagram, enough for four gamepads."""

    async def received(self, data: bytes) -> None:
        await super().received(data[:512])


@fault("tired-of-input", violates="receiver.axes", subtle=True)
class TiredOfInput(Receiver):
    """Ignores all messages after the two hundredth."""

    taken = 0

    async def received(self, data: bytes) -> None:
        self.taken += 1
        if self.taken <= 200:
            await super().received(data)


@fault("every-fourth-lost", violates="receiver.axes", subtle=True)
class EveryFourthLost(Receiver):
    """Ignores every fourth message."""

    taken = 0

    async def received(self, data: bytes) -> None:
        self.taken += 1
        if self.taken % 4:
            await super().received(data)


@fault("axes-in-order", violates="receiver.axes", subtle=True)
class AxesInOrder(Receiver):
    """Uses the axes of a gamepad in their order, regardless of their names."""

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        known = [axis for axis in pad if axis in AXES]
        super().axes({**pad, **dict(zip(AXES, map(pad.get, known), strict=False))}, params, into)


@fault("last-axis-of-one-alone", violates="receiver.several", subtle=True)
class LastAxisOfOneAlone(Receiver):
    """Ignores the last axis if there are several gamepads."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        return [
            {i: {**pad, "ry": None} if isinstance(pad, dict) else pad for i, pad in pads.items()}
            if len(pads) > 1
            else pads
            for pads in super().messages(data)
        ]


@fault("wrapped-only", violates="receiver.form", needs={"envelope": "update_gamepads"})
class WrappedOnly(Receiver):
    """Accepts only input that is the argument of an RPC notification."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        frames = Decoder().feed(data)
        if len(frames) != 1 or frames[0].name != NOTIFICATION:
            return []
        inner = frames[0].value[2]
        return super().messages(encode(inner[0])) if inner else []


@fault("sticks-swapped", violates="receiver.axes")
class SticksSwapped(Receiver):
    """Swaps the left and the right joystick."""

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        super().axes(pad, [*params[2:], *params[:2]], into)


@fault("last-axis-without-its-end", violates="receiver.axes", subtle=True)
class LastAxisWithoutItsEnd(Receiver):
    """Ignores the lower end of the last axis."""

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        kept = {key: value for key, value in pad.items() if (key, value) != ("ry", -1.0)}
        super().axes(kept, params, into)


@fault("rest-overlooked", violates="receiver.axes", subtle=True)
class RestOverlooked(Receiver):
    """Keeps the last position of an axis that has come to rest."""

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        super().axes({key: value for key, value in pad.items() if value != 0}, params, into)


@fault("buttons-stay", violates="receiver.buttons")
class ButtonsStay(Receiver):
    """Ignores the release of buttons."""

    def buttons(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        super().buttons(pad, params, into)
        for name in [name for name, down in into.items() if not down]:
            del into[name]


@fault("sixteen-buttons", violates="receiver.buttons", subtle=True)
class SixteenButtons(Receiver):
    """Reads only 16 bits of btn."""

    def button(self, btn: int, number: int) -> bool:
        return super().button(btn & 0xFFFF, number)


@fault("pressed-in-all-bits", violates="receiver.buttons", subtle=True)
class PressedInAllBits(Receiver):
    """Stores a pressed button as 255."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        pressed = field.type == "bool" and any(raw)
        super().put(buffer, field, b"\xff" if pressed else raw)


@fault("one-gamepad", violates="receiver.several")
class OneGamepad(Receiver):
    """Uses one buffer for all gamepads."""

    async def pad(self, index: str) -> Buffer:
        self.pads[index] = await super().pad("0")
        return self.pads[index]


@fault("first-of-a-message", violates="receiver.several")
class FirstOfAMessage(Receiver):
    """Uses only the first gamepad of a message."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        return [dict([*pads.items()][:1]) for pads in super().messages(data)]


@fault("low-bits", violates="receiver.several", subtle=True)
class LowBits(Receiver):
    """Has four buffers, and uses the two lowest bits of an index."""

    async def pad(self, index: str) -> Buffer:
        return await super().pad(str(int(index) % 4))


@fault("one-digit", violates="receiver.several", subtle=True)
class OneDigit(Receiver):
    """Ignores gamepads with an index of two digits."""

    def proper(self, index: str, pad: Any) -> bool:
        return super().proper(index, pad) and len(index) == 1


@fault("first-digit", violates="receiver.several", subtle=True)
class FirstDigit(Receiver):
    """Uses only the first digit of an index."""

    async def pad(self, index: str) -> Buffer:
        return await super().pad(index[0])


@fault("floats-only", violates="receiver.whole-numbers")
class FloatsOnly(Receiver):
    """Ignores axes that are not floats."""

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        kept = {key: value for key, value in pad.items() if isinstance(value, float)}
        super().axes(kept, params, into)


@fault("minus-one-is-none", violates="receiver.whole-numbers", subtle=True)
class MinusOneIsNone(Receiver):
    """Ignores an axis that is -1 as an integer."""

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        kept = {k: v for k, v in pad.items() if not (isinstance(v, int) and v < 0)}
        super().axes(kept, params, into)


@fault("short-forms-only", violates="encoding.wider-forms")
class ShortFormsOnly(Receiver):
    """Ignores maps with headers that are longer than necessary."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        return super().messages(data) if data[:1] not in (b"\xde", b"\xdf") else []


@fault("single-precision-unknown", violates="encoding.wider-forms", subtle=True)
class SinglePrecisionUnknown(Receiver):
    """Ignores input with floats of 32 bits."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        return super().messages(data) if b"lx\xca" not in data else []


@fault("a-kilobyte", violates="encoding.wider-forms", subtle=True)
class AKilobyte(Receiver):
    """Ignores input of more than 1024 bytes."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        return super().messages(data) if len(data) <= 1024 else []


@fault("not-stamped", violates="set-data.timestamp")
class NotStamped(Receiver):
    """Never updates the timestamp."""

    def stamp(self, buffer: Buffer, block: str) -> None:
        pass


@fault("rest-not-stamped", violates="set-data.timestamp", subtle=True)
class RestNotStamped(Receiver):
    """Does not update the timestamp while no button is pressed."""

    async def play(self, index: str, pad: dict[str, Any]) -> None:
        self.pressed = bool(pad.get("btn"))
        await super().play(index, pad)

    def stamp(self, buffer: Buffer, block: str) -> None:
        if self.pressed:
            super().stamp(buffer, block)


@fault("since-the-start", violates="set-data.timestamp", subtle=True)
class SinceTheStart(Receiver):
    """Writes timestamps that count from the start of the machine."""

    def now(self) -> float:
        return time.monotonic()


@fault("unclamped", violates="catalog.clamped-data")
class Unclamped(Receiver):
    """Stores axes without clamping."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        return value


@fault("lower-unclamped", violates="catalog.clamped-data", subtle=True)
class LowerUnclamped(Receiver):
    """Does not clamp at the lower bound."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        return super().clamp(replace(param, lower=float("-inf")), value, warnings)


@fault("clamped-silently", violates="catalog.clamped-data")
class ClampedSilently(Receiver):
    """Clamps without a warning."""

    def warn(self, text: str, warnings: list[str]) -> None:
        pass


@fault("logs-instead-of-warning", violates="catalog.clamped-data", subtle=True)
class LogsInsteadOfWarning(ClampedSilently):
    """Logs every message on its standard error, and clamps without a warning."""

    async def play(self, index: str, pad: dict[str, Any]) -> None:
        print(f"gamepad {index}: {pad}", file=sys.stderr, flush=True)
        await super().play(index, pad)


@fault("one-warning", violates="catalog.clamped-data", subtle=True)
class OneWarning(Receiver):
    """Warns only once."""

    warned = False

    def warn(self, text: str, warnings: list[str]) -> None:
        if not self.warned:
            self.warned = True
            super().warn(text, warnings)


@fault("noise-ends-it", violates="receiver.odd-messages")
class NoiseEndsIt(Receiver):
    """Stops receiving after bytes that are not a message."""

    deaf = False

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        decoder = Decoder()
        frames = [*decoder.feed(data), *decoder.end()]
        self.deaf = self.deaf or any(frame.name is None for frame in frames)
        return [] if self.deaf else super().messages(data)


@fault("empty-ends-it", violates="receiver.odd-messages", subtle=True)
class EmptyEndsIt(Receiver):
    """Stops receiving after an empty datagram."""

    ended = False

    async def received(self, data: bytes) -> None:
        self.ended = self.ended or not data
        if not self.ended:
            await super().received(data)


@fault("text-ends-it", violates="receiver.odd-messages", subtle=True)
class TextEndsIt(Receiver):
    """Exits if an axis is text."""

    def axes(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        if isinstance(pad.get("lx"), str):
            raise SystemExit(1)
        super().axes(pad, params, into)
