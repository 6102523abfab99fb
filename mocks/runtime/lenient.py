"""Deviations of peers that the runtime's mocks can tolerate."""

from typing import Any

from conformance.codec import Frame
from conformance.runtime.codec import Decoder
from mocks.deviations import lenient
from mocks.run import note
from mocks.runtime.gamepad_receiver import Receiver
from mocks.runtime.rpc_server import Server


@lenient("in-an-envelope", of="gamepad.form")
class InAnEnvelope(Receiver):
    """Accepts input as the only parameter of a notification, and without the key gamepads."""

    def messages(self, data: bytes) -> list[dict[str, Any]]:
        found = super().messages(data)
        if found:
            return found
        frames = Decoder().feed(data)
        value = frames[0].value if len(frames) == 1 else None
        match value:
            case [2, str(), [{**pads}]]:
                note("forgiven: input in the envelope of a notification")
            case {**pads}:
                note("forgiven: input without the key gamepads")
            case _:
                return []
        inner = pads.get("gamepads", pads)
        return [inner] if isinstance(inner, dict) and all(isinstance(n, str) for n in inner) else []


@lenient("no-parameters", of="rpc.request-content")
class NoParameters(Server):
    """Accepts a request or a notification with nil instead of its parameters."""

    def take(self, frame: Frame) -> None:
        match frame.value:
            case [0, int() as number, str() as method, None]:
                self.request(number, method, self.none(method))
            case [2, str() as method, None]:
                self.notification(method, self.none(method))
            case _:
                super().take(frame)

    def none(self, method: str) -> list[Any]:
        self.stream.tell("forgiven", f"forgiven: {method[:80]} with nil instead of its parameters")
        return []
