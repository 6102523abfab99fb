"""Faults in the times at which a client sends a Ping."""

from mocks.deviations import fault
from mocks.toy.client import Client


@fault("impatient", violates="ping.waits")
class Impatient(Client):
    """Sends two Pings at once."""

    def opened(self) -> None:
        self.ping()
        self.ping()


@fault("impatient-once-answered", violates="ping.waits", subtle=True)
class ImpatientOnceAnswered(Client):
    """Waits for the first answer, and sends the rest at once."""

    def answered(self) -> None:
        while self.left:
            self.ping()
