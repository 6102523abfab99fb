"""The faults of the client."""

from mocks.deviations import fault
from mocks.streams import Stream
from mocks.toy.client import Client


@fault("impatient", violates="ping.waits")
class Impatient(Client):
    """Sends two Pings at once."""

    def begin(self, stream: Stream) -> None:
        self.ping(stream)
        self.ping(stream)
