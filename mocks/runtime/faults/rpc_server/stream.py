"""Faults of the RPC server about decoding and unusual input."""

import asyncio
from typing import Any, ClassVar

from conformance.codec import Frame
from conformance.runtime.codec import Decoder
from conformance.runtime.shapes import RESPONSE
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.messages import DROP_WHILE_BEHIND, NOT_SHORTEST, longer, named, read_alone
from mocks.runtime.rpc_server import Server
from mocks.steps import (
    Change,
    Function,
    When,
    alter,
    before,
    die,
    from_connection,
    later,
    note,
    noted,
    returning,
    skip,
    then,
)
from mocks.stream_readers import FirstOfARead, ForgetsInPauses, reads

FOUR_PARTS = When(lambda _, value: isinstance(value, list) and len(value) == 4)
"""If a malformed request has four parts."""
NIL_ARGUMENTS = FOUR_PARTS & (lambda _, value: value[3] is None)


def _write_in_two(usual: Function, server: Server, data: bytes) -> None:
    usual(server, data[:1000])
    if len(data) > 1000:
        usual(server, data[1000:])


def _without_third_argument(_: Server, frame: Frame) -> Frame:
    return Frame(frame.raw, frame.name, [*frame.value[:3], frame.value[3][:2]])


def _is_confusing(server: Server, frame: Frame) -> bool:
    """Return True for a response, and for each request with the id of an earlier response."""
    seen = vars(server).setdefault("seen", set())
    if frame.name == RESPONSE:
        seen.add(frame.value[1])
    return isinstance(frame.value, list) and frame.value[1] in seen


def _close_after_silence(server: Any, frame: Frame) -> None:
    def close(taken: int) -> None:
        if taken == server.taken:
            server.close("nothing comes")

    server.taken = vars(server).get("taken", 0) + 1
    asyncio.get_running_loop().call_later(1, close, server.taken)


FAULTS = Table(Server)

FAULTS["encoding.messagepack"] = {
    "ends-responses": Fault(
        "Writes the byte c1 after each response to mark its end.",
        returning("encode", lambda data: data + b"\xc1"),
    ),
    "ends-long-responses": Subtle(
        "Writes the byte c1 after responses of more than 1000 bytes.",
        returning("encode", lambda data: data + b"\xc1" if len(data) > 1000 else data),
    ),
    "long-responses-in-two": Subtle(
        "Splits a response of more than 1000 bytes into two ZeroMQ messages.",
        Change("write", _write_in_two),
        needs={"transport": "zmq"},
    ),
    "forgets-what-does-not-fit": Subtle(
        "Drops parts of a response that its connection cannot send immediately.", DROP_WHILE_BEHIND
    ),
    "sixteen-kilobytes": Subtle(
        "Truncates a response to 16 kB.", alter("write", lambda _, data: data[: 2**14])
    ),
    "arrays-of-four-bits": Subtle(
        "Writes the length of an array of 16 items in four bits, which is 0.",
        returning("encode", lambda data: data.replace(b"\xdc\x00\x10", b"\x90")),
    ),
}

FAULTS["encoding.wider-forms"] = {
    "shortest-forms-only": Fault(
        "Ignores requests that are not in their shortest form.", skip("take", NOT_SHORTEST)
    ),
    "single-precision-misread": Subtle(
        "Drops the arguments after a float of single precision.",
        alter(
            "take",
            _without_third_argument,
            lambda _, frame: frame.name and b"\xca\x3f" in frame.raw,
        ),
    ),
    "counts-of-16-bits": Subtle(
        "Ignores requests with an array header of 32 bits.",
        skip("take", lambda _, frame: frame.raw.startswith(b"\xdd")),
    ),
}

FAULTS["encoding.segmentation"] = {
    "a-read-is-a-request": Fault("Treats each read as complete requests.", read_alone()),
    "later-reads-are-requests": Subtle(
        "Treats each read as complete requests, on all connections except the first.",
        read_alone(from_connection(2)),
    ),
    "forgets-in-pauses": Subtle(
        "Loses an incomplete request if the remainder arrives after a pause.",
        reads(lambda: ForgetsInPauses(Decoder)),
    ),
    "first-of-a-read": Subtle(
        "Uses only the first request of a read.", returning("make_decoder", FirstOfARead)
    ),
    "one-byte-reads-lost": Subtle(
        "Ignores reads of a single byte.", skip("receive", lambda _, data: len(data) == 1)
    ),
    "requests-of-64-kilobytes": Subtle(
        "Drops a request of more than 65536 bytes.", skip("take", longer(65536))
    ),
}

FAULTS["robustness.malformed-requests"] = {
    "dies-of-nil-arguments": Fault(
        "Crashes after a request with nil instead of its arguments.",
        before("malformed", die, NIL_ARGUMENTS & (lambda _, value: value[0] == 0)),
    ),
    "hangs-of-an-odd-id": Subtle(
        "Answers nothing on a connection after a request with an array as its id.",
        skip("answer", noted("hung")),
        before("malformed", note("hung"), FOUR_PARTS & (lambda _, v: isinstance(v[1], list))),
    ),
    "dies-of-an-empty-array": Subtle(
        "Crashes after an empty array.", before("malformed", die, lambda _, value: value == [])
    ),
}

FAULTS["robustness.broken-bytes"] = {
    "dies-of-broken-bytes": Fault(
        "Crashes after bytes that are not MessagePack.", before("unreadable", die)
    ),
}

FAULTS["robustness.foreign-messages"] = {
    "dies-of-responses": Fault("Crashes after a response.", before("take", die, named(RESPONSE))),
    "confused-by-responses": Subtle(
        "Ignores a request whose id was in a response from the client.", skip("take", _is_confusing)
    ),
}

FAULTS["rpc.each-answered"] = {
    "deaf-after-three-seconds": Subtle(
        "Ignores all requests on a connection after three seconds.",
        then("opened", later(3.0, note("deaf"))),
        skip("take", noted("deaf")),
    ),
    "a-second-for-everything": Subtle(
        "Closes a connection after a second of silence, even while a call runs.",
        then("take", _close_after_silence),
    ),
}


@fault("five-workers", violates="robustness.many-malformed", subtle=True)
class FiveWorkers(Server):
    """Loses one of five workers after each request with nil instead of its arguments."""

    left: ClassVar[list[int]] = [1, 2, 3, 4, 5]

    def malformed(self, value: Any) -> None:
        if NIL_ARGUMENTS(self, value) and self.left:
            self.left.pop()

    def answer(self, number: int, error: Any, result: Any) -> None:
        if self.left:
            super().answer(number, error, result)


@fault("patience-for-ten", violates="robustness.many-malformed")
class PatienceForTen(Server):
    """Crashes after the tenth malformed request."""

    count: ClassVar[list[Any]] = []

    def malformed(self, value: Any) -> None:
        self.count.append(value)
        if len(self.count) == 10:
            die()
