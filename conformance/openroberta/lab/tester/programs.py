"""Programs and files of a lab, as its user's operations return them, and how they differ."""

import base64

from conformance.openroberta.codec import content
from conformance.openroberta.values import difference
from conformance.verdicts import Inconclusive, Violation
from conformance.wire import Message


def bytes_of(told: object, operation: str) -> bytes:
    """Bytes that an operation returns as Base64. Raises Inconclusive where it is not Base64."""
    try:
        return base64.b64decode(str(told), validate=True)
    except ValueError as error:
        raise Inconclusive(f"the operation '{operation}' answered no Base64: {error}") from error


def told_bytes(told: object) -> bytes | None:
    """The program that the operation 'run' returned, if it tells one."""
    text = told.get("base64") if isinstance(told, dict) else None
    return bytes_of(text, "run") if isinstance(text, str) else None


def own_program(file: Message, own: object, others: object) -> None:
    """Raise Violation where a robot got a program that is not its own.

    `own` and `others`: what the operation 'run' returned for it and for another robot. What is
    neither's violates run.bytes.
    """
    wanted, came = told_bytes(own), content(file.value)
    if wanted is None or came == wanted:
        return
    if came != told_bytes(others):
        raise Violation(*difference(wanted, came), "run.bytes", file.event)
    raise Violation("the program that was run for its token", "another's came", None, file.event)
