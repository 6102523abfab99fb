"""Ways to divide a stream of lines into writes."""

from collections.abc import Sequence

from conformance.segmentation import Segmentation, byte_by_byte, in_halves, split_at


def around_newlines(data: bytes) -> Sequence[bytes]:
    """Cut before and after every newline."""
    places = [index for index, byte in enumerate(data) if byte == ord("\n")]
    return split_at([*places, *(place + 1 for place in places)])(data)


def inside_characters(data: bytes) -> Sequence[bytes]:
    """Cut before every byte that continues a UTF-8 character."""
    return split_at(index for index, byte in enumerate(data) if byte & 0xC0 == 0x80)(data)


def newline_of_the_last_alone(data: bytes) -> Sequence[bytes]:
    """Send everything except the last byte, which is a newline, then that byte."""
    return split_at([-1])(data)


CUTS: Sequence[Segmentation] = (
    byte_by_byte,
    in_halves,
    around_newlines,
    inside_characters,
    newline_of_the_last_alone,
)
