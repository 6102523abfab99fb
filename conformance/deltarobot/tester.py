"""The tester of each role: keeps the IUT busy and observes its service.

Only messages that belong to the IUT's role are evidence of service: the pongs of a client, the
pings and exercise data of a server.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session

Form = Callable[[Any], bytes]
"""Writes a message in a deliberately different form."""


class Tester(ABC):
    """The peer that the suite plays for one role under test."""

    signs: ClassVar[tuple[str, ...]]
    """Names of the messages by which the IUT shows that it serves its peer."""
    unseen: ClassVar[str]
    """Text for an IUT that never shows service."""
    silent: ClassVar[str]
    """Text for an IUT that no longer shows service."""
    foreign: ClassVar[dict[str, Any]]
    """A message that only the IUT's peer can send, and only after the handshake."""
    script: ClassVar[list[Any]]
    """Messages that a peer can send, of every size, with unknown messages between them."""

    asks: ClassVar[bool]
    """True if the tester can always ask the IUT for a sign of service."""

    @abstractmethod
    async def has_served(self, session: Session) -> bool:
        """Return True if a new message of the IUT shows that it serves this session."""

    @abstractmethod
    async def has_served_in_form(self, session: Session, form: Form) -> bool:
        """Return True if the IUT serves a session whose peer writes messages in this form."""

    @abstractmethod
    async def is_in_step(self, iut: Iut, session: Session) -> bool:
        """Return True if the IUT shows that it understands the messages that it receives now."""

    @abstractmethod
    async def show_more(self, session: Session) -> None:
        """Let the IUT send more messages of its role."""

    @abstractmethod
    async def occupy(self, session: Session) -> None:
        """Make the IUT send and receive messages."""

    @abstractmethod
    def open_later(
        self, iut: Iut, segmentation: Segmentation | None = None
    ) -> AbstractAsyncContextManager[Session]:
        """Open a later session of a process; nothing has been sent yet.

        Raises NotExercised if there is no second session.
        """

    async def is_alive(self, session: Session) -> bool:
        """Return True if the IUT has shown that it survived this session, without a wait."""
        return False

    # Operations that only some roles need

    def attend(self, session: Session, since: int) -> None:  # noqa: B027
        """From now on do the permanent duties of a peer, also for messages received ``since``."""

    async def imitate(self, plain: Session, session: Session) -> None:  # noqa: B027
        """Send as many requests in a plain session as were sent in this session."""

    async def settle(self, session: Session) -> None:  # noqa: B027
        """Wait until the IUT has read the handshake, if the role shows that."""

    async def prompt(self, session: Session) -> None:  # noqa: B027
        """Give the IUT a reason to show service."""

    async def ask(self, session: Session) -> None:  # noqa: B027
        """Send a request that the IUT would answer before its end of transmission."""

    async def find_plain_failure(self, iut: Iut) -> str | None:
        """Return the violated requirement if the IUT fails at times in a plain session, too."""
        return None

    async def check_all_understood(  # noqa: B027
        self, session: Session, after: str, times: int = 1
    ) -> None:
        """Raise Violation unless the IUT has answered every request of the scripts."""

    async def check_follows(self, iut: Iut, session: Session, after: str) -> None:  # noqa: B027
        """Raise Violation unless the serving IUT understands the next message.

        Raises Inconclusive if the IUT cannot show that.
        """

    async def check_next_is_served(  # noqa: B027
        self, iut: Iut, session: Session, after: str
    ) -> None:
        """Raise Violation unless the IUT serves another peer as well."""


def of(tested: Iut | Session) -> Tester:
    """Return the tester of the role under test."""
    found: Tester = importlib.import_module(f"{tested.role.package}.tester").TESTER
    return found
