"""What the tester does for each role in its own way: keep it busy, see that it serves.

An IUT shows that it serves its peer by what only its role sends: a client by its pongs, a server by
pings and exercise data.
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
"""Writes a message in some way of its own."""


class Tester(ABC):
    """The side of a session that the suite plays towards one role."""

    signs: ClassVar[tuple[str, ...]]
    """By which messages the IUT shows that it serves its peer."""
    unseen: ClassVar[str]
    """The text for an IUT that never shows it."""
    silent: ClassVar[str]
    """The text for an IUT that no longer shows it."""
    foreign: ClassVar[dict[str, Any]]
    """A message that only the IUT's peer may send, and not before the handshake."""
    script: ClassVar[list[Any]]
    """What the peer may say, of every size, with what is unknown in between."""

    asks: ClassVar[bool]
    """Whether it can have the IUT show at any time that it serves and understands."""

    @abstractmethod
    async def served(self, session: Session) -> bool:
        """Whether the IUT shows, by a new message, that it serves this session."""

    @abstractmethod
    async def served_in_form(self, session: Session, form: Form) -> bool:
        """The same of one whose peer writes its messages in this form."""

    @abstractmethod
    async def in_step(self, iut: Iut, session: Session) -> bool:
        """Whether the IUT shows that it understands what it is sent now, if it ever shows that."""

    @abstractmethod
    async def show_more(self, session: Session) -> None:
        """Let the IUT send more of what its role sends."""

    @abstractmethod
    async def occupy(self, session: Session) -> None:
        """Bring the IUT to send and to receive."""

    @abstractmethod
    def later(
        self, iut: Iut, segmentation: Segmentation | None = None
    ) -> AbstractAsyncContextManager[Session]:
        """A session that is not the first of its process; nothing has been sent yet.

        Raises NotExercised where there is no second one.
        """

    @abstractmethod
    async def lives(self, session: Session) -> bool:
        """Whether it seems, without waiting, that it has not died of the end of this session."""

    # What some need to do and others do not

    def attend(self, session: Session, since: int) -> None:  # noqa: B027
        """From now on do what a peer has to do all the time, also for what came ``since``."""

    async def settle(self, session: Session) -> None:  # noqa: B027
        """Wait until the IUT has read the handshake, where that shows."""

    async def prompt(self, session: Session) -> None:  # noqa: B027
        """Give the IUT a reason to show whether it serves."""

    async def ask(self, session: Session) -> None:  # noqa: B027
        """Ask for what the IUT would answer, were the session not at its end."""

    async def falters(self, iut: Iut) -> str | None:
        """What it violates that does not always show service in a plain session either."""
        return None

    async def all_understood(  # noqa: B027
        self, session: Session, after: str, times: int = 1
    ) -> None:
        """Raise Violation unless everything that the scripts ask for has been answered."""

    async def follows(self, iut: Iut, session: Session, after: str) -> None:  # noqa: B027
        """Raise Violation unless the IUT, which serves, understands what comes next.

        Raises Inconclusive where nothing would show it.
        """

    async def next_is_served(  # noqa: B027
        self, iut: Iut, session: Session, after: str
    ) -> None:
        """Raise Violation unless the IUT serves another peer as well."""


def of(tested: Iut | Session) -> Tester:
    """The tester of the role that is under test."""
    found: Tester = importlib.import_module(f"{tested.role.package}.tester").TESTER
    return found
