"""Faults of the simulator in the handshake."""

from mocks.deviations import Fault, Subtle, Table
from mocks.steps import When, before, call, instead, note, noted, only, skip
from mocks.vexide.simulator import Simulator

OFFERED = When(lambda _, extensions: extensions)
"""If the frontend offers extensions."""
STRANGE = When(lambda _, content, strange: strange)
"""If the Handshake has unknown fields."""
HANDSHAKE = When(lambda sim, frame: sim.handshaken or frame.name == "Handshake")
"""If a message is the first Handshake, or comes after the handshake."""

FAULTS = Table(Simulator)

FAULTS["handshake.closes-incompatible"] = {
    "version-zero-hangs": Fault(
        "Neither answers nor closes if an unsupported version is offered.", skip("incompatible")
    ),
    "negative-version-hangs": Subtle(
        "Neither answers nor closes if a negative version is offered; zero is refused.",
        only("incompatible", lambda _, offer: offer["version"] == 0),
    ),
}

FAULTS["handshake.version-at-most-offered"] = {
    # Every answer to an offer below 1 has a version that was not offered.
    "answers-version-zero": Subtle(
        "Answers version 1 to an offer below 1 and continues.",
        instead("incompatible", lambda sim, offer: sim.agree(offer)),
    ),
    "version-two": Fault(
        "Answers one version above the offered version.",
        instead("version", lambda _, offered: offered + 1),
    ),
}

FAULTS["handshake.answered"] = {
    "no-answer": Fault("Never answers a Handshake.", skip("agree")),
    "no-answer-to-extensions": Subtle(
        "Does not answer if an unknown extension is offered.",
        skip("agree", lambda _, offer: offer["extensions"]),
    ),
}

FAULTS["handshake.extensions-offered"] = {
    "own-extension": Fault(
        "Answers with its own extension, although it was not offered.",
        instead("common_extensions", lambda *_: ["x-reference"]),
    ),
    "extension-beside-others": Subtle(
        "Adds its own extension to the offered extensions.",
        instead("common_extensions", lambda _, offered: [*offered, "x-reference"], OFFERED),
    ),
}

FAULTS["handshake.unknown-fields"] = {
    "unknown-handshake-field-closes": Fault(
        "Closes at an unknown field in the Handshake.",
        instead("handle_handshake", "close", STRANGE),
    ),
    "unknown-handshake-field-stalls": Subtle(
        "Never becomes Ready after an unknown field in the Handshake.",
        skip("load", noted("stalls")),
        before("handle_handshake", note("stalls"), STRANGE),
    ),
}

FAULTS["handshake.nothing-before"] = {
    "logs-at-once": Fault(
        "Sends a Log directly after the stream is open.",
        before("opened", call("log", "Info", "the simulator has been started")),
    ),
    "logs-before-answer": Subtle(
        "Sends a Log between the Handshake command and its answer.",
        before("answer", call("log", "Trace", "a frontend has come")),
    ),
    "reports-early-commands": Subtle(
        "Sends a Log after a command that comes before the Handshake.",
        before("take", call("log", "Warn", "the handshake is missing"), ~HANDSHAKE),
    ),
}

FAULTS["handshake.version-one"] = {
    "version-as-offered": Subtle(
        "Answers with the offered version, even if it does not exist.",
        instead("version", lambda _, offered: offered),
    ),
}

FAULTS["handshake.field-types"] = {
    "version-as-text": Fault(
        "Answers with the version as a string.", instead("version", lambda *_: "1")
    ),
    "no-extensions-null": Subtle(
        "Answers null if it supports none of the offered extensions.",
        instead("common_extensions", lambda *_: None, OFFERED),
    ),
}
