"""Lawful variants of every mock in writing messages."""

from conformance.simspark.codec import frame
from mocks.deviations import Table, Variant
from mocks.simspark.connection import Endpoint
from mocks.steps import returning

VARIANTS = Table(Endpoint)

VARIANTS["text.s-expressions"] = {
    "zero-at-the-end": Variant(
        "Adds the final zero byte of a C string to each message.",
        returning("encode", lambda data: frame(data[4:] + b"\0")),
    ),
}
