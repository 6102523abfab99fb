"""Functions that the testers of both roles share to read received messages."""

import math
from pathlib import Path
from typing import Any

from conformance.cases import check
from conformance.session import Session
from conformance.verdicts import Inconclusive
from conformance.wire import Message


def messages_named(session: Session, name: str) -> list[Message]:
    """Return all messages of a name received so far, also those already skipped."""
    return [message for message in session.received if message.name == name]


def require_fit(session: Session, *messages: Message) -> None:
    """Raise Inconclusive if a message does not fit its schema: its content is unclear."""
    for message in messages:
        known = session.protocol.messages[session.role.name, message.name or ""]
        errors, _ = session.protocol.schemas.schema(known.schema).check(message.value)
        if errors:
            about = errors[0].requirement or session.protocol.schema_requirement
            raise Inconclusive(f"{errors[0].message} ({about})")


def is_close(reported: Any, wanted: float) -> bool:
    """Return True if a number is the wanted number, written with six digits or more."""
    number = isinstance(reported, int | float) and not isinstance(reported, bool)
    return number and math.isclose(reported, wanted, rel_tol=1e-5, abs_tol=1e-9)


def is_path(sent: Any, root: str) -> bool:
    """Return True if a text names a directory, in any spelling."""
    return isinstance(sent, str) and Path(sent).is_absolute() and Path(sent) == Path(root)


def check_handshake_types(fields: dict[str, Any], event: int) -> None:
    """Raise Violation unless the fields of a Handshake have the types of the specification."""
    version, extensions = fields.get("version"), fields.get("extensions")
    good = (
        isinstance(version, int)
        and not isinstance(version, bool)
        and isinstance(extensions, list)
        and all(isinstance(entry, str) for entry in extensions)
    )
    check(good, "an integer version and an array of strings", f"received {fields!r}", event)
