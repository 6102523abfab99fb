"""What every mock may lawfully do otherwise where it reads."""

from mocks.deviations import variant
from mocks.simspark.connection import Connection, Endpoint


@variant("closes-upon-malformed", of="robustness.malformed")
class ClosesUponMalformed(Endpoint):
    """Closes a connection on which something came that it cannot decode."""

    def misread(self, connection: Connection, error: str) -> None:
        super().misread(connection, error)
        connection.close()


@variant("closes-inside-a-message", of="robustness.malformed")
class ClosesInsideAMessage(ClosesUponMalformed):
    """Does so within a message that it was about to send in pieces."""

    def misread(self, connection: Connection, error: str) -> None:
        connection.write(self.written("(syn)", connection)[:-1])
        super().misread(connection, error)


@variant("ends-upon-malformed", of="robustness.malformed", roles=("agent", "monitor"))
class EndsUponMalformed(Endpoint):
    """Ends, and its connection with it, upon what it cannot decode."""

    def misread(self, connection: Connection, error: str) -> None:
        super().misread(connection, error)
        raise SystemExit
