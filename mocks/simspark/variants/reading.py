"""What every mock may lawfully do otherwise where it reads."""

from mocks.deviations import variant
from mocks.simspark.connection import Connection, Endpoint


@variant("closes-upon-malformed", of="robustness.malformed")
class ClosesUponMalformed(Endpoint):
    """Closes a connection on which something came that it cannot decode."""

    def misread(self, connection: Connection, error: str) -> None:
        super().misread(connection, error)
        connection.close()


@variant("ends-upon-malformed", of="robustness.malformed", roles=("agent", "monitor"))
class EndsUponMalformed(Endpoint):
    """Ends, and its connection with it, upon what it cannot decode."""

    def misread(self, connection: Connection, error: str) -> None:
        super().misread(connection, error)
        raise SystemExit
