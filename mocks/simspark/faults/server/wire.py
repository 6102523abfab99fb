"""Faults of the server in writing and reading messages."""

from dataclasses import replace

from conformance.codec import Frame
from conformance.simspark.codec import Decoder
from mocks.deviations import Fault, Subtle, Table
from mocks.simspark.agent_port import Agent
from mocks.simspark.faults.decoders import SixtyFourKilobytes
from mocks.simspark.faults.server.bases import agents_read, monitors_read, rewrites
from mocks.simspark.faults.writing import UTF_8
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.server import Server
from mocks.steps import alter, before, returning
from mocks.stream_readers import FirstOfARead, PerRead

SHARED = Decoder()


def _with_temperature(pairs: list[str]) -> list[str]:
    return [*pairs, "(temperature 20°)"] if any("score" in pair for pair in pairs) else pairs


def _in_reverse(_: Server, monitor: Monitor, frame: Frame) -> tuple[Monitor, Frame]:
    return monitor, replace(frame, value=frame.value[::-1])


FORGETS_WHAT_DOES_NOT_FIT = returning(
    "encode",
    lambda data: data[: len(data) // 2],
    lambda _, text, connection: connection.stream.is_behind,
)

FAULTS = Table(Server)

FAULTS["text.order"] = {
    "last-command-first": Subtle(
        "Executes the commands of a message from the last to the first.",
        alter("hear_monitor", _in_reverse, lambda _, monitor, frame: isinstance(frame.value, list)),
    ),
}

FAULTS["text.s-expressions"] = {
    "unclosed": Fault(
        "Omits the last bracket of a partial state.", returning("partial", lambda text: text[:-1])
    ),
    "unclosed-sight": Subtle(
        "Opens an extra bracket in the See perceptor.",
        rewrites("perceptors", "(See (", "(See ((", 1),
    ),
}

FAULTS["text.ascii"] = {
    "umlauts": Fault(
        "Has a parameter with a name that is not ASCII.",
        UTF_8,
        returning("environment", lambda pairs: [*pairs, "(Spielfeldgröße 30)"]),
    ),
    "degree-sign": Subtle(
        "Writes a character that is not ASCII into a state with a new score.",
        UTF_8,
        returning("partial_state", _with_temperature),
    ),
}

FAULTS["text.predicates"] = {
    "bare-word": Fault(
        "Begins each group of perceptors with a bare word.",
        returning("perceive_time", lambda text: f"cycle {text}"),
    ),
}

FAULTS["frame.length-prefix"] = {
    "length-counts-itself": Subtle(
        "Counts the length field itself in the lengths for agents.",
        returning(
            "encode",
            lambda data: len(data).to_bytes(4, "big") + data[4:],
            lambda _, text, connection: isinstance(connection, Agent),
        ),
    ),
    "one-length-turned-round": Subtle(
        "Writes a length in little-endian order in the tenth message to a client.",
        returning(
            "encode",
            lambda data: data[3::-1] + data[4:],
            lambda _, text, connection: connection.sent == 9,
        ),
    ),
    "forgets-what-does-not-fit": Subtle(
        "Sends only half of a message if the connection does not take it at once.",
        FORGETS_WHAT_DOES_NOT_FIT,
    ),
    "forgets-and-leaves": Subtle(
        "Sends only half of a message that does not fit, and nothing more to one that leaves.",
        FORGETS_WHAT_DOES_NOT_FIT,
        before("monitor_left", lambda _, monitor: monitor.stream.abandon()),
    ),
    "lengths-of-sixteen-bits": Subtle(
        "Writes only the two lower bytes of a length.",
        returning("encode", lambda data: bytes(2) + data[2:]),
    ),
}

FAULTS["frame.segmentation"] = {
    "one-buffer": Subtle(
        "Collects the data of all monitors in one buffer.", monitors_read(lambda: SHARED)
    ),
    "later-monitors-in-whole-messages": Subtle(
        "Takes the data of one read for complete messages, from all monitors except the first.",
        monitors_read(lambda: PerRead(Decoder), first=2),
    ),
    "agents-in-whole-messages": Subtle(
        "Takes the data of one read from an agent for complete messages.",
        agents_read(lambda: PerRead(Decoder)),
    ),
    "agents-one-message-a-read": Subtle(
        "Drops all messages in one read from an agent except the first.",
        agents_read(lambda: FirstOfARead(Decoder())),
    ),
}

FAULTS["agents.effectors"] = {
    "agents-of-64-kilobytes": Subtle(
        "Reads only the first 64 kB from an agent.", agents_read(SixtyFourKilobytes)
    ),
}

FAULTS["monitors.commands"] = {
    "monitors-of-64-kilobytes": Subtle(
        "Reads only the first 64 kB from a monitor.", monitors_read(SixtyFourKilobytes)
    ),
}
