"""Building blocks of deviations in reading and writing messages, for streams and datagrams."""

import json
from typing import Any

from conformance.codec import Decoder, Frame
from conformance.runtime.codec import encode
from mocks.runtime.values import in_all_parts, of_type
from mocks.steps import Change, Function, When, alter, always, instead
from mocks.stream_readers import PerRead

NOT_SHORTEST = When(lambda _, frame: frame.name is not None and frame.raw != encode(frame.value))
"""If a message is not in its shortest form."""


SHORTEST = When(lambda _, frame: frame.name is not None and frame.raw == encode(frame.value))
"""If a message is in its shortest form."""


def named(name: str) -> When:
    """If the step is about a message of this name."""
    return When(lambda _, frame: frame.name == name)


def longer(count: int) -> When:
    """If the message has more bytes."""
    return When(lambda _, frame: len(frame.raw) > count)


_WITHOUT_SMALL_SIGNS = in_all_parts(
    of_type(int, lambda number: number + 256, lambda number: -32 <= number < 0)
)
SMALL_NEGATIVES_MISREAD = alter(
    "take",
    lambda _, frame: Frame(frame.raw, frame.name, _WITHOUT_SMALL_SIGNS(frame.value)),
    SHORTEST,
)
"""Read a negative integer of one byte as an unsigned integer."""


def _write_while_free(usual: Function, peer: Any, data: bytes) -> None:
    for at in range(0, len(data), 4096):
        if not peer.stream.is_behind:
            usual(peer, data[at : at + 4096])


DROP_WHILE_BEHIND = Change("write", _write_while_free)
"""Drop parts of a message that the connection cannot send immediately."""


SEND_JSON = instead("send", lambda peer, message: peer.write(json.dumps(message).encode()))


def split(size: int) -> Change:
    """Write data in pieces of a size."""

    def write(usual: Function, peer: Any, data: bytes) -> None:
        for at in range(0, len(data), size):
            usual(peer, data[at : at + size])

    return Change("write", write)


def read_alone(when: Function = always) -> Change:
    """Treat each read as whole messages."""

    def make(usual: Function, peer: Any) -> Decoder:
        return PerRead(lambda: usual(peer)) if when(peer) else usual(peer)

    return Change("make_decoder", make)
