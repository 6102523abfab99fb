"""What every mock may lawfully do otherwise where it writes."""

from conformance.simspark.codec import frame
from mocks.deviations import variant
from mocks.simspark.connection import Connection, Endpoint


@variant("zero-at-the-end", of="text.s-expressions")
class ZeroAtTheEnd(Endpoint):
    """Sends the zero byte that ends a string in C along with each message, and counts it."""

    def written(self, text: str, connection: Connection) -> bytes:
        return frame(super().written(text, connection)[4:] + b"\0")
