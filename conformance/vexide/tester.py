"""What the testers of both roles share: how they read what has come."""

from conformance.session import Session
from conformance.verdicts import Inconclusive
from conformance.wire import Message


def received(session: Session, name: str) -> list[Message]:
    """All messages of a name that have come so far, passed over or not."""
    return [message for message in session.received if message.name == name]


def require_fit(session: Session, *messages: Message) -> None:
    """Raise Inconclusive where one does not fit its schema: what it tells is not known then."""
    for message in messages:
        known = session.protocol.messages[session.role.name, message.name or ""]
        errors, _ = session.protocol.schemas.schema(known.schema).check(message.value)
        if errors:
            about = errors[0].requirement or session.protocol.schema_requirement
            raise Inconclusive(f"{errors[0].message} ({about})")
