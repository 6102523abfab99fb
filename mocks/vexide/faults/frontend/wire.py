"""Faults of the frontend in framing, roles, transport, standard error and encoding."""

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    When,
    alter,
    before,
    call,
    delay,
    first,
    having,
    instead,
    only,
    send,
    since,
    skip,
    then,
    write,
)
from mocks.vexide.child import simulator
from mocks.vexide.faults.bases import edit, fields, named
from mocks.vexide.faults.robustness import OutlivesInput
from mocks.vexide.frontend import Frontend

LIVE = having("live")
STDIO, TCP = {"transport": "stdio"}, {"transport": "tcp"}


def over(*transports: str) -> When:
    """If the session is on one of these transports."""
    return When(lambda frontend: frontend.stream.kind in transports)


FAULTS = Table(Frontend)

FAULTS["framing.json-lines"] = {
    "blank-before-start": Subtle(
        "Writes one blank line before StartExecution.", before("start", write(b"\n"))
    ),
    "byte-order-mark": Subtle(
        "Begins the stream with a byte order mark.", before("opened", write(b"\xef\xbb\xbf"))
    ),
}

FAULTS["roles.own-messages"] = {
    "sends-events": Fault(
        "Sends its own Log to the simulator after the handshake.",
        before("set_up", send({"Log": {"level": "Info", "message": "the frontend is here"}})),
    ),
    "ready-echoed": Subtle(
        "Sends Ready back before it starts the program.", before("start", send("Ready"))
    ),
}

FAULTS["transport.standard-streams"] = {
    "pipe-dropped": Fault(
        "Closes the stream of a simulator on standard streams after the handshake.",
        instead("set_up", "close", over("stdio")),
        needs=STDIO,
    ),
}

FAULTS["transport.others"] = {
    "socket-dropped": Subtle(
        "Closes the stream of a simulator on a socket after the handshake.",
        instead("set_up", "close", over("tcp", "unix")),
        needs=TCP,
    ),
}

FAULTS["stderr.unstructured"] = {
    "stderr-is-events": Fault(
        "Treats lines on standard error that look like events as events.",
        then("simulator_said", lambda it, line: it.receive(line.encode() + b"\n"), LIVE),
        needs=STDIO,
    ),
    "stderr-exited": Subtle(
        "Ends the session when Exited comes on standard error; other lines have no effect.",
        then(
            "simulator_said",
            call("end_normally", None),
            LIVE & (lambda _, line: line.strip() == '"Exited"'),
        ),
        needs=STDIO,
    ),
    "stderr-unread": Subtle(
        "Does not read the simulator's standard error, so that its pipe becomes full.",
        instead("start_simulator", lambda _, command: simulator(command, None)),
        needs=STDIO,
    ),
    "stderr-lines-of-32k": Subtle(
        "Does not read standard error after a line of more than 32 KiB.",
        instead(
            "start_simulator",
            lambda frontend, command: simulator(command, frontend.simulator_said, 32 * 1024),
        ),
        needs=STDIO,
    ),
}

FAULTS["stderr.accessible"] = {
    "stderr-hidden": Fault(
        "Does not show the simulator's standard error.", skip("simulator_said"), needs=STDIO
    ),
    "stderr-hidden-in-session": Subtle(
        "Shows standard error only until the handshake is finished.",
        skip("simulator_said", LIVE),
        needs=STDIO,
    ),
    "stderr-read-once": Subtle(
        "Shows only the first line on standard error.",
        only("simulator_said", first(1)),
        needs=STDIO,
    ),
    "stderr-in-utf-8-only": Subtle(
        "Shows nothing of standard error after a line that is not UTF-8.",
        skip("simulator_said", since(lambda _, line: "\ufffd" in line)),
        needs=STDIO,
    ),
    # The session ends before its last line is shown.
    "stderr-until-the-end": Subtle(
        "Shows standard error with a short delay, and nothing after the session has ended.",
        only("simulator_said", lambda frontend, _: frontend.outcome == "running"),
        delay("simulator_said", 0.2),
        needs=STDIO,
    ),
}

FAULTS["encoding.externally-tagged"] = {
    "start-as-object": Subtle(
        "Sends StartExecution as an object that contains an empty object.",
        alter("send", lambda *_: {"StartExecution": {}}, named("StartExecution")),
    ),
    "mode-autonomous": Subtle(
        "Calls the mode Auto by its full name.",
        fields("CompetitionMode", mode=lambda mode: "Autonomous" if mode == "Auto" else mode),
    ),
    "connected-left-out": Subtle(
        "Omits the field connected of a CompetitionMode if it is false.",
        edit(
            "CompetitionMode",
            lambda _, mode: mode.pop("connected"),
            lambda _, mode: not mode["connected"],
        ),
    ),
    "last-gearset-lower-case": Subtle(
        "Writes the gearset of the motor on Smart port 20 in lower case.",
        fields(
            "ConfigureDevice",
            "device",
            "Motor",
            physical_gearset=str.lower,
            when=lambda _, device: device["port"] == {"Smart": 20},
        ),
    ),
}


@fault("outlives-input-before-start", violates="robustness.input-end", subtle=True)
class OutlivesInputBeforeStart(OutlivesInput, Frontend):
    """Leaves its side of the stream open if the simulator closes before the program runs."""

    def lingers(self) -> bool:
        return not self.started
