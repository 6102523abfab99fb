"""Faults in reading messages, which every mock can have."""

import re

from conformance.simspark.codec import Decoder
from mocks.deviations import Fault, Subtle, Table
from mocks.simspark.connection import Endpoint
from mocks.simspark.faults import decoders
from mocks.simspark.faults.decoders import dying, without
from mocks.steps import returning
from mocks.stream_readers import FirstOfARead, PerRead, reads

FAULTS = Table(Endpoint)

FAULTS["frame.segmentation"] = {
    "reads-are-messages": Fault(
        "Takes the data of one read for complete messages.", reads(lambda: PerRead(Decoder))
    ),
    "lengths-unread": Fault(
        "Takes the data of one read for a message, and skips the length.",
        reads(decoders.LengthsUnread),
    ),
    "one-message-a-read": Subtle(
        "Drops all messages of one read except the first.",
        returning("make_decoder", FirstOfARead),
    ),
    "bursts-lost": Subtle(
        "Drops all messages of one read after the thirty-second.", reads(decoders.FewOfARead)
    ),
    "cut-lengths-lost": Subtle(
        "Loses a length that arrives in two pieces.", reads(decoders.CutLengths)
    ),
    "beginnings-lost": Subtle(
        "Loses the beginning of a message if the remainder arrives 0.1 s later.",
        reads(decoders.Impatient),
    ),
}

FAULTS["frame.length-prefix"] = {
    "long-messages-lost": Subtle(
        "Drops messages that are longer than a buffer of 16 kB.",
        reads(without(lambda frame: len(frame.raw) > decoders.ROOM)),
    ),
    "long-messages-cut": Subtle(
        "Reads the first 16 kB of a message and drops all further bytes.", reads(decoders.LongCut)
    ),
    "sixteen-bits": Subtle(
        "Reads only the two lower bytes of a length.", reads(lambda: decoders.LowerBits(16))
    ),
    "twenty-four-bits": Subtle(
        "Reads only the three lower bytes of a length.", reads(lambda: decoders.LowerBits(24))
    ),
    "thirty-one-bits": Subtle(
        "Ignores the highest bit of a length.", reads(lambda: decoders.LowerBits(31))
    ),
    "negative-lengths-as-zero": Subtle(
        "Takes a length with the highest bit set for 0.", reads(decoders.NoNegativeLengths)
    ),
    "bytes-with-a-sign": Subtle(
        "Reads the bytes of a length as signed bytes.", reads(decoders.SignedBytes)
    ),
    "stream-of-text": Subtle("Reads the stream as text in UTF-8.", reads(decoders.Utf8)),
}

FAULTS["text.white-space"] = {
    "line-ends-unread": Subtle(
        "Drops messages that contain a tab or a line end.",
        reads(without(lambda frame: re.search(rb"[\t\r\n]", frame.raw[4:]))),
    ),
    "hangs-at-tabs": Subtle(
        "Never finds the end of a word that a tab follows.",
        reads(decoders.Hangs),
        roles=("agent", "monitor"),
    ),
}

FAULTS["robustness.malformed"] = {
    "deaf-after-malformed": Subtle(
        "Stops reading after a malformed text, and keeps its connection.",
        reads(decoders.Offended),
    ),
    "rest-of-a-read-lost": Subtle(
        "Drops everything that the same read brings after a malformed text.",
        reads(decoders.Discouraged),
    ),
    "next-after-malformed-lost": Subtle(
        "Drops the first message after a malformed text.", reads(decoders.OneAfterAnother)
    ),
    "dies-of-malformed": Fault(
        "Dies of a malformed text.",
        reads(dying(lambda frame: frame.error and frame.requirement != "frame.length-prefix")),
    ),
    "recursive-reader": Subtle(
        "Reads brackets recursively, and dies of a hundred thousand of them.",
        reads(
            dying(
                lambda frame: (
                    frame.name == "TooDeep" or (frame.error and frame.raw.count(b"(") > 1000)
                )
            )
        ),
    ),
}

FAULTS["robustness.huge-length"] = {
    "dies-of-huge-lengths": Fault(
        "Allocates memory for a length of gigabytes, and dies.", reads(decoders.Greedy)
    ),
    "negative-lengths-hang": Subtle(
        "Hangs at a length with the highest bit set.",
        reads(decoders.NegativeLengthsHang),
        roles=("server",),
    ),
}

FAULTS["robustness.wrong-length"] = {
    "dies-of-wrong-lengths": Subtle(
        "Dies if a text ends earlier than its length says.",
        reads(
            dying(lambda frame: frame.error and re.match(rb"\([ -~]*\)\0", frame.raw[4:])),
        ),
    ),
}

FAULTS["robustness.empty-message"] = {
    "empty-ends": Fault(
        "Takes an empty message for the end of the stream.", reads(decoders.EmptyEnds)
    ),
    "empty-skips": Subtle(
        "Drops everything that the same read brings after several empty messages.",
        reads(decoders.EmptySkips),
    ),
}
