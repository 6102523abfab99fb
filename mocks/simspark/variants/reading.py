"""Lawful variants of every mock in reading messages."""

from mocks.deviations import variant
from mocks.simspark.connection import Connection, Endpoint


@variant("closes-upon-malformed", of="robustness.malformed")
class ClosesUponMalformed(Endpoint):
    """Closes a connection after bytes that it cannot decode."""

    def log_misread(self, connection: Connection, error: str) -> None:
        super().log_misread(connection, error)
        connection.close()


@variant("closes-inside-a-message", of="robustness.malformed")
class ClosesInsideAMessage(ClosesUponMalformed):
    """Closes a connection after bytes that it cannot decode, inside a message of its own."""

    def log_misread(self, connection: Connection, error: str) -> None:
        connection.write(self.encode("(syn)", connection)[:-1])
        super().log_misread(connection, error)


@variant("ends-upon-malformed", of="robustness.malformed", roles=("agent", "monitor"))
class EndsUponMalformed(Endpoint):
    """Exits after bytes that it cannot decode."""

    def log_misread(self, connection: Connection, error: str) -> None:
        super().log_misread(connection, error)
        raise SystemExit
