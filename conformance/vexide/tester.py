"""What the testers of both roles share: how they read what has come."""

from conformance.session import Session
from conformance.wire import Message


def received(session: Session, name: str) -> list[Message]:
    """All messages of a name that have come so far, passed over or not."""
    return [message for message in session.received if message.name == name]
