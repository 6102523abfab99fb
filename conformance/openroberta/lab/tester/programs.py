"""Programs and files of a lab as the user's operations return them, and their comparison."""

import base64

from conformance.openroberta.codec import plain_content
from conformance.openroberta.values import difference
from conformance.verdicts import Inconclusive, Violation
from conformance.wire import Message


def bytes_of(text: object, operation: str) -> bytes:
    """Return the bytes of a Base64 result. Raises Inconclusive if the text is not Base64."""
    try:
        return base64.b64decode(str(text), validate=True)
    except ValueError as error:
        raise Inconclusive(f"expected Base64 from the operation '{operation}'; {error}") from error


def program_bytes(result: object) -> bytes | None:
    """Return the program in the result of the operation 'run', or None."""
    text = result.get("base64") if isinstance(result, dict) else None
    return bytes_of(text, "run") if isinstance(text, str) else None


def own_program(file: Message, own: object, others: object) -> None:
    """Raise Violation if a robot received a program that is not its own.

    `own` and `others` are the results of the operation 'run' for this robot and for another robot.
    A program that is neither violates run.bytes.
    """
    wanted, came = program_bytes(own), plain_content(file.value)
    if wanted is None or came == wanted:
        return
    if came != program_bytes(others):
        raise Violation(*difference(wanted, came), "run.bytes", file.event)
    raise Violation(
        "the program that was run for its token",
        "received the program of another robot",
        None,
        file.event,
    )
