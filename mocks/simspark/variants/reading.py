"""Lawful variants of every mock in reading messages."""

from mocks.deviations import Table, Variant
from mocks.simspark.connection import Connection, Endpoint
from mocks.steps import before, fail, then


def _close(_: Endpoint, connection: Connection, error: str) -> None:
    connection.close()


def _write_a_part(endpoint: Endpoint, connection: Connection, error: str) -> None:
    connection.write(endpoint.encode("(syn)", connection)[:-1])


VARIANTS = Table(Endpoint)

VARIANTS["robustness.malformed"] = {
    "closes-upon-malformed": Variant(
        "Closes a connection after bytes that it cannot decode.", then("log_misread", _close)
    ),
    "closes-inside-a-message": Variant(
        "Closes a connection after bytes that it cannot decode, inside a message of its own.",
        before("log_misread", _write_a_part),
        then("log_misread", _close),
    ),
    "ends-upon-malformed": Variant(
        "Exits after bytes that it cannot decode.",
        then("log_misread", fail(SystemExit)),
        roles=("agent", "monitor"),
    ),
}
