"""Faults of the RPC client about responses."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from conformance.codec import Frame
from conformance.runtime.codec import Decoder
from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.messages import (
    NOT_SHORTEST,
    SMALL_NEGATIVES_MISREAD,
    longer,
    read_alone,
)
from mocks.runtime.rpc_client import CallFailed, Client
from mocks.runtime.values import in_all_parts, of_type
from mocks.steps import Change, alter, before, fail, instead, note, noted, only, returning, skip
from mocks.stream_readers import ForgetsInPauses, LastOfARead, reads


def _assign(choose: Callable[[Client, int], Iterable[int]]) -> Change:
    """Assign a response to the first of the chosen calls, if there is any."""
    return alter(
        "response",
        lambda client, number, *rest: (next(iter(choose(client, number)), number), *rest),
    )


def _compare_ids(size: int) -> Change:
    """Compare only the lowest bits of ids."""
    return _assign(
        lambda client, number: (id_ for id_ in client.waiting if id_ % size == number % size)
    )


def _keep(client: Any, value: Any) -> None:
    client.kept = value[2:]


def _take_kept(client: Any, number: int, *_: Any) -> None:
    if kept := vars(client).pop("kept", None):
        client.response(number, *kept)


def _read(change: Callable[[Any, Any], tuple[Any, Any]]) -> Change:
    """Read another error and another result."""
    return alter("response", lambda _, number, *response: (number, *change(*response)))


def _message(error: Any) -> Any:
    if error is None:
        return None
    return error.get("message") if isinstance(error, dict) else "failed"


def _without_nil(result: Any) -> Any:
    if not isinstance(result, dict):
        return result
    return {key: value for key, value in result.items() if value is not None}


def _heard_lately(client: Any, frame: Frame) -> bool:
    now = time.monotonic()
    if now - vars(client).get("heard", now) >= 1:
        return False
    client.heard = now
    return True


_WITH_SIGNS = in_all_parts(
    of_type(int, lambda number: number - 2**16, lambda number: 2**15 <= number < 2**16)
)

_LONG_WITH_SIGNS = of_type(int, lambda number: number - 2**64, lambda number: number >= 2**63)

FAULTS = Table(Client)

FAULTS["rpc.matching"] = {
    "first-comes-first": Fault(
        "Assigns a response to the call that has waited longest.",
        _assign(lambda client, _: client.waiting),
    ),
    "last-comes-first": Subtle(
        "Assigns a response to the latest call.",
        _assign(lambda client, _: reversed(client.waiting)),
    ),
    "late-for-the-next": Subtle(
        "Assigns a response to the next call if no call waits for it.",
        instead("passed_over", _keep),
        before("request", _take_kept),
    ),
    "ids-of-eight-bits": Subtle("Compares only the lowest eight bits of ids.", _compare_ids(2**8)),
    "ids-of-three-bits": Subtle("Compares only the lowest three bits of ids.", _compare_ids(2**3)),
}

FAULTS["rpc.success"] = {
    "small-negatives-misread": Subtle(
        "Reads a negative integer of one byte as an unsigned integer.", SMALL_NEGATIVES_MISREAD
    ),
    "words-with-signs": Subtle(
        "Reads an unsigned integer of two bytes as a signed integer.",
        _read(lambda error, result: (error, _WITH_SIGNS(result))),
    ),
    "nil-is-no-result": Fault(
        "Treats a nil result as a failure.",
        _read(lambda error, result: ("no result" if error is result is None else error, result)),
    ),
    "false-as-nil": Subtle(
        "Reports nil if the result is false, 0 or empty.",
        _read(lambda error, result: (error, result or None)),
    ),
    "nil-members-left-out": Subtle(
        "Removes nil members from a map in the result.",
        _read(lambda error, result: (error, _without_nil(result))),
    ),
    "deaf-after-a-second": Subtle(
        "Ignores all data after a second of silence on a connection.", only("take", _heard_lately)
    ),
}

FAULTS["rpc.wide-results"] = {
    "double-words-with-signs": Subtle(
        "Reads an unsigned integer of eight bytes as a signed integer.",
        _read(lambda error, result: (error, _LONG_WITH_SIGNS(result))),
    ),
}

FAULTS["rpc.failure"] = {
    "no-call-after-an-error-object": Subtle(
        "Fails all calls after an error that is not text.",
        before(
            "response",
            note("lost"),
            lambda _, number, error, result: not isinstance(error, str | None),
        ),
        before("call", fail(CallFailed, "the connection is shut down"), noted("lost")),
    ),
    "only-maps-are-errors": Fault(
        "Treats errors that are not maps as success.",
        instead("failed", lambda _, error: isinstance(error, dict)),
    ),
    "empty-is-no-error": Subtle(
        "Treats false, 0 and empty errors as success.",
        instead("failed", lambda _, error: bool(error)),
    ),
    "result-before-error": Subtle(
        "Ignores the error if the response has a result.",
        _read(lambda error, result: (error if result is None else None, result)),
    ),
}

FAULTS["rpc.error-reachable"] = {
    "errors-kept-back": Fault(
        "Reports a failed call without the error object.",
        _read(lambda error, result: (None if error is None else "the call has failed", result)),
    ),
    "messages-of-errors-only": Subtle(
        "Reports only the message of an error that is a map, and hides other errors.",
        _read(lambda error, result: (_message(error), result)),
    ),
}

FAULTS["encoding.wider-forms"] = {
    "shortest-responses-only": Fault(
        "Ignores responses that are not in their shortest form.", skip("take", NOT_SHORTEST)
    ),
    "signed-ids-passed-over": Subtle(
        "Ignores a response whose id is written as a signed integer.",
        skip("take", lambda _, frame: frame.raw[3:5] in (b"\xd0\x01", b"\xd0\x00")),
    ),
}

FAULTS["encoding.segmentation"] = {
    "a-read-is-a-response": Fault("Treats each read as complete responses.", read_alone()),
    "forgets-in-pauses": Subtle(
        "Loses an incomplete response if the remainder arrives after a pause.",
        reads(lambda: ForgetsInPauses(Decoder)),
    ),
    "last-of-a-read": Subtle(
        "Uses only the last response of a read.", returning("make_decoder", LastOfARead)
    ),
    "responses-of-64-kilobytes": Subtle(
        "Drops a response of more than 65535 bytes.", skip("take", longer(65535))
    ),
}
