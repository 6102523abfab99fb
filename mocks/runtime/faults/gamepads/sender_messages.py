"""Faults of the sender about the encoding and the content of messages."""

import json
from collections.abc import Mapping
from typing import Any

from mocks.datagrams import Datagrams
from mocks.deviations import fault
from mocks.runtime.gamepad_sender import Pad, Sender


@fault("json", violates="encoding.messagepack")
class Json(Sender):
    """Sends JSON."""

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode())


@fault("two-pads-two-objects", violates="encoding.messagepack", subtle=True)
class TwoPadsTwoObjects(Sender):
    """Adds a second message to the datagram if there are several gamepads."""

    def write(self, data: bytes) -> None:
        super().write(data + b"\x81\xa8gamepads\x80" if b"\xa11" in data else data)


@fault("cut-at-512-bytes", violates="encoding.messagepack", subtle=True)
class CutAt512Bytes(Sender):
    """Truncates a message to 512 bytes."""

    def write(self, data: bytes) -> None:
        super().write(data[:512])


@fault("keys-as-bytes", violates="encoding.strings")
class KeysAsBytes(Sender):
    """Writes the keys of a message as bins."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        return {"$map": [[{"$bin": b"gamepads".hex()}, super().message(pads)["gamepads"]]]}


@fault("second-index-as-bytes", violates="encoding.strings", subtle=True)
class SecondIndexAsBytes(Sender):
    """Writes the indices as bins if there are several gamepads."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        inner = super().message(pads)["gamepads"]
        if len(inner) < 2:
            return {"gamepads": inner}
        pairs = [[{"$bin": index.encode().hex()}, pad] for index, pad in inner.items()]
        return {"gamepads": {"$map": pairs}}


@fault("bare-pads", violates="gamepad.form")
class BarePads(Sender):
    """Sends the gamepads without the outer map."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        return super().message(pads)["gamepads"]


@fault("wrapped", violates="gamepad.form")
class Wrapped(Sender):
    """Wraps a message in an RPC notification."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        return [2, "update_gamepads", [super().message(pads)]]


@fault("no-btn-at-rest", violates="gamepad.form", subtle=True)
class NoBtnAtRest(Sender):
    """Omits btn if no button is pressed."""

    def btn(self, raw: Pad) -> dict[str, Any]:
        return super().btn(raw) if any(raw["buttons"]) else {}


@fault("indices-as-integers", violates="gamepad.index")
class IndicesAsIntegers(Sender):
    """Writes indices as integers."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        sent = super().message(pads)["gamepads"]
        return {"gamepads": {"$map": [[int(index), pad] for index, pad in sent.items()]}}


@fault("indices-of-two-digits", violates="gamepad.index", subtle=True)
class IndicesOfTwoDigits(Sender):
    """Writes an index above 0 with two digits."""

    def index(self, index: str) -> Any:
        return index if index == "0" else index.zfill(2)


@fault("indices-above-nine-as-integers", violates="gamepad.index", subtle=True)
class IndicesAboveNineAsIntegers(Sender):
    """Writes an index of two digits as an integer."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        sent = super().message(pads)["gamepads"]
        if not any(len(index) > 1 for index in sent):
            return {"gamepads": sent}
        pairs = [[index if len(index) == 1 else int(index), pad] for index, pad in sent.items()]
        return {"gamepads": {"$map": pairs}}


@fault("two-pads-a-message", violates="gamepad.each", subtle=True)
class TwoPadsAMessage(Sender):
    """Sends more than two gamepads in several messages."""

    def gamepads(self, pads: Mapping[str, Pad]) -> None:
        some = list(pads.items())
        for first in range(0, max(len(some), 1), 2):
            super().gamepads(dict(some[first : first + 2]))


@fault("twenty-messages", violates="gamepad.each", subtle=True)
class TwentyMessages(Sender):
    """Sends only the first twenty messages."""

    sent = 0

    def write(self, data: bytes) -> None:
        self.sent += 1
        if self.sent <= 20:
            super().write(data)


@fault("first-pad-only", violates="gamepad.each", subtle=True)
class FirstPadOnly(Sender):
    """Sends only the first gamepad."""

    def gamepads(self, pads: Mapping[str, Pad]) -> None:
        first = min(pads, key=int)
        super().gamepads({first: pads[first]})


@fault("pads-counted", violates="gamepad.each", subtle=True)
class PadsCounted(Sender):
    """Numbers the gamepads from 0, regardless of their indices."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        return super().message({str(number): pads[index] for number, index in enumerate(pads)})


@fault("same-state-for-all", violates="gamepad.each")
class SameStateForAll(Sender):
    """Sends the state of the first gamepad for all of them."""

    def message(self, pads: Mapping[str, Pad]) -> Any:
        return super().message({name: first for first in [*pads.values()][:1] for name in pads})


@fault("gone-pads-stay", violates="gamepad.each", subtle=True)
class GonePadsStay(Sender):
    """Continues to send the last state of a disconnected gamepad."""

    def __init__(self, out: Datagrams) -> None:
        super().__init__(out)
        self.known: dict[str, Pad] = {}

    def message(self, pads: Mapping[str, Pad]) -> Any:
        self.known |= pads
        return super().message(self.known)
